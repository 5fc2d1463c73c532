//! One program of a mix: its trace, its threads, and its progress.

use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustc_hash::FxHashMap;
use terrace_base::{Error, Result};
use terrace_trace::order::Event;
use terrace_trace::{Block, Columns, Meta, Reading, Source, ahead};

use super::steps::{Steps, Stretch};

/// Instructions for each access of a trace that does not count them: about one instruction in three
/// accesses memory.
pub const INSTRUCTIONS_AN_ACCESS: u64 = 3;

/// Known accesses of a program after which a core without any is taken to be idle. The recorder
/// writes the accesses of a thread in chunks of some 16,000, so those of 64 threads are seen.
const LOOK_AHEAD: usize = 1 << 20;

/// Opens a trace at its beginning, each time that it is called.
pub type Open<'a> = Box<dyn FnMut() -> Result<Box<dyn Source>> + Send + 'a>;

/// Opens a trace file, with these columns.
pub fn file(path: PathBuf, reading: Reading, columns: Columns) -> Open<'static> {
    Box::new(move || reading.open(&path, columns).map(ahead))
}

/// Opens a trace that can be read only once.
pub fn once(source: Box<dyn Source>) -> Open<'static> {
    let mut source = Some(source);
    Box::new(move || {
        let source = source.take();
        source.ok_or_else(|| Error::failure("a program cannot be read twice"))
    })
}

/// Checks that a file is not an executable given in place of a trace.
///
/// # Errors
/// A usage error that says how to run it.
pub fn require_trace(path: &Path) -> Result<()> {
    let mut head = [0; 4];
    let is_file = path.is_file();
    let mut read = || File::open(path)?.read_exact(&mut head);
    match is_file && read().is_ok() && (head == *b"\x7fELF" || head.starts_with(b"#!")) {
        false => Ok(()),
        true => Err(Error::usage(format!(
            "{} is a program and no trace; to run it and simulate what it does, write it behind --",
            path.display()
        ))),
    }
}

/// A program of a mix.
pub struct Program<'a> {
    name: String,
    open: Open<'a>,
    source: Box<dyn Source>,
    counts_instructions: bool,
    /// Accesses of each run through the trace.
    limit: u64,
    /// Accesses left of this run.
    left: u64,
    /// Accesses that were read and are to be made.
    steps: Steps,
    /// The block of the last run, to be read into again.
    last: Arc<Block>,
    /// Whether this run has been read to its end.
    ended: bool,
    /// The instruction count at each thread's last access in this run.
    threads: FxHashMap<u16, u64>,
    /// The program's cores.
    pub cores: Range<usize>,
    /// Instructions of all threads.
    instructions: u64,
    /// Whether all accesses of the trace were made once.
    done: bool,
}

/// Consecutive accesses of one thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The block with the accesses.
    pub block: Arc<Block>,
    /// Their range in the block.
    pub range: Range<usize>,
    /// Process of the thread.
    pub process: u16,
    /// Core of the thread.
    pub core: usize,
    /// The trace's instruction count at the thread's access before this run.
    pub since: u64,
    /// Instructions of the run.
    pub instructions: u64,
}

impl<'a> Program<'a> {
    /// Begins the first run through a trace, of at most `limit` accesses, on one core.
    ///
    /// # Errors
    /// Errors of the trace; a failure where there is no access in it.
    pub fn new(name: String, mut open: Open<'a>, limit: Option<u64>) -> Result<Self> {
        let source = open()?;
        let counts_instructions = source.meta().counts_instructions;
        let limit = limit.unwrap_or(u64::MAX);
        let mut program = Self {
            name,
            open,
            source,
            counts_instructions,
            limit,
            left: limit,
            steps: Steps::new(1),
            last: Arc::default(),
            ended: false,
            threads: FxHashMap::default(),
            cores: 0..1,
            instructions: 0,
            done: false,
        };
        if !program.read()? {
            return Err(Error::failure(format!(
                "there is no access in {}",
                program.name
            )));
        }
        Ok(program)
    }

    /// Returns the accesses of a run through the trace; `None` where the trace does not say.
    pub fn accesses(&self) -> Option<u64> {
        self.source
            .meta()
            .accesses
            .map(|accesses| accesses.min(self.limit))
    }

    /// Returns what is known of the trace.
    pub fn meta(&self) -> &Meta {
        self.source.meta()
    }

