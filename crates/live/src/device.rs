//! How fast the device behind a directory is, by itself: reads and writes past the page cache.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};
use terrace_base::{Context, Result};
use terrace_policy::PAGE_BYTES;

use crate::probe::{median, shuffled};

const PAGE: usize = PAGE_BYTES as usize;
/// The file that is read and written.
const FILE: usize = 128 << 20;
/// Bytes of a contiguous transfer: what most block layers let through as one request.
const LARGE: usize = 128 << 10;
/// Requests at a time.
const DEPTHS: [usize; 6] = [1, 2, 4, 8, 16, 32];
/// So long each depth is measured.
const SPAN: Duration = Duration::from_millis(400);

/// What a device was found to do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// Latency of a read of 4 KiB, nothing else under way: the mean, in nanoseconds.
    pub read_ns: f64,
    /// Latency of a write of 4 KiB, likewise.
    pub write_ns: f64,
    /// Random reads of 4 KiB a second, by how many are under way.
    pub reads: Vec<Depth>,
    /// Bytes a second of contiguous reads of 128 KiB, four at a time.
    pub read_bandwidth: f64,
    /// Bytes a second of contiguous writes of 128 KiB, four at a time.
    pub write_bandwidth: f64,
}

/// The throughput at one depth.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Depth {
    /// Reads under way.
    pub depth: usize,
    /// Reads that ended in a second.
    pub per_second: f64,
}

impl Device {
    /// Of several measurements the median of each figure; none of none.
    pub(crate) fn median(several: &[Self]) -> Option<Self> {
        let of = |figure: &dyn Fn(&Self) -> f64| median(several.iter().map(figure).collect());
        let reads = several.first()?.reads.iter().enumerate();
        Some(Self {
            read_ns: of(&|one| one.read_ns),
            write_ns: of(&|one| one.write_ns),
            reads: reads
                .map(|(index, depth)| Depth {
                    depth: depth.depth,
                    per_second: of(&|one| one.reads[index].per_second),
                })
                .collect(),
            read_bandwidth: of(&|one| one.read_bandwidth),
            write_bandwidth: of(&|one| one.write_bandwidth),
        })
    }

    /// How many reads it serves at the same time, each as fast as a single one: its throughput,
    /// at best, times its latency.
    pub fn channels(&self) -> f64 {
        let best = self.reads.iter().map(|depth| depth.per_second);
        (best.fold(0.0, f64::max) * self.read_ns / 1e9).max(1.0)
    }
}

/// Measures the device on which `directory` lies, with a file that is gone again afterwards,
/// whatever happens.
///
/// # Errors
/// A failure where there is no room for the file, or it cannot be read past the page cache.
pub fn measure(directory: &Path) -> Result<Device> {
    let why = || {
        format!(
            "cannot measure the device of {}; name another with --tier",
            directory.display()
        )
    };
    let file = scratch(directory).or_fail(why)?;
    let reads = DEPTHS.map(|depth| throughput(&file, depth, PAGE, Kind::Read));
    let reads = reads.into_iter().collect::<io::Result<Vec<_>>>();
    let reads = reads.or_fail(why)?;
    let transfer = |kind| throughput(&file, 4, LARGE, kind).or_fail(why);
    let (large_reads, large_writes) = (transfer(Kind::Read)?, transfer(Kind::Write)?);
    Ok(Device {
        read_ns: reads[0].latency_ns,
        write_ns: throughput(&file, 1, PAGE, Kind::Write)
            .or_fail(why)?
            .latency_ns,
        reads: DEPTHS
            .iter()
            .zip(&reads)
            .map(|(&depth, found)| Depth {
                depth,
                per_second: found.per_second,
            })
            .collect(),
        read_bandwidth: large_reads.per_second * LARGE as f64,
        write_bandwidth: large_writes.per_second * LARGE as f64,
    })
}

/// A file full of noise that has no name, so that it ends with us.
fn scratch(directory: &Path) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_TMPFILE | libc::O_DIRECT)
        .mode(0o600)
        .open(directory)?;
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

/// Transfers of `size` bytes, `depth` at a time: of a page at random, larger ones in order.
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
