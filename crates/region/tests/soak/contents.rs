//! What a page holds in a version, which the program and the verifier both know.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// Words of a page.
pub const WORDS: usize = 512;

/// Versions that are multiples of this are zeros: of a page that was never touched, or dropped.
pub const DROPPED: u32 = 64;

/// Versions that are multiples of this are written as a whole; of the others some are.
const WHOLE: u32 = 8;

/// What brings a page to a version.
pub enum Change {
    /// All words are written.
    Whole(Box<[u64; WORDS]>),
    /// One word is written.
    Word(usize, u64),
}

/// Returns what brings a page to a version from the one before it.
pub fn change(seed: u64, page: u32, version: u32) -> Change {
    let label = u64::from(page) << 32 | u64::from(version);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed.rotate_left(17) ^ label);
    if version.is_multiple_of(DROPPED) {
        return Change::Whole(Box::new([0; WORDS]));
    }
    let kind = random.next_u64() % 16;
    if kind >= 6 && !version.is_multiple_of(WHOLE) {
        let at = 1 + random.next_u64() as usize % (WORDS - 1);
        return Change::Word(at, random.next_u64() >> (8 * (kind % 8)));
    }
    let repeated = random.next_u64() % 4;
    let mut words = match kind % 6 {
        0 => return Change::Whole(Box::new([0; WORDS])),
        1 => [repeated; WORDS],
        // Few words of noise among zeros, and small numbers: schemes pack both.
        2 => std::array::from_fn(|at| match at % 64 {
            0 => random.next_u64(),
            _ => 0,
        }),
        3 => std::array::from_fn(|_| random.next_u64() % 3),
        _ => std::array::from_fn(|_| random.next_u64()),
    };
    words[0] = label;
    Change::Whole(Box::new(words))
}

/// Returns what a page holds in a version.
pub fn contents(seed: u64, page: u32, version: u32) -> Box<[u64; WORDS]> {
    let mut later = Vec::new();
    for version in (0..=version).rev() {
        match change(seed, page, version) {
            Change::Word(at, word) => later.push((at, word)),
            Change::Whole(mut words) => {
                for (at, word) in later.into_iter().rev() {
                    words[at] = word;
                }
                return words;
            }
        }
    }
    unreachable!("the first version is whole")
}

/// Whether this may be the first word of a page in some version.
pub fn may_begin(page: u32, word: u64) -> bool {
    word == 0 || word >> 32 == u64::from(page)
}
