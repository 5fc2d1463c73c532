//! A trial of fetching itself: pairs of short arms, one with fetches and one without, in random
//! order.
//!
//! What a program would do without fetches is modelled by [`super::ghost`]; a trial measures it.
//! Arms of one pair are neighbours in time, so that the phases of a program matter little, and
//! their order is drawn, so that its rhythm does not matter either. An arm is the better, the more
//! pages the program touched for the first time since they left memory, by whatever kind of fault:
//! processor time in user mode would be the better measure of progress, but kernels mostly count it
//! in ticks of 4 ms. (Faults on pages that fetches displaced count as progress; [`super::Worth`]
//! judges these.) Each pair tells only which arm was better, because times have long tails. After
//! each the trial may stop: a sequential test of Wald (1945) between «seven of ten pairs are for
//! fetching» and «seven of ten are against it» stops when one side leads by `LEAD` pairs. Then it
//! is wrong in at most (3/7)^4 / (1 + (3/7)^4) = 3.3 % of the trials in which either is true; where
//! both ways are equal, it needs 16 pairs in the mean.

use std::cmp::Ordering;
use std::time::Duration;

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// Pairs by which one side has to lead.
const LEAD: i32 = 4;
/// Touches in both arms that are enough to tell anything.
const ENOUGH: u64 = 64;

/// A measured arm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arm {
    /// Pages that the program touched: faults of all kinds.
    pub touched: u64,
    /// Length of the arm.
    pub time: Duration,
}

/// What the arms so far tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// The pair is not complete.
    HalfPair,
    /// The pairs do not suffice yet, or tell nothing.
    Undecided,
    /// Fetching pays.
    Pays,
    /// It does not.
    DoesNotPay,
}

/// Trials, one after the other.
#[derive(Debug)]
pub struct Trial {
    random: SplitMix64,
    /// Whether the next arm fetches.
    fetches: bool,
    /// The first arm of the present pair.
    first: Option<Arm>,
    /// Pairs for fetching, less pairs against it.
    lead: i32,
}

impl Trial {
    /// Starts the first trial; `seed` decides the order of the arms.
    pub fn new(seed: u64) -> Self {
        let mut random = SplitMix64::seed_from_u64(seed);
        Self {
            fetches: draw(&mut random),
            random,
            first: None,
            lead: 0,
        }
    }

    /// Whether the next arm fetches.
    pub fn fetches(&self) -> bool {
        self.fetches
    }

    /// Whether most of the pairs so far are against fetching.
    pub fn is_against(&self) -> bool {
        self.lead < 0
    }

    /// Ends an arm. After a decision the next trial starts.
    pub fn end(&mut self, arm: Arm) -> Finding {
        let Some(first) = self.first.take() else {
            self.first = Some(arm);
            self.fetches = !self.fetches;
            return Finding::HalfPair;
        };
        let (with, without) = match self.fetches {
            true => (arm, first),
            false => (first, arm),
        };
        self.fetches = draw(&mut self.random);
        self.lead += compare(with, without);
        let finding = match self.lead {
            LEAD => Finding::Pays,
            lead if lead == -LEAD => Finding::DoesNotPay,
            _ => return Finding::Undecided,
        };
        self.lead = 0;
        finding
    }

    /// Gives the present pair up.
    pub fn cancel(&mut self) {
        self.first = None;
    }
}

fn draw(random: &mut SplitMix64) -> bool {
    random.next_u64() >> 63 == 1
}

