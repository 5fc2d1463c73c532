//! ARI as a cache, and many small caches beside it that only the decision looks at.

use std::collections::BTreeMap;

use terrace_policy::llc::{Evicted, Geometry, InForce, Outcome, Request};
use terrace_policy::params::Params;

use super::chance::drawn_sets;
use super::stack::Stack;
use super::{Slow, is, number};

/// n of nHm, and whether insertion is at the top of the low-hit partition.
type Static = (usize, bool);

/// Misses and write-backs.
type Counts = (f64, f64);

/// A static policy on trial sets.
struct Sample {
    follows: Static,
    /// Its shadows of sampled sets; or, if it is live, the sets of the cache that are its own.
    shadows: BTreeMap<usize, Stack>,
    own: Vec<usize>,
    counts: Counts,
}

/// A set of the cache itself.
enum Set {
    Lru(Stack),
    Rrip(Vec<Option<Way>>),
}

#[derive(Clone, Copy)]
struct Way {
    held: Evicted,
    interval: usize,
}

/// The same as [`Stack::access`], where lines leave by intervals of 2 bits, and of alike ones the
/// first way first.
fn by_intervals(
    set: &mut [Option<Way>],
    line: u64,
    writes: bool,
    high: usize,
    insertion: usize,
) -> Outcome {
    if let Some(way) = set.iter_mut().flatten().find(|way| way.held.line == line) {
        way.interval = 0;
        way.held.dirty |= writes;
        return Outcome::Hit { position: None };
    }
    let mut evicted = None;
    let at = set.iter().position(Option::is_none).unwrap_or_else(|| {
        let mut leaving: Vec<usize> = (0..set.len()).collect();
        leaving.sort_by_key(|at| std::cmp::Reverse(set[*at].unwrap().interval));
        let low = &leaving[..set.len() - high];
        let clean = low.iter().find(|at| !set[**at].unwrap().held.dirty);
        let at = *clean.unwrap_or(&leaving[0]);
        while set[at].unwrap().interval < 3 {
            let ways = set.iter_mut().flatten();
            ways.for_each(|way| way.interval = (way.interval + 1).min(3));
        }
        evicted = set[at].map(|way| way.held);
        at
    });
    let mut others: Vec<usize> = (0..set.len())
        .filter(|other| *other != at)
        .map(|other| set[other].map_or(3, |way| way.interval))
        .collect();
    others.sort_unstable();
    let there = others.get(insertion).copied().unwrap_or(3);
    let interval = if insertion == 0 { 2 } else { there.max(2) };
    let held = Evicted {
        line,
        dirty: writes,
    };
    set[at] = Some(Way { held, interval });
    Outcome::Miss { evicted }
}

pub struct Ari {
    ways: usize,
    sets: Vec<Set>,
    samples: Vec<Sample>,
    choice: Static,
    requests: usize,
    /// Every static policy there is to choose from, LRU first; each with its counts of this epoch
    /// and its averages.
    table: Vec<(Static, Counts, Counts)>,
    partitions: usize,
    epoch: usize,
    tag: usize,
    half: bool,
    flips: bool,
    evicts_lru: bool,
    dirty_low: bool,
    live: bool,
    recent: f64,
    slack: f64,
    weights: Counts,
}

fn real(params: &mut Params, key: &'static str, default: f64) -> f64 {
    params.take(key, "", default, 0.0..=f64::INFINITY).unwrap()
}

/// The static policies of a setting of `insert`.
fn statics(insert: &str, ways: usize, partitions: usize) -> Vec<Static> {
    let partition = |at: usize| (partitions - 1 - at) * ways / (partitions - 1);
    let all = 0..partitions;
    match insert {
        "mru" => all.map(|at| (partition(at), false)).collect(),
        "lh" => all.map(|at| (partition(at), at > 0)).collect(),
        "p+1" => {
            let mut statics: Vec<Static> = all.map(|at| (partition(at), at % 2 == 1)).collect();
            statics.push((ways, true));
            statics
        }
        _ => {
            let mru = all.clone().map(|at| (partition(at), false));
            mru.chain(all.map(|at| (partition(at), true))).collect()
        }
    }
}

