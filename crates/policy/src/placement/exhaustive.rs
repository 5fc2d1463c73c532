//! All placements, where there are few sites: the bound of any search.

use super::{Evaluation, Found, Room};

/// The most sites of an exhaustive search: a million placements.
pub const MOST: usize = 20;

/// Returns the best of all placements that fit; none where more than [`MOST`] sites fit by
/// themselves.
pub fn exhaustive(room: &Room, evaluation: &mut impl Evaluation) -> Option<Found> {
    let sites: Vec<usize> = (0..room.bytes.len())
        .filter(|site| room.bytes[*site] <= room.fast)
        .collect();
    if sites.len() > MOST {
        return None;
    }
    let mut best = (evaluation.time(), 0_u32);
    let mut evaluations = 1;
    let mut bytes: u128 = 0;
    // In the order of Gray's code each placement differs from the one before by one site.
    let mut now = 0_u32;
    for step in 1..1_u32 << sites.len() {
        let index = step.trailing_zeros() as usize;
        let site = sites[index];
        now ^= 1 << index;
        evaluation.toggle(site);
        match now >> index & 1 {
            1 => bytes += u128::from(room.bytes[site]),
            _ => bytes -= u128::from(room.bytes[site]),
        }
        if bytes <= u128::from(room.fast) {
            best = best.min((evaluation.time(), now));
            evaluations += 1;
        }
    }
    let chosen = (0..sites.len()).filter(|index| best.1 >> index & 1 == 1);
    Some(Found {
        chosen: chosen.map(|index| sites[index]).collect(),
        time: best.0,
        evaluations,
    })
}
