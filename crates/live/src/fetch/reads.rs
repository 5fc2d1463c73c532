//! Reads in flight at the devices of the tier.
//!
//! Linux, Documentation/ABI/stable/sysfs-block: `inflight` has the numbers of reads and writes that
//! a device has not completed. Advice returns when its reads are submitted, so this is the only
//! place that tells how many wait.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Reads in flight below which more may be submitted. With 16, 32, 64 and no bound, a pass by
/// columns took 2.5, 2.4, 2.3 and 2.2 s, and the 90th percentile of another thread's demand faults
/// was 0.8, 1.0, 1.5 and 4.9 ms (0.13 alone): medians of five, and means of two, on a disk of
/// 66,000 reads a second of 53 us.
const FEW: u64 = 32;
/// The same while fetches make way for demand faults, and the pages that are then submitted at
/// once. Beside a pass that was fetched ahead, the 99th percentile of another thread's demand
/// faults was 0.74 to 1.25 times that beside the pass without fetches, and 4 to 5 times with
/// [`FEW`]; the pass itself was 3 times as fast as without, and 8 to 11 times with [`FEW`] (three
/// pairs, on the same disk).
const FEWER: u64 = 4;
const AT_ONCE: usize = 2;
/// Pause between two looks at the devices.
const PAUSE: Duration = Duration::from_micros(20);
/// Longest wait: other programs may keep a device busy all the time.
const MOST_WAIT: Duration = Duration::from_millis(2);

/// The devices under swap areas.
#[derive(Clone, Debug)]
pub struct Reads {
    counters: Arc<[File]>,
    makes_way: Arc<AtomicBool>,
}

impl Reads {
    /// Finds the devices under `areas`: swap files, or devices. Leaves out those whose reads the
    /// kernel does not count, such as compressed memory.
    pub fn of(areas: &[PathBuf]) -> Self {
        Self {
            counters: counters(areas, "inflight").into(),
            makes_way: Arc::default(),
        }
    }

    /// Sets whether fetches make way for demand faults, for all clones of this.
    pub fn make_way(&self, makes_way: bool) {
        self.makes_way.store(makes_way, Ordering::Relaxed);
    }

    /// Returns how many of `pages` pages may be submitted at once.
    pub fn at_once(&self, pages: usize) -> usize {
        match self.makes_way.load(Ordering::Relaxed) {
            true => pages.min(AT_ONCE),
            false => pages,
        }
    }

    /// Waits until few reads are in flight, so that a read that is submitted next hardly waits.
    pub fn wait_for_few(&self) {
        let since = Instant::now();
        while !self.are_few() && since.elapsed() < MOST_WAIT {
            std::thread::sleep(PAUSE);
        }
    }

    /// Whether few reads are in flight.
    fn are_few(&self) -> bool {
        let few = match self.makes_way.load(Ordering::Relaxed) {
            true => FEWER,
            false => FEW,
        };
        self.in_flight() < few
    }

    /// Returns the largest number of reads in flight at one device.
    fn in_flight(&self) -> u64 {
        self.counters.iter().map(in_flight).max().unwrap_or(0)
    }
}

/// Opens the file `name` of each device under `areas` in sysfs, where there is one.
pub(crate) fn counters(areas: &[PathBuf], name: &str) -> Vec<File> {
    let mut devices: Vec<u64> = areas.iter().filter_map(|area| device(area)).collect();
    devices.sort_unstable();
    devices.dedup();
    let files = devices.into_iter().filter_map(|device| {
        let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
        File::open(format!("/sys/dev/block/{major}:{minor}/{name}")).ok()
    });
    files.collect()
}

/// Returns the number of the device that a swap area lies on.
pub(crate) fn device(area: &Path) -> Option<u64> {
    let found = fs::metadata(area).ok()?;
    let is_device = found.file_type().is_block_device();
    Some(if is_device { found.rdev() } else { found.dev() })
}

/// Reads the number of reads in flight from an `inflight` file; 0 if it cannot be read.
fn in_flight(counter: &File) -> u64 {
    let mut text = [0; 64];
    let length = counter.read_at(&mut text, 0).unwrap_or(0);
    let text = std::str::from_utf8(&text[..length]).unwrap_or_default();
    let reads = text.split_whitespace().next();
    reads.and_then(|reads| reads.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_number_is_the_reads() {
        let file = tempfile::tempfile().unwrap();
        for (text, reads) in [("       7        2\n", 7), ("", 0), ("x", 0)] {
            file.set_len(0).unwrap();
            file.write_all_at(text.as_bytes(), 0).unwrap();
            assert_eq!(in_flight(&file), reads, "{text:?}");
        }
    }

    #[test]
    fn areas_without_a_device_are_never_busy() {
        let reads = Reads::of(&["/proc/swaps".into(), "/nonexistent".into()]);
        for makes_way in [false, true] {
            reads.make_way(makes_way);
            assert!(reads.are_few());
        }
    }
}
