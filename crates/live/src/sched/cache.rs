//! The last-level cache as programs get it: pointer chases over growing sizes.
//!
//! A chase over S bytes in random order, in a cache that keeps C of them, hits for about C / S of
//! its accesses. So the share of hits, by the time of an access between that of the cache and that
//! of memory, tells C. A virtual machine may get far less than the processor states: other machines
//! are in the same cache.

use std::hint::black_box;
use std::time::{Duration, Instant};

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use terrace_base::{Bytes, median};

use super::machine::stated_cache;

/// Bytes of a line.
const LINE: usize = 64;
/// The least and the most that is chased through.
const SIZES: (usize, usize) = (256 << 10, 96 << 20);
/// Shares of hits by which the size is told: beyond them times differ too little.
const TELLING: (f64, f64) = (0.15, 0.85);
/// Time of a measurement at least, and how many are taken of each size.
const LEAST: Duration = Duration::from_millis(15);
const TIMES: usize = 3;

/// The time of an access.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Access {
    /// Bytes that were chased through.
    pub bytes: u64,
    /// Nanoseconds an access.
    pub ns: f64,
}

/// The last-level cache.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cache {
    /// Size that the processor states, in bytes; null if it states none.
    pub stated_bytes: Option<u64>,
    /// Size that programs get, in bytes.
    pub effective_bytes: u64,
    /// Nanoseconds of an access that hits.
    pub hit_ns: f64,
    /// Nanoseconds of an access that misses.
    pub miss_ns: f64,
    /// Time in milliseconds to fill it again: a pass in random order after its contents were thrown
    /// out, less a pass that hits.
    pub refill_ms: f64,
    /// Accesses by size.
    pub accesses: Vec<Access>,
}

/// A line of memory, which names the next.
#[repr(align(64))]
#[derive(Clone, Copy)]
struct Line(usize);

/// Lines in one cycle in random order.
struct Chase(Vec<Line>);

impl Cache {
    /// Measures the cache on the CPU that this thread runs on, which takes some seconds.
    pub fn measure() -> Self {
        let stated = stated_cache();
        let most = stated.map_or(SIZES.1, |it| (3 * it.0 as usize).min(SIZES.1));
        let sizes: Vec<usize> = sizes(most).collect();
        let accesses: Vec<Access> = sizes.into_iter().map(access).collect();
        let (effective, hit_ns, miss_ns) = effective(&accesses, private_cache());
        Self {
            stated_bytes: stated.map(|it| it.0),
            effective_bytes: effective,
            hit_ns,
            miss_ns,
            refill_ms: refill(effective as usize).as_secs_f64() * 1e3,
            accesses,
        }
    }
}

/// Returns the sizes that are measured: two in each doubling, up to a most.
fn sizes(most: usize) -> impl Iterator<Item = usize> {
    let doubled = std::iter::successors(Some(SIZES.0), |size| Some(size * 2));
    let all = doubled.flat_map(|size| [size, size * 3 / 2]);
    all.take_while(move |size| *size <= most)
}

/// Returns the bytes of the largest cache of one CPU's own: a usual one, if the kernel does not
/// tell.
fn private_cache() -> u64 {
    let path = "/sys/devices/system/cpu/cpu0/cache/index2/size";
    let text = std::fs::read_to_string(path).unwrap_or_default();
    Bytes::parse(text.trim()).map_or(1 << 20, |it| it.0)
}

/// Tells the size of the cache, and the times of a hit and of a miss, by accesses of ascending
/// size; `private` is the size of the cache before it.
fn effective(accesses: &[Access], private: u64) -> (u64, f64, f64) {
    let beyond = accesses.iter().filter(|it| it.bytes > private);
    let hit = beyond.clone().map(|it| it.ns).fold(f64::INFINITY, f64::min);
    let miss = accesses.iter().map(|it| it.ns).fold(0.0, f64::max);
    let share = |it: &Access| (miss - it.ns) / (miss - hit);
    let tells = |it: &&Access| (TELLING.0..=TELLING.1).contains(&share(it));
    let told: Vec<f64> = beyond
        .clone()
        .filter(tells)
        .map(|it| share(it) * it.bytes as f64)
        .collect();
    let hits = beyond
        .filter(|it| share(it) > TELLING.1)
        .map(|it| it.bytes)
        .max();
    match told.is_empty() {
        true => (hits.unwrap_or(private), hit, miss),
        false => (median(told) as u64, hit, miss),
    }
}

