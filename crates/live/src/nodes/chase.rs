//! What a node costs: the time of a load by a short chase of pointers, and of a page that moves.

use std::hint::black_box;
use std::time::{Duration, Instant};

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use terrace_base::{Bytes, median};
use terrace_policy::migration::Costs;
use terrace_policy::{PAGE_BYTES, Page, Space};

use super::binding::{bind_mapping, move_pages};
use super::topology;
use crate::system::memory::Mapping;

/// Memory that is chased through: more than most last-level caches hold.
const AREA: Bytes = Bytes(64 << 20);
/// Loads of a chase.
const LOADS: u32 = 1 << 18;
/// Bytes of a line.
const LINE: usize = 64;
/// Pages that are moved to know what that costs.
const MOVED: usize = 128;
/// How often they go there and back.
const ROUNDS: usize = 3;

/// Measures the time of a load from a node that waits for the load before, in nanoseconds; `None`
/// where the node has no room, or memory cannot be bound to it.
pub fn latency_ns(node: u32) -> Option<f64> {
    let nodes = topology::read();
    let free = nodes.iter().find(|found| found.id == node)?.free;
    // The rest is for others.
    if free.0 < AREA.0 * 2 {
        return None;
    }
    let mut area = Mapping::new(AREA.0 as usize, libc::MAP_PRIVATE).ok()?;
    bind_mapping(&area, node).ok()?;
    let words = words(&mut area);
    let next = link(words);
    let began = Instant::now();
    black_box(chase(words, next, LOADS));
    Some(began.elapsed().as_nanos() as f64 / f64::from(LOADS))
}

/// Measures what moves between two nodes cost, and what an access to the slow one takes longer;
/// nothing where that cannot be measured.
pub(crate) fn costs(fast: u32, slow: u32) -> Costs {
    let slower = latency_ns(slow).zip(latency_ns(fast));
    let slower = slower.map_or(0.0, |(slow, fast)| (slow - fast).max(0.0));
    let (promotion, demotion) = moves(fast, slow).unwrap_or_default();
    let line_ps = (slower * 1000.0) as u64;
    Costs {
        line_ps,
        // Stores are not measured, and hint faults do not tell them from loads.
        written_line_ps: line_ps,
        promotion,
        demotion,
        batch: Duration::ZERO,
        // Watching has its own pace here, whatever the policy asks for.
        sample: Duration::ZERO,
    }
}

/// Returns the time of a page to the fast node, and to the slow one.
fn moves(fast: u32, slow: u32) -> Option<(Duration, Duration)> {
    let mut area = Mapping::new(MOVED * PAGE_BYTES as usize, libc::MAP_PRIVATE).ok()?;
    words(&mut area).fill(1);
    let first = Page::of(area.start().as_ptr() as u64).0;
    let pages: Vec<u64> = (first..first + MOVED as u64).collect();
    let mut status = Vec::new();
    let mut go = |node| {
        let began = Instant::now();
        move_pages(Space(std::process::id()), &pages, Some(node), &mut status).ok()?;
        Some(began.elapsed().as_secs_f64() / MOVED as f64)
    };
    go(slow)?;
    let (mut up, mut down) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        up.push(go(fast)?);
        down.push(go(slow)?);
    }
    let time = |times: Vec<f64>| Duration::from_secs_f64(median(times));
    Some((time(up), time(down)))
}

fn words(area: &mut Mapping) -> &mut [u64] {
    let words = area.bytes() / size_of::<u64>();
    // SAFETY: the mapping is readable, writable, zeroed and aligned, and its caller uses it by this
    // slice alone.
    unsafe { std::slice::from_raw_parts_mut(area.start().as_ptr().cast(), words) }
}

/// Links the first words of all lines to one circle in an order by chance, and returns where it
/// begins.
fn link(words: &mut [u64]) -> usize {
    const STEP: usize = LINE / size_of::<u64>();
    let lines = words.len() / STEP;
    // Sattolo's algorithm: one circle.
    let mut order: Vec<u32> = (0..lines as u32).collect();
    let mut random = SplitMix64::seed_from_u64(1);
    for last in (1..lines).rev() {
        order.swap(last, (random.next_u64() % last as u64) as usize);
    }
    for (line, next) in order.into_iter().enumerate() {
        words[line * STEP] = (next as usize * STEP) as u64;
    }
    0
}

fn chase(words: &[u64], start: usize, loads: u32) -> usize {
    (0..loads).fold(start, |at, _| words[at] as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chase_goes_through_all_lines_before_it_repeats() {
        let mut words = vec![0_u64; 8 * 100];
        let start = link(&mut words);
        let mut met = std::collections::BTreeSet::new();
        for loads in 0..100 {
            met.insert(chase(&words, start, loads));
        }
        assert_eq!(met.len(), 100);
        assert_eq!(chase(&words, start, 100), start);
    }
}
