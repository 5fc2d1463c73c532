//! Changes to the bytes of a pool. What is changed within something that has a check can have it
//! repaired, so that what lies behind the check is met, too.

use crate::checksum::checksum;
use crate::input::Input;

/// The most changes to a pool.
const CHANGES: usize = 24;

/// Changes a pool as the input says.
pub fn damage(pool: &mut [u8], input: &mut Input) {
    let filled: Vec<usize> = (0..pool.len())
        .step_by(8)
        .filter(|&at| word(pool, at) != 0)
        .collect();
    for _ in 0..CHANGES {
        if input.is_empty() {
            return;
        }
        change(pool, &filled, input);
    }
}

fn change(pool: &mut [u8], filled: &[usize], input: &mut Input) {
    let how = input.byte();
    // Beside a word that is filled there may be one that has a meaning as well.
    let beside = [0, 0, 0, 8][usize::from(how >> 6)];
    let at = (filled[input.below(filled.len())] + beside) % pool.len();
    let old = word(pool, at);
    let new = match how % 6 {
        0 => old ^ 1 << (input.byte() % 64),
        1 => old.wrapping_add(input.byte() as i8 as u64),
        2 => input.word::<1>(),
        3 => input.word::<3>() * 8,
        4 => word(pool, filled[input.below(filled.len())]),
        _ => input.word::<8>(),
    };
    let whole: Vec<&Checked> = CHECKED.iter().filter(|of| of.is_whole(pool, at)).collect();
    set(pool, at, new);
    if how & 32 == 0 {
        whole.iter().for_each(|of| of.repair(pool, at));
    }
}

/// Something of the format that has a check: how many words it has, which of them the check is of,
/// and which bits of the last are the check.
struct Checked {
    words: usize,
    of: std::ops::Range<usize>,
    bits: std::ops::Range<u32>,
}

/// Lines (intents, and the beginning of the header), objects' records, roots, and words with a
/// number.
const CHECKED: [Checked; 4] = [
    Checked {
        words: 8,
        of: 0..7,
        bits: 0..64,
    },
    Checked {
        words: 4,
        of: 0..3,
        bits: 0..32,
    },
    Checked {
        words: 16,
        of: 1..15,
        bits: 0..64,
    },
    Checked {
        words: 1,
        of: 0..0,
        bits: 48..64,
    },
];

impl Checked {
    fn is_whole(&self, pool: &[u8], at: usize) -> bool {
        let last = self.last(at);
        last < pool.len() && word(pool, last) != 0 && self.checked(pool, at) == word(pool, last)
    }

    fn repair(&self, pool: &mut [u8], at: usize) {
        let last = self.checked(pool, at);
        set(pool, self.last(at), last);
    }

    fn first(&self, at: usize) -> usize {
        at / (self.words * 8) * self.words * 8
    }

    fn last(&self, at: usize) -> usize {
        self.first(at) + (self.words - 1) * 8
    }

    /// The last word, with the check that it should have.
    fn checked(&self, pool: &[u8], at: usize) -> u64 {
        let (first, last) = (self.first(at), word(pool, self.last(at)));
        let mask = (u64::MAX >> (64 - self.bits.len())) << self.bits.start;
        let mut words: Vec<u64> = self.of.clone().map(|i| word(pool, first + i * 8)).collect();
        if mask != u64::MAX {
            let rest = last & !mask;
            words.push(rest >> mask.trailing_ones());
        }
        let sum = checksum(first as u64, &words) << self.bits.start;
        last & !mask | sum & mask
    }
}

fn word(pool: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(pool[at..at + 8].try_into().expect("eight bytes"))
}

fn set(pool: &mut [u8], at: usize, word: u64) {
    pool[at..at + 8].copy_from_slice(&word.to_le_bytes());
}
