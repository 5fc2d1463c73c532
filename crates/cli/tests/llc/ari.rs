//! ARI in its default setting, slow and plain: a whole cache of shadow tags for each static policy,
//! of which only the sampled sets are asked.

use terrace_policy::llc::Sampled;

use crate::slow::{Cache, Counts, Found, Request, Rule, Shape};

pub const EPOCH: usize = 25_000;
const SAMPLED: usize = 32;
const SEED: u64 = 1;

/// A static policy on trial.
struct Trial {
    rule: Rule,
    tags: Cache,
    /// Misses and write-backs of this epoch, and their decaying averages.
    epoch: [f64; 2],
    average: [f64; 2],
}

/// At the end of an epoch: ways that are kept, and whether insertion is behind them.
pub type InForce = (usize, bool);

/// What a last level under ARI came to, and what was in force at the end of each epoch.
pub fn last_level(requests: &[Request], shape: Shape) -> (Counts, Vec<InForce>) {
    let (sets, ways) = shape;
    // Which sets are drawn is chance: that is taken from the policy.
    let sampled = Sampled::new(sets, SAMPLED, SEED);
    let (mut cache, mut counts) = (Cache::new(shape), Counts::new(ways));
    let mut trials: Vec<Trial> = rules(ways).map(|rule| Trial::new(rule, shape)).collect();
    let (mut rule, mut epochs) = (trials[0].rule, Vec::new());
    for (number, &(line, back)) in requests.iter().enumerate() {
        if number > 0 && number % EPOCH == 0 {
            epochs.push((rule.high, rule.low));
            rule = decide(&mut trials, rule);
        }
        let set = (line % sets as u64) as usize;
        if sampled.number(set).is_some() {
            let tag = fold(line / sets as u64);
            trials
                .iter_mut()
                .for_each(|trial| trial.ask(set, tag, back));
        }
        counts.note(&cache.ask(line, back, rule), back);
    }
    epochs.push((rule.high, rule.low));
    counts.dirty_at_end = cache.dirty();
    (counts, epochs)
}

/// All partitions in steps of about two ways from LRU to none kept, with insertion at MRU and then
/// all with insertion behind what is kept, but of written lines.
fn rules(ways: usize) -> impl Iterator<Item = Rule> {
    let steps = (ways / 2).max(1);
    let of = move |low| {
        (0..=steps).rev().map(move |step| Rule {
            high: step * ways / steps,
            low,
            dirty_low: false,
        })
    };
    of(false).chain(of(true))
}

/// A tag in 6 bits: its groups of 6, XORed.
fn fold(tag: u64) -> u64 {
    (0..11).fold(0, |folded, group| folded ^ (tag >> (6 * group) & 0x3f))
}

impl Trial {
    fn new(rule: Rule, shape: Shape) -> Self {
        Self {
            rule,
            tags: Cache::new(shape),
            epoch: [0.0; 2],
            average: [0.0; 2],
        }
    }

    fn ask(&mut self, set: usize, tag: u64, back: bool) {
        if let Found::Miss(gone) = self.tags.ask_in(set, tag, back, self.rule) {
            self.epoch[0] += if back { 0.0 } else { 1.0 };
            self.epoch[1] += if matches!(gone, Some((_, true))) {
                1.0
            } else {
                0.0
            };
        }
    }

    fn sum(&self) -> f64 {
        self.average[0] + self.average[1]
    }
}

/// The rule with the lowest sum of those that miss at most a sixteenth more than LRU; among equals
/// the one in force, or else the first.
fn decide(trials: &mut [Trial], in_force: Rule) -> Rule {
    for trial in &mut *trials {
        for (average, epoch) in trial.average.iter_mut().zip(&mut trial.epoch) {
            *average = 15.0 / 16.0 * *average + 1.0 / 16.0 * *epoch;
            *epoch = 0.0;
        }
    }
    let most = trials[0].average[0] * (1.0 + 1.0 / 16.0);
    let allowed = |trial: &&Trial| trial.average[0] <= most;
    let sums = trials.iter().filter(allowed).map(Trial::sum);
    let lowest = sums.fold(f64::INFINITY, f64::min);
    let best = || {
        trials
            .iter()
            .filter(allowed)
            .filter(|trial| trial.sum() == lowest)
    };
    let kept = best().find(|trial| trial.rule == in_force);
    kept.or(best().next()).expect("LRU is allowed").rule
}
