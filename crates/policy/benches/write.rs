//! Measures the speed of each write scheme: pages whose place holds what they were before one line
//! in eight was stored to, one thread.
//!
//! `cargo bench -p terrace-policy --bench write -- [NAME ...]` prints, for the schemes named (all
//! without names) and for three kinds of pages, the median of several runs in GB of pages a second,
//! the same of reading the pages back, and the share of the pages' cells that is written. Schemes
//! take turns, so that a neighbour's load hits all.

mod common;

use std::hint::black_box;
use std::time::Instant;

use common::{unit, wanted};
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use terrace_policy::write::{Contents, LINE_BYTES, Place, REGISTRY, Spec, Written};

const PAGE: usize = size_of::<Contents>();
/// Twice the pages of a second-level cache.
const PAGES: usize = 512;
const RUNS: usize = 9;
const SEED: u64 = 1;

/// Kinds of pages, by the share of their words of 4 bytes that are zero.
const KINDS: [(&str, f64); 3] = [("zeros", 1.0), ("half zeros", 0.5), ("random", 0.0)];

fn page(random: &mut SplitMix64, zeros: f64) -> Contents {
    let mut page = [0; PAGE];
    for word in page.chunks_exact_mut(4) {
        if unit(random) >= zeros {
            word.copy_from_slice(&random.next_u32().to_le_bytes());
        }
    }
    page
}

/// Returns the pages with one line in eight stored to.
fn stored_to(pages: &[Contents], random: &mut SplitMix64) -> Vec<Contents> {
    let mut pages = pages.to_vec();
    for line in pages
        .iter_mut()
        .flat_map(|page| page.chunks_exact_mut(LINE_BYTES))
    {
        if random.next_u64().is_multiple_of(8) {
            line[0] ^= 1;
        }
    }
    pages
}

fn main() {
    let entries: Vec<_> = wanted(REGISTRY, |entry| entry.name);
    println!("{PAGES} pages, median of {RUNS} runs");
    println!("scheme        pages          GB/s  (slowest to fastest)  back GB/s   cells");
    for (kind, zeros) in KINDS {
        let mut random = SplitMix64::seed_from_u64(SEED);
        let before: Vec<Contents> = (0..PAGES).map(|_| page(&mut random, zeros)).collect();
        let after = stored_to(&before, &mut random);
        let mut speeds = vec![Vec::new(); entries.len()];
        let mut back = vec![Vec::new(); entries.len()];
        let mut shares = vec![0.0; entries.len()];
        for _ in 0..RUNS {
            for (at, entry) in entries.iter().enumerate() {
                let scheme = Spec::from(*entry).scheme().expect("defaults are allowed");
                let mut places: Vec<Place> = before.iter().copied().map(Place::holding).collect();
                let mut sum = Written::default();
                let start = Instant::now();
                for (page, place) in after.iter().zip(&mut places) {
                    sum += scheme.coder.write(page, place);
                }
                let bytes = (PAGES * PAGE) as f64;
                speeds[at].push(bytes / start.elapsed().as_secs_f64() / 1e9);
                let start = Instant::now();
                let mut page = [0; PAGE];
                for place in &places {
                    scheme.coder.read(place, &mut page);
                    black_box(&page);
                }
                back[at].push(bytes / start.elapsed().as_secs_f64() / 1e9);
                shares[at] = sum.cells as f64 / (8.0 * bytes);
            }
        }
        for (at, entry) in entries.iter().enumerate() {
            let speeds = &mut speeds[at];
            speeds.sort_by(f64::total_cmp);
            back[at].sort_by(f64::total_cmp);
            let back = back[at][RUNS / 2];
            let (median, slowest, fastest) = (speeds[RUNS / 2], speeds[0], speeds[RUNS - 1]);
            let (name, share) = (entry.name, 100.0 * shares[at]);
            println!(
                "{name:<13} {kind:<10} {median:>8.2}  ({slowest:>6.2} to {fastest:>6.2})   {back:>8.2}    {share:>6.1} %"
            );
        }
    }
}
