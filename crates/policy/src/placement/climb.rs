//! Hill climbing (Oskin & Loh 2015, III): all sites are in slow memory at first. Each is tried in
//! fast memory by itself, and the one that gains most for its size stays there; this is repeated
//! with the others.
//!
//! The paper repeats until all fast memory is allocated. Here it also ends where no site gains that
//! still fits. Of sites that gain the same for their size the first is taken.

use super::{Evaluation, Found, Room};

/// A site that was tried.
#[derive(Clone, Copy, Debug)]
struct Trial {
    site: usize,
    gain: u64,
    bytes: u64,
    time: u64,
}

impl Trial {
    /// Whether it gains more for its size than another.
    fn beats(&self, other: &Self) -> bool {
        let for_size = |gain: u64, bytes: u64| u128::from(gain) * u128::from(bytes.max(1));
        for_size(self.gain, other.bytes) > for_size(other.gain, self.bytes)
    }
}

/// Returns the placement at which the climb ends.
pub fn climb(room: &Room, evaluation: &mut impl Evaluation) -> Found {
    let mut left = room.fast;
    let mut open: Vec<usize> = (0..room.bytes.len()).collect();
    let mut found = Found {
        time: evaluation.time(),
        evaluations: 1,
        ..Found::default()
    };
    loop {
        open.retain(|site| room.bytes[*site] <= left);
        let mut best: Option<Trial> = None;
        for &site in &open {
            evaluation.toggle(site);
            let time = evaluation.time();
            evaluation.toggle(site);
            found.evaluations += 1;
            let trial = Trial {
                site,
                gain: found.time.saturating_sub(time),
                bytes: room.bytes[site],
                time,
            };
            if trial.gain > 0 && best.is_none_or(|best| trial.beats(&best)) {
                best = Some(trial);
            }
        }
        let Some(best) = best else {
            return found;
        };
        evaluation.toggle(best.site);
        left -= best.bytes;
        open.retain(|site| *site != best.site);
        found.chosen.push(best.site);
        found.time = best.time;
    }
}

#[cfg(test)]
mod tests {
    use super::super::Whole;
    use super::*;

    /// Times of four sites that do not depend on each other.
    fn apart(gains: [u64; 4]) -> impl FnMut(&[bool]) -> u64 {
        move |fast: &[bool]| {
            let gained = fast.iter().zip(gains).filter(|(fast, _)| **fast);
            1000 - gained.map(|(_, gain)| gain).sum::<u64>()
        }
    }

    /// By hand: 30 for 10 bytes come first, then 20 for 10, for which 60 for 40 has no room any
    /// more.
    #[test]
    fn the_best_for_its_size_is_taken_first() {
        let room = Room {
            bytes: vec![40, 10, 10, 1],
            fast: 50,
        };
        let found = climb(&room, &mut Whole::new(4, apart([60, 30, 20, 0])));
        assert_eq!((found.chosen, found.time), (vec![1, 2], 950));
        assert_eq!(found.evaluations, 1 + 4 + 3 + 1);
    }

    #[test]
    fn what_does_not_gain_stays() {
        let room = Room {
            bytes: vec![1; 4],
            fast: 4,
        };
        let found = climb(&room, &mut Whole::new(4, apart([0; 4])));
        assert_eq!((found.chosen, found.time), (vec![], 1000));
    }
}