/// Returns 1 if a program touched pages faster in the arm `with`, -1 if it was slower, and 0 if
/// that cannot be told.
fn compare(with: Arm, without: Arm) -> i32 {
    if with.touched + without.touched < ENOUGH {
        return 0;
    }
    let rates = (
        u128::from(with.touched) * without.time.as_nanos(),
        u128::from(without.touched) * with.time.as_nanos(),
    );
    match rates.0.cmp(&rates.1) {
        Ordering::Greater => 1,
        Ordering::Equal => 0,
        Ordering::Less => -1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME: Duration = Duration::from_millis(20);

    fn arm(touched: u64) -> Arm {
        Arm {
            touched,
            time: TIME,
        }
    }

    /// Runs a trial whose arms `touch` tells, by the number of the arm and whether it fetches;
    /// returns its finding, and its number of pairs if it is decided within a thousand.
    fn run(seed: u64, mut touch: impl FnMut(u64, bool) -> Arm) -> (Finding, u64) {
        let mut trial = Trial::new(seed);
        for number in 0..2000 {
            let arm = touch(number, trial.fetches());
            match trial.end(arm) {
                Finding::HalfPair | Finding::Undecided => {}
                found => return (found, number / 2 + 1),
            }
        }
        (Finding::Undecided, 1000)
    }

    /// Returns a number from 0 to 1 that `seed` and `number` decide.
    fn noise(seed: u64, number: u64) -> f64 {
        let mut random = SplitMix64::seed_from_u64(seed ^ number.wrapping_mul(0x9e37_79b9));
        random.next_u64();
        (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    #[test]
    fn what_is_always_better_is_found_in_four_pairs() {
        for seed in 0..100 {
            let with = |_, fetches| arm(if fetches { 1100 } else { 1000 });
            assert_eq!(run(seed, with), (Finding::Pays, 4));
            let without = |_, fetches| arm(if fetches { 1000 } else { 1100 });
            assert_eq!(run(seed, without), (Finding::DoesNotPay, 4));
        }
    }

    #[test]
    fn arms_of_different_lengths_compare_by_their_rates() {
        let longer = |_, fetches| Arm {
            touched: if fetches { 1500 } else { 1000 },
            time: if fetches { TIME * 2 } else { TIME },
        };
        assert_eq!(run(1, longer).0, Finding::DoesNotPay);
    }

    #[test]
    fn a_program_that_touches_next_to_nothing_tells_nothing() {
        let idle = |_, fetches| arm(if fetches { 40 } else { 20 });
        assert_eq!(run(1, idle), (Finding::Undecided, 1000));
        assert_eq!(run(1, |_, _| arm(1000)), (Finding::Undecided, 1000));
    }

    /// Times of an arm's touches with a long tail, those with fetches `share` as long: 3000 trials;
    /// returns how many found each way, and the mean number of pairs.
    fn outcomes(share: f64) -> (u32, u32, f64) {
        let (mut pays, mut not, mut pairs) = (0, 0, 0);
        for seed in 0..3000 {
            let touch = |number, fetches| {
                // A Pareto tail whose mean does not exist.
                let time = 1000.0 / noise(seed, number).max(1e-6);
                let share = if fetches { share } else { 1.0 };
                Arm {
                    touched: 1000,
                    time: Duration::from_micros((time * share) as u64),
                }
            };
            let (found, took) = run(seed, touch);
            pays += u32::from(found == Finding::Pays);
            not += u32::from(found == Finding::DoesNotPay);
            pairs += took;
        }
        (pays, not, pairs as f64 / 3000.0)
    }

    /// Of two draws of this tail, the one times 0.6 is the smaller with probability 0.7.
    #[test]
    fn errors_are_as_rare_as_stated() {
        let (pays, not, pairs) = outcomes(0.6);
        assert_eq!(pays + not, 3000);
        assert!(not < 130, "{not} of 3000 wrong");
        assert!(pairs < 10.0, "{pairs}");
        let (pays, not, _) = outcomes(1.0 / 0.6);
        assert_eq!(pays + not, 3000);
        assert!(pays < 130, "{pays} of 3000 wrong");
    }

    #[test]
    fn equal_ways_are_told_apart_by_chance_alone() {
        let (pays, not, pairs) = outcomes(1.0);
        assert!(pays.abs_diff(not) < 170, "{pays} and {not}");
        assert!((14.0..18.0).contains(&pairs), "{pairs}");
    }

    /// A program that is half as fast in every second arm: in a fixed order that would look like a
    /// difference between the ways.
    #[test]
    fn the_rhythm_of_a_program_is_no_difference() {
        let (mut pays, mut not) = (0, 0);
        for seed in 0..1000 {
            let rhythm = |number, _| arm(1000 + 1000 * (number % 2));
            match run(seed, rhythm).0 {
                Finding::Pays => pays += 1,
                Finding::DoesNotPay => not += 1,
                other => panic!("{other:?}"),
            }
        }
        assert!(i32::abs(pays - not) < 100, "{pays} and {not}");
    }

    #[test]
    fn a_pair_that_is_given_up_starts_again() {
        let mut trial = Trial::new(1);
        assert_eq!(trial.end(arm(100)), Finding::HalfPair);
        trial.cancel();
        assert_eq!(trial.end(arm(100)), Finding::HalfPair);
        assert!(!trial.is_against());
    }
}
