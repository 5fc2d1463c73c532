//! Swap areas that are on, and switching one on with a priority of its own.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use terrace_base::block::swaps::{Swap, active};
use terrace_base::{Bytes, answered};

use crate::system::lock::lock;

/// The kernel's highest priority, before all other areas of the machine.
const HIGHEST: i32 = 0x7fff;
/// Number of priorities below it for areas of runs.
const BAND: i32 = 4096;
/// `SWAP_FLAG_PREFER` (include/linux/swap.h): the priority is in the lower bits.
const PREFER: i32 = 0x8000;
/// Some hundred pages, which any disk reads back within a second.
pub(crate) const NEGLIGIBLE: Bytes = Bytes(1 << 20);
/// File that runs lock while they choose a priority; never written to.
const TURNS: &str = "/run";

/// Returns the swap type of the area at `path`, which was switched on just now. The kernel lists
/// areas by type, and gives a new one the least that is free; so there is no gap before it.
pub(super) fn kind_of_new(path: &Path) -> Option<u64> {
    let place = active().iter().position(|swap| swap.path == path)?;
    Some(place as u64)
}

/// Returns the area at `path`, if it is active.
pub(super) fn find(path: &Path) -> Option<Swap> {
    active().into_iter().find(|swap| swap.path == path)
}

/// Switches an area on with a priority of its own: areas of equal priority are filled in turns, and
/// two runs would spread their pages over both areas.
pub(super) fn switch_on(path: &Path) -> io::Result<()> {
    let name = c_path(path)?;
    let _turn = take_turns();
    let taken: Vec<_> = active().iter().map(|swap| swap.priority).collect();
    let priority = free_priority(&taken);
    // SAFETY: `name` ends in NUL; swapon reads nothing else of ours.
    answered(unsafe { libc::swapon(name.as_ptr(), PREFER | priority) }).map(drop)
}

/// Returns a priority below the active areas of runs, so that a later area is used when those
/// before it are full: of two runs the second fills up the area of the first, and ends with little
/// on its own.
fn free_priority(taken: &[i32]) -> i32 {
    let is_ours = |priority: &&i32| **priority > HIGHEST - BAND;
    let lowest = taken.iter().filter(is_ours).min();
    let below = lowest.map_or(HIGHEST, |lowest| lowest - 1);
    let mut free = (1..=HIGHEST).rev().filter(|one| !taken.contains(one));
    match below > HIGHEST - BAND {
        true => below,
        false => free.next().unwrap_or(HIGHEST),
    }
}

/// Locks out other runs until dropped; `None` if there is nothing to lock, or another process keeps
/// the lock for long.
fn take_turns() -> Option<File> {
    lock(Path::new(TURNS), 100, Duration::from_millis(10))
}

/// Returns a path to the open file, independent of its name.
pub(super) fn path_of(file: &File) -> PathBuf {
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}

fn c_path(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes())
        .map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_area_has_a_priority_of_its_own() {
        assert_eq!(free_priority(&[]), 32767);
        assert_eq!(free_priority(&[-2, 32767, 100, 32766]), 32765);
        assert_eq!(
            free_priority(&[32766]),
            32765,
            "below, though there is room above"
        );
        assert_eq!(
            free_priority(&[32767 - BAND + 1]),
            32767,
            "the band is used up"
        );
    }
}
