//! zswap: a pool of compressed pages in DRAM, in front of the tier. A fault that it serves takes a sixth
//! of one that the disk serves; pages that do not fit go on to the tier.
//!
//! Its parameters are the machine's. One run at a time owns them, by a lock; the lock's file says what to
//! restore after a `kill -9`, one line a parameter with its name, its value as found and the one set. A
//! parameter that another program changes meanwhile is no longer ours: it is reported, and left as it is.
//!
//! The pool is DRAM. Version 2 of cgroups charges it to the group whose pages are in it; version 1 charges it
//! to nobody, so a run does (`charge`).

mod charge;
mod pool;
mod spec;
#[cfg(test)]
mod tests;

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::dram;
use crate::journal::{Change, Journal};
use crate::sysctl::{directory, is_forbidden, open_lock};
use terrace_base::{Bytes, Context, Error, Result};

pub(crate) use charge::Charge;
pub use pool::{Served, read as pool};
pub use spec::{Spec, ZswapSettings};

const PARAMETERS: &str = "/sys/module/zswap/parameters";

/// Names of the parameters that a run may set, in the order in which it does: what is enabled last is
/// set up by then. Linux 6.18 has no `zpool` any more.
const NAMES: [&str; 6] = [
    "compressor",
    "zpool",
    "max_pool_percent",
    "accept_threshold_percent",
    "shrinker_enabled",
    "enabled",
];

/// The allocator that packs best, and the only one of late kernels.
const ALLOCATOR: &str = "zsmalloc";

/// Ownership of zswap's parameters, which are restored when dropped.
#[derive(Debug)]
pub struct Zswap {
    parameters: PathBuf,
    /// Locked while this process owns the parameters.
    lock: File,
    changed: Vec<Changed>,
    /// Whether a notice has said that another program changed a parameter.
    told: AtomicBool,
}

/// A parameter that was set.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Changed {
    name: &'static str,
    found: String,
    set: String,
}

impl Zswap {
    /// Takes zswap's parameters and sets them, noted in the journal first.
    ///
    /// # Errors
    /// A failure if the kernel has no zswap or not this compressor, another run owns the parameters, or
    /// they cannot be set.
    pub fn acquire(spec: &Spec, journal: &mut Journal) -> Result<Self> {
        let mut zswap = Self::take(Path::new(PARAMETERS), &directory(journal.state()))?;
        journal.note(Change::Zswap(current()))?;
        zswap.set_all(spec)?;
        Ok(zswap)
    }

    /// Takes the parameters, and restores what a killed owner has set.
    fn take(parameters: &Path, directory: &Path) -> Result<Self> {
        writable(parameters)?;
        let path = directory.join("terrace-zswap.lock");
        let mut lock = open_lock(&path)?;
        if lock.try_lock().is_err() {
            return Err(Error::failure(
                "another run of terrace has set zswap, one for the whole machine; try again when it has \
                 ended",
            ));
        }
        let mut text = String::new();
        lock.read_to_string(&mut text)
            .or_fail(|| format!("cannot use {}", path.display()))?;
        let left = text.lines().filter_map(Changed::read);
        let mut zswap = Self {
            parameters: parameters.to_owned(),
            lock,
            changed: left.collect(),
            told: AtomicBool::new(false),
        };
        zswap.restore()?;
        Ok(zswap)
    }

    fn set_all(&mut self, spec: &Spec) -> Result<()> {
        let Spec::On { settings, .. } = spec else {
            return self.set("enabled", "N");
        };
        self.set_if_there("max_pool_percent", &settings.pool.to_string())?;
        self.set_if_there("accept_threshold_percent", &settings.accept.to_string())?;
        self.set_if_there(
            "shrinker_enabled",
            if settings.shrinker { "Y" } else { "N" },
        )?;
        // Refused where it is a module that cannot be loaded; the one found serves as well then.
        let _ = self.set_if_there("zpool", ALLOCATOR);
        let compressors = spec.compressors();
        if compressors
            .iter()
            .any(|compressor| self.compresses_by(compressor))
        {
            return Ok(());
        }
        Err(Error::failure(format!(
            "this kernel's zswap cannot compress by {}; name another compressor with --zswap, or `auto`",
            compressors.join(", ")
        )))
    }

    /// Switches zswap on with this compressor; false if the kernel does not have it. It says so at once,
    /// or, if zswap was never on, takes its default compressor instead when it is switched on.
    fn compresses_by(&mut self, compressor: &str) -> bool {
        let set = self.set("compressor", compressor);
        set.and_then(|()| self.set("enabled", "Y")).is_ok()
            && self.value("compressor") == compressor
    }

    /// Sets a parameter that some kernels do not have.
    fn set_if_there(&mut self, name: &'static str, value: &str) -> Result<()> {
        match self.parameters.join(name).exists() {
            true => self.set(name, value),
            false => Ok(()),
        }
    }

    /// Sets a parameter, which the lock's file names first.
    fn set(&mut self, name: &'static str, value: &str) -> Result<()> {
        let found = self.value(name);
        let differs = found != value;
        match self.changed.iter_mut().find(|changed| changed.name == name) {
            Some(changed) => changed.set = value.to_owned(),
            None => self.changed.push(Changed {
                name,
                found,
                set: value.to_owned(),
            }),
        }
        self.save()
            .or_fail(|| "cannot write down what zswap was".into())?;
        let path = self.parameters.join(name);
        match differs {
            true => fs::write(&path, value)
                .or_fail(|| format!("cannot write {value} to {}", path.display())),
            false => Ok(()),
        }
    }

