//! What is written early, against lists over the same memory.

use std::collections::HashMap;

use proptest::prelude::*;
use terrace_base::{Bytes, Nanos};
use terrace_device::Catalogue;
use terrace_policy::llc::{Geometry, Spec};

use super::super::early::EarlyWrites;
use super::super::flush::Flushed;
use super::super::memory_side::{Backing, Found};
use super::super::settings::{LlcMachine, WriteBack};
use super::super::{Chips, Size};
use super::*;

/// Who asked for a line: the instruction and the core; none where a write-back brought it.
type Instruction = Option<(u64, u8)>;

#[derive(Clone, Copy, Debug)]
struct Held {
    line: u64,
    dirty: bool,
    /// Who asked for it last.
    by: Instruction,
    /// Whether its last write was taken for the last.
    last: bool,
    /// Written early, and not written since.
    early: bool,
}

/// A line of a sampled set, and who asked for it before it was written last.
struct Sampled {
    line: u64,
    by: Instruction,
    written: Option<Instruction>,
}

struct Slow {
    write_back: WriteBack,
    ways: usize,
    /// Ways of the high-hit part: of those whose lines are kept, and of those that are not written.
    kept: usize,
    high: usize,
    /// The ways of each set, with their numbers, the most recently used first.
    sets: Vec<Vec<(usize, Option<Held>)>>,
    sampler: Vec<Vec<Sampled>>,
    counters: HashMap<Instruction, u32>,
    /// Sets that wait, and since when.
    queue: Vec<(usize, u64)>,
    memory: MemorySide,
    /// Lines that memory is asked for, and whether they are written.
    traffic: Vec<(u64, bool)>,
    found: EarlyWrites,
    /// Idle time, in picoseconds.
    idle: u64,
}

impl Slow {
    fn set(&self, line: u64) -> usize {
        (line % self.sets.len() as u64) as usize
    }

    fn held(&mut self, line: u64) -> Option<&mut Held> {
        let set = self.set(line);
        let mut held = self.sets[set].iter_mut().filter_map(|way| way.1.as_mut());
        held.find(|held| held.line == line)
    }

    /// The lines of a set that may be written early, the least recent first.
    fn low_hit_dirty(&self, set: usize) -> Vec<Held> {
        let low = self.sets[set][self.high..].iter().rev();
        let dirty = low.filter_map(|way| way.1).filter(|held| held.dirty);
        match self.write_back {
            WriteBack::LastWrite => dirty.filter(|held| held.last).collect(),
            _ => dirty.collect(),
        }
    }

    fn write_early(&mut self, line: u64) {
        let held = self.held(line).unwrap();
        (held.dirty, held.early) = (false, true);
        self.found.writes += 1;
        self.traffic.push((line, true));
    }

    fn serve(&mut self, asked: &Asked) {
        self.memory.before(asked);
        while let Some((set, since)) = self.queue.first().copied() {
            let Some(held) = self.low_hit_dirty(set).first().copied() else {
                self.queue.remove(0);
                continue;
            };
            let Some(took) = self.memory.memory().write_if_idle(held.line, since) else {
                break;
            };
            self.idle += took;
            self.write_early(held.line);
        }
        let asks = self.ask(asked);
        self.memory.serve(asked, asks);
        if asks.read {
            self.traffic.push((asked.request.line, false));
        }
        if let Some(line) = asks.write {
            self.traffic.push((line, true));
            self.write_row(line);
        }
        let set = self.set(asked.request.line);
        let waits = self.queue.iter().any(|(other, _)| *other == set);
        let eager = self.write_back != WriteBack::Rows;
        if eager && !waits && !self.low_hit_dirty(set).is_empty() {
            let now = self.memory.memory().now();
            self.queue.push((set, now));
        }
    }

    fn write_row(&mut self, line: u64) {
        if self.write_back != WriteBack::Rows {
            return;
        }
        let all = (0..self.sets.len()).flat_map(|set| self.low_hit_dirty(set));
        let row = |line: u64| line * 64 / 8192;
        let others = all
            .map(|held| held.line)
            .filter(|other| row(*other) == row(line));
        let mut others: Vec<u64> = others.collect();
        others.sort_unstable();
        for other in others {
            if self.memory.memory().write_if_room(other) {
                self.write_early(other);
            }
        }
    }

