//! zswap: a pool of compressed pages in DRAM, in front of the tier. A fault that it serves takes a
//! sixth of one that the disk serves; pages that do not fit go on to the tier.
//!
//! Its parameters are the machine's, and one run at a time owns them (`knobs`).
//!
//! The pool is DRAM. Version 2 of cgroups charges it to the group whose pages are in it; version 1
//! charges it to nobody, so a run does (`charge`).

mod charge;
mod pool;
mod spec;
#[cfg(test)]
mod tests;

use std::fmt;
use std::fs::File;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::journal::{Change, DeadRun, Journal};
use crate::machine::knobs::{self, Knob, Knobs};
use crate::machine::sysctl::{directory, is_forbidden};
use crate::system::dram;
use crate::system::lock::Say;
use terrace_base::{Bytes, Context, Error, Result};

pub(crate) use charge::Charge;
pub use pool::{Served, read as pool};
pub use spec::{Spec, ZswapSettings};

const PARAMETERS: &str = "/sys/module/zswap/parameters";

/// Names of the parameters that a run may set, in the order in which it does: what is enabled last
/// is set up by then. Linux 6.18 has no `zpool` any more.
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
    knobs: Knobs,
}

impl Zswap {
    /// Takes zswap's parameters and sets them, noted in the journal first.
    ///
    /// # Errors
    /// A failure if the kernel has no zswap or not this compressor, another run owns the
    /// parameters, or they cannot be set.
    pub fn acquire(spec: &Spec, journal: &mut Journal) -> Result<Self> {
        let mut zswap = Self::take(Path::new(PARAMETERS), &directory(journal.state()))?;
        journal.note(Parameters(current()))?;
        zswap.set_all(spec)?;
        Ok(zswap)
    }

    /// Takes the parameters, and restores what a killed owner has set.
    fn take(parameters: &Path, directory: &Path) -> Result<Self> {
        writable(parameters)?;
        let knob = |name| Knob {
            name,
            path: parameters.join(name),
        };
        let known = NAMES.into_iter().map(knob).collect();
        let knobs = Knobs::take("zswap", known, directory, "terrace-zswap.lock")?;
        Ok(Self { knobs })
    }

    fn set_all(&mut self, spec: &Spec) -> Result<()> {
        let knobs = &mut self.knobs;
        let Spec::On { settings, .. } = spec else {
            return knobs.set("enabled", "N");
        };
        knobs.set_if_there("max_pool_percent", &settings.pool.to_string())?;
        knobs.set_if_there("accept_threshold_percent", &settings.accept.to_string())?;
        knobs.set_if_there(
            "shrinker_enabled",
            if settings.shrinker { "Y" } else { "N" },
        )?;
        // Refused where it is a module that cannot be loaded; the one found serves as well then.
        let _ = knobs.set_if_there("zpool", ALLOCATOR);
        let compressors = spec.compressors();
        if compressors
            .iter()
            .any(|compressor| self.compresses_by(compressor))
        {
            return Ok(());
        }
        Err(Error::failure(format!(
            "this kernel's zswap cannot compress by {}; name another compressor with ‘zswap’, or `auto`",
            compressors.join(", ")
        )))
    }

    /// Switches zswap on with this compressor; false if the kernel does not have it. It says so at
    /// once, or, if zswap was never on, takes its default compressor instead when it is switched
    /// on.
    fn compresses_by(&mut self, compressor: &str) -> bool {
        let set = self.knobs.set("compressor", compressor);
        set.and_then(|()| self.knobs.set("enabled", "Y")).is_ok()
            && self.knobs.value("compressor") == compressor
    }

    /// Returns a notice if another program has changed a parameter, once.
    pub fn notice(&self) -> Option<String> {
        self.knobs.notice()
    }
}

fn value(parameters: &Path, name: &str) -> Option<String> {
    knobs::read(&parameters.join(name))
}

/// Restores what a killed run has set, unless a living run owns the parameters, which will.
///
/// # Errors
/// A failure if the lock cannot be used or a parameter cannot be written.
pub(crate) fn restore(state: &Path) -> Result<()> {
    Zswap::take(Path::new(PARAMETERS), &directory(state)).map(drop)
}

/// The parameters of zswap were taken over; these were their values.
#[derive(Debug, Serialize, Deserialize)]
struct Parameters(String);

#[typetag::serde(name = "zswap")]
impl Change for Parameters {
    fn before(&self) -> Option<&str> {
        Some(&self.0)
    }

    fn undo(&self, run: &DeadRun, _say: Say) -> Result<()> {
        restore(run.state.path())
    }
}

impl fmt::Display for Parameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "zswap")
    }
}

/// Describes zswap as the machine has it now, as `--zswap` would name it: `off` if it is off or not
/// in the kernel.
pub fn current() -> String {
    described(Path::new(PARAMETERS))
}

/// Whether zswap keeps all pages of a program that is as large as its footprint: its pool is large
/// enough even if nothing can be compressed, and the kernel does not empty it. Of an unknown
/// footprint it is taken to.
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