impl Ari {
    pub fn new(geometry: Geometry, params: &mut Params, seed: u64) -> Self {
        let ways = geometry.ways;
        let partitions = number(params, "p", (ways / 2 + 1).max(2));
        let insert = params.text("insert", "", "", "");
        let half = is(params, "half", "on");
        let live = is(params, "live", "on");
        let table: Vec<_> = statics(&insert, ways, partitions)
            .into_iter()
            .map(|policy| (policy, (0.0, 0.0), (0.0, 0.0)))
            .collect();
        let mut samples = table.len();
        if half {
            samples = table.len() / partitions * partitions.div_ceil(2);
        }
        let room = if live {
            geometry.sets / samples
        } else {
            geometry.sets
        };
        let sets = number(params, "sets", room.min(32));
        let drawn = drawn_sets(
            geometry.sets,
            if live { sets * samples } else { sets },
            seed,
        );
        let rrip = is(params, "order", "rrip");
        let set = || match rrip {
            true => Set::Rrip(vec![None; ways]),
            false => Set::Lru(Stack::new(ways)),
        };
        let sample = |number| {
            let own = drawn.iter().copied().skip(number).step_by(samples);
            let shadows = drawn.iter().map(|&set| (set, Stack::new(ways)));
            Sample {
                follows: (0, false),
                own: if live { own.collect() } else { Vec::new() },
                shadows: if live {
                    BTreeMap::new()
                } else {
                    shadows.collect()
                },
                counts: (0.0, 0.0),
            }
        };
        let mut ari = Self {
            ways,
            sets: (0..geometry.sets).map(|_| set()).collect(),
            samples: (0..samples).map(sample).collect(),
            choice: (ways, false),
            requests: 0,
            table,
            partitions,
            epoch: number(params, "epoch", 25_000),
            tag: number(params, "tag", 6),
            half,
            flips: insert == "p+1",
            evicts_lru: is(params, "evict", "lru"),
            dirty_low: is(params, "dirty", "lh"),
            live,
            recent: real(params, "recent", 1.0 / 16.0),
            slack: real(params, "slack", 1.0 / 16.0),
            weights: (real(params, "wmiss", 1.0), real(params, "wwb", 1.0)),
        };
        ari.follow(0);
        ari
    }

    /// The places in the table of what is sampled in a half of an epoch, sample by sample.
    fn sampled(&self, half: usize) -> Vec<usize> {
        let all = 0..self.table.len();
        if !self.half {
            return all.collect();
        }
        let is_sampled = |at: &usize| {
            let partition = at % self.partitions;
            let lru_again = self.partitions % 2 == 1 && partition == 0;
            partition % 2 == half || lru_again
        };
        all.filter(is_sampled).collect()
    }

    fn follow(&mut self, half: usize) {
        for (sample, at) in self.sampled(half).into_iter().enumerate() {
            self.samples[sample].follows = self.table[at].0;
        }
    }

    /// Takes the counts of a half (or the whole) of an epoch into the table.
    fn collect(&mut self, half: usize) {
        let sampled = self.sampled(half);
        let mut known: Vec<Option<Counts>> = vec![None; self.table.len()];
        for (sample, at) in sampled.into_iter().enumerate() {
            known[at] = Some(std::mem::take(&mut self.samples[sample].counts));
        }
        for at in 0..self.table.len() {
            let group = at / self.partitions;
            let neighbours: Vec<Counts> = [at.wrapping_sub(1), at + 1]
                .into_iter()
                .filter(|&other| other < self.table.len() && other / self.partitions == group)
                .filter_map(|other| known[other])
                .collect();
            let number = neighbours.len() as f64;
            let (misses, writebacks) = known[at].unwrap_or((
                neighbours.iter().map(|counts| counts.0).sum::<f64>() / number,
                neighbours.iter().map(|counts| counts.1).sum::<f64>() / number,
            ));
            self.table[at].1.0 += misses;
            self.table[at].1.1 += writebacks;
        }
    }

