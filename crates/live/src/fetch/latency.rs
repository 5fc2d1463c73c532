//! The time that the devices of the tier take for a read, measured while a program runs.
//!
//! Linux, Documentation/block/stat.rst: `stat` has the reads that a device has completed and the
//! sum of their times in milliseconds, waits in its queue included. Reads wait for one another
//! while pages are fetched ahead (260 us were measured, where a single read takes 53), so only
//! periods with few fetches count, and of these the one with the least mean.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::time::Duration;

use crate::fetch::reads::counters;
use crate::tier::is_memory;

/// Reads in a period: of 50 us each, they take 25 ms, which can be told in milliseconds.
const ENOUGH: u64 = 512;
/// At most one page in this many reads may be a fetch.
const FEW: u64 = 8;

/// The reads of the devices under swap areas.
#[derive(Debug)]
pub struct Latency {
    stats: Vec<File>,
    /// Reads and their milliseconds when the present period began.
    counted: (u64, u64),
    /// Pages that had been fetched by then.
    fetched: u64,
    least: Option<Duration>,
}

impl Latency {
    /// Finds the devices under `areas`, without memory: its costs are not those of its reads.
    pub fn of(areas: &[PathBuf]) -> Self {
        let devices: Vec<PathBuf> = areas
            .iter()
            .filter(|area| !is_memory(area))
            .cloned()
            .collect();
        let stats = counters(&devices, "stat");
        Self {
            counted: total(&stats),
            stats,
            fetched: 0,
            least: None,
        }
    }

    /// Ends a period if it has enough reads; returns the least mean time of a read if it became
    /// less. `fetched` pages were fetched so far.
    pub fn look(&mut self, fetched: u64) -> Option<Duration> {
        let (reads, millis) = total(&self.stats);
        let (count, took) = (reads - self.counted.0, millis - self.counted.1);
        if count < ENOUGH {
            return None;
        }
        self.counted = (reads, millis);
        let ahead = fetched - std::mem::replace(&mut self.fetched, fetched);
        if ahead * FEW > count {
            return None;
        }
        let mean = Duration::from_secs_f64(took as f64 / 1000.0 / count as f64);
        if self.least.is_some_and(|least| least <= mean) {
            return None;
        }
        self.least = Some(mean);
        self.least
    }
}

/// Returns the reads of all devices and their milliseconds, without devices that cannot be read.
fn total(stats: &[File]) -> (u64, u64) {
    let all = stats.iter().filter_map(|stat| {
        let mut text = [0; 256];
        let length = stat.read_at(&mut text, 0).ok()?;
        of_one(std::str::from_utf8(&text[..length]).ok()?)
    });
    all.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
}

/// Parses `stat`: reads, merged reads, sectors, milliseconds, and what concerns writes.
fn of_one(stat: &str) -> Option<(u64, u64)> {
    let mut fields = stat.split_whitespace().map(str::parse);
    Some((fields.next()?.ok()?, fields.nth(2)?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_mean_of_all_periods() {
        let stat = tempfile::tempfile().unwrap();
        let write = |reads: u64, millis: u64| {
            stat.set_len(0).unwrap();
            let text = format!("{reads:8} 0 99999 {millis:8} 5 0 40 2 0 8 9\n");
            stat.write_all_at(text.as_bytes(), 0).unwrap();
        };
        write(100, 50);
        let mut latency = Latency::of(&["/nonexistent".into()]);
        latency.stats.push(stat.try_clone().unwrap());
        latency.counted = total(&latency.stats);
        assert_eq!(latency.counted, (100, 50));
        write(600, 60);
        assert_eq!(latency.look(0), None, "too few");
        write(1100, 130);
        assert_eq!(latency.look(100), Some(Duration::from_micros(80)));
        write(2100, 230);
        assert_eq!(latency.look(100), None, "100 us are more");
        write(3100, 240);
        assert_eq!(latency.look(300), None, "these were fetched");
        write(4100, 300);
        assert_eq!(latency.look(400), Some(Duration::from_micros(60)));
        stat.set_len(0).unwrap();
        assert_eq!(total(&latency.stats), (0, 0));
    }
}
