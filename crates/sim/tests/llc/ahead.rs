//! Second levels that read ahead, and last levels that include the others, against lists.

use std::collections::HashMap;

use proptest::prelude::*;
use terrace_policy::llc::Kind;
use terrace_sim::llc::{Inclusion, PrefetchCounts, Prefetching};
use terrace_trace::Access;

use crate::replay::{Replay, settings, shape, simulate};

/// A line: its process and its number within that.
type Line = (u16, u64);

/// A request: core, instruction address, line, and kind.
type Asked = (u16, u64, Line, Kind);

#[derive(Clone, Copy)]
struct Held {
    line: Line,
    dirty: bool,
    /// Read ahead, and not asked for since.
    ahead: bool,
}

/// A level: of each set its lines, the most recently used first.
struct Level {
    shape: (usize, usize),
    sets: HashMap<usize, Vec<Held>>,
}

impl Level {
    fn new(shape: (usize, usize)) -> Self {
        let sets = HashMap::new();
        Self { shape, sets }
    }

    fn set(&mut self, (process, number): Line) -> &mut Vec<Held> {
        let number = u128::from(process) << 45 | u128::from(number);
        let set = (number % self.shape.0 as u128) as usize;
        self.sets.entry(set).or_default()
    }

    fn take(&mut self, line: Line) -> Option<Held> {
        let set = self.set(line);
        let at = set.iter().position(|held| held.line == line)?;
        Some(set.remove(at))
    }

    /// Puts a line first; returns what has to go for it.
    fn put(&mut self, held: Held) -> Option<Held> {
        let ways = self.shape.1;
        let set = self.set(held.line);
        set.insert(0, held);
        (set.len() > ways).then(|| set.pop()).flatten()
    }

