//! The core side: cores with private levels, which turn accesses into requests to the last level.

use terrace_base::Result;

use super::ahead::PrefetchCounts;
use super::batch::{Batch, Ordered};
use super::flush::{Flushes, Piece, pieces};
use super::frames::{Faults, Frames};
use super::lines::{Lines, Space};
use super::maker::Maker;
use super::mix::{Mix, Step};
use super::private::{LevelCounts, Private};
use super::program::Run;
use super::requests::Rows;
use super::settings::{LlcMachine, Warmup};
use super::shared::Shared;
use super::steps::Stretch;

/// Requests of a batch, approximately: few enough to stay in the processor's caches.
const REQUESTS: usize = 1 << 14;
/// Accesses after which a batch is complete even with few requests.
const ACCESSES: u64 = 1 << 22;

/// The core side of all last-level caches.
pub struct CoreSide<'a> {
    mix: Mix<'a>,
    lines: Lines,
    /// The frames of pages; `None` where addresses stay virtual.
    frames: Option<Frames>,
    flushes: Flushes,
    cores: Vec<Core>,
    /// Whether cores take turns by their time.
    by_time: bool,
    /// How many lines have left private levels since the last level evicted them; `None` where it
    /// does not include them.
    invalidated: Option<u64>,
    rows: Rows,
    warmup: Warmup,
    /// Accesses so far, of all programs.
    accesses: u64,
    /// Requests so far.
    requests: u64,
    /// Whether the warm-up is over.
    measures: bool,
}

struct Core {
    private: Private,
    /// Instructions executed.
    instructions: u64,
}

impl<'a> CoreSide<'a> {
    /// Makes the cores of a mix, with empty private levels.
    ///
    /// # Errors
    /// A usage error where the settings cannot be simulated.
    pub fn new(mix: Mix<'a>, settings: &LlcMachine, rows: Rows) -> Result<Self> {
        let (lines, levels) = (settings.lines()?, settings.levels()?);
        let LlcMachine {
            placement,
            flushes,
            seed,
            ..
        } = settings;
        let frames = Frames::new(placement, lines, mix.programs().len(), flushes, *seed)?;
        let private = Private::new(levels[0], levels[1]);
        let private = match settings.prefetcher() {
            Some(prefetcher) => private.reading_ahead(prefetcher),
            None => private,
        };
        let private = match settings.is_exclusive() {
            true => private.before_exclusive(),
            false => private,
        };
        let core = |_| Core {
            private: private.clone(),
            instructions: 0,
        };
        Ok(Self {
            lines,
            frames,
            flushes: flushes.clone(),
            cores: (0..mix.cores()).map(core).collect(),
            by_time: false,
            invalidated: settings.is_inclusive().then_some(0),
            mix,
            rows,
            warmup: settings.warmup,
            accesses: 0,
            requests: 0,
            measures: false,
        })
    }

    /// Replaces `batch` by the next requests, and returns whether there were accesses.
    ///
    /// # Errors
    /// Errors of the traces; a usage error where an address has too many bits.
    pub fn fill(&mut self, batch: &mut Batch) -> Result<bool> {
        batch.clear();
        let begin = self.accesses;
        while batch.len() < REQUESTS && self.accesses - begin < ACCESSES {
            self.end_warmup(batch);
            let most = match self.warmup {
                Warmup::Accesses(warmup) if !self.measures => warmup - self.accesses,
                _ => ACCESSES,
            };
            let Some((program, run)) = self.mix.next(most)? else {
                break;
            };
            self.make(program, &run, batch)?;
        }
        self.end_warmup(batch);
        self.requests += batch.len() as u64;
        Ok(self.accesses > begin)
    }

    /// Whether cores can take turns by their time: there are several, and their requests are not in
    /// an order that was simulated before.
    pub fn can_keep_time(&self) -> bool {
        let several = match self.rows {
            Rows::Requests => self.mix.programs().len(),
            Rows::Accesses | Rows::Filtered => self.cores.len(),
        };
        several > 1
    }

    /// Has cores take turns by their time, before the first turn, so that
    /// [`CoreSide::fill_with`] makes their requests.
    pub fn keep_time(&mut self) {
        self.by_time = true;
        self.mix.keep_time();
    }

