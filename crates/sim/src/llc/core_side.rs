//! The core side: cores with private levels, which turn accesses into requests to the last level.

use std::ops::Range;

use terrace_base::{Error, Result};
use terrace_policy::llc::Request;
use terrace_trace::Block;

use super::batch::{Asked, Batch};
use super::flush::{Flushed, Flushes, Piece, pieces};
use super::frames::{Faults, Frames};
use super::lines::{Lines, Space};
use super::mix::Mix;
use super::private::{LevelCounts, Private};
use super::program::{INSTRUCTIONS_AN_ACCESS, Run};
use super::requests::Rows;
use super::settings::{LlcMachine, Warmup};

/// Requests of a batch, approximately: few enough to stay in the processor's caches.
const REQUESTS: usize = 1 << 14;
/// Accesses after which a batch is complete even with few requests.
const ACCESSES: u64 = 1 << 22;
/// The most instructions of a core: the time of more would overflow.
const MOST_INSTRUCTIONS: u64 = 1 << 50;
/// An address at which no line begins.
const NOWHERE: u64 = u64::MAX;

/// The core side of all last-level caches.
pub struct CoreSide<'a> {
    mix: Mix<'a>,
    lines: Lines,
    /// The frames of pages; `None` where addresses stay virtual.
    frames: Option<Frames>,
    flushes: Flushes,
    cores: Vec<Core>,
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
        let core = |_| Core {
            private: Private::new(levels[0], levels[1]),
            instructions: 0,
        };
        Ok(Self {
            lines,
            frames,
            flushes: flushes.clone(),
            cores: (0..mix.cores()).map(core).collect(),
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
            self.accesses += run.range.len() as u64;
            self.make(program, &run, batch)?;
        }
        self.end_warmup(batch);
        self.requests += batch.len() as u64;
        Ok(self.accesses > begin)
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
        let block = programs[program].block();
        let core = &self.cores[run.core];
        let executed = core.instructions.saturating_add(run.instructions);
        if executed > MOST_INSTRUCTIONS {
            return Err(Error::usage(format!(
                "{} counts more instructions than a program can execute; its column of instructions is wrong",
                programs[program].name()
            )));
        }
        let mut maker = Maker {
            lines: self.lines,
            frames: &mut self.frames,
            program,
            space,
            core: run.core as u8,
            begin: core.instructions,
            since: run.since,
            instructions: run.instructions,
            counts_instructions: programs[program].counts_instructions(),
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
        Ok(())
    }

    /// Returns the counts of each program's first touches of pages; empty where addresses stay virtual.
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

/// The state that all accesses of a run share.
struct Maker<'f> {
    lines: Lines,
    frames: &'f mut Option<Frames>,
    program: usize,
    space: Space,
    core: u8,
    /// Instructions that the core had executed before the run.
    begin: u64,
    /// The trace's instruction count at that time.
    since: u64,
    /// Instructions of the run.
    instructions: u64,
    counts_instructions: bool,
}

impl Maker<'_> {
    /// Returns the line at `address >> shift`.
    #[inline]
    fn line(&mut self, shifted: u64) -> Result<u64> {
        match self.frames {
            None => Ok(self.lines.of(self.space, shifted)),
            Some(frames) => frames.line(self.program, self.lines, self.space, shifted),
        }
    }

    /// Advances by a number of accesses.
    fn go_on(&mut self, accesses: usize) {
        if !self.counts_instructions {
            self.begin += accesses as u64 * INSTRUCTIONS_AN_ACCESS;
        }
    }

    /// Returns the line that an access flushes.
    fn flush(&mut self, block: &Block, index: usize, invalidates: bool) -> Result<Flushed> {
        let address = block.address[index];
        self.check(address)?;
        Ok(Flushed {
            line: self.line(address >> self.lines.shift())?,
            core: self.core,
            instruction: self.instruction(block, index, 0),
            dirty: false,
            invalidates,
            before: 0,
        })
    }

    /// Touches the lines of accesses in the private levels. The line that was touched last is kept at
    /// hand, as it is the first of its set.
    fn touch(
        &mut self,
        block: &Block,
        range: Range<usize>,
        private: &mut Private,
        batch: &mut Batch,
    ) -> Result<()> {
        let shift = self.lines.shift();
        let (mut hot, mut hot_set, mut more) = (NOWHERE, 0, 0);
        let accesses = block.address[range.clone()]
            .iter()
            .zip(&block.write[range.clone()]);
        let sizes = block.size.get(range.clone()).unwrap_or_default();
        for (offset, (&address, &write)) in accesses.enumerate() {
            let size = sizes.get(offset).map_or(0, |size| size.saturating_sub(1));
            let first = address >> shift;
            let last = address.saturating_add(size.into()) >> shift;
            if first == hot && last == hot {
                private.again(hot_set, write);
                continue;
            }
            self.check(address)?;
            let index = range.start + offset;
            for shifted in first..=last {
                let line = self.line(shifted)?;
                private.touch(line, write, &mut |kind, line| {
                    let ip = match kind.writes() {
                        true => 0,
                        false => block.ip.get(index).copied().unwrap_or(0),
                    };
                    let request = Request {
                        line,
                        ip,
                        core: self.core,
                        kind,
                    };
                    let instruction = self.instruction(block, index, offset);
                    batch.push(Asked {
                        request,
                        instruction,
                    });
                });
            }
            more += last - first;
            hot = last;
            hot_set = private.first_of(self.line(last)?);
        }
        private.touched(range.len() as u64 + more);
        Ok(())
    }

    /// Requests the lines of accesses where there is no private level.
    fn ask(
        &mut self,
        block: &Block,
        range: Range<usize>,
        rows: Rows,
        batch: &mut Batch,
    ) -> Result<()> {
        let shift = self.lines.shift();
        for (offset, index) in range.enumerate() {
            let access = block.get(index);
            self.check(access.address)?;
            let kind = rows.kind(&access);
            let ip = if kind.writes() { 0 } else { access.ip };
            let instruction = self.instruction(block, index, offset);
            let size = access.size.saturating_sub(1);
            let last = access.address.saturating_add(size.into()) >> shift;
            for shifted in access.address >> shift..=last {
                let line = self.line(shifted)?;
                let request = Request {
                    line,
                    ip,
                    core: self.core,
                    kind,
                };
                batch.push(Asked {
                    request,
                    instruction,
                });
            }
        }
        Ok(())
    }

    /// Returns the instructions that the core had executed at an access, `offset` accesses after the
    /// first.
    #[inline]
    fn instruction(&self, block: &Block, index: usize, offset: usize) -> u64 {
        let executed = match self.counts_instructions {
            // A count that does not grow is wrong, but not fatal.
            true => block.instruction[index]
                .saturating_sub(self.since)
                .min(self.instructions),
            false => offset as u64 * INSTRUCTIONS_AN_ACCESS,
        };
        self.begin + executed
    }

    fn check(&self, address: u64) -> Result<()> {
        if self.lines.fits(address) {
            return Ok(());
        }
        Err(Error::usage(format!(
            "there is an access to 0x{address:x}, which is no address of a processor; caches cannot be simulated on this trace"
        )))
    }
}