/// Measures the time of an access in a chase over so many bytes: the least of several, as others
/// disturb.
fn access(bytes: usize) -> Access {
    let chase = Chase::over(bytes);
    let lines = chase.0.len();
    chase.follow(lines);
    let once = |_| {
        let begin = Instant::now();
        let mut steps = 0;
        while begin.elapsed() < LEAST {
            chase.follow(lines);
            steps += lines;
        }
        begin.elapsed().as_nanos() as f64 / steps as f64
    };
    Access {
        bytes: bytes as u64,
        ns: (0..TIMES).map(once).fold(f64::INFINITY, f64::min),
    }
}

/// Measures the time to fill a cache of so many bytes again.
fn refill(bytes: usize) -> Duration {
    let chase = Chase::over(bytes);
    let lines = chase.0.len();
    let pass = || {
        let begin = Instant::now();
        chase.follow(lines);
        begin.elapsed()
    };
    let once = |_| {
        sweep(&mut vec![0; (2 * bytes).max(SIZES.1) / size_of::<u64>()]);
        let (cold, warm) = (pass(), pass());
        cold.saturating_sub(warm).as_secs_f64()
    };
    Duration::from_secs_f64(median((0..TIMES).map(once)))
}

/// Throws out what is in the caches, by writing to this memory.
pub(crate) fn sweep(memory: &mut [u64]) {
    for word in memory.iter_mut().step_by(LINE / size_of::<u64>()) {
        *word = word.wrapping_add(1);
    }
    black_box(memory);
}

impl Chase {
    fn over(bytes: usize) -> Self {
        let mut lines = vec![Line(0); (bytes / LINE).max(2)];
        let mut order: Vec<usize> = (0..lines.len()).collect();
        let mut random = Xoshiro256PlusPlus::seed_from_u64(bytes as u64);
        for last in (1..order.len()).rev() {
            order.swap(last, random.next_u64() as usize % (last + 1));
        }
        for (place, &line) in order.iter().enumerate() {
            lines[line] = Line(order[(place + 1) % order.len()]);
        }
        Self(lines)
    }

    fn follow(&self, steps: usize) {
        let mut at = 0;
        for _ in 0..steps {
            at = self.0[at].0;
        }
        black_box(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chase_comes_to_every_line() {
        let chase = Chase::over(100 * LINE);
        let mut seen = [false; 100];
        let mut at = 0;
        for _ in 0..100 {
            assert!(!std::mem::replace(&mut seen[at], true));
            at = chase.0[at].0;
        }
        assert_eq!(at, 0);
    }

    #[test]
    fn the_size_is_told_by_shares_of_hits() {
        let cache = 6.0 * f64::from(1 << 20);
        let accesses: Vec<Access> = sizes(SIZES.1)
            .map(|bytes| {
                let hits = (cache / bytes as f64).min(1.0);
                let ns = if bytes <= 1 << 20 {
                    4.0
                } else {
                    12.0 * hits + 90.0 * (1.0 - hits)
                };
                let bytes = bytes as u64;
                Access { bytes, ns }
            })
            .collect();
        let (found, hit, _) = effective(&accesses, 1 << 20);
        assert!((found as f64 / cache - 1.0).abs() < 0.15, "{found}");
        assert_eq!(hit, 12.0);
    }

    #[test]
    fn sizes_double_in_two_steps() {
        let all: Vec<usize> = sizes(1 << 20).collect();
        assert_eq!(
            all.iter().map(|it| it >> 10).collect::<Vec<_>>(),
            [256, 384, 512, 768, 1024]
        );
    }
}
