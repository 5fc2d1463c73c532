//! Exclusive last levels against lists of which each line is in one, and by hand.

use std::collections::{HashMap, HashSet};

use proptest::prelude::*;
use terrace_policy::llc::REGISTRY;
use terrace_sim::llc::{
    Counts, Ends, Flushes, Inclusion, LevelCounts, LlcMachine, Outcome, PrefetchCounts,
    Prefetching, Warmup,
};
use terrace_trace::Access;

use crate::replay::{Ran, Replay, accesses, settings, shape, simulate};

/// The instruction that flushes.
const FLUSH: u64 = 0x401;

/// A line: its process and its number within that.
type Line = (u16, u64);

/// A line of a private level.
#[derive(Clone, Copy)]
struct Held {
    line: Line,
    /// Written since it came into the private levels.
    written: bool,
    /// Differs from memory.
    dirty: bool,
    /// Read ahead, and not asked for since.
    ahead: bool,
    /// The instruction that asked the last level for it.
    ip: u64,
    /// Whether the last level had it.
    reused: bool,
}

/// A private level: of each set its lines, the most recently used first.
struct Level {
    sets: Vec<Vec<Held>>,
    ways: usize,
    counts: LevelCounts,
}

fn set_of((process, number): Line, sets: usize) -> usize {
    let number = u128::from(process) << 45 | u128::from(number);
    (number % sets as u128) as usize
}

impl Level {
    fn new((sets, ways): (usize, usize)) -> Self {
        Self {
            sets: vec![Vec::new(); sets],
            ways,
            counts: LevelCounts::default(),
        }
    }

    fn set(&mut self, line: Line) -> &mut Vec<Held> {
        let set = set_of(line, self.sets.len());
        &mut self.sets[set]
    }

    fn take(&mut self, line: Line) -> Option<Held> {
        let set = self.set(line);
        let at = set.iter().position(|held| held.line == line)?;
        Some(set.remove(at))
    }

    /// Puts a line first; returns what has to go for it.
    fn put(&mut self, held: Held) -> Option<Held> {
        let ways = self.ways;
        let set = self.set(held.line);
        set.insert(0, held);
        (set.len() > ways).then(|| set.pop()).flatten()
    }
}

/// Policies of the last level, each from its definition.
#[derive(Clone, Copy, Debug)]
enum Rule {
    /// Of the lines behind the `high` most recent a clean one goes first. LRU is all ways high.
    Nhm {
        high: usize,
        clean_low: bool,
        dirty_low: bool,
    },
    Fifo,
    Nru,
    /// Without leaders all sets are those of the first policy: SRRIP of two bits.
    Drrip,
    Ship,
}

/// More ways than there are.
const LRU: usize = 64;

impl Rule {
    fn spec(self, ways: usize) -> String {
        let insertion = |low| if low { "lh" } else { "mru" };
        match self {
            Self::Nhm { high: LRU, .. } => "lru".to_owned(),
            Self::Nhm {
                high,
                clean_low,
                dirty_low,
            } => format!(
                "nhm:n={},insert={},dirty={}",
                high.min(ways),
                insertion(clean_low),
                insertion(dirty_low)
            ),
            Self::Fifo => "fifo".to_owned(),
            Self::Nru => "nru".to_owned(),
            Self::Drrip => "drrip:leaders=0".to_owned(),
            Self::Ship => "ship".to_owned(),
        }
    }
}

/// A way of the last level.
#[derive(Clone, Copy, Default)]
struct Way {
    held: Option<(Line, bool)>,
    referenced: bool,
    interval: u8,
    /// The instruction whose line is or was here, and whether it was used again.
    by: Option<(u64, bool)>,
}

struct Last {
    rule: Rule,
    sets: Vec<Vec<Way>>,
    /// The ways of each set, that of the line put or used last first.
    orders: Vec<Vec<usize>>,
    /// Counters of SHiP, by instruction.
    counters: HashMap<u64, u8>,
}

