//! Compressed memory as a block device.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use terrace_base::block::swaps::active;
use terrace_base::bytes::PAGE_BYTES;
use terrace_base::{Bytes, Error, Result};

use crate::machine::pool::Pool;
use crate::system::busy::while_busy;

const CONTROL: &str = "/sys/class/zram-control";
/// The file that names a device's disk, which kernels with CONFIG_ZRAM_WRITEBACK have.
const BACKING: &str = "backing_dev";
/// The file that says whether what is written to the disk has a limit.
const LIMITED: &str = "writeback_limit_enable";

/// The file whose reading adds a device.
pub(super) fn hot_add() -> PathBuf {
    Path::new(CONTROL).join("hot_add")
}

/// Whether a device may be one that a run was about to make when it was killed: it has no size yet,
/// or this one.
pub(super) fn is_half_made(number: u32, size: Bytes) -> bool {
    let disk = fs::read_to_string(directory(number).join("disksize"));
    let disk = disk.ok().and_then(|bytes| bytes.trim().parse().ok());
    disk.is_some_and(|bytes: u64| [0, size.0.next_multiple_of(PAGE_BYTES)].contains(&bytes))
}

/// Whether a device has no size yet.
pub(super) fn is_bare(number: u32) -> bool {
    let disk = fs::read_to_string(directory(number).join("disksize"));
    disk.is_ok_and(|bytes| bytes.trim() == "0")
}

/// Returns the path of a device.
pub(super) fn path(number: u32) -> PathBuf {
    PathBuf::from(format!("/dev/zram{number}"))
}

/// Returns the number of the device at a path; `None` if that is no zram device.
pub(crate) fn number(path: &Path) -> Option<u32> {
    path.to_str()?.strip_prefix("/dev/zram")?.parse().ok()
}

/// Whether the kernel adds devices as they are asked for.
pub(crate) fn adds() -> bool {
    File::open(hot_add()).is_ok()
}

/// Returns the paths of all devices that are not swapped to.
pub(crate) fn all_off() -> Vec<PathBuf> {
    let on = active();
    let is_off = |path: &PathBuf| on.iter().all(|swap| swap.path != *path);
    let devices = fs::read_dir("/sys/block").into_iter().flatten().flatten();
    let paths = devices.map(|device| Path::new("/dev").join(device.file_name()));
    paths
        .filter(|path| number(path).is_some() && is_off(path))
        .collect()
}

/// Whether the device is there.
pub(super) fn exists(number: u32) -> bool {
    directory(number).exists()
}

fn directory(number: u32) -> PathBuf {
    Path::new("/sys/block").join(format!("zram{number}"))
}

/// Checks that a device, which is there, can write pages to a disk.
///
/// # Errors
/// A failure that names the kernel's option.
pub(super) fn require_writeback(number: u32) -> Result<()> {
    match directory(number).join(BACKING).exists() {
        true => Ok(()),
        false => Err(Error::failure(
            "this kernel's zram cannot write idle pages to a disk (CONFIG_ZRAM_WRITEBACK is off); name the \
             disk alone with ‘tier’, and have zswap compress in front of it: ‘zswap’ auto:shrinker=on",
        )),
    }
}

/// Whether zram can write pages to a disk; `None` if no device is there, by which it is seen.
pub(crate) fn writes_back() -> Option<bool> {
    let devices = fs::read_dir("/sys/block").into_iter().flatten().flatten();
    let is_zram = |name: &OsStr| name.as_encoded_bytes().starts_with(b"zram");
    let mut devices = devices.filter(|device| is_zram(&device.file_name()));
    let device = devices.next()?;
    Some(device.path().join(BACKING).exists())
}

/// Has a device write pages to the block device at `path`, once it is told to; before it has a
/// size.
pub(super) fn set_backing(number: u32, path: &Path) -> io::Result<()> {
    fs::write(directory(number).join(BACKING), path.as_os_str().as_bytes())
}

/// Marks all pages of a device as idle, until they are touched.
pub(super) fn mark_idle(number: u32) -> io::Result<()> {
    fs::write(directory(number).join("idle"), "all")
}

/// Which pages are written to the disk.
#[derive(Clone, Copy, Debug)]
pub(super) enum Pages {
    /// Those that take as much DRAM as before they were compressed.
    Incompressible,
    /// Those that are marked as idle.
    Idle,
}

