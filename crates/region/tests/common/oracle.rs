//! Threads that change and check pages of a region. What a page has to hold is known outside of it.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use terrace_region::Region;

/// Bytes of a page.
pub const PAGE: usize = 4096;

/// The contents of a page in a version: zeros at first, then pages of few different words, of
/// noise, and pages that differ from the last version in some bytes alone.
pub fn contents(page: usize, version: u32) -> [u8; PAGE] {
    let mut bytes = [0; PAGE];
    if version == 0 {
        return bytes;
    }
    let base = version - version % 4;
    let mut noise = Xoshiro256PlusPlus::seed_from_u64((page as u64) << 32 | u64::from(base));
    match page % 3 {
        0 => noise.fill_bytes(&mut bytes),
        1 => bytes.fill(base as u8),
        _ => noise.fill_bytes(&mut bytes[..1000]),
    }
    for change in 1..=version % 4 {
        bytes[(page * 31 + change as usize * 700) % PAGE] ^= 0xFF;
    }
    bytes[8..16].copy_from_slice(&(page as u64).to_le_bytes());
    bytes[16..20].copy_from_slice(&version.to_le_bytes());
    bytes
}

/// Has `threads` threads make `steps` steps each over the pages of a region, every one over its own
/// part, and panics at the first page that does not hold what was written to it.
pub fn exercise(region: &mut Region, threads: usize, steps: usize, seed: u64) {
    let pages = region.as_slice().len() / PAGE;
    let parts = region
        .as_mut_slice()
        .chunks_mut(pages.div_ceil(threads) * PAGE);
    std::thread::scope(|scope| {
        for (thread, part) in parts.enumerate() {
            scope.spawn(move || exercise_part(part, steps, seed * 100 + thread as u64));
        }
    });
}

fn exercise_part(part: &mut [u8], steps: usize, seed: u64) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let (pages, _) = part.as_chunks_mut::<PAGE>();
    let mut versions = vec![0; pages.len()];
    let mut next = 0;
    for step in 0..steps {
        // Half of the steps go on with the next page, so that neighbours leave together.
        let draw = random.next_u64();
        next = match draw % 2 {
            0 => (next + 1) % pages.len(),
            _ => (draw >> 32) as usize % pages.len(),
        };
        let expected = contents(next, versions[next]);
        assert!(
            pages[next] == expected,
            "page {next} of thread {seed} at step {step}"
        );
        if draw >> 2 & 1 == 0 {
            versions[next] += 1;
            pages[next] = contents(next, versions[next]);
        }
    }
    for (at, page) in pages.iter().enumerate() {
        assert!(
            *page == contents(at, versions[at]),
            "page {at} of thread {seed} at the end"
        );
    }
}
