//! Cores and their private levels: from accesses to what is asked of the last level.

use terrace_base::{Error, Result};
use terrace_policy::llc::{Geometry, Request};
use terrace_trace::Block;

use super::batch::{Asked, Batch};
use super::lines::{Lines, Space};
use super::mix::Mix;
use super::private::{LevelCounts, Private};
use super::program::{INSTRUCTIONS_AN_ACCESS, Run};
use super::requests::Rows;
use super::settings::Warmup;

/// Requests of a batch, about: few enough that it stays in the processor's caches.
const REQUESTS: usize = 1 << 14;
/// Accesses after which a batch is handed on although few of them came through.
const ACCESSES: u64 = 1 << 22;
/// Instructions that a core may execute: times of more than that fit nowhere.
const MOST_INSTRUCTIONS: u64 = 1 << 50;
/// No line begins here.
const NOWHERE: u64 = u64::MAX;

/// The cores, in front of all last-level caches.
pub struct Front<'a> {
    mix: Mix<'a>,
    lines: Lines,
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

impl<'a> Front<'a> {
    /// Cores with private levels of these shapes, or none.
    pub fn new(
        mix: Mix<'a>,
        lines: Lines,
        levels: [Option<Geometry>; 2],
        rows: Rows,
        warmup: Warmup,
    ) -> Self {
        let core = |_| Core {
            private: Private::new(levels[0], levels[1]),
            instructions: 0,
        };
        Self {
            lines,
            cores: (0..mix.cores()).map(core).collect(),
            mix,
            rows,
            warmup,
            accesses: 0,
            requests: 0,
            measures: false,
        }
    }

    /// Replaces what is in `batch` by what comes next; answers whether there was anything.
    ///
    /// # Errors
    /// The traces'; a usage error where an address has too many bits.
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

    /// Notes in the batch where the warm-up is over, if it is.
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

    /// Makes accesses of a thread.
    fn make(&mut self, program: usize, run: &Run, batch: &mut Batch) -> Result<()> {
        let programs = self.mix.programs();
        let space = Space::new(program, programs.len(), run.process)?;
        let block = programs[program].block();
        let core = &mut self.cores[run.core];
        let executed = core.instructions.saturating_add(run.instructions);
        if executed > MOST_INSTRUCTIONS {
            return Err(Error::usage(format!(
                "{} counts more instructions than a program can execute; its column of instructions is wrong",
                programs[program].name()
            )));
        }
        let maker = Maker {
            lines: self.lines,
            space,
            core: run.core as u8,
            begin: core.instructions,
            since: run.since,
            instructions: run.instructions,
            counts_instructions: programs[program].counts_instructions(),
        };
        if core.private.is_there() {
            maker.touch(block, run, &mut core.private, batch)?;
        } else {
            maker.ask(block, run, self.rows, batch)?;
        }
        core.instructions = executed;
        Ok(())
    }

    /// Accesses so far.
    pub fn accesses(&self) -> u64 {
        self.accesses
    }

    /// Instructions that each core has executed.
    pub fn instructions(&self) -> Vec<u64> {
        self.cores.iter().map(|core| core.instructions).collect()
    }

    /// What the private levels of all cores did together, the first before the second.
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

/// What all accesses of a run have in common.
struct Maker {
    lines: Lines,
    space: Space,
    core: u8,
    /// Instructions that the core had executed before the run.
    begin: u64,
    /// What the trace's count was then.
    since: u64,
    /// Instructions of the run.
    instructions: u64,
    counts_instructions: bool,
}

impl Maker {
    /// Touches the lines of accesses in the private levels. The line that was touched last is at
    /// hand: touching it again finds it first in its set.
    fn touch(
        &self,
        block: &Block,
        run: &Run,
        private: &mut Private,
        batch: &mut Batch,
    ) -> Result<()> {
        let shift = self.lines.shift();
        let (mut hot, mut hot_set, mut more) = (NOWHERE, 0, 0);
        let range = run.range.clone();
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
                let line = self.lines.of(self.space, shifted);
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
            hot_set = private.first_of(self.lines.of(self.space, last));
        }
        private.touched(range.len() as u64 + more);
        Ok(())
    }

    /// Asks for the lines of accesses where there is no private level.
    fn ask(&self, block: &Block, run: &Run, rows: Rows, batch: &mut Batch) -> Result<()> {
        let shift = self.lines.shift();
        for (offset, index) in run.range.clone().enumerate() {
            let access = block.get(index);
            self.check(access.address)?;
            let kind = rows.kind(&access);
            let ip = if kind.writes() { 0 } else { access.ip };
            let instruction = self.instruction(block, index, offset);
            let size = access.size.saturating_sub(1);
            let last = access.address.saturating_add(size.into()) >> shift;
            for shifted in access.address >> shift..=last {
                let line = self.lines.of(self.space, shifted);
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

    /// Instructions that the core had executed at an access, which is so many behind the first.
    #[inline]
    fn instruction(&self, block: &Block, index: usize, offset: usize) -> u64 {
        let executed = match self.counts_instructions {
            // A count that does not rise is wrong, but no reason to stop.
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