    /// Same as [`CoreSide::fill`] with a cache that serves the requests as they are made, because
    /// it includes the private levels, or because cores take turns by the time that it takes: every
    /// request is made in the order of time. What the first level serves concerns no other core,
    /// and is done ahead.
    ///
    /// # Errors
    /// Errors of [`CoreSide::fill`].
    pub fn fill_with(&mut self, batch: &mut Batch, shared: &mut Shared) -> Result<bool> {
        batch.clear();
        let (begin, mut turn) = (self.accesses, Batch::default());
        while batch.len() < REQUESTS && self.accesses - begin < ACCESSES {
            let more = match self.by_time {
                true => self.take_turn(&mut turn, shared)?,
                false => self.make_one(&mut turn)?,
            };
            if !more {
                break;
            }
            self.serve(&turn, shared);
            batch.append(&turn);
        }
        Ok(self.accesses > begin)
    }

    /// Replaces `batch` by the next access, or by those that the first level of the only core
    /// serves; returns false if there is none.
    fn make_one(&mut self, batch: &mut Batch) -> Result<bool> {
        batch.clear();
        self.end_warmup(batch);
        let served = match self.mix.programs()[0].ahead(0) {
            Some(next) if self.may_go_ahead() => self.served(0, 0, &next)?,
            _ => 0,
        };
        let Some((program, run)) = self.mix.next(served.max(1) as u64)? else {
            return Ok(false);
        };
        self.make(program, &run, batch)?;
        self.finish(batch);
        Ok(true)
    }

    /// Ends a batch that one access makes, beside others that make no request.
    fn finish(&mut self, batch: &mut Batch) {
        self.end_warmup(batch);
        self.requests += batch.len() as u64;
    }

    /// Serves a batch of one access.
    fn serve(&mut self, batch: &Batch, shared: &mut Shared) {
        let (Some(invalidated), cores) = (&mut self.invalidated, &mut self.cores) else {
            return shared.serve(batch);
        };
        shared.serve_including(batch, &mut |line| {
            let holding = cores.iter_mut().filter(|core| core.private.has(line));
            holding.fold(false, |dirty, core| {
                *invalidated += 1;
                dirty | core.private.flush(line, true)
            })
        });
    }

    /// Replaces `batch` by what the core does next whose next step is the first, an access or what
    /// orders it with others; returns false if there is none.
    fn take_turn(&mut self, batch: &mut Batch, shared: &Shared) -> Result<bool> {
        batch.clear();
        self.end_warmup(batch);
        loop {
            if !self.mix.prepare_by_time()? {
                return Ok(false);
            }
            let Some((core, program)) = self.mix.untimed() else {
                break;
            };
            self.go_ahead(program, core, batch)?;
            if let Some(instruction) = self.next_instruction(program, core) {
                self.mix.set_time(core, shared.time_at(core, instruction));
            }
        }
        match self.mix.next_by_time() {
            Step::Run(program, run) => self.make(program, &run, batch)?,
            Step::Order(order) => batch.orders.push(Ordered {
                order,
                instruction: self.cores[order.core].instructions,
                before: 0,
            }),
        }
        self.finish(batch);
        Ok(true)
    }

    /// Makes the next accesses of a core that its first level serves.
    fn go_ahead(&mut self, program: usize, core: usize, batch: &mut Batch) -> Result<()> {
        while let Some(next) = self.mix.programs()[program].ahead(core)
            && self.may_go_ahead()
        {
            let served = self.served(program, core, &next)?;
            if served == 0 {
                break;
            }
            let run = self.mix.run(program, core, served);
            self.make(program, &run, batch)?;
        }
        Ok(())
    }

    /// Whether a core can make accesses before others make earlier ones: nothing takes lines from
    /// its private levels meanwhile, and nothing counts accesses.
    fn may_go_ahead(&self) -> bool {
        let counts = matches!(self.warmup, Warmup::Accesses(_)) && !self.measures;
        let alone = self.invalidated.is_none() || self.cores.len() == 1;
        !counts && alone && self.flushes.ips.iter().all(Option::is_none)
    }

    /// Returns how many of the next accesses of a core its first level serves.
    fn served(&self, program: usize, core: usize, next: &Stretch) -> Result<usize> {
        let Stretch { block, range } = next;
        let process = block.process.get(range.start).copied().unwrap_or(0);
        let space = Space::new(program, self.mix.programs().len(), process)?;
        let (lines, private) = (self.lines, &self.cores[core].private);
        let holds = |shifted: u64| {
            let line = match &self.frames {
                None => Some(lines.of(space, shifted)),
                Some(frames) => frames.known_line(lines, space, shifted),
            };
            line.is_some_and(|line| private.holds(line))
        };
        let mut hot = None;
        let serves = |index: &usize| {
            let address = block.address[*index];
            let size = block.size.get(*index).copied().unwrap_or(0);
            let end = address.saturating_add(size.saturating_sub(1).into());
            let (first, last) = (address >> lines.shift(), end >> lines.shift());
            let known = first == last && hot == Some(first);
            hot = Some(last);
            known || lines.fits(address) && (first..=last).all(holds)
        };
        Ok(range.clone().take_while(serves).count())
    }

