//! Switching swap areas on and off, each with a priority of its own.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use terrace_base::Bytes;
use terrace_base::block::swaps::{Swap, active};

use crate::dram;
use crate::lock::lock;

/// The kernel's highest priority, before all other areas of the machine.
const HIGHEST: i32 = 0x7fff;
/// Number of priorities below it for areas of runs.
const BAND: i32 = 4096;
/// `SWAP_FLAG_PREFER` (include/linux/swap.h): the priority is in the lower bits.
const PREFER: i32 = 0x8000;
/// Some hundred pages, which any disk reads back within a second.
pub(crate) const NEGLIGIBLE: Bytes = Bytes(1 << 20);
/// Available memory that switching off leaves to programs.
const SPARE: Bytes = Bytes(256 << 20);
/// Time after which reading pages back is given up.
const PATIENCE: Duration = Duration::from_secs(60);
/// File that runs lock while they choose a priority; never written to.
const TURNS: &str = "/run";

/// Returns the swap type of the area at `path`, which was switched on just now. The kernel lists areas by type,
/// and gives a new one the least that is free; so there is no gap before it.
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
    match unsafe { libc::swapon(name.as_ptr(), PREFER | priority) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Returns a priority below the active areas of runs, so that a later area is used when those before it
/// are full: of two runs the second fills up the area of the first, and ends with little on its own.
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

/// Locks out other runs until dropped; `None` if there is nothing to lock, or another process keeps the
/// lock for long.
fn take_turns() -> Option<File> {
    lock(Path::new(TURNS), 100, Duration::from_millis(10))
}

/// Switches the area off that is known by `path` and open in `file`, if it is on. Pages of other
/// programs are read back if there is room elsewhere: while an area is switched off that has more in
/// use than all others have free, the kernel counts negative free swap, and kills in every group that
/// needs some.
///
/// # Errors
/// The kernel's error, or the obstacle; the area is left on then.
pub(super) fn switch_off(path: &Path, file: &File) -> io::Result<()> {
    if let Some(swap) = find(path) {
        make_sure_of_room(&swap, &active(), dram::available())?;
    }
    let (tell, told) = mpsc::channel();
    let name = c_path(&path_of(file))?;
    // On a thread of its own, which the kernel interrupts when this process ends; the area then
    // stays on.
    thread::spawn(move || tell.send(swapoff(&name)));
    match told.recv_timeout(PATIENCE) {
        Ok(Err(e)) if !matches!(e.raw_os_error(), Some(libc::EINVAL | libc::ENOENT)) => Err(e),
        Ok(_) => Ok(()),
        Err(_) => Err(io::Error::other(format!(
            "it holds memory of other programs, which was not read back within {} s",
            PATIENCE.as_secs()
        ))),
    }
}

fn swapoff(name: &CString) -> io::Result<()> {
    loop {
        // SAFETY: `name` ends in NUL; swapoff reads nothing else of ours.
        if unsafe { libc::swapoff(name.as_ptr()) } == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        // A signal interrupts it; it goes on where it stopped.
        if error.raw_os_error() != Some(libc::EINTR) {
            return Err(error);
        }
    }
}

/// Returns a path to the open file, independent of its name.
pub(super) fn path_of(file: &File) -> PathBuf {
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}

fn make_sure_of_room(swap: &Swap, all: &[Swap], available: Bytes) -> io::Result<()> {
    let others = || all.iter().filter(|other| other.path != swap.path);
    let free: u64 = others().map(|other| other.size.0 - other.used.0).sum();
    let fits = match others().next() {
        Some(_) => swap.used.0 < free,
        None => swap.used.0.saturating_add(SPARE.0) < available.0,
    };
    if fits || swap.used <= NEGLIGIBLE {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "it holds {} of other programs' memory, and there is no room for that elsewhere",
        swap.used
    )))
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

    fn swap(path: &str, size: u64, used: u64) -> Swap {
        Swap {
            path: path.into(),
            size: Bytes(size << 20),
            used: Bytes(used << 20),
            priority: 1,
        }
    }

    #[test]
    fn an_area_whose_pages_fit_nowhere_is_left_on() {
        let mib = |mib: u64| Bytes(mib << 20);
        let ours = swap("/a", 1024, 600);
        let alone = [ours.clone()];
        assert!(make_sure_of_room(&ours, &alone, mib(1000)).is_ok());
        let error = make_sure_of_room(&ours, &alone, mib(700)).unwrap_err();
        assert!(error.to_string().contains("600 MiB of other"), "{error}");
        // With other areas these must have room, whatever memory there is.
        let beside = |used| [ours.clone(), swap("/b", 1024, used)];
        assert!(make_sure_of_room(&ours, &beside(400), mib(1)).is_ok());
        assert!(make_sure_of_room(&ours, &beside(500), mib(9999)).is_err());
        let empty = swap("/a", 1024, 0);
        assert!(make_sure_of_room(&empty, std::slice::from_ref(&empty), mib(0)).is_ok());
    }
}
