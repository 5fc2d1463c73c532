//! A knapsack: the sites whose gains, each by itself, sum up to most. It asks of each site once,
//! and so does not see what sites do to each other.
//!
//! Sizes are rounded up to a 4096th of the fast memory, so that the time is bounded: the choice
//! always fits, and is the best of those that fit rounded.

use super::{Evaluation, Found, Room};

/// The parts of the fast memory.
const PARTS: u64 = 4096;

/// Returns the placement of most summed gains.
pub fn knapsack(room: &Room, evaluation: &mut impl Evaluation) -> Found {
    let slow = evaluation.time();
    let mut gain = |site: usize| {
        evaluation.toggle(site);
        let time = evaluation.time();
        evaluation.toggle(site);
        slow.saturating_sub(time)
    };
    let gains: Vec<u64> = (0..room.bytes.len()).map(&mut gain).collect();
    let chosen = fill(room, &gains);
    chosen.iter().for_each(|site| evaluation.toggle(*site));
    Found {
        time: evaluation.time(),
        evaluations: 2 + gains.len() as u64,
        chosen,
    }
}

/// Returns the sites with the largest sum of gains among those whose rounded sizes fit, by dynamic
/// programming.
fn fill(room: &Room, gains: &[u64]) -> Vec<usize> {
    let part = room.fast.div_ceil(PARTS).max(1);
    let parts = (room.fast / part) as usize;
    // By parts that may be used: the largest sum so far.
    let mut best = vec![0_u64; parts + 1];
    let mut taken = Vec::with_capacity(gains.len());
    for (bytes, gain) in room.bytes.iter().zip(gains) {
        let size = usize::try_from(bytes.div_ceil(part)).unwrap_or(usize::MAX);
        let mut takes = vec![false; parts + 1];
        for used in (size..=parts).rev() {
            let with = best[used - size].saturating_add(*gain);
            takes[used] = with > best[used];
            best[used] = best[used].max(with);
        }
        taken.push(takes);
    }
    let mut used = parts;
    let mut chosen = Vec::new();
    for (site, takes) in taken.iter().enumerate().rev() {
        if takes[used] {
            chosen.push(site);
            used -= room.bytes[site].div_ceil(part) as usize;
        }
    }
    chosen.reverse();
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The largest sum of all subsets that fit, rounded as above.
    fn slow(room: &Room, gains: &[u64]) -> u64 {
        let part = room.fast.div_ceil(PARTS).max(1);
        let subsets = (0..1_u32 << gains.len()).filter_map(|subset| {
            let members = (0..gains.len()).filter(|site| subset >> site & 1 == 1);
            let parts: u64 = members
                .clone()
                .map(|site| room.bytes[site].div_ceil(part))
                .sum();
            (parts <= room.fast / part).then(|| members.map(|site| gains[site]).sum())
        });
        subsets.max().unwrap_or(0)
    }

    proptest! {
        #[test]
        fn no_other_choice_sums_up_to_more(
            sites in prop::collection::vec((0..20_000_u64, 0..50_u64), 0..9), fast in 0..60_000_u64,
        ) {
            let (bytes, gains): (_, Vec<u64>) = sites.into_iter().unzip();
            check(bytes, &gains, fast)?;
        }

        /// Sites that fill fast memory to the byte, or have a byte too many: fewer than a part.
        #[test]
        fn what_is_too_large_by_a_byte_does_not_fit(
            sites in prop::collection::vec((0..5_u64, 0..3_u64, 0..50_u64), 0..9), fast in 0..60_000_u64,
        ) {
            let bytes = sites.iter().map(|(quarters, more, _)| quarters * fast / 4 + more).collect();
            let gains: Vec<u64> = sites.iter().map(|(.., gain)| *gain).collect();
            check(bytes, &gains, fast)?;
        }
    }

    fn check(bytes: Vec<u64>, gains: &[u64], fast: u64) -> Result<(), TestCaseError> {
        let room = Room { bytes, fast };
        let chosen = fill(&room, gains);
        prop_assert!(chosen.iter().map(|site| room.bytes[*site]).sum::<u64>() <= fast);
        prop_assert_eq!(
            chosen.iter().map(|site| gains[*site]).sum::<u64>(),
            slow(&room, gains)
        );
        Ok(())
    }
}