    /// Returns the instruction of a core at its next step, if that is known.
    fn next_instruction(&self, program: usize, core: usize) -> Option<u64> {
        let more = self.mix.programs()[program].until_next(core)?;
        let executed = self.cores[core].instructions;
        Some(executed.saturating_add(more))
    }

    /// Notes in the batch where the warm-up ends, if it does.
    fn end_warmup(&mut self, batch: &mut Batch) {
        if self.measures {
            return;
        }
        let asked = batch.len();
        batch.measured_from = match self.warmup {
            Warmup::Accesses(accesses) => (self.accesses >= accesses).then_some(asked),
            Warmup::Requests(requests) => {
                let left = requests - self.requests;
                usize::try_from(left).ok().filter(|left| *left <= asked)
            }
        };
        self.measures = batch.measured_from.is_some();
    }

    /// Executes a run of accesses of one thread.
    fn make(&mut self, program: usize, run: &Run, batch: &mut Batch) -> Result<()> {
        let programs = self.mix.programs();
        let space = Space::new(program, programs.len(), run.process)?;
        let block = &*run.block;
        let core = &self.cores[run.core];
        let executed = core.instructions.saturating_add(run.instructions);
        let mut maker = Maker {
            lines: self.lines,
            frames: &mut self.frames,
            program,
            space,
            mark: 0,
            core: run.core as u8,
            begin: core.instructions,
            since: run.since,
            instructions: run.instructions,
            counts_instructions: programs[program].counts_instructions(),
            writes_first: self.invalidated.is_some(),
        };
        let flushes = self.flushes.of(program);
        for Piece { touched, flush } in pieces(&block.ip, run.range.clone(), flushes) {
            let core = &mut self.cores[run.core];
            let length = touched.len();
            if core.private.is_there() {
                maker.touch(block, touched, &mut core.private, batch)?;
            } else {
                maker.ask(block, touched, self.rows, batch)?;
            }
            maker.go_on(length);
            if let Some(index) = flush {
                let mut flushed = maker.flush(block, index, !self.flushes.keeps)?;
                flushed.before = batch.len();
                for core in &mut self.cores[programs[program].cores.clone()] {
                    let dirty = core.private.flush(flushed.line, flushed.invalidates);
                    flushed.dirty |= dirty;
                }
                batch.flushed.push(flushed);
                maker.go_on(1);
            }
        }
        self.cores[run.core].instructions = executed;
        self.accesses += run.range.len() as u64;
        Ok(())
    }

    /// Returns the counts of each program's first touches of pages; empty where addresses stay
    /// virtual.
    pub fn faults(&self) -> Vec<Faults> {
        self.frames.as_ref().map_or(Vec::new(), Frames::faults)
    }

    /// Returns the accesses so far.
    pub fn accesses(&self) -> u64 {
        self.accesses
    }

    /// Returns the instructions that each core has executed.
    pub fn instructions(&self) -> Vec<u64> {
        self.cores.iter().map(|core| core.instructions).collect()
    }

    /// Returns the lines that have left private levels since the last level evicted them; `None`
    /// where it does not include them.
    pub fn invalidated(&self) -> Option<u64> {
        self.invalidated
    }

    /// Returns the counts of what all cores have read ahead; `None` where they read nothing.
    pub fn prefetch_counts(&self) -> Option<PrefetchCounts> {
        let counts = self
            .cores
            .iter()
            .filter_map(|core| core.private.prefetch_counts());
        counts.reduce(|sum, more| sum + more)
    }

    /// Returns the counts of all cores' private levels, the first before the second.
    pub fn counts(&self) -> [Option<LevelCounts>; 2] {
        let counts = self.cores.iter().map(|core| core.private.counts());
        let add = |sum: Option<LevelCounts>, more: Option<LevelCounts>| {
            more.map(|more| more + sum.unwrap_or_default())
        };
        counts.fold([None; 2], |sum, more| {
            [add(sum[0], more[0]), add(sum[1], more[1])]
        })
    }
}