    /// Has each core make its accesses in an order of its own, by [`Program::ready`], before any is
    /// made.
    pub fn part_cores(&mut self) {
        self.steps.part(self.cores.len());
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the trace counts instructions.
    pub fn counts_instructions(&self) -> bool {
        self.counts_instructions
    }

    /// Whether any access has an instruction address. Where the first block has none, the trace is
    /// read a second time, until an access has one.
    ///
    /// # Errors
    /// Errors of the trace.
    pub fn has_ips(&mut self) -> Result<bool> {
        let says = |block: &Block| block.ip.iter().any(|ip| *ip != 0);
        if let Some(next) = self.steps.next(0)
            && says(&next.block)
        {
            return Ok(true);
        }
        let (mut source, mut block, mut left) = ((self.open)()?, Block::default(), self.limit);
        while left > 0 {
            source.read(&mut block)?;
            block.truncate(usize::try_from(left).unwrap_or(usize::MAX));
            if block.is_empty() || says(&block) {
                break;
            }
            left -= block.len() as u64;
        }
        Ok(says(&block))
    }

    /// Whether the trace has been read to its end once.
    pub fn done(&self) -> bool {
        self.done
    }

    /// Returns the instructions executed on all cores.
    pub fn position(&self) -> u64 {
        self.instructions
    }

    /// Reads the next block, and returns false at the end of the trace.
    fn read(&mut self) -> Result<bool> {
        let mut block = Arc::try_unwrap(std::mem::take(&mut self.last)).unwrap_or_default();
        block.clear();
        if self.left > 0 {
            self.source.read(&mut block)?;
        }
        if let Ok(left) = usize::try_from(self.left) {
            block.truncate(left);
        }
        self.left -= block.len() as u64;
        self.ended = block.is_empty();
        self.steps.push(Arc::new(block));
        Ok(!self.ended)
    }

    /// Reads on until there is an access, and where cores go their own ways until each has one or
    /// much is known. Returns false at the end of the trace.
    fn read_on(&mut self) -> Result<bool> {
        while !self.ended
            && (self.steps.accesses() == 0
                || self.steps.queues() > 1
                    && self.steps.accesses() < LOOK_AHEAD
                    && self.steps.any_lacks())
        {
            self.read()?;
        }
        Ok(self.steps.accesses() > 0)
    }

    /// Reads on if accesses are missing.
    ///
    /// # Errors
    /// Errors of the trace.
    pub fn prepare(&mut self) -> Result<()> {
        if !self.done && !self.read_on()? {
            self.done = true;
        }
        Ok(())
    }

    /// Begins again if the trace has ended, and returns whether it does.
    ///
    /// # Errors
    /// Errors of the trace.
    pub fn go_on(&mut self) -> Result<bool> {
        let ended = !self.read_on()?;
        if ended {
            self.begin()?;
        }
        Ok(ended)
    }

    /// Begins a run through the trace.
    fn begin(&mut self) -> Result<()> {
        self.source = (self.open)()?;
        self.left = self.limit;
        self.threads.clear();
        self.steps.clear();
        self.ended = false;
        match self.read_on()? {
            true => Ok(()),
            false => Err(Error::failure(format!(
                "{} had accesses when it was read first, and has none now",
                self.name
            ))),
        }
    }

    /// Returns the cores whose next step need not wait for other cores.
    pub fn ready(&self) -> impl Iterator<Item = usize> {
        self.steps.ready().map(|queue| self.cores.start + queue)
    }

    /// Takes the event that is the next step of a core, if it is one.
    pub fn take_order(&mut self, core: usize) -> Option<Event> {
        self.steps.take_order(core - self.cores.start)
    }

    /// Returns the next accesses of a core, if they are its next step, and not the last that are
    /// known: those are made when it is their turn, as then the program ends or reads on.
    pub fn ahead(&self, core: usize) -> Option<Stretch> {
        let next = self.steps.next(core - self.cores.start)?;
        let last = next.range.len() == self.steps.accesses();
        let range = next.range.start..next.range.end - usize::from(last);
        Some(Stretch {
            block: Arc::clone(&next.block),
            range,
        })
    }

    /// Returns the instructions that a core executes until its next step, if that is known.
    pub fn until_next(&self, core: usize) -> Option<u64> {
        let queue = core - self.cores.start;
        let instructions = |next: &Stretch| {
            let count = next.block.instruction[next.range.start];
            let before = self.threads.get(&next.thread());
            count.saturating_sub(*before.unwrap_or(&count))
        };
        let next = self.steps.next(queue).filter(|_| self.counts_instructions);
        let is_known = !self.steps.lacks(queue);
        is_known.then(|| next.map_or(0, instructions))
    }

    /// Takes the next run of at most `most` accesses of one thread, up to about `instructions`, on
    /// this core, or on any where cores are not parted; there must be an access.
    pub fn run(&mut self, core: usize, most: u64, instructions: u64) -> Run {
        let queue = match self.steps.queues() {
            1 => 0,
            _ => core - self.cores.start,
        };
        let next = self.steps.next(queue).expect("the next step is an access");
        let (thread, Stretch { block, range }) = (next.thread(), next.clone());
        let begin = range.start;
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let end = range.end.min(begin.saturating_add(most));
        let (end, since, spent) = match self.counts_instructions {
            true => self.counted(&block, thread, begin..end, instructions),
            false => {
                let accesses = instructions / INSTRUCTIONS_AN_ACCESS + 1;
                let accesses = usize::try_from(accesses).unwrap_or(usize::MAX);
                let end = end.min(begin.saturating_add(accesses));
                (end, 0, (end - begin) as u64 * INSTRUCTIONS_AN_ACCESS)
            }
        };
        self.steps.take(queue, end - begin);
        self.last = Arc::clone(&block);
        // A count that begins again at every access must not stop the program.
        self.instructions = self.instructions.saturating_add(spent.max(1));
        Run {
            range: begin..end,
            process: block.process.get(begin).copied().unwrap_or(0),
            core: self.cores.start + usize::from(thread) % self.cores.len(),
            since,
            instructions: spent,
            block,
        }
    }

    /// Returns the end of a thread's run of about `instructions`, the count before it, and its
    /// instructions.
    fn counted(
        &mut self,
        block: &Block,
        thread: u16,
        range: Range<usize>,
        instructions: u64,
    ) -> (usize, u64, u64) {
        let counts = &block.instruction[range.clone()];
        // A thread begins with its first access.
        let before = self.threads.get(&thread).copied().unwrap_or(counts[0]);
        let last = before.saturating_add(instructions);
        let length = counts.partition_point(|count| *count <= last).max(1);
        let now = counts[length - 1].max(before);
        self.threads.insert(thread, now);
        (range.start + length, before, now - before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thread_run::LOOKED;
    use proptest::prelude::*;
    use terrace_trace::Access;

    /// Accesses in memory, read in blocks of some.
    struct Recorded(Meta, Vec<Access>, usize);

    impl Source for Recorded {
        fn meta(&self) -> &Meta {
            &self.0
        }

        fn read(&mut self, block: &mut Block) -> Result<()> {
            block.clear();
            let some = self.2.min(self.1.len());
            self.1.drain(..some).for_each(|access| block.push(access));
            Ok(())
        }
    }

    /// The accesses of each turn, one after another: those of one thread of a process in the block,
    /// up to the first that is further than `instructions` from the thread's last access.
    fn slow(accesses: &[Access], block: usize, turns: &[(u64, u64)]) -> Vec<usize> {
        let mut lengths = Vec::new();
        let mut last = FxHashMap::default();
        let mut begin = 0;
        for (most, instructions) in turns.iter().cycle() {
            let Some(first) = accesses.get(begin) else {
                return lengths;
            };
            let before = *last.entry(first.thread).or_insert(first.instruction);
            let end = accesses.len().min((begin / block + 1) * block);
            let goes_on = |access: &&Access| {
                (access.process, access.thread) == (first.process, first.thread)
                    && access.instruction <= before + instructions
            };
            let length = accesses[begin..end].iter().take_while(goes_on).count();
            let length = length.min(*most as usize).max(1);
            begin += length;
            last.insert(first.thread, accesses[begin - 1].instruction.max(before));
            lengths.push(length);
        }
        lengths
    }

    proptest! {
        /// However short turns are, each access is looked at once, and once more where another
        /// thread goes on.
        #[test]
        fn a_turn_is_one_of_a_single_thread(
            steps in prop::collection::vec((0..2_u16, 0..2_u16, 0..9_u64), 1..80),
            block in 1..30_usize,
            turns in prop::collection::vec((1..9_u64, 0..40_u64), 1..6),
        ) {
            let mut instruction = 0;
            let access = |&(process, thread, step): &(u16, u16, u64)| {
                instruction += step;
                Access { process, thread, instruction, ..Access::default() }
            };
            let accesses: Vec<Access> = steps.iter().map(access).collect();
            let meta = Meta { counts_instructions: true, ..Meta::default() };
            let source = Box::new(Recorded(meta, accesses.clone(), block));
            LOOKED.set(0);
            let mut program = Program::new("a".to_owned(), once(source), None).unwrap();
            let mut lengths = Vec::new();
            for (most, instructions) in turns.iter().cycle() {
                program.prepare().unwrap();
                if program.done() {
                    break;
                }
                lengths.push(program.run(0, *most, *instructions).range.len());
            }
            prop_assert_eq!(lengths, slow(&accesses, block, &turns));
            let others = accesses.windows(2).enumerate().filter(|(at, pair)| {
                let names = |access: &Access| (access.process, access.thread);
                (at + 1) % block != 0 && names(&pair[0]) != names(&pair[1])
            });
            prop_assert_eq!(LOOKED.get(), accesses.len() + others.count());
        }
    }
}
