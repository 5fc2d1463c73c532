//! Measures the device behind a directory by itself: reads and writes past the page cache.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use terrace_base::unnamed::unnamed;
use terrace_base::{Context, Result};
use terrace_policy::PAGE_BYTES;

use crate::measure::probe::shuffled;

const PAGE: usize = PAGE_BYTES as usize;
/// Size of the file that is read and written.
const FILE: usize = 128 << 20;
/// Bytes of a contiguous transfer, which most block layers pass on as one request.
const LARGE: usize = 128 << 10;
/// Numbers of requests under way that are measured.
const DEPTHS: [usize; 6] = [1, 2, 4, 8, 16, 32];
/// Time for which each depth is measured.
const SPAN: Duration = Duration::from_millis(400);

/// Measurements of a device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// Mean latency of a read of 4 KiB with nothing else under way, in nanoseconds.
    pub read_ns: f64,
    /// Mean latency of a write of 4 KiB with nothing else under way, in nanoseconds.
    pub write_ns: f64,
    /// Throughput of random reads of 4 KiB by the number under way.
    pub reads: Vec<Depth>,
    /// Throughput of contiguous reads of 128 KiB, four at a time, in bytes a second.
    #[schemars(extend("unit" = "bytes/s"))]
    pub read_bandwidth: f64,
    /// Throughput of contiguous writes of 128 KiB, four at a time, in bytes a second.
    #[schemars(extend("unit" = "bytes/s"))]
    pub write_bandwidth: f64,
}

/// Throughput at one depth.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Depth {
    /// Reads under way.
    pub depth: usize,
    /// Completed reads a second.
    pub per_second: f64,
}

impl Device {
    /// Returns how many reads the device serves at the same time, each as fast as a single one: its
    /// best throughput times its latency.
    pub fn channels(&self) -> f64 {
        let best = self.reads.iter().map(|depth| depth.per_second);
        (best.fold(0.0, f64::max) * self.read_ns / 1e9).max(1.0)
    }
}

/// Measures the device of `directory`, with an unnamed file that vanishes afterwards in any case.
///
/// # Errors
/// A failure if there is no room for the file, or it cannot be read past the page cache.
pub fn measure(directory: &Path) -> Result<Device> {
    let why = || {
        format!(
            "cannot measure the device of {}; name another with ‘tier’",
            directory.display()
        )
    };
    let file = scratch(directory).or_fail(why)?;
    let measure = |depth, size, kind| throughput(&file, depth, size, kind).or_fail(why);
    let reads = DEPTHS.map(|depth| measure(depth, PAGE, Kind::Read));
    let reads = reads.into_iter().collect::<Result<Vec<_>>>()?;
    let bandwidth =
        |kind| -> Result<f64> { Ok(measure(4, LARGE, kind)?.per_second * LARGE as f64) };
    let (read_bandwidth, write_bandwidth) = (bandwidth(Kind::Read)?, bandwidth(Kind::Write)?);
    let depths = DEPTHS.iter().zip(&reads).map(|(&depth, found)| Depth {
        depth,
        per_second: found.per_second,
    });
    Ok(Device {
        read_ns: reads[0].latency_ns,
        write_ns: measure(1, PAGE, Kind::Write)?.latency_ns,
        reads: depths.collect(),
        read_bandwidth,
        write_bandwidth,
    })
}

/// Makes an unnamed file, which ends with this process, whose transfers bypass the page cache.
fn direct(directory: &Path) -> io::Result<File> {
    let file = unnamed(directory)?;
    let flags = fcntl_getfl(&file)?;
    fcntl_setfl(&file, flags | OFlags::DIRECT)?;
    Ok(file)
}

/// Makes such a file, full of noise.
fn scratch(directory: &Path) -> io::Result<File> {
    let file = direct(directory)?;
    let mut block = Aligned::new(1 << 20);
    let mut noise = SplitMix64::seed_from_u64(3);
    for word in block.bytes().as_chunks_mut::<8>().0 {
        *word = noise.next_u64().to_ne_bytes();
    }
    let mut writer = &file;
    for _ in 0..FILE / block.bytes().len() {
        writer.write_all(block.bytes())?;
    }
    file.sync_all()?;
    Ok(file)
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Read,
    Write,
}

struct Throughput {
    per_second: f64,
    latency_ns: f64,
}

/// Makes transfers of `size` bytes, `depth` at a time: pages at random, larger ones in order.
fn throughput(file: &File, depth: usize, size: usize, kind: Kind) -> io::Result<Throughput> {
    let order = match size {
        PAGE => shuffled(FILE / size),
        _ => (0..FILE / size).collect(),
    };
    let (next, over) = (AtomicU64::new(0), AtomicBool::new(false));
    let begun = Instant::now();
    let one = || -> io::Result<Vec<f64>> {
        let mut buffer = Aligned::new(size);
        let mut times = Vec::new();
        while !over.load(Ordering::Relaxed) {
            let index = next.fetch_add(1, Ordering::Relaxed) as usize;
            let offset = (order[index % order.len()] * size) as u64;
            let since = Instant::now();
            match kind {
                Kind::Read => file.read_exact_at(buffer.bytes(), offset)?,
                Kind::Write => file.write_all_at(buffer.bytes(), offset)?,
            }
            times.push(since.elapsed().as_nanos() as f64);
            if begun.elapsed() > SPAN {
                over.store(true, Ordering::Relaxed);
            }
        }
        Ok(times)
    };
    let times = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..depth).map(|_| scope.spawn(one)).collect();
        let times = workers.into_iter().map(|worker| {
            let ended = worker.join();
            ended.unwrap_or_else(|_| Err(io::Error::other("a thread that measured ended")))
        });
        times.collect::<io::Result<Vec<_>>>()
    })?
    .concat();
    Ok(Throughput {
        per_second: times.len() as f64 / begun.elapsed().as_secs_f64(),
        latency_ns: times.iter().sum::<f64>() / times.len().max(1) as f64,
    })
}

/// A buffer aligned to a page, as transfers past the page cache need it.
struct Aligned {
    bytes: Vec<u8>,
    start: usize,
    size: usize,
}

impl Aligned {
    fn new(size: usize) -> Self {
        let bytes = vec![0; size + PAGE];
        let start = bytes.as_ptr().align_offset(PAGE);
        Self { bytes, start, size }
    }

    fn bytes(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.start + self.size]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_past_the_page_cache_and_leaves_no_name() {
        // On a disk: a temporary directory may be DRAM.
        let directory = tempfile::tempdir_in("/var/tmp").unwrap();
        let file = direct(directory.path()).expect("a file system with O_DIRECT at /var/tmp");
        assert!(fcntl_getfl(&file).unwrap().contains(OFlags::DIRECT));
        assert!(file.write_all_at(&[1], 0).is_err(), "one byte is no block");
        let mut block = Aligned::new(PAGE);
        file.write_all_at(block.bytes(), 0).unwrap();
        assert_eq!(directory.path().read_dir().unwrap().count(), 0);
    }
}