    fn save(&mut self) -> io::Result<()> {
        let lines = self.changed.iter().map(Changed::line);
        let text: String = lines.collect();
        self.lock.seek(SeekFrom::Start(0))?;
        self.lock.write_all(text.as_bytes())?;
        self.lock.set_len(text.len() as u64)?;
        self.lock.sync_data()
    }

    fn value(&self, name: &str) -> String {
        value(&self.parameters, name).unwrap_or_default()
    }

    /// Returns a notice if another program has changed a parameter, once.
    pub fn notice(&self) -> Option<String> {
        let foreign = self.foreign().next()?;
        let name = foreign.name;
        (!self.told.swap(true, Ordering::Relaxed)).then(|| {
            format!(
                "another program has changed zswap's {name} from {} to {}; it is left as it is now",
                foreign.set,
                self.value(name)
            )
        })
    }

    /// Returns the parameters that no longer have our value.
    fn foreign(&self) -> impl Iterator<Item = &Changed> {
        let mut changed = self.changed.iter();
        std::iter::from_fn(move || changed.find(|changed| self.value(changed.name) != changed.set))
    }

    /// Restores the parameters that still have our values, in the reverse order.
    fn restore(&mut self) -> Result<()> {
        for changed in self.changed.iter().rev() {
            if changed.found == changed.set || self.value(changed.name) != changed.set {
                continue;
            }
            let path = self.parameters.join(changed.name);
            match fs::write(&path, &changed.found) {
                // What was named when zswap had never been on may be no compressor of this kernel.
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                written => written.or_fail(|| format!("cannot restore {}", path.display()))?,
            }
        }
        self.changed.clear();
        let emptied = self.lock.set_len(0);
        emptied.or_fail(|| "cannot empty the lock of zswap".into())
    }
}

impl Drop for Zswap {
    fn drop(&mut self) {
        // What cannot be restored now stays in the lock's file for the next owner.
        let _ = self.restore();
        // Closing would not suffice while a child is between fork and exec.
        let _ = self.lock.unlock();
    }
}

impl Changed {
    /// Reads a line of the lock's file; `None` if it is none.
    fn read(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let name = words.next()?;
        let name = NAMES.into_iter().find(|known| *known == name)?;
        let plain = |word: &&str| word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        let mut value = || words.next().filter(plain).map(str::to_owned);
        Some(Self {
            name,
            found: value()?,
            set: value()?,
        })
    }

    /// Returns the line that [`Changed::read`] reads.
    fn line(&self) -> String {
        format!("{} {} {}\n", self.name, self.found, self.set)
    }
}

fn value(parameters: &Path, name: &str) -> Option<String> {
    let text = fs::read_to_string(parameters.join(name)).ok()?;
    Some(text.trim().to_owned())
}

/// Restores what a killed run has set, unless a living run owns zswap, which will.
///
/// # Errors
/// A failure if the lock cannot be used or a parameter cannot be written.
pub fn restore(state: &Path) -> Result<()> {
    Zswap::take(Path::new(PARAMETERS), &directory(state)).map(drop)
}

/// Describes zswap as the machine has it now, as `--zswap` would name it: `off` if it is off or not in the
/// kernel.
pub fn current() -> String {
    described(Path::new(PARAMETERS))
}

/// Whether zswap keeps all pages of a program that is as large as its footprint: its pool is large enough
/// even if nothing can be compressed, and the kernel does not empty it. Of an unknown footprint it is taken
/// to.
pub(crate) fn takes_all(footprint: Option<Bytes>) -> bool {
    let parameters = Path::new(PARAMETERS);
    let is = |name, wanted| value(parameters, name).as_deref() == Some(wanted);
    let percent = value(parameters, "max_pool_percent").and_then(|text| text.parse().ok());
    let largest = Bytes(dram::total().0 / 100 * percent.unwrap_or(0));
    is("enabled", "Y")
        && !is("shrinker_enabled", "Y")
        && footprint.is_none_or(|footprint| footprint <= largest)
}

fn described(parameters: &Path) -> String {
    let value = |name| value(parameters, name);
    if value("enabled").as_deref() != Some("Y") {
        return "off".to_owned();
    }
    let settings = [
        ("pool", "max_pool_percent"),
        ("accept", "accept_threshold_percent"),
        ("shrinker", "shrinker_enabled"),
    ];
    let settings = settings.iter().filter_map(|(key, name)| {
        let value = match value(name)?.as_str() {
            "Y" => "on".to_owned(),
            "N" => "off".to_owned(),
            number => number.to_owned(),
        };
        Some(format!("{key}={value}"))
    });
    let settings: Vec<_> = settings.collect();
    let compressor = value("compressor").unwrap_or_default();
    format!("{compressor}:{}", settings.join(","))
}

/// Checks that this process may set zswap.
///
/// # Errors
/// A failure that says why not.
pub fn may_set() -> Result<()> {
    writable(Path::new(PARAMETERS))
}

fn writable(parameters: &Path) -> Result<()> {
    let enabled = parameters.join("enabled");
    match File::options().write(true).open(&enabled) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Err(Error::failure(
            "this kernel has no zswap (CONFIG_ZSWAP is off)",
        )),
        Err(e) if is_forbidden(&e) => Err(Error::failure("zswap is root's alone to set")),
        opened => opened
            .map(drop)
            .or_fail(|| format!("cannot write {}", enabled.display())),
    }
}