    /// What the cache does with a request, and asks of memory.
    fn ask(&mut self, asked: &Asked) -> Asks {
        let Request { line, kind, .. } = asked.request;
        let (set, writes) = (self.set(line), kind == Kind::WriteBack);
        self.learn(&asked.request);
        let by = Some((asked.request.ip, asked.request.core));
        let is = |way: &(usize, Option<Held>)| way.1.is_some_and(|held| held.line == line);
        let known = self.sets[set].iter().position(is);
        let mut asks = Asks {
            read: known.is_none() && !writes,
            write: None,
        };
        let at = known.unwrap_or_else(|| self.victim(set));
        let (way, held) = self.sets[set].remove(at);
        let new = Held {
            line,
            dirty: false,
            by: None,
            last: false,
            early: false,
        };
        let mut held = match known {
            Some(_) => held.unwrap(),
            None => {
                asks.write = held.filter(|gone| gone.dirty).map(|gone| gone.line);
                new
            }
        };
        if writes {
            self.found.premature += u64::from(held.early);
            (held.dirty, held.early) = (true, false);
            held.last = self.counters.get(&held.by) == Some(&3);
        } else {
            held.by = by;
        }
        self.sets[set].insert(0, (way, Some(held)));
        asks
    }

    /// The position of the way that a new line takes: the first free one, a clean one, or the last.
    fn victim(&self, set: usize) -> usize {
        let ways = &self.sets[set];
        let free = (0..self.ways).filter(|at| ways[*at].1.is_none());
        let free = free.min_by_key(|at| ways[*at].0);
        let is_clean = |at: &usize| ways[*at].1.is_some_and(|held| !held.dirty);
        let clean = (self.kept..self.ways).rev().find(is_clean);
        free.or(clean).unwrap_or(self.ways - 1)
    }

    /// Each set is sampled. A counter goes up to 3, and is there if a write is taken for the last.
    fn learn(&mut self, request: &Request) {
        let set = self.set(request.line);
        let sampled = &mut self.sampler[set];
        let known = sampled.iter().position(|other| other.line == request.line);
        let mut entry = match known {
            Some(at) => sampled.remove(at),
            None => Sampled {
                line: request.line,
                by: None,
                written: None,
            },
        };
        let gone = if sampled.len() == self.ways {
            sampled.pop().and_then(|gone| gone.written)
        } else {
            None
        };
        if let Some(by) = gone {
            let counter = self.counters.entry(by).or_default();
            *counter = 3.min(*counter + 1);
        }
        if request.kind != Kind::WriteBack {
            entry.by = Some((request.ip, request.core));
        } else if let Some(by) = entry.written.replace(entry.by) {
            let counter = self.counters.entry(by).or_default();
            *counter = counter.saturating_sub(1);
        }
        self.sampler[set].insert(0, entry);
    }

    fn flush(&mut self, flushed: &Flushed) {
        let mut written = flushed.dirty;
        let mut premature = false;
        if let Some(held) = self.held(flushed.line) {
            written |= held.dirty;
            premature = held.early && written;
            held.early &= !written;
            held.dirty = false;
        }
        self.found.premature += u64::from(premature);
        if flushed.invalidates {
            let set = self.set(flushed.line);
            for (_, way) in &mut self.sets[set] {
                *way = way.filter(|held| held.line != flushed.line);
            }
        }
        if written {
            let asks = Asks {
                read: false,
                write: Some(flushed.line),
            };
            let asked = asked((0, flushed.line, 0, 0), flushed.core, flushed.instruction);
            self.memory.serve(&asked, asks);
            self.traffic.push((flushed.line, true));
        }
    }
}

/// A request: 0 for a write-back, 1 for a store, 2 for a prefetch, and otherwise a load.
fn asked((kind, line, ip, after): (u8, u64, u64, u8), core: u8, instruction: u64) -> Asked {
    let kind = match kind {
        0 => Kind::WriteBack,
        1 => Kind::Store,
        2 => Kind::Prefetch,
        _ => Kind::Load,
    };
    let ip = if kind.writes() { 0 } else { 0x400 + ip };
    Asked {
        request: Request {
            line,
            ip,
            core,
            kind,
        },
        instruction,
        after,
    }
}

fn machine(
    write_back: WriteBack,
    geometry: Geometry,
    policy: &str,
    name: &str,
    write_buffer: usize,
) -> LlcMachine {
    let chips = Chips {
        technology: Catalogue::builtin().get(name).unwrap().clone(),
        capacity: Bytes(1 << 30),
        write_buffer,
    };
    LlcMachine {
        line: 64,
        write_back,
        llcs: vec![Llc {
            size: Size {
                bytes: Bytes(64 * geometry.lines() as u64),
                ways: geometry.ways,
            },
            policy: Spec::parse(policy).unwrap(),
        }],
        memories: vec![Backing {
            name: name.to_owned(),
            memory: chips,
            cache: None,
        }],
        seed: 1,
        traffic: true,
        ..LlcMachine::default()
    }
}