    fn all(&self) -> impl Iterator<Item = &Held> {
        self.sets.values().flatten()
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Found {
    requests: Vec<Asked>,
    /// Lines that memory is asked for, and whether they are written.
    traffic: Vec<(Line, bool)>,
    ahead: PrefetchCounts,
    invalidated: u64,
    misses: u64,
    prefetch_misses: u64,
    dirty: u64,
}

/// The whole machine.
struct Slow {
    prefetching: Prefetching,
    inclusive: bool,
    /// Whether the access touches several lines.
    several: bool,
    cores: Vec<[Level; 2]>,
    last: Level,
    /// The last line of each instruction of each core, and its step to there.
    steps: HashMap<(u16, u64), (u64, i64)>,
    found: Found,
}

impl Slow {
    fn access(&mut self, access: &Access) {
        let core = access.thread % self.cores.len() as u16;
        let end = access.address + u64::from(access.size.max(1)) - 1;
        let mut all = Vec::new();
        for number in access.address / 64..=end / 64 {
            let (line, mut asked) = ((access.process, number), Vec::new());
            if self.touch(core, line, access.write, &mut asked) {
                self.read_ahead(core, line, access.ip, &mut asked);
            }
            if self.inclusive {
                asked.sort_by_key(|(_, kind)| *kind != Kind::WriteBack);
            }
            all.extend(asked);
        }
        self.several = end / 64 > access.address / 64;
        for (line, kind) in all {
            let ip = if kind == Kind::WriteBack {
                0
            } else {
                access.ip
            };
            self.found.requests.push((core, ip, line, kind));
            self.ask(line, kind);
        }
        if self.inclusive {
            let included: Vec<Line> = self.last.all().map(|held| held.line).collect();
            let private = self.cores.iter().flatten().flat_map(Level::all);
            private.for_each(|held| assert!(included.contains(&held.line), "{:?}", held.line));
        }
    }

    /// Whether the second level was asked for the line.
    fn touch(&mut self, core: u16, line: Line, write: bool, asked: &mut Vec<(Line, Kind)>) -> bool {
        let [first, second] = &mut self.cores[usize::from(core)];
        let new = |dirty| Held {
            line,
            dirty,
            ahead: false,
        };
        if let Some(held) = first.take(line) {
            first.put(new(held.dirty || write));
            return false;
        }
        let down = first.put(new(write)).filter(|held| held.dirty);
        let gone = match second.take(line) {
            Some(held) => {
                self.found.ahead.useful += u64::from(held.ahead);
                second.put(new(held.dirty))
            }
            None => {
                asked.push((line, if write { Kind::Store } else { Kind::Load }));
                second.put(new(false))
            }
        };
        let mut gone: Vec<Held> = gone.into_iter().collect();
        if let Some(down) = down {
            let was = second.take(down.line);
            self.found.ahead.useless += u64::from(was.is_some_and(|was| was.ahead));
            let ahead = false;
            gone.extend(second.put(Held { ahead, ..down }));
        }
        self.leave(gone, asked);
        true
    }

    fn leave(&mut self, gone: Vec<Held>, asked: &mut Vec<(Line, Kind)>) {
        for held in gone {
            self.found.ahead.useless += u64::from(held.ahead);
            if held.dirty {
                asked.push((held.line, Kind::WriteBack));
            }
        }
    }

    fn read_ahead(&mut self, core: u16, line: Line, ip: u64, asked: &mut Vec<(Line, Kind)>) {
        let (process, number) = line;
        let ahead: Vec<u64> = match self.prefetching {
            Prefetching::Off => vec![],
            Prefetching::NextLine => vec![number + 1],
            Prefetching::Stride => {
                // Processes on a core share its prefetcher, and lie far from each other.
                let place = u64::from(process) << 45 | number;
                let (last, before) = *self.steps.get(&(core, ip)).unwrap_or(&(place, 0));
                let step = place as i64 - last as i64;
                let known = self.steps.contains_key(&(core, ip));
                if step != 0 || !known {
                    self.steps.insert((core, ip), (place, step));
                }
                match step != 0 && step == before {
                    true => (1..4).map(|n| (number as i64 + n * step) as u64).collect(),
                    false => vec![],
                }
            }
        };
        for next in ahead.into_iter().filter(|next| next / 64 == number / 64) {
            let line = (process, next);
            let second = &mut self.cores[usize::from(core)][1];
            if second.all().any(|held| held.line == line) {
                continue;
            }
            self.found.ahead.issued += 1;
            let new = Held {
                line,
                dirty: false,
                ahead: true,
            };
            let gone = second.put(new);
            asked.push((line, Kind::Prefetch));
            self.leave(gone.into_iter().collect(), asked);
        }
    }

    /// What the last level does with a request.
    fn ask(&mut self, line: Line, kind: Kind) {
        let write = kind == Kind::WriteBack;
        let new = |dirty| Held {
            line,
            dirty,
            ahead: false,
        };
        if let Some(held) = self.last.take(line) {
            self.last.put(new(held.dirty || write));
            return;
        }
        match kind {
            Kind::Load | Kind::Store => self.found.misses += 1,
            Kind::Prefetch => self.found.prefetch_misses += 1,
            Kind::WriteBack => assert!(!self.inclusive || self.several, "it was there"),
            Kind::CleanVictim => unreachable!("no level is exclusive"),
        }
        if !write {
            self.found.traffic.push((line, false));
        }
        let Some(mut gone) = self.last.put(new(write)) else {
            return;
        };
        if self.inclusive {
            for levels in &mut self.cores {
                let taken = levels.iter_mut().filter_map(|level| level.take(gone.line));
                let taken: Vec<Held> = taken.collect();
                self.found.invalidated += u64::from(!taken.is_empty());
                for held in taken {
                    gone.dirty |= held.dirty;
                    self.found.ahead.useless += u64::from(held.ahead);
                }
            }
        }
        if gone.dirty {
            self.found.traffic.push((gone.line, true));
        }
    }
}

/// Runs of lines in some stride, of four threads in two processes.
fn strided() -> impl Strategy<Value = Vec<Access>> {
    let step = (
        0..4_u16,
        0..120_u64,
        -4..5_i64,
        1..9_i64,
        (0..3_u64, 0..64_u64),
        (1..100_u32, any::<bool>()),
    );
    prop::collection::vec(step, 1..80).prop_map(|steps| {
        let mut instructions = [0; 4];
        let mut all = Vec::new();
        for (thread, first, stride, length, (ip, offset), (size, write)) in steps {
            for n in 0..length {
                instructions[usize::from(thread)] += 3;
                all.push(Access {
                    instruction: instructions[usize::from(thread)],
                    address: 0x7fff_0000_0000
                        + first.wrapping_add_signed(40 + n * stride) * 64
                        + offset,
                    ip: 0x400 + ip,
                    process: thread / 2,
                    thread,
                    size,
                    write,
                });
            }
        }
        all
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_fast_hierarchy_finds_what_lists_do(
        accesses in strided(),
        block in 1..50_usize,
        (first, second) in (shape(), shape()),
        llc in (1..6_usize, 1..9_usize),
        cores in 1..5_u16,
        prefetching in prop::sample::select(vec![Prefetching::Off, Prefetching::NextLine, Prefetching::Stride]),
        inclusion in prop::sample::select(vec![Inclusion::NonInclusive, Inclusion::Inclusive]),
    ) {
        let mut settings = settings(64, [Some(first), Some(second)], llc, &["lru"]);
        if cores > 1 {
            // Without time, threads keep to the order of the trace.
            settings.memories.clear();
        }
        settings.prefetching = prefetching;
        settings.inclusion = inclusion;
        let replay = Replay::new(accesses, block);
        let ran = simulate(&settings, &[&replay], cores.into());
        let level = |_| [Level::new(first), Level::new(second)];
        let mut slow = Slow {
            prefetching,
            inclusive: inclusion == Inclusion::Inclusive,
            several: false,
            cores: (0..cores).map(level).collect(),
            last: Level::new(llc),
            steps: HashMap::new(),
            found: Found::default(),
        };
        replay.accesses.iter().for_each(|access| slow.access(access));
        slow.found.dirty = slow.last.all().filter(|held| held.dirty).count() as u64;

        let outcome = &ran.pass.outcomes[0];
        let line = |row: &Access| (row.process, row.address / 64);
        let kind = |row: &Access| match (row.write, row.size) {
            (true, _) => Kind::WriteBack,
            (false, 0) => Kind::Store,
            (false, 1) => Kind::Prefetch,
            (false, _) => Kind::Load,
        };
        let request = |row: &Access| (row.thread, row.ip, line(row), kind(row));
        let found = Found {
            requests: ran.requests.iter().map(request).collect(),
            traffic: ran.traffic.iter().map(|row| (line(row), row.write)).collect(),
            ahead: ran.pass.prefetches.unwrap_or_default(),
            invalidated: ran.pass.invalidated.unwrap_or_default(),
            misses: outcome.counts.misses(),
            prefetch_misses: outcome.counts.prefetches.misses(),
            dirty: outcome.dirty_at_end,
        };
        prop_assert_eq!(&found, &slow.found);
        let unused = slow.cores.iter().flatten().flat_map(Level::all).filter(|held| held.ahead);
        prop_assert_eq!(found.ahead.unused(), unused.count() as u64);
        let counts = outcome.counts;
        prop_assert_eq!(counts.dirtied, counts.writebacks() + outcome.dirty_at_end);
        prop_assert_eq!(ran.pass.prefetches.is_some(), prefetching != Prefetching::Off);
        if let Some(memory) = outcome.memories.first() {
            prop_assert_eq!(memory.transfers.all_reads(), counts.reads());
            prop_assert!(memory.late <= found.ahead.useful);
        }
    }

    /// What was asked of the last level, and what it was asked for ahead, can be simulated later.
    #[test]
    fn requests_that_are_kept_find_the_same(accesses in strided(), llc in shape()) {
        let policies = ["lru", "hawkeye", "mockingjay", "rlr"];
        let mut direct = settings(64, [Some((3, 2)), Some((2, 3))], llc, &policies);
        direct.prefetching = Prefetching::Stride;
        let ran = simulate(&direct, &[&Replay::new(accesses, 100)], 3);
        let Some(later) = ran.again(llc, &policies, 3) else {
            return Ok(());
        };
        prop_assert_eq!(later.pass.prefetches, None);
        for (one, other) in ran.pass.outcomes.iter().zip(&later.pass.outcomes) {
            prop_assert_eq!(one.counts, other.counts);
        }
    }
}

/// Loads of lines in a stride, `apart` instructions after each other.
fn walk(loads: u64, stride: u64, apart: u64) -> Replay {
    let load = |index| Access {
        instruction: index * apart,
        address: (1 << 30) + index * stride * 64,
        ip: 0x400,
        size: 8,
        ..Access::default()
    };
    Replay::new((0..loads).map(load).collect(), 999)
}

/// Levels that hold all of some pages at once.
fn machine(prefetching: Prefetching) -> terrace_sim::llc::LlcMachine {
    terrace_sim::llc::LlcMachine {
        memories: vec![crate::replay::memory("dram", None)],
        prefetching,
        ..settings(64, [Some((64, 8)), Some((512, 8))], (1024, 16), &["lru"])
    }
}

/// A page has 64 lines, and only its first is not read ahead. By a stride of 4, a page has 16 of
/// them; the stride is known from the third line on.
#[test]
fn of_each_page_the_first_line_misses() {
    let pages = 50;
    for (prefetching, stride, loads, misses) in [
        (Prefetching::Off, 1, 64 * pages, 64 * pages),
        (Prefetching::NextLine, 1, 64 * pages, pages),
        (Prefetching::Stride, 1, 64 * pages, pages + 2),
        (Prefetching::Stride, 4, 16 * pages, pages + 2),
        (Prefetching::NextLine, 4, 16 * pages, 16 * pages),
    ] {
        let pass = simulate(&machine(prefetching), &[&walk(loads, stride, 1000)], 1).pass;
        let counts = pass.outcomes[0].counts;
        assert_eq!(counts.misses(), misses, "{prefetching:?} {stride}");
        let ahead = pass.prefetches.unwrap_or_default();
        assert_eq!(ahead.useful, loads - misses);
        let wrong = if misses == loads && prefetching != Prefetching::Off {
            loads
        } else {
            0
        };
        assert_eq!(ahead.issued, loads - misses + wrong);
        assert_eq!(
            pass.outcomes[0].memories[0].late, 0,
            "1000 instructions are 250 ns"
        );
    }
}

/// The core goes on with 32 instructions, 8 ns, while a load takes 10 ns of look-up and 15 ns of
/// DRAM: it waits for 17 ns where nothing is read ahead, and for nothing where it is in time.
#[test]
fn what_is_read_ahead_in_time_takes_none() {
    let loads = 6400;
    let time = |prefetching, apart| {
        let pass = simulate(&machine(prefetching), &[&walk(loads, 1, apart)], 1).pass;
        let memory = &pass.outcomes[0].memories[0];
        (memory.elapsed.0 as f64 / loads as f64, memory.late)
    };
    let (without, _) = time(Prefetching::Off, 1000);
    assert!((without - 267.0).abs() < 2.0, "{without}");
    let (with, late) = time(Prefetching::NextLine, 1000);
    assert!((with - (250.0 + 17.0 / 64.0)).abs() < 1.0, "{with}");
    assert_eq!(late, 0);
    // 40 instructions are 10 ns: a line that is read ahead by one takes longer.
    let (soon, late) = time(Prefetching::NextLine, 40);
    assert_eq!(late, loads - loads / 64);
    let (alone, _) = time(Prefetching::Off, 40);
    assert!(10.0 < soon && soon < alone, "{soon} {alone}");
}