/// Has a device write at most `most` pages to its disk; returns whether more may be left. A full
/// disk is no error: what it does not take stays in DRAM.
pub(super) fn write_back(number: u32, pages: Pages, most: u64) -> io::Result<bool> {
    let file = |name| directory(number).join(name);
    fs::write(file("writeback_limit"), most.to_string())?;
    fs::write(file(LIMITED), "1")?;
    let kind = match pages {
        Pages::Incompressible => "huge",
        Pages::Idle => "idle",
    };
    let Err(error) = fs::write(file("writeback"), kind) else {
        return Ok(false);
    };
    let is_used_up = fs::read_to_string(file("writeback_limit"))?.trim() == "0";
    match error.raw_os_error() {
        Some(libc::ENOSPC) => Ok(false),
        // The kernel tells this and an error of the disk alike.
        Some(libc::EIO) if is_used_up => Ok(true),
        _ => Err(error),
    }
}

/// What a device holds, and what it wrote to its disk and read from there since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct State {
    /// Pages in DRAM.
    pub pool: Pool,
    /// Pages to the disk and back.
    pub moved: Moved,
}

/// Pages that went to the disk below zram, and came back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Pages written to the disk, because they were idle or could not be compressed.
    pub demoted: u64,
    /// Pages read from the disk.
    pub read_back: u64,
}

impl State {
    /// Reads the state of a device; empty if it is gone.
    pub fn read(number: u32) -> Self {
        let text = |name| fs::read_to_string(directory(number).join(name)).unwrap_or_default();
        Self::parse(&text("mm_stat"), &text("bd_stat"))
    }

    /// Parses `mm_stat`: bytes before compression, those after it, and DRAM taken; and `bd_stat`:
    /// pages of 4 KiB on the disk, read from it, and written. What is on the disk counts among the
    /// bytes before compression.
    fn parse(memory: &str, disk: &str) -> Self {
        let numbers = |text: &str| -> Vec<u64> {
            let numbers = text.split_whitespace().map(str::parse);
            numbers
                .collect::<std::result::Result<_, _>>()
                .unwrap_or_default()
        };
        let (memory, disk) = (numbers(memory), numbers(disk));
        let at = |numbers: &[u64], place: usize| numbers.get(place).copied().unwrap_or(0);
        let on_disk = at(&disk, 0) * 4096;
        Self {
            pool: Pool {
                held: Bytes(at(&memory, 0).saturating_sub(on_disk)),
                taken: Bytes(at(&memory, 2)),
            },
            moved: Moved {
                read_back: at(&disk, 1),
                demoted: at(&disk, 2),
            },
        }
    }

    /// Returns what was added since `earlier`.
    pub fn since(self, earlier: Self) -> Self {
        let more = |now: u64, then: u64| now.saturating_sub(then);
        Self {
            pool: self.pool.since(earlier.pool),
            moved: Moved {
                demoted: more(self.moved.demoted, earlier.moved.demoted),
                read_back: more(self.moved.read_back, earlier.moved.read_back),
            },
        }
    }
}

/// Sets the size of a device.
pub(super) fn set_size(number: u32, size: Bytes) -> io::Result<()> {
    fs::write(directory(number).join("disksize"), size.0.to_string())
}

/// Resets a device, and removes it if it was `added`. Does nothing if that was done before.
pub(super) fn remove(number: u32, added: bool) -> io::Result<()> {
    if !exists(number) {
        return Ok(());
    }
    // Programs that inspect new devices may keep it open for a moment.
    let reset = directory(number).join("reset");
    // A reset leaves the limit alone.
    let _ = fs::write(directory(number).join(LIMITED), "0");
    while_busy(50, Duration::from_millis(20), || fs::write(&reset, "1"))?;
    if added {
        fs::write(format!("{CONTROL}/hot_remove"), number.to_string())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_s_figures_are_of_dram_and_disk() {
        // As Linux 6.12 writes them: 100 pages, 60 of them on the disk.
        let memory =
            "  409600    70000    81920        0   409600        0        0       60       80\n";
        let disk = "      60       20       90\n";
        let state = State::parse(memory, disk);
        let expected = State {
            pool: Pool {
                taken: Bytes(81_920),
                held: Bytes(40 * 4096),
            },
            moved: Moved {
                demoted: 90,
                read_back: 20,
            },
        };
        assert_eq!(state, expected);
        let earlier = State::parse("4096 100 4096", "0 0 30");
        assert_eq!(state.since(earlier).moved.demoted, 60);
        assert_eq!(state.since(earlier).pool.taken, Bytes(81_920 - 4096));
    }

    #[test]
    fn kernels_that_write_nothing_back_tell_of_dram_alone() {
        let state = State::parse("8192 100 4096 0 0 0 0 0 0", "");
        assert_eq!(
            (state.pool.held, state.moved),
            (Bytes(8192), Moved::default())
        );
        assert_eq!(State::parse("x", "y"), State::default());
    }
}