/// All that is found: what memory was asked for, what was written early, and with what effect.
type Results = (Vec<(u64, bool)>, EarlyWrites, u64, Found);

fn fast(settings: &LlcMachine, batches: &[Batch], instructions: &[u64]) -> Results {
    let llc = &settings.llcs[0];
    let mut shared = crate::llc::pass::shared(settings, llc, instructions.len()).unwrap();
    batches.iter().for_each(|batch| shared.serve(batch));
    shared.end(instructions);
    let lines = settings.lines().unwrap();
    let traffic = shared.traffic().unwrap().iter();
    let traffic = traffic
        .map(|row| (row.address >> lines.shift(), row.write))
        .collect();
    let outcome = shared.outcome(llc.clone());
    let counts = outcome.counts;
    assert_eq!(counts.dirtied, counts.writebacks() + outcome.dirty_at_end);
    let early = outcome.early.unwrap();
    assert_eq!(early.writes, counts.early_writes);
    let found = outcome.memories[0].clone();
    assert_eq!(found.transfers.all_writes(), counts.writebacks());
    (traffic, early, outcome.dirty_at_end, found)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn lists_write_the_same_early(
        drawn in prop::collection::vec(
            ((0..6_u8, 0..60_u64, 0..4_u64, 0..20_u8), 0..3_u8, 0..9_u8, 0..500_u64), 1..400,
        ),
        pace in prop::sample::select(vec![1, 1, 10]),
        (sets, ways) in (1..7_usize, 1..9_usize),
        high in prop::option::of(0..9_usize),
        write_back in prop::sample::select(vec![WriteBack::Eager, WriteBack::Rows, WriteBack::LastWrite]),
        name in prop::sample::select(vec!["dram", "pcm-row"]),
        write_buffer in 2..7_usize,
        length in 1..50_usize,
    ) {
        let high = high.map(|high| high.min(ways));
        let policy = high.map_or("lru".to_owned(), |high| format!("nhm:n={high}"));
        let geometry = Geometry { sets, ways };
        let settings = machine(write_back, geometry, &policy, name, write_buffer);
        let mut slow = Slow {
            write_back,
            ways,
            kept: high.unwrap_or(ways),
            high: high.unwrap_or(ways - ways.div_ceil(4)),
            sets: vec![(0..ways).map(|way| (way, None)).collect(); sets],
            sampler: (0..sets).map(|_| Vec::new()).collect(),
            counters: HashMap::new(),
            queue: Vec::new(),
            memory: settings.memories[0].memory_side(64, 3).unwrap(),
            traffic: Vec::new(),
            found: EarlyWrites::default(),
            idle: 0,
        };
        let mut instructions = [0; 3];
        let mut batches = vec![Batch::default()];
        for ((kind, line, ip, after), core, event, step) in drawn {
            // Rows of which some have many lines, and some few.
            let line = line + line % 4 * 128;
            let instruction = &mut instructions[usize::from(core)];
            *instruction += step * pace;
            let batch = batches.last_mut().unwrap();
            if event < 2 {
                let flushed = Flushed {
                    line,
                    core,
                    instruction: *instruction,
                    dirty: kind.is_multiple_of(2),
                    invalidates: event == 0,
                    before: batch.len(),
                };
                slow.flush(&flushed);
                batch.flushed.push(flushed);
                continue;
            }
            let asked = asked((kind, line, ip, after), core, *instruction);
            slow.serve(&asked);
            batch.push(asked);
            if batch.len() >= length {
                batches.push(Batch::default());
            }
        }
        slow.memory.end(&instructions);
        slow.found.idle = Nanos(slow.idle / 1000);
        let held = slow.sets.iter().flatten().filter_map(|way| way.1);
        let dirty = held.filter(|held| held.dirty).count() as u64;
        let (traffic, early, dirty_at_end, found) = fast(&settings, &batches, &instructions);
        prop_assert_eq!(traffic, slow.traffic);
        prop_assert_eq!(early, slow.found);
        prop_assert_eq!(dirty_at_end, dirty);
        prop_assert_eq!(found, slow.memory.found());
    }
}
