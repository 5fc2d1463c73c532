//! A program that lives on capacity alone.
//!
//! Here it is anonymous; with `CapacityAllocator::in_directory(c"/mnt/pmem", bytes)` it would be
//! that of a file on persistent memory. Counts words in text that several threads make up.

use std::collections::HashMap;
use std::thread;
use std::time::Instant;

use terrace_heap::CapacityAllocator;

#[global_allocator]
static HEAP: CapacityAllocator = CapacityAllocator::new();

fn count(worker: u64) -> HashMap<String, u64> {
    let mut counts = HashMap::new();
    let mut random = worker;
    for _ in 0..300_000 {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        *counts
            .entry(format!("word {}", (random >> 40) % 50_000))
            .or_default() += 1;
    }
    counts
}

fn main() {
    let begun = Instant::now();
    let workers: Vec<_> = (0..4)
        .map(|worker| thread::spawn(move || count(worker)))
        .collect();
    let mut all: HashMap<String, u64> = HashMap::new();
    for worker in workers {
        for (word, times) in worker.join().expect("counting does not fail") {
            *all.entry(word).or_default() += times;
        }
    }
    println!(
        "{} words, counted {} times in {:.2?}, in {} MiB of capacity",
        all.len(),
        all.values().sum::<u64>(),
        begun.elapsed(),
        HEAP.bytes() >> 20
    );
}
