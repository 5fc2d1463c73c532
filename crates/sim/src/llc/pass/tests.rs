//! Turns by time against turns of one access.

use std::collections::VecDeque;

use proptest::prelude::*;
use rustc_hash::FxHashMap;
use terrace_base::Bytes;
use terrace_device::Catalogue;
use terrace_policy::llc::Spec;
use terrace_trace::{Access, Meta, Source};

use super::super::frames::Frames;
use super::super::lines::Space;
use super::super::maker::Maker;
use super::super::private::Private;
use super::super::program::{INSTRUCTIONS_AN_ACCESS, once};
use super::super::requests::Rows;
use super::super::{Backing, Chips, Inclusion, Open, Placement, Size, Warmup};
use super::*;

/// Accesses in memory, in blocks of some.
struct Replay {
    meta: Meta,
    rows: Block,
    block: usize,
    next: usize,
}

impl Source for Replay {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn read(&mut self, block: &mut Block) -> Result<()> {
        block.clear();
        let end = self.rows.len().min(self.next + self.block);
        for row in self.next..end {
            block.push(self.rows.get(row));
            block.depends.extend(self.rows.depends.get(row));
        }
        self.next = end;
        Ok(())
    }
}

#[derive(Default)]
struct Kept(Vec<Access>);

impl Sink for Kept {
    fn write(&mut self, block: &Block) -> Result<()> {
        self.0.extend(block.iter());
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

/// A core that makes one access after another.
struct Core {
    private: Private,
    /// The rows of its threads that it has not made yet.
    rows: VecDeque<usize>,
    instructions: u64,
    /// The count of instructions at the last access, by thread.
    counts: FxHashMap<u16, u64>,
}

/// Makes one access at a time, that of the core which is the first to make its next one; returns
/// requests and results.
fn slow(settings: &LlcMachine, meta: &Meta, rows: &Block, cores: usize) -> (Vec<Access>, String) {
    let (lines, levels) = (settings.lines().unwrap(), settings.levels().unwrap());
    let flushes = &settings.flushes;
    let mut frames = Frames::new(&settings.placement, lines, 1, flushes, settings.seed).unwrap();
    let private = || {
        let private = Private::new(levels[0], levels[1]);
        match settings.prefetcher() {
            Some(prefetcher) => private.reading_ahead(prefetcher),
            None => private,
        }
    };
    let core = |core| Core {
        private: private(),
        rows: (0..rows.len())
            .filter(|row| usize::from(rows.thread[*row]) % cores == core)
            .collect(),
        instructions: 0,
        counts: FxHashMap::default(),
    };
    let mut all: Vec<Core> = (0..cores).map(core).collect();
    let mut shared = shared(settings, &settings.llcs[0], cores).unwrap();
    let (mut requests, mut made, mut asked, mut measures) = (Vec::new(), 0, 0, false);
    let mut measure = |batch: &mut Batch, made: u64, asked: u64| {
        let begins = match settings.warmup {
            Warmup::Accesses(accesses) => (made == accesses).then_some(batch.len()),
            Warmup::Requests(all) => (asked..=asked + batch.len() as u64)
                .contains(&all)
                .then(|| (all - asked) as usize),
        };
        batch.measured_from = begins.filter(|_| !measures);
        measures |= begins.is_some();
    };
    let mut batch = Batch::default();
    measure(&mut batch, 0, 0);
    shared.serve(&batch);
    loop {
        // The row, its thread's count before, and the instructions until there.
        let next = |core: &Core| {
            let row = *core.rows.front()?;
            let count = rows.instruction[row];
            let since = *core.counts.get(&rows.thread[row]).unwrap_or(&count);
            let more = if meta.counts_instructions {
                count - since
            } else {
                0
            };
            Some((row, since, more))
        };
        let times = all.iter().enumerate().filter_map(|(index, core)| {
            let (row, since, more) = next(core)?;
            let time = shared.time_at(index, core.instructions + more);
            Some((time, index, row, since, more))
        });
        let Some((_, index, row, since, more)) = times.min() else {
            let instructions: Vec<u64> = all.iter().map(|core| core.instructions).collect();
            shared.end(&instructions);
            let outcome = shared.outcome(settings.llcs[0].clone());
            return (requests, format!("{outcome:?} {instructions:?}"));
        };
        let core = &mut all[index];
        let mut maker = Maker {
            lines,
            frames: &mut frames,
            program: 0,
            space: Space::new(0, 1, rows.process[row]).unwrap(),
            mark: 0,
            core: index as u8,
            begin: core.instructions,
            since,
            instructions: more,
            counts_instructions: meta.counts_instructions,
            writes_first: settings.is_inclusive(),
        };
        batch.clear();
        match core.private.is_there() {
            true => maker.touch(rows, row..row + 1, &mut core.private, &mut batch),
            false => maker.ask(rows, row..row + 1, Rows::Accesses, &mut batch),
        }
        .unwrap();
        core.rows.pop_front();
        core.counts.insert(rows.thread[row], rows.instruction[row]);
        core.instructions += match meta.counts_instructions {
            true => more,
            false => INSTRUCTIONS_AN_ACCESS,
        };
        made += 1;
        measure(&mut batch, made, asked);
        asked += batch.len() as u64;
        match settings.is_inclusive() {
            true => shared.serve_including(&batch, &mut |line| {
                let cores = all.iter_mut();
                let dirty = cores.map(|core| core.private.flush(line, true));
                dirty.fold(false, |one, other| one | other)
            }),
            false => shared.serve(&batch),
        }
        requests.extend(
            batch
                .asked(0..batch.len())
                .map(|asked| super::super::requests::row(lines, &asked)),
        );
    }
}

/// The same by [`run`].
fn fast(settings: &LlcMachine, source: Replay, cores: usize) -> (Vec<Access>, String) {
    let open: Open = once(Box::new(source));
    let mix = Mix::new(vec![("replay".to_owned(), open)], Some(cores), None).unwrap();
    let mut requests = Kept::default();
    let sinks = Sinks {
        requests: Some(&mut requests),
        ..Sinks::default()
    };
    let pass = run(settings, mix, sinks, |_| ()).unwrap();
    let mut all = pass.outcomes.iter().map(|outcome| format!("{outcome:?}"));
    let first = all.next().unwrap();
    all.for_each(|other| assert_eq!(first, other));
    (requests.0, format!("{first} {:?}", pass.instructions))
}

fn size((sets, ways): (usize, usize)) -> Size {
    let bytes = Bytes(64 * (sets * ways) as u64);
    Size { bytes, ways }
}

fn memory(name: &str) -> Backing {
    Backing {
        name: name.to_owned(),
        memory: Chips {
            technology: Catalogue::builtin().get(name).unwrap().clone(),
            capacity: Bytes(1 << 30),
            write_buffer: 4,
        },
        cache: None,
    }
}

fn shape() -> impl Strategy<Value = (usize, usize)> {
    (1..6_usize, 1..6_usize)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// However a trace was recorded: in what pieces of threads, and in what blocks.
    #[test]
    fn turns_by_time_are_those_of_single_accesses(
        drawn in prop::collection::vec(
            (0..4_u16, 0..60_u64, 0..64_u64, 0..80_u32, any::<bool>(), 1..60_u64, 0..20_u8), 1..300,
        ),
        (chunk, block, cores) in (1..200_usize, 1..50_usize, 2..5_usize),
        (counts_instructions, depends) in any::<(bool, bool)>(),
        private in [prop::option::of(shape()), prop::option::of(shape())],
        llc in (1..6_usize, 1..9_usize),
        warmup in prop_oneof![(0..300_u64).prop_map(Warmup::Requests), (0..300_u64).prop_map(Warmup::Accesses)],
        name in prop::sample::select(vec!["dram", "pcm-row"]),
        placement in prop::sample::select(vec!["virtual", "jit:memory=16M"]),
        prefetching in prop::sample::select(vec![Prefetching::Off, Prefetching::NextLine, Prefetching::Stride]),
        inclusive in any::<bool>(),
        write_back in prop::sample::select(vec![
            WriteBack::Demand, WriteBack::Eager, WriteBack::Rows, WriteBack::LastWrite,
        ]),
    ) {
        let levels = private.iter().flatten().count();
        let inclusive = inclusive && levels > 0;
        let mut counts = [0; 4];
        let access = |(thread, line, offset, size, write, step, from): (u16, u64, u64, u32, bool, u64, u8)| {
            counts[usize::from(thread)] += step;
            let access = Access {
                instruction: counts[usize::from(thread)],
                address: (u64::from(thread % 3) << 20) + line * 64 + offset + ((line % 3) << 13),
                ip: 0x400 + line % 5,
                process: thread / 2,
                thread,
                size,
                write,
            };
            (access, from)
        };
        let mut drawn: Vec<(Access, u8)> = drawn.into_iter().map(access).collect();
        // A piece of each thread in turn.
        let mut made = [0; 4];
        drawn.sort_by_cached_key(|(access, _)| {
            let made = &mut made[usize::from(access.thread)];
            *made += 1;
            ((*made - 1) / chunk, access.thread)
        });
        let mut rows = Block::default();
        for (access, from) in drawn {
            rows.push(access);
            rows.depends.extend(depends.then_some(from));
        }
        let settings = LlcMachine {
            line: 64,
            private: private.map(|shape| shape.map(size)),
            prefetching: if levels == 2 { prefetching } else { Prefetching::Off },
            inclusion: if inclusive { Inclusion::Inclusive } else { Inclusion::NonInclusive },
            write_back,
            // The second serves what the first has.
            llcs: vec![Llc { size: size(llc), policy: Spec::parse("lru").unwrap() }; if inclusive { 1 } else { 2 }],
            memories: vec![memory(name)],
            warmup,
            seed: 1,
            placement: Placement::parse(placement).unwrap(),
            ..LlcMachine::default()
        };
        let meta = Meta { counts_instructions, ..Meta::default() };
        let (requests, found) = slow(&settings, &meta, &rows, cores);
        let replay = Replay { meta, rows, block, next: 0 };
        let (fast, found_fast) = fast(&settings, replay, cores);
        prop_assert_eq!(fast, requests);
        prop_assert_eq!(found_fast, found);
    }
}
