//! How the kernel schedules a task: its policy, nice value and slice (sched_setattr(2)).

use std::io;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use terrace_base::answered;

/// `SCHED_OTHER`: the usual policy.
pub const OTHER: u32 = libc::SCHED_OTHER as u32;
/// `SCHED_BATCH`: the same for work that does not wake up often.
pub const BATCH: u32 = libc::SCHED_BATCH as u32;
/// `SCHED_IDLE`: runs where no other task wants to.
pub const IDLE: u32 = libc::SCHED_IDLE as u32;

/// The slices that the kernel gives, in nanoseconds: others are clamped to these.
pub const SLICES_NS: (u64, u64) = (100_000, 100_000_000);

/// Attributes of one task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attributes {
    /// `SCHED_OTHER` and its like.
    pub policy: u32,
    /// `SCHED_FLAG_RESET_ON_FORK` and its like.
    pub flags: u64,
    /// Nice value, -20 to 19.
    pub nice: i32,
    /// Slice in nanoseconds (Linux 6.12 and later); 0 is the kernel's own.
    pub slice_ns: u64,
}

/// `struct sched_attr` of the kernel, in its first version (linux/sched/types.h).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Raw {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

impl Attributes {
    /// Returns the attributes of a task; 0 is the calling thread.
    ///
    /// # Errors
    /// The kernel's: `ESRCH` if the task has ended.
    pub fn of(task: u32) -> io::Result<Self> {
        let raw = get(task)?;
        let slice_ns = match raw.runtime {
            found if Some(found) == usual_slice() => 0,
            found => found,
        };
        Ok(Self {
            policy: raw.policy,
            flags: raw.flags,
            nice: raw.nice,
            slice_ns,
        })
    }

    /// Gives a task these attributes.
    ///
    /// # Errors
    /// The kernel's: `ESRCH` if the task has ended, `EPERM` if the privilege is missing.
    pub fn apply(&self, task: u32) -> io::Result<()> {
        set(
            task,
            &Raw {
                policy: self.policy,
                flags: self.flags,
                nice: self.nice,
                runtime: self.slice_ns,
                ..Raw::default()
            },
        )
    }

    /// Whether its turns can be longer: it is scheduled as usual, and neither in real time nor only
    /// where nothing else runs.
    pub fn takes_turns(&self) -> bool {
        [OTHER, BATCH].contains(&self.policy)
    }
}

/// Returns the slice of a task that asked for none, in nanoseconds, where the kernel tells it.
fn usual_slice() -> Option<u64> {
    static USUAL: OnceLock<Option<u64>> = OnceLock::new();
    // Asked once, of a thread of ours, before anything is changed.
    *USUAL.get_or_init(|| Some(get(0).ok()?.runtime).filter(|&slice| slice > 0))
}

/// Whether this kernel lets a task choose its slice: what a thread of ours sets is read back.
pub fn has_slices() -> bool {
    static HAS: OnceLock<bool> = OnceLock::new();
    let try_one = || {
        let before = Attributes::of(0).ok()?;
        let mut tried = before;
        tried.slice_ns = 30_000_000;
        // Another than the calling thread would do as well; both calls need no privilege.
        tried.apply(0).ok()?;
        let found = get(0).map(|raw| raw.runtime);
        before.apply(0).ok()?;
        Some(found.ok()? == tried.slice_ns)
    };
    *HAS.get_or_init(|| try_one().unwrap_or(false))
}

fn get(task: u32) -> io::Result<Raw> {
    let mut raw = Raw::default();
    // SAFETY: the structure is ours to write and has the size that is given.
    let done = unsafe {
        libc::syscall(
            libc::SYS_sched_getattr,
            task,
            &raw mut raw,
            size_of::<Raw>() as u32,
            0,
        )
    };
    answered(done).map(|_| raw)
}

fn set(task: u32, raw: &Raw) -> io::Result<()> {
    let raw = Raw {
        size: size_of::<Raw>() as u32,
        ..*raw
    };
    // SAFETY: reads a structure that says its own size.
    answered(unsafe { libc::syscall(libc::SYS_sched_setattr, task, &raw const raw, 0) }).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_gets_what_it_is_given_and_what_it_had() {
        let work = || {
            let before = Attributes::of(0).unwrap();
            assert_eq!((before.policy, before.slice_ns), (OTHER, 0));
            assert!(before.takes_turns());
            let batch = Attributes {
                policy: BATCH,
                ..before
            };
            batch.apply(0).unwrap();
            assert_eq!(Attributes::of(0).unwrap(), batch);
            before.apply(0).unwrap();
            assert_eq!(Attributes::of(0).unwrap(), before);
        };
        std::thread::spawn(work).join().unwrap();
    }

    #[test]
    fn tasks_that_have_ended_are_told() {
        let ended = u32::MAX >> 1;
        let told = Attributes::of(ended).unwrap_err();
        assert_eq!(told.raw_os_error(), Some(libc::ESRCH));
    }

    #[test]
    fn trying_slices_changes_nothing() {
        let work = || {
            let before = Attributes::of(0).unwrap();
            has_slices();
            assert_eq!(Attributes::of(0).unwrap(), before);
        };
        std::thread::spawn(work).join().unwrap();
    }
}