impl Last {
    fn new(rule: Rule, (sets, ways): (usize, usize)) -> Self {
        Self {
            rule,
            sets: vec![vec![Way::default(); ways]; sets],
            orders: vec![(0..ways).collect(); sets],
            counters: HashMap::new(),
        }
    }

    fn place(&mut self, line: Line) -> Option<(usize, usize)> {
        let set = set_of(line, self.sets.len());
        let is = |way: &Way| way.held.is_some_and(|(other, _)| other == line);
        Some((set, self.sets[set].iter().position(is)?))
    }

    /// Takes a line out: whether it is dirty, and its position.
    fn take(&mut self, line: Line) -> Option<(bool, usize)> {
        let (set, way) = self.place(line)?;
        let order = &mut self.orders[set];
        let position = order.iter().position(|other| *other == way).unwrap();
        if !matches!(self.rule, Rule::Fifo) {
            order.remove(position);
            order.push(way);
        }
        let way = &mut self.sets[set][way];
        way.referenced = false;
        if let Some((ip, used)) = &mut way.by {
            let counter = self.counters.entry(*ip).or_insert(1);
            *counter = 7.min(*counter + 1);
            *used = true;
        }
        Some((way.held.take().unwrap().1, position))
    }

    /// Cleans a line, or makes it leave, without the policy being told; whether it was dirty.
    fn clean(&mut self, line: Line, keeps: bool) -> bool {
        let Some((set, way)) = self.place(line) else {
            return false;
        };
        let held = &mut self.sets[set][way].held;
        let dirty = held.take().unwrap().1;
        *held = keeps.then_some((line, false));
        dirty
    }

    /// Puts a line in; returns what is evicted.
    fn put(&mut self, line: Line, dirty: bool, held: &Held) -> Option<(Line, bool)> {
        let set = set_of(line, self.sets.len());
        let free = self.sets[set].iter().position(|way| way.held.is_none());
        let at = free.unwrap_or_else(|| self.victim(set));
        let evicted = self.sets[set][at].held.replace((line, dirty));

        let order = &mut self.orders[set];
        order.retain(|way| *way != at);
        let behind = match self.rule {
            Rule::Nhm {
                high,
                clean_low,
                dirty_low,
            } if (if dirty { dirty_low } else { clean_low }) => high.min(order.len()),
            _ => 0,
        };
        order.insert(behind, at);

        let ways = &mut self.sets[set];
        ways[at].referenced = true;
        if ways.iter().all(|way| way.referenced) {
            ways.iter_mut().for_each(|way| way.referenced = false);
            ways[at].referenced = true;
        }
        ways[at].interval = if held.reused { 0 } else { 2 };
        if matches!(self.rule, Rule::Ship) {
            if let Some((before, false)) = ways[at].by {
                let counter = self.counters.entry(before).or_insert(1);
                *counter = counter.saturating_sub(1);
            }
            ways[at].by = Some((held.ip, false));
            if !held.reused && self.counters.get(&held.ip) == Some(&0) {
                ways[at].interval = 3;
            }
        }
        evicted
    }

    fn victim(&mut self, set: usize) -> usize {
        let (ways, order) = (&mut self.sets[set], &self.orders[set]);
        let dirty = |way: &&usize| ways[**way].held.unwrap().1;
        match self.rule {
            Rule::Fifo => *order.last().unwrap(),
            Rule::Nhm { high, .. } => {
                let low = order[high.min(order.len())..].iter().rev();
                let clean = low.filter(|way| !dirty(way)).copied().next();
                clean.unwrap_or(*order.last().unwrap())
            }
            Rule::Nru => {
                let first = ways.iter().position(|way| !way.referenced);
                first.unwrap_or(ways.len() - 1)
            }
            Rule::Drrip | Rule::Ship => loop {
                if let Some(way) = ways.iter().position(|way| way.interval == 3) {
                    return way;
                }
                ways.iter_mut().for_each(|way| way.interval += 1);
            },
        }
    }

