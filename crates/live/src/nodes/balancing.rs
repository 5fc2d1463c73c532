//! The kernel's NUMA balancing: hint faults by which a policy sees accesses, or the kernel's own
//! tiering.
//!
//! The kernel goes through the memory of a program and takes access away, and the next access to a
//! page is a *hint fault*, as a minor fault by perf with its address. It sees reads as well as
//! writes, and a page that is not used makes none. On memory that is bound to one node
//! ([`super::binding`]) the kernel makes hint faults and moves nothing: what is to move, our policy
//! says.
//!
//! Other ways to see accesses were not taken. Soft-dirty bits and `PAGEMAP_SCAN` tell of writes
//! alone. Referenced bits (`/proc/PID/clear_refs`) are told by mapping, not by page. Idle page
//! tracking and DAMON are in few distributions' kernels; NUMA balancing is in all that know nodes.
//! The price is the kernel's pace: all memory once a second at best, up to 256 MiB of a process
//! each time, and a fault of a microsecond for each page that is used.
//!
//! The knobs are the machine's: one run at a time owns them (`knobs`).

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use terrace_base::{Error, Result};

use super::debugfs;
use crate::journal::{Change, DeadRun, Journal};
use crate::machine::knobs::{self, Knob, Knobs};
use crate::machine::sysctl::{directory, is_forbidden};
use crate::system::lock::Say;

const SWITCH: &str = "/proc/sys/kernel/numa_balancing";
const DEMOTION: &str = "/sys/kernel/mm/numa/demotion_enabled";
/// The longest time between two scans, and its file in debugfs.
const LONGEST: &str = "scan_period_max_ms";
const PACE: &str = "sched/numa_balancing";

/// The time between two scans at which the kernel begins by default, in milliseconds: it does not
/// get longer for a program whose pages lie where they should, as they do for the kernel.
const PERIOD_MS: &str = "1000";

/// Ownership of the knobs, which are restored when dropped.
#[derive(Debug)]
pub(crate) struct Balancing {
    knobs: Knobs,
}

impl Balancing {
    /// Has the kernel make hint faults at a steady pace.
    ///
    /// # Errors
    /// A failure if the kernel does not know them, another run owns the knobs, or they may not be
    /// set.
    pub fn hint_faults(journal: &mut Journal) -> Result<Self> {
        let mut balancing = Self::acquire(journal)?;
        balancing.knobs.set("numa_balancing", "1")?;
        balancing.knobs.set_if_there(LONGEST, PERIOD_MS)?;
        Ok(balancing)
    }

    /// Has the kernel promote what is hot and demote what is not, by itself.
    ///
    /// # Errors
    /// As [`Balancing::hint_faults`].
    pub fn tiering(journal: &mut Journal) -> Result<Self> {
        let mut balancing = Self::acquire(journal)?;
        balancing.knobs.set("numa_balancing", "2")?;
        balancing.knobs.set_if_there("demotion_enabled", "true")?;
        Ok(balancing)
    }

    fn acquire(journal: &mut Journal) -> Result<Self> {
        let balancing = Self::take(journal.state())?;
        journal.note(Mode(current().unwrap_or_default()))?;
        Ok(balancing)
    }

    fn take(state: &Path) -> Result<Self> {
        may_set()?;
        let knobs = Knobs::take(
            "NUMA balancing",
            known(),
            &directory(state),
            "terrace-numa.lock",
        )?;
        Ok(Self { knobs })
    }

    /// Returns a notice if another program has changed a knob, once.
    pub fn notice(&self) -> Option<String> {
        self.knobs.notice()
    }
}

fn known() -> Vec<Knob> {
    let mut known = vec![
        Knob {
            name: "numa_balancing",
            path: SWITCH.into(),
        },
        Knob {
            name: "demotion_enabled",
            path: DEMOTION.into(),
        },
    ];
    let pace = pace().map(|path| Knob {
        name: LONGEST,
        path,
    });
    known.extend(pace);
    known
}

/// Returns the file of the pace: in debugfs, or a sysctl before Linux 5.13.
fn pace() -> Option<PathBuf> {
    let sysctl = PathBuf::from("/proc/sys/kernel/numa_balancing_scan_period_max_ms");
    match sysctl.exists() {
        true => Some(sysctl),
        false => Some(debugfs::directory(PACE)?.join(LONGEST)),
    }
}

/// Restores what a killed run has set, unless a living run owns the knobs, which will.
///
/// # Errors
/// A failure if the lock cannot be used or a knob cannot be written.
pub(crate) fn restore(state: &Path) -> Result<()> {
    Balancing::take(state).map(drop)
}

/// The kernel's NUMA balancing was taken over; this was its mode.
#[derive(Debug, Serialize, Deserialize)]
struct Mode(String);

#[typetag::serde(name = "balancing")]
impl Change for Mode {
    fn before(&self) -> Option<&str> {
        Some(&self.0)
    }

    fn undo(&self, run: &DeadRun, _say: Say) -> Result<()> {
        restore(run.state.path())
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the mode of NUMA balancing")
    }
}

/// Returns the mode of NUMA balancing; `None` if the kernel has none.
pub(crate) fn current() -> Option<String> {
    knobs::read(Path::new(SWITCH))
}

/// Whether the kernel demotes by itself; `None` if it cannot.
pub(crate) fn demotion() -> Option<bool> {
    knobs::read(Path::new(DEMOTION)).map(|value| value == "true" || value == "1")
}

/// Checks that this process may set the knobs.
///
/// # Errors
/// A failure that says why not.
pub(crate) fn may_set() -> Result<()> {
    match std::fs::File::options().write(true).open(SWITCH) {
        Ok(_) => Ok(()),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Err(Error::failure(
            "this kernel does not show which pages a program uses (CONFIG_NUMA_BALANCING is off); only the \
             migration policy `never` works",
        )),
        Err(e) if is_forbidden(&e) => Err(Error::failure(
            "kernel.numa_balancing is root's alone to set; only the migration policy `never` works without",
        )),
        Err(e) => Err(Error::failure(format!("cannot write {SWITCH}: {e}"))),
    }
}
