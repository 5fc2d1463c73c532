//! Answers that were given, by stack.

use std::sync::atomic::{AtomicU64, Ordering};

/// The most answers that are kept; stacks beyond them are asked of each time.
const MOST: usize = 4096;
/// The places at which an answer may lie.
const NEAR: usize = 16;

/// Hashes with the answer as the lowest bit; 0 where there is none.
static ANSWERS: [AtomicU64; MOST] = [const { AtomicU64::new(0) }; MOST];

/// Returns the hash of a stack, never 0 or 1 (FNV-1a, by words).
pub fn hash(addresses: &[u64]) -> u64 {
    let mix = |hash: u64, word: &u64| (hash ^ word).wrapping_mul(0x0100_0000_01b3).rotate_left(29);
    addresses.iter().fold(0xcbf2_9ce4_8422_2325, mix) | 2
}

fn places(hash: u64) -> impl Iterator<Item = &'static AtomicU64> {
    let first = (hash >> 32) as usize;
    (0..NEAR).map(move |step| &ANSWERS[(first + step) % MOST])
}

/// Returns the answer for a stack, if it was given.
pub fn answer(hash: u64) -> Option<bool> {
    let own = |place: &&AtomicU64| place.load(Ordering::Relaxed) & !1 == hash & !1;
    places(hash)
        .find(own)
        .map(|place| place.load(Ordering::Relaxed) & 1 == 1)
}

/// Keeps an answer, if there is room.
pub fn keep(hash: u64, chosen: bool) {
    let value = hash & !1 | u64::from(chosen);
    for place in places(hash) {
        if place
            .compare_exchange(0, value, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
        {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_found_again() {
        let stack = |number: u64| [7, number, 9];
        for number in 0..500 {
            assert_eq!(answer(hash(&stack(number))), None);
            keep(hash(&stack(number)), number % 3 == 0);
        }
        for number in 0..500 {
            assert_eq!(
                answer(hash(&stack(number))),
                Some(number % 3 == 0),
                "{number}"
            );
        }
        assert_ne!(hash(&[1, 2]), hash(&[2, 1]));
        assert!(hash(&[]) > 1);
    }
}