    fn held(&self) -> impl Iterator<Item = (Line, bool)> {
        self.sets.iter().flatten().filter_map(|way| way.held)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Found {
    /// Lines that memory is asked for, and whether they are written.
    traffic: Vec<(Line, bool)>,
    ahead: PrefetchCounts,
    private: [Option<LevelCounts>; 2],
    hits: u64,
    misses: u64,
    prefetch_misses: u64,
    from_above: u64,
    clean_victims: u64,
    taken_dirty: u64,
    dirtied: u64,
    evictions: [u64; 2],
    flush_writes: u64,
    dirty_at_end: u64,
    filled: usize,
    full_at: Option<u64>,
    positions: Vec<u64>,
}

/// The whole machine, of one core.
struct Slow {
    levels: [Option<Level>; 2],
    last: Last,
    next_line: bool,
    /// Whether a flush keeps the line; none where nothing is flushed.
    keeps: Option<bool>,
    requests: u64,
    /// The ways of the last level that had a line.
    ever: HashSet<(usize, usize)>,
    found: Found,
}

impl Slow {
    fn access(&mut self, access: &Access) {
        if self.keeps.is_some() && access.ip == FLUSH {
            return self.flush((access.process, access.address / 64));
        }
        let end = access.address + u64::from(access.size.max(1)) - 1;
        for number in access.address / 64..=end / 64 {
            self.touch((access.process, number), access.write, access.ip);
        }
        self.check();
    }

    /// No line is in private levels and in the last, and the second has all of the first.
    fn check(&self) {
        let lines = |level: &Option<Level>| -> HashSet<Line> {
            let sets = level.iter().flat_map(|level| level.sets.iter().flatten());
            sets.map(|held| held.line).collect()
        };
        let [first, second] = [lines(&self.levels[0]), lines(&self.levels[1])];
        if self.levels[1].is_some() {
            assert!(first.is_subset(&second));
        }
        assert!(self.last.held().all(|(line, _)| !first.contains(&line)));
        assert!(self.last.held().all(|(line, _)| !second.contains(&line)));
    }

    fn touch(&mut self, line: Line, write: bool, ip: u64) {
        let [first, second] = &mut self.levels;
        let has_both = first.is_some() && second.is_some();
        // The only level, or the first of both.
        let top = first.as_mut().or(second.as_mut()).unwrap();
        top.counts.accesses += 1;
        if let Some(held) = top.take(line) {
            let (written, dirty) = (held.written || write, held.dirty || write);
            top.put(Held {
                written,
                dirty,
                ..held
            });
            return;
        }
        top.counts.misses += 1;
        if !has_both {
            let held = self.ask(line, ip, false);
            let top = if self.levels[0].is_some() { 0 } else { 1 };
            let gone = self.levels[top].as_mut().unwrap().put(Held {
                written: write,
                dirty: held.dirty || write,
                ..held
            });
            if let Some(gone) = gone {
                let counts = &mut self.levels[top].as_mut().unwrap().counts;
                counts.writebacks += u64::from(gone.written);
                self.give(gone);
            }
            return;
        }
        // What the first level has is a copy of what the second has, but for what was written.
        let copy = Held {
            line,
            written: write,
            dirty: write,
            ahead: false,
            ip: 0,
            reused: false,
        };
        if let Some(down) = top.put(copy).filter(|gone| gone.written) {
            top.counts.writebacks += 1;
            let second = self.levels[1].as_mut().unwrap();
            let held = second.take(down.line).expect("the second has it");
            self.found.ahead.useless += u64::from(held.ahead);
            let held = Held {
                written: true,
                dirty: true,
                ahead: false,
                ..held
            };
            assert!(second.put(held).is_none());
        }
        let second = self.levels[1].as_mut().unwrap();
        second.counts.accesses += 1;
        match second.take(line) {
            Some(held) => {
                self.found.ahead.useful += u64::from(held.ahead);
                second.put(Held {
                    ahead: false,
                    ..held
                });
            }
            None => {
                second.counts.misses += 1;
                let held = self.ask(line, ip, false);
                self.fill_second(held);
            }
        }
        let next = (line.0, line.1 + 1);
        let second = self.levels[1].as_mut().unwrap();
        let known = second.set(next).iter().any(|held| held.line == next);
        if self.next_line && next.1 / 64 == line.1 / 64 && !known {
            self.found.ahead.issued += 1;
            let held = self.ask(next, ip, true);
            self.fill_second(Held {
                ahead: true,
                ..held
            });
        }
    }

    fn fill_second(&mut self, held: Held) {
        let second = self.levels[1].as_mut().unwrap();
        let Some(mut gone) = second.put(held) else {
            return;
        };
        self.found.ahead.useless += u64::from(gone.ahead);
        let first = self.levels[0].as_mut().unwrap();
        if let Some(above) = first.take(gone.line) {
            first.counts.writebacks += u64::from(above.written);
            gone.written |= above.written;
            gone.dirty |= above.written;
        }
        let second = self.levels[1].as_mut().unwrap();
        second.counts.writebacks += u64::from(gone.written);
        self.give(gone);
    }

    /// Asks the last level, and memory where that has not got the line.
    fn ask(&mut self, line: Line, ip: u64, ahead: bool) -> Held {
        self.requests += 1;
        let taken = self.last.take(line);
        match taken {
            Some((dirty, position)) => {
                self.found.hits += 1;
                self.found.positions[position] += 1;
                self.found.taken_dirty += u64::from(dirty);
            }
            None => {
                let misses = match ahead {
                    true => &mut self.found.prefetch_misses,
                    false => &mut self.found.misses,
                };
                *misses += 1;
                self.found.traffic.push((line, false));
            }
        }
        Held {
            line,
            written: false,
            dirty: taken.is_some_and(|(dirty, _)| dirty),
            ahead: false,
            ip,
            reused: taken.is_some(),
        }
    }

    fn give(&mut self, held: Held) {
        self.requests += 1;
        match held.written {
            true => self.found.from_above += 1,
            false => self.found.clean_victims += 1,
        }
        self.found.dirtied += u64::from(held.dirty);
        if let Some((line, dirty)) = self.last.put(held.line, held.dirty, &held) {
            self.found.evictions[usize::from(dirty)] += 1;
            if dirty {
                self.found.traffic.push((line, true));
            }
        }
        self.ever.insert(self.last.place(held.line).unwrap());
        let places: usize = self.last.sets.iter().map(Vec::len).sum();
        if self.ever.len() == places {
            self.found.full_at.get_or_insert(self.requests);
        }
    }

    fn flush(&mut self, line: Line) {
        let keeps = self.keeps == Some(true);
        let (mut above, mut dirty) = (false, self.last.clean(line, keeps));
        for level in self.levels.iter_mut().flatten() {
            let set = level.set(line);
            for held in set.iter_mut().filter(|held| held.line == line) {
                above |= held.dirty;
                self.found.ahead.useless += u64::from(held.ahead && !keeps);
                (held.written, held.dirty) = (false, false);
            }
            set.retain(|held| keeps || held.line != line);
        }
        self.found.dirtied += u64::from(above);
        dirty |= above;
        self.found.flush_writes += u64::from(dirty);
        if dirty {
            self.found.traffic.push((line, true));
        }
    }

    fn found(mut self) -> Found {
        self.found.private = self.levels.map(|level| level.map(|level| level.counts));
        self.found.filled = self.last.held().count();
        self.found.dirty_at_end = self.last.held().filter(|(_, dirty)| *dirty).count() as u64;
        self.found
    }
}

fn found(ran: &Ran) -> Found {
    let outcome = &ran.pass.outcomes[0];
    let counts = &outcome.counts;
    let line = |row: &Access| (row.process, row.address / 64);
    let traffic = ran.traffic.iter();
    let positions = outcome.positions.clone();
    Found {
        traffic: traffic.map(|row| (line(row), row.write)).collect(),
        ahead: ran.pass.prefetches.unwrap_or_default(),
        private: ran.pass.private,
        hits: counts.hits(),
        misses: counts.misses(),
        prefetch_misses: counts.prefetches.misses(),
        from_above: counts.from_above.fills,
        clean_victims: counts.clean_victims.fills,
        taken_dirty: counts.taken_dirty,
        dirtied: counts.dirtied,
        evictions: [counts.clean_evictions, counts.dirty_evictions],
        flush_writes: counts.flush_writes,
        dirty_at_end: outcome.dirty_at_end,
        filled: outcome.filled,
        full_at: outcome.full_at,
        positions: positions.unwrap_or_else(|| vec![0; outcome.geometry.ways]),
    }
}

fn exclusive(
    private: [Option<(usize, usize)>; 2],
    llc: (usize, usize),
    policies: &[&str],
) -> LlcMachine {
    LlcMachine {
        inclusion: Inclusion::Exclusive,
        ..settings(64, private, llc, policies)
    }
}

/// Shapes of private levels, of which there is one at least.
fn levels() -> impl Strategy<Value = [Option<(usize, usize)>; 2]> {
    let both = (shape(), shape()).prop_map(|(first, second)| [Some(first), Some(second)]);
    let first = shape().prop_map(|first| [Some(first), None]);
    let second = shape().prop_map(|second| [None, Some(second)]);
    prop_oneof![4 => both, 1 => first, 1 => second]
}

fn rule() -> impl Strategy<Value = Rule> {
    let nhm = (0..9_usize, any::<bool>(), any::<bool>());
    let nhm = nhm.prop_map(|(high, clean_low, dirty_low)| Rule::Nhm {
        high,
        clean_low,
        dirty_low,
    });
    let lru = Rule::Nhm {
        high: LRU,
        clean_low: false,
        dirty_low: false,
    };
    let others = prop::sample::select(vec![lru, Rule::Fifo, Rule::Nru, Rule::Drrip, Rule::Ship]);
    prop_oneof![1 => nhm, 3 => others]
}

/// Policies of exclusive last levels.
fn policies() -> Vec<&'static str> {
    let names = REGISTRY.iter().map(|entry| entry.name);
    let others = names.filter(|name| *name != "density");
    let settings = [
        "nhm:n=0,insert=lh,dirty=lh",
        "ari:epoch=16,order=rrip",
        "opt:bypass=off",
        "dblk:bypass=off",
        "mockingjay:bypass=off",
    ];
    others.chain(settings).collect()
}

/// What must hold of each cache.
fn balance(outcome: &Outcome) -> Result<(), TestCaseError> {
    let (policy, counts) = (&outcome.llc.policy, outcome.counts);
    prop_assert_eq!(counts.from_above.hits + counts.clean_victims.hits, 0);
    let victims = counts.from_above.misses() + counts.clean_victims.misses();
    let ends = counts.hits() + counts.reads() + victims;
    prop_assert_eq!(ends, counts.accesses(), "{}", policy);
    let left = counts.writebacks() + counts.taken_dirty + outcome.dirty_at_end;
    prop_assert_eq!(counts.dirtied + outcome.dirty_at_begin, left, "{}", policy);
    if let Some(positions) = &outcome.positions {
        prop_assert_eq!(positions.iter().sum::<u64>(), counts.hits());
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn the_fast_hierarchy_finds_what_lists_do(
        accesses in accesses(),
        block in 1..50_usize,
        private in levels(),
        llc in (1..6_usize, 1..9_usize),
        rule in rule(),
        next_line in any::<bool>(),
        flushes in prop_oneof![3 => Just(None), 1 => any::<bool>().prop_map(Some)],
    ) {
        let mut settings = exclusive(private, llc, &[&rule.spec(llc.1)]);
        let next_line = next_line && private.iter().all(Option::is_some);
        if next_line {
            settings.prefetching = Prefetching::NextLine;
        }
        if let Some(keeps) = flushes {
            settings.flushes = Flushes { ips: vec![Some(FLUSH)], keeps };
        }
        let ran = simulate(&settings, &[&Replay::new(accesses.clone(), block)], 1);
        let mut slow = Slow {
            levels: private.map(|level| level.map(Level::new)),
            last: Last::new(rule, llc),
            next_line,
            keeps: flushes,
            requests: 0,
            ever: HashSet::new(),
            found: Found { positions: vec![0; llc.1], ..Found::default() },
        };
        accesses.iter().for_each(|access| slow.access(access));
        let mut slow = slow.found();
        let tells = matches!(rule, Rule::Nhm { .. });
        if !tells || slow.hits == 0 {
            slow.positions = vec![0; llc.1];
        }
        prop_assert_eq!(found(&ran), slow);
        balance(&ran.pass.outcomes[0])?;
        let counts = ran.pass.outcomes[0].counts;
        let memory = &ran.pass.outcomes[0].memories[0];
        prop_assert_eq!(memory.transfers.all_reads(), counts.reads());
        prop_assert_eq!(memory.transfers.all_writes(), counts.writebacks());
    }

}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// All policies are asked for the same, and none misses less than the optimum.
    #[test]
    fn nothing_is_lost(
        accesses in accesses(),
        private in levels(),
        llc in (1..6_usize, 1..9_usize),
        warmup in 0..300_u64,
    ) {
        let mut policies = policies();
        if llc.0 > 1 {
            policies.push("ari:live=on,p=2,insert=mru,sets=1,epoch=16");
        }
        let mut settings = exclusive(private, llc, &policies);
        let replay = Replay::new(accesses, 64);
        let whole = simulate(&settings, &[&replay], 1);
        settings.warmup = Warmup::Requests(warmup);
        settings.epoch = Some(7);
        let parts = simulate(&settings, &[&replay], 1);
        let optimum = whole.pass.outcomes.iter().find(|one| one.llc.policy.entry().name == "opt");
        let least = optimum.map(|one| one.counts.reads());
        let asked = |outcome: &Outcome| {
            let counts = outcome.counts;
            let read = [counts.loads, counts.stores, counts.prefetches];
            [read[0], read[1], read[2], counts.from_above, counts.clean_victims].map(Ends::all)
        };
        let all = asked(&whole.pass.outcomes[0]);
        for (whole, part) in whole.pass.outcomes.iter().zip(&parts.pass.outcomes) {
            balance(whole)?;
            balance(part)?;
            prop_assert_eq!(asked(whole), all);
            prop_assert!(least <= Some(whole.counts.reads()), "{}", whole.llc.policy);
            let begin = part.warmup.unwrap_or_default();
            prop_assert_eq!(whole.counts - begin, part.counts);
            let last = part.points.last().map(|point| point.counts).unwrap_or_default();
            prop_assert_eq!(last, whole.counts, "the last epoch ends with the trace");
        }
        // Two programs take turns by time.
        let both = simulate(&settings, &[&replay, &replay], 2);
        for outcome in &both.pass.outcomes {
            balance(outcome)?;
            let sum = |of: fn(&Counts) -> u64| outcome.by_core.iter().map(of).sum::<u64>();
            prop_assert_eq!(sum(Counts::accesses), outcome.counts.accesses());
            prop_assert_eq!(sum(Counts::reads), outcome.counts.reads());
            prop_assert_eq!(sum(Counts::writebacks), outcome.counts.writebacks());
        }
    }

    /// Every line that was stored to is written to memory, or dirty in the end; none other is. So
    /// that the private levels keep none of them, so many others are read in the end.
    #[test]
    fn what_was_stored_is_not_lost(
        mut accesses in accesses(),
        private in levels(),
        llc in shape(),
        policy in prop::sample::select(policies()),
    ) {
        let lines = |access: &Access| {
            let (process, last) = (access.process, access.address + u64::from(access.size.max(1)) - 1);
            (access.address / 64..=last / 64).map(move |line| (process, line))
        };
        let stored = accesses.iter().filter(|access| access.write).flat_map(lines);
        let stored: HashSet<Line> = stored.collect();
        accesses.extend((0..300).map(|line| Access {
            instruction: 1 << 40,
            address: 0x1000_0000 + line * 64,
            ip: 0x500,
            size: 8,
            ..Access::default()
        }));
        let settings = exclusive(private, llc, &[policy]);
        let ran = simulate(&settings, &[&Replay::new(accesses, 64)], 1);
        let written = ran.traffic.iter().filter(|row| row.write).flat_map(lines);
        let written: HashSet<Line> = written.collect();
        prop_assert!(written.is_subset(&stored), "a clean line was written");
        let kept = stored.difference(&written).count() as u64;
        prop_assert!(kept <= ran.pass.outcomes[0].dirty_at_end, "{} under {}", kept, policy);
    }

    /// Programs whose lines are in different sets are as many machines.
    #[test]
    fn programs_share_nothing_but_the_sets(
        lines in prop::collection::vec((0..40_u64, any::<bool>()), 1..300),
        ways in 1..5_usize,
        policy in prop::sample::select(vec!["lru", "nru", "drrip:leaders=0"]),
    ) {
        let trace = |program: u64| {
            let accesses = lines.iter().zip(0..).map(|(&(line, write), instruction)| Access {
                instruction,
                address: (2 * line + program) * 64,
                ip: 0x400,
                size: 1,
                write,
                ..Access::default()
            });
            Replay::new(accesses.collect(), 64)
        };
        let (one, other) = (trace(0), trace(1));
        let mut settings = exclusive([Some((1, 2)), Some((2, 2))], (4, ways), &[policy]);
        // Without time programs take turns by instructions, and each is made once.
        settings.memories.clear();
        let alone = simulate(&settings, &[&one], 1).pass.outcomes[0].counts;
        let both = &simulate(&settings, &[&one, &other], 2).pass.outcomes[0];
        prop_assert_eq!(both.counts.accesses(), 2 * alone.accesses());
        prop_assert_eq!(both.counts.taken_dirty, 2 * alone.taken_dirty);
        for of_core in &both.by_core {
            prop_assert_eq!(of_core.misses(), alone.misses());
            prop_assert_eq!(of_core.writebacks(), alone.writebacks());
            prop_assert_eq!(of_core.clean_victims, alone.clean_victims);
        }
    }
}

fn load(line: u64) -> (u64, bool) {
    (line, false)
}

fn replay(touches: &[(u64, bool)]) -> Replay {
    let access = |(&(line, write), instruction): (&(u64, bool), u64)| Access {
        instruction,
        address: line * 64,
        ip: 0x400,
        size: 8,
        write,
        ..Access::default()
    };
    Replay::new(touches.iter().zip(1..).map(access).collect(), 64)
}

/// L2 and the last level have one set of two ways each. What is in them after each access, the most
/// recent first, and dirty with a star:
///
/// | access  | L2    | last level | memory            |
/// |---------|-------|------------|-------------------|
/// | store A | A*    |            | reads A           |
/// | load B  | B A*  |            | reads B           |
/// | load C  | C B   | A*         | reads C           |
/// | load A  | A* C  | B          |                   |
/// | load D  | D A*  | C B        | reads D           |
/// | load E  | E D   | A* C       | reads E           |
/// | load B  | B E   | D A*       | reads B           |
/// | load F  | F B   | E D        | reads F, writes A |
/// | load D  | D F   | B E        |                   |
#[test]
fn nine_accesses_by_hand() {
    let [a, b, c, d, e, f] = [1, 2, 3, 4, 5, 6];
    let touches = [(a, true)]
        .into_iter()
        .chain([b, c, a, d, e, b, f, d].map(load));
    let replay = replay(&touches.collect::<Vec<_>>());
    let ran = simulate(
        &exclusive([None, Some((1, 2))], (1, 2), &["lru"]),
        &[&replay],
        1,
    );
    let traffic: Vec<(u64, bool)> = ran
        .traffic
        .iter()
        .map(|row| (row.address / 64, row.write))
        .collect();
    let reads = |line| (line, false);
    let expected = [a, b, c, d, e, b, f].map(reads);
    assert_eq!(traffic[..7], expected);
    assert_eq!(traffic[7..], [(a, true)]);
    let found = found(&ran);
    assert_eq!((found.hits, found.misses), (2, 7));
    assert_eq!(found.positions, [1, 1], "A was alone, and D behind E");
    assert_eq!((found.from_above, found.clean_victims), (1, 6));
    assert_eq!(found.evictions, [2, 1], "B and C, and A");
    assert_eq!((found.taken_dirty, found.dirtied), (1, 2));
    assert_eq!((found.dirty_at_end, found.filled), (0, 2));
    assert_eq!(found.full_at, Some(8), "the load of D, and C that came in");
    let level = ran.pass.private[1].unwrap();
    assert_eq!((level.accesses, level.misses, level.writebacks), (9, 9, 1));
}

/// Four lines go round. L2 and the last level of two lines each hold them between them; where both
/// have what L2 has, there is room for two.
#[test]
fn levels_add_up() {
    let round = [1, 2, 3, 4].map(load);
    let replay = replay(&round.repeat(100));
    let misses = |inclusion| {
        let settings = LlcMachine {
            inclusion,
            ..settings(64, [None, Some((1, 2))], (1, 2), &["lru"])
        };
        let ran = simulate(&settings, &[&replay], 1);
        ran.pass.outcomes[0].counts.misses()
    };
    assert_eq!(misses(Inclusion::Exclusive), 4);
    assert_eq!(misses(Inclusion::NonInclusive), 400);
    assert_eq!(misses(Inclusion::Inclusive), 400);
}

/// A line that only L1 uses grows old in L2, and leaves both at once.
#[test]
fn what_leaves_the_second_level_leaves_the_first() {
    let replay = replay(&[(1, true), load(2), load(1), load(3), load(1)]);
    let ran = simulate(
        &exclusive([Some((1, 2)), Some((1, 2))], (1, 4), &["lru"]),
        &[&replay],
        1,
    );
    // 3 evicts 1 from L2, which was written in L1: both are asked for it once more.
    let found = found(&ran);
    let [first, second] = found.private.map(Option::unwrap);
    assert_eq!((first.misses, first.writebacks), (4, 1));
    assert_eq!((second.misses, second.writebacks), (4, 1));
    assert_eq!((found.misses, found.hits, found.taken_dirty), (3, 1, 1));
    assert_eq!((found.from_above, found.clean_victims), (1, 1));
}

/// A line that is read ahead goes to L2 alone, out of the last level if that has it.
#[test]
fn what_is_read_ahead_goes_to_the_second_level_alone() {
    let mut settings = exclusive([Some((1, 1)), Some((1, 2))], (1, 4), &["lru"]);
    settings.prefetching = Prefetching::NextLine;
    // 10 brings 11 along; 20 and 21 send both down; 10 is read again, and 11 with it.
    let ran = simulate(&settings, &[&replay(&[10, 20, 10].map(load))], 1);
    let counts = ran.pass.outcomes[0].counts;
    assert_eq!((counts.prefetches.misses(), counts.prefetches.hits), (2, 1));
    assert_eq!((counts.loads.misses(), counts.loads.hits), (2, 1));
    assert_eq!(counts.clean_victims.all(), 4);
    assert_eq!(ran.pass.outcomes[0].filled, 2, "20 and 21");
}
