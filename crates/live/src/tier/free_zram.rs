//! A free zram device, taken for a tier.

use std::fs;

use terrace_base::{Bytes, Error, Result};

use super::area::{Area, Made};
use super::identity::Identity;
use super::zram::{adds, exists, hot_add};
use crate::journal::Journal;

/// Takes a free device, which is to have this size; returns its number, and whether it was added
/// for this. It is in the journal before it is added: the kernel gives the least number that is
/// free.
///
/// # Errors
/// A usage error if none is free, a failure if the kernel has no zram, or the journal cannot be
/// written.
pub(super) fn take(size: Bytes, journal: &mut Journal) -> Result<(u32, bool)> {
    let planned = |number, added| {
        let area = Area::Zram(number, size, added);
        Made(area, Identity::fresh())
    };
    if adds() {
        let expected = planned((0..).find(|number| !exists(*number)).unwrap_or(0), true);
        journal.note(expected.clone())?;
        let added = fs::read_to_string(hot_add());
        let number = added.ok().and_then(|number| number.trim().parse().ok());
        let taken = number.map(|number| planned(number, true));
        match taken.filter(|taken| taken.0 != expected.0) {
            // Another program has added one at the same moment.
            Some(other) => journal
                .note(other)
                .and_then(|()| journal.forget(&expected))?,
            None if number.is_none() => journal.forget(&expected)?,
            None => {}
        }
        if let Some(number) = number {
            return Ok((number, true));
        }
    }
    match fs::read_to_string("/sys/block/zram0/disksize") {
        Ok(used) if used.trim() == "0" => {
            journal.note(planned(0, false))?;
            Ok((0, false))
        }
        Ok(_) => Err(Error::usage(
            "the only zram device is in use already; choose another tier",
        )),
        Err(_) => Err(Error::failure(
            "this kernel has no zram; load it (modprobe zram) or choose another tier",
        )),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, PoisonError};

    use super::*;
    use crate::journal::State;
    use crate::journal::leftover::Found;
    use crate::tier::zram::{all_off, remove, set_size};

    /// The devices are the machine's: one test at a time.
    static ALONE: Mutex<()> = Mutex::new(());

    /// Takes a device in a process that is killed as soon as it has one; returns its state
    /// directory.
    fn killed_with_a_device() -> tempfile::TempDir {
        let here = tempfile::tempdir().unwrap();
        // SAFETY: the child changes nothing that others share, and ends without running any code of
        // the parent's.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let mut journal = Journal::begin(here.path()).unwrap();
            let taken = take(Bytes(64 << 20), &mut journal);
            // SAFETY: both take integers.
            unsafe {
                let signal = if taken.is_ok() {
                    libc::SIGKILL
                } else {
                    libc::SIGTERM
                };
                libc::kill(libc::getpid(), signal);
                libc::_exit(1)
            }
        }
        let mut status = 0;
        // SAFETY: the status is ours to write.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert_eq!(libc::WTERMSIG(status), libc::SIGKILL, "it has taken one");
        here
    }

    #[test]
    #[ignore = "needs root and zram; run by make test-root"]
    fn a_zram_device_whose_run_is_killed_as_it_is_added_is_removed() {
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let before = all_off();
        for half_made in [false, true] {
            let here = killed_with_a_device();
            let mut more = all_off();
            more.retain(|path| !before.contains(path));
            let [added] = &more[..] else {
                panic!("{more:?}: this test needs zram that adds devices");
            };
            if half_made {
                let number = added.to_str().unwrap().strip_prefix("/dev/zram").unwrap();
                set_size(number.parse().unwrap(), Bytes(64 << 20)).unwrap();
            }
            let state = State::open(here.path()).unwrap().unwrap();
            let mut left = Found::look(&state).unwrap().leftovers;
            let cleaned = left.remove(0).clean(&state, &mut |_| {});
            assert_eq!(cleaned.left, [] as [String; 0]);
            assert_eq!(all_off(), before, "it is gone");
        }
    }

    #[test]
    #[ignore = "needs root and zram; run by make test-root"]
    fn a_zram_device_that_another_program_has_made_meanwhile_is_left() {
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let before = all_off();
        let here = killed_with_a_device();
        let mut more = all_off();
        more.retain(|path| !before.contains(path));
        let number: u32 = more[0].to_str().unwrap()[9..].parse().unwrap();
        set_size(number, Bytes(32 << 20)).unwrap();
        let state = State::open(here.path()).unwrap().unwrap();
        let mut left = Found::look(&state).unwrap().leftovers;
        let cleaned = left.remove(0).clean(&state, &mut |_| {});
        assert!(cleaned.left[0].contains("another size"), "{cleaned:?}");
        assert!(exists(number));
        remove(number, true).unwrap();
    }
}
