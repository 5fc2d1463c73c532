//! Flushed lines, frames for pages, and what each core's requests came to.

use std::collections::HashSet;

use proptest::prelude::*;
use terrace_sim::llc::{Flushes, Placement};
use terrace_trace::Access;

use crate::replay::{Replay, accesses, settings, shape, simulate};

/// The instruction that flushes.
const FLUSH: u64 = 0x401;

fn flushes(keeps: bool, programs: usize) -> Flushes {
    let mut ips = vec![None; programs];
    ips[0] = Some(FLUSH);
    Flushes { ips, keeps }
}

/// One level, each set with the most recently used line first.
struct Slow {
    sets: Vec<Vec<(u64, bool)>>,
    ways: usize,
}

impl Slow {
    fn new((sets, ways): (usize, usize)) -> Self {
        let sets = vec![Vec::new(); sets];
        Self { sets, ways }
    }

    fn set(&mut self, line: u64) -> &mut Vec<(u64, bool)> {
        let index = line % self.sets.len() as u64;
        &mut self.sets[index as usize]
    }

    fn remove(&mut self, line: u64) -> Option<bool> {
        let set = self.set(line);
        let way = set.iter().position(|(other, _)| *other == line)?;
        Some(set.remove(way).1)
    }

    /// Whether it was there, and who had to go.
    fn touch(&mut self, line: u64, write: bool) -> (bool, Option<(u64, bool)>) {
        let (found, ways) = (self.remove(line), self.ways);
        let set = self.set(line);
        set.insert(0, (line, write || found == Some(true)));
        let victim = (set.len() > ways).then(|| set.pop()).flatten();
        (found.is_some(), victim)
    }

    fn flush(&mut self, line: u64, keeps: bool) -> bool {
        if !keeps {
            return self.remove(line) == Some(true);
        }
        let held = self.set(line).iter_mut().find(|(other, _)| *other == line);
        held.is_some_and(|(_, dirty)| std::mem::take(dirty))
    }
}

/// Misses, lines written to memory, and those of them that were flushed: of one core.
fn slow(
    accesses: &[(u64, bool, bool)],
    first: (usize, usize),
    last: (usize, usize),
    keeps: bool,
) -> (u64, u64, u64) {
    let (mut first, mut last) = (Slow::new(first), Slow::new(last));
    let (mut misses, mut writes, mut flushed) = (0, 0, 0);
    for &(line, write, flush) in accesses {
        if flush {
            let dirty = [first.flush(line, keeps), last.flush(line, keeps)];
            flushed += u64::from(dirty.contains(&true));
            continue;
        }
        let (hit, victim) = first.touch(line, write);
        if hit {
            continue;
        }
        let written = victim.filter(|(_, dirty)| *dirty);
        let asked = [Some((line, false)), written];
        for (line, write) in asked.into_iter().flatten() {
            let (hit, victim) = last.touch(line, write);
            misses += u64::from(!hit && !write);
            writes += u64::from(victim.is_some_and(|(_, dirty)| dirty));
        }
    }
    (misses, writes + flushed, flushed)
}

fn access(instruction: u64, line: u64, write: bool, flush: bool) -> Access {
    Access {
        instruction,
        address: line * 64,
        ip: if flush { FLUSH } else { 0x400 },
        size: 8,
        write,
        ..Access::default()
    }
}

#[test]
fn what_is_flushed_is_written_once_and_read_again() {
    let rows = [(true, false), (false, true), (false, true), (false, false)];
    let rows = (0..).zip(rows);
    let replay = Replay::new(
        rows.map(|(at, (write, flush))| access(at, 7, write, flush))
            .collect(),
        64,
    );
    for (keeps, misses) in [(false, 2), (true, 1)] {
        let mut settings = settings(64, [Some((4, 2)), None], (8, 2), &["lru"]);
        settings.flushes = flushes(keeps, 1);
        let ran = simulate(&settings, &[&replay], 1);
        let counts = ran.pass.outcomes[0].counts;
        assert_eq!((counts.flushes, counts.flush_writes), (2, 1));
        assert_eq!((counts.misses(), counts.writebacks()), (misses, 1));
        let written = ran.traffic.iter().filter(|row| row.write).count();
        assert_eq!(written, 1, "memory sees it");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn the_fast_hierarchy_flushes_as_the_slow_one(
        rows in prop::collection::vec((0u64..40, any::<bool>(), prop::bool::weighted(0.3)), 1..300),
        first in shape(),
        last in shape(),
        keeps in any::<bool>(),
        block in 1usize..50,
    ) {
        let trace = (0..).zip(&rows);
        let trace = trace.map(|(at, &(line, write, flush))| access(at, line, write, flush));
        let replay = Replay::new(trace.collect(), block);
        let mut settings = settings(64, [Some(first), None], last, &["lru"]);
        settings.flushes = flushes(keeps, 1);
        let ran = simulate(&settings, &[&replay], 1);
        let outcome = &ran.pass.outcomes[0];
        let counts = outcome.counts;
        let found = (counts.misses(), counts.writebacks(), counts.flush_writes);
        prop_assert_eq!(found, slow(&rows, first, last, keeps));
        prop_assert_eq!(counts.dirtied, counts.writebacks() + outcome.dirty_at_end);
        let flushed = rows.iter().filter(|(.., flush)| *flush).count() as u64;
        prop_assert_eq!(counts.flushes, flushed);
    }

    /// Figures by core add up to those of all, and a page has one frame.
    #[test]
    fn cores_add_up_and_pages_are_counted(
        first in accesses(),
        second in accesses(),
        llc in shape(),
        placement in prop::sample::select(vec!["virtual", "jit", "caa", "coloured:shares=24/8"]),
    ) {
        let mut settings = settings(64, [Some((2, 2)), None], llc, &["lru", "nru"]);
        settings.placement = Placement::parse(placement).unwrap();
        settings.flushes = flushes(false, 2);
        let traces = [Replay::new(first, 64), Replay::new(second, 64)];
        let ran = simulate(&settings, &[&traces[0], &traces[1]], 2);
        for outcome in &ran.pass.outcomes {
            let (all, by_core) = (outcome.counts, &outcome.by_core);
            let sum = |of: fn(&terrace_sim::llc::Counts) -> u64| by_core.iter().map(of).sum::<u64>();
            prop_assert_eq!(sum(|counts| counts.misses()), all.misses());
            prop_assert_eq!(sum(|counts| counts.writebacks()), all.writebacks());
            prop_assert_eq!(sum(|counts| counts.flushes), all.flushes);
            prop_assert_eq!(by_core[1].flushes, 0);
        }
        let touched = |replay: &Replay| -> u64 {
            let pages = |access: &Access| {
                let (process, address) = (access.process, access.address);
                let last = address + u64::from(access.size.max(1)) - 1;
                (address >> 12..=last >> 12).map(move |page| (process, page))
            };
            replay.accesses.iter().flat_map(pages).collect::<HashSet<_>>().len() as u64
        };
        let pages: Vec<_> = ran.pass.pages.iter().map(|faults| faults.pages).collect();
        if placement != "virtual" {
            prop_assert_eq!(pages, traces.iter().map(touched).collect::<Vec<_>>());
        }
    }
}