    fn end_epoch(&mut self) {
        for (_, epoch, average) in &mut self.table {
            average.0 = (1.0 - self.recent) * average.0 + self.recent * epoch.0;
            average.1 = (1.0 - self.recent) * average.1 + self.recent * epoch.1;
            *epoch = (0.0, 0.0);
        }
        let all = self.table.len();
        self.choice = self.table[self.lowest(all, true)].0;
        if self.flips {
            let (best, _, average) = self.table[self.lowest(all - 1, false)];
            let flip = (best.0, !best.1);
            let last = self.table.last_mut().unwrap();
            if last.0 != flip {
                *last = (flip, (0.0, 0.0), average);
            }
        }
    }

    /// Where in the first `among` of the table the lowest sum is; the choice of the last epoch if
    /// it is as low as any.
    fn lowest(&self, among: usize, keeps: bool) -> usize {
        let sum = |at: usize| {
            let (misses, writebacks) = self.table[at].2;
            self.weights.0 * misses + self.weights.1 * writebacks
        };
        let limit = if self.slack.is_infinite() {
            f64::INFINITY
        } else {
            self.table[0].2.0 * (1.0 + self.slack)
        };
        let allowed: Vec<usize> = (0..among)
            .filter(|&at| self.table[at].2.0 <= limit)
            .collect();
        let lowest = allowed
            .iter()
            .map(|&at| sum(at))
            .fold(f64::INFINITY, f64::min);
        let mut best = allowed.into_iter().filter(|&at| sum(at) == lowest);
        let first = best.clone().next().unwrap();
        let kept = best.find(|&at| keeps && self.table[at].0 == self.choice);
        kept.unwrap_or(first)
    }

    fn tick(&mut self) {
        let into_epoch = self.requests % self.epoch;
        if self.half && into_epoch == self.epoch / 2 {
            self.collect(0);
            self.follow(1);
        }
        if self.requests > 0 && into_epoch == 0 {
            self.collect(usize::from(self.half));
            self.end_epoch();
            self.follow(0);
        }
        self.requests += 1;
    }

    fn insertion(&self, policy: Static, writes: bool) -> usize {
        match policy.1 && (!writes || self.dirty_low) {
            true => policy.0,
            false => 0,
        }
    }

    fn count(counts: &mut Counts, outcome: Outcome, writes: bool) {
        if let Outcome::Miss { evicted } = outcome {
            if !writes {
                counts.0 += 1.0;
            }
            if evicted.is_some_and(|evicted| evicted.dirty) {
                counts.1 += 1.0;
            }
        }
    }

    fn shadow_tag(&self, line: u64) -> u64 {
        let tag = line / self.sets.len() as u64;
        let part = |from| (tag >> from) % (1u64 << self.tag);
        (0..64)
            .step_by(self.tag)
            .map(part)
            .fold(0, |all, part| all ^ part)
    }
}

impl Slow for Ari {
    fn access(&mut self, request: &Request) -> Outcome {
        self.tick();
        let set = (request.line % self.sets.len() as u64) as usize;
        let writes = request.kind.writes();
        let tag = self.shadow_tag(request.line);
        let follows: Vec<Static> = self.samples.iter().map(|sample| sample.follows).collect();
        for (number, policy) in follows.into_iter().enumerate() {
            let insertion = self.insertion(policy, writes);
            let sample = &mut self.samples[number];
            if let Some(shadow) = sample.shadows.get_mut(&set) {
                let outcome = shadow.access(tag, writes, policy.0, insertion);
                Self::count(&mut sample.counts, outcome, writes);
            }
        }
        let owner = self
            .samples
            .iter()
            .position(|sample| sample.own.contains(&set));
        let policy = owner.map_or(self.choice, |owner| self.samples[owner].follows);
        let insertion = self.insertion(policy, writes);
        let high = match owner {
            None if self.evicts_lru => self.ways,
            _ => policy.0,
        };
        let outcome = match &mut self.sets[set] {
            Set::Lru(stack) => stack.access(request.line, writes, high, insertion),
            Set::Rrip(ways) => by_intervals(ways, request.line, writes, high, insertion),
        };
        if let (Some(owner), true) = (owner, self.live) {
            Self::count(&mut self.samples[owner].counts, outcome, writes);
        }
        outcome
    }

    fn in_force(&self) -> Option<InForce> {
        let (high, low_insertion) = self.choice;
        Some(InForce {
            high,
            low_insertion,
        })
    }
}
