//! Knobs of the kernel that are one for the whole machine: set by one run at a time, and put back.
//!
//! A run owns a set of knobs by a lock; the lock's file says what to put back after a `kill -9`,
//! one line a knob with its name, its value as found and the one set. A knob that another program
//! changes meanwhile is no longer ours: it is reported, and left as it is.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::machine::sysctl::open_lock;
use terrace_base::{Context, Error, Result};

/// A knob: its name in the lock's file, and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Knob {
    pub name: &'static str,
    pub path: PathBuf,
}

/// Ownership of a set of knobs, which are restored when dropped.
#[derive(Debug)]
pub(crate) struct Knobs {
    /// What they set, for people: `zswap`.
    of: &'static str,
    known: Vec<Knob>,
    /// Locked while this process owns the knobs.
    lock: File,
    changed: Vec<Changed>,
    /// Whether a notice has said that another program changed a knob.
    told: AtomicBool,
}

/// A knob that was set.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Changed {
    name: &'static str,
    found: String,
    set: String,
}

impl Knobs {
    /// Takes the knobs, whose lock has this name in `directory`, and restores what a killed owner
    /// has set.
    ///
    /// # Errors
    /// A failure if another run owns them, or the lock cannot be used.
    pub fn take(
        of: &'static str,
        known: Vec<Knob>,
        directory: &Path,
        lock_name: &str,
    ) -> Result<Self> {
        let path = directory.join(lock_name);
        let mut lock = open_lock(&path)?;
        if lock.try_lock().is_err() {
            return Err(Error::failure(format!(
                "another run of terrace has set {of}, one for the whole machine; try again when it has \
                 ended"
            )));
        }
        let mut text = String::new();
        lock.read_to_string(&mut text)
            .or_fail(|| format!("cannot use {}", path.display()))?;
        let left = text.lines().filter_map(|line| Changed::read(line, &known));
        let mut knobs = Self {
            of,
            changed: left.collect(),
            known,
            lock,
            told: AtomicBool::new(false),
        };
        knobs.restore()?;
        Ok(knobs)
    }

    /// Sets a knob that some kernels do not have.
    ///
    /// # Errors
    /// See [`Knobs::set`].
    pub fn set_if_there(&mut self, name: &'static str, value: &str) -> Result<()> {
        match self.path(name).is_some_and(Path::exists) {
            true => self.set(name, value),
            false => Ok(()),
        }
    }

    /// Sets a knob, which the lock's file names first.
    ///
    /// # Errors
    /// A failure if it cannot be written.
    pub fn set(&mut self, name: &'static str, value: &str) -> Result<()> {
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
            .or_fail(|| format!("cannot write down what {} was", self.of))?;
        let Some(path) = self.path(name).filter(|_| differs) else {
            return Ok(());
        };
        fs::write(path, value).or_fail(|| format!("cannot write {value} to {}", path.display()))
    }

    /// Returns the value of a knob, empty if it cannot be read.
    pub fn value(&self, name: &str) -> String {
        self.path(name).and_then(read).unwrap_or_default()
    }

    /// Returns a notice if another program has changed a knob, once.
    pub fn notice(&self) -> Option<String> {
        let foreign = self.foreign().next()?;
        let (name, of) = (foreign.name, self.of);
        (!self.told.swap(true, Ordering::Relaxed)).then(|| {
            format!(
                "another program has changed {of}'s {name} from {} to {}; it is left as it is now",
                foreign.set,
                self.value(name)
            )
        })
    }

    fn path(&self, name: &str) -> Option<&Path> {
        let knob = self.known.iter().find(|knob| knob.name == name)?;
        Some(&knob.path)
    }

    fn save(&mut self) -> io::Result<()> {
        let lines = self.changed.iter().map(Changed::line);
        let text: String = lines.collect();
        self.lock.seek(SeekFrom::Start(0))?;
        self.lock.write_all(text.as_bytes())?;
        self.lock.set_len(text.len() as u64)?;
        self.lock.sync_data()
    }

    /// Returns the knobs that no longer have our value.
    fn foreign(&self) -> impl Iterator<Item = &Changed> {
        let changed = self.changed.iter();
        changed.filter(|changed| self.value(changed.name) != changed.set)
    }

    /// Restores the knobs that still have our values, in the reverse order.
    fn restore(&mut self) -> Result<()> {
        for changed in self.changed.iter().rev() {
            if changed.found == changed.set || self.value(changed.name) != changed.set {
                continue;
            }
            let Some(path) = self.path(changed.name) else {
                continue;
            };
            match fs::write(path, &changed.found) {
                // The value found may be none that the kernel takes, as a compressor of zswap that
                // it does not have.
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                written => written.or_fail(|| format!("cannot restore {}", path.display()))?,
            }
        }
        self.changed.clear();
        let emptied = self.lock.set_len(0);
        emptied.or_fail(|| format!("cannot empty the lock of {}", self.of))
    }
}

impl Drop for Knobs {
    fn drop(&mut self) {
        // What cannot be restored now stays in the lock's file for the next owner.
        let _ = self.restore();
        // Closing would not suffice while a child is between fork and exec.
        let _ = self.lock.unlock();
    }
}

impl Changed {
    /// Reads a line of the lock's file; `None` if it is none, or of no known knob.
    fn read(line: &str, known: &[Knob]) -> Option<Self> {
        let mut words = line.split(' ');
        let name = words.next()?;
        let name = known.iter().find(|knob| knob.name == name)?.name;
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

/// Reads a knob.
pub(crate) fn read(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned())
}

#[cfg(test)]
impl Knobs {
    /// Ends an owner as a kill does, which releases the lock and runs no destructor.
    pub(crate) fn kill(self) {
        self.lock.unlock().unwrap();
        std::mem::forget(self);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_lock_says_is_of_known_knobs_and_plain_values() {
        let known = [Knob {
            name: "compressor",
            path: PathBuf::new(),
        }];
        let line = "compressor lzo lz4";
        assert_eq!(Changed::read(line, &known).unwrap().line().trim(), line);
        for wrong in [
            "",
            "compressor",
            "compressor lzo",
            "../enabled N Y",
            "compressor ../lzo lz4",
            "uevent x y",
        ] {
            assert_eq!(Changed::read(wrong, &known), None, "{wrong}");
        }
    }
}
