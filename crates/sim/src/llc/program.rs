//! One program of a mix: its trace, its threads, and how far it has come.

use std::ops::Range;

use rustc_hash::FxHashMap;
use terrace_base::{Error, Result};
use terrace_trace::{Block, Meta, Source};

/// Instructions for each access of a trace that does not count them: about one of three accesses
/// memory.
pub const INSTRUCTIONS_AN_ACCESS: u64 = 3;

/// Opens a trace at its beginning, as often as it is asked.
pub type Open<'a> = Box<dyn FnMut() -> Result<Box<dyn Source>> + Send + 'a>;

/// A program of a mix.
pub struct Program<'a> {
    name: String,
    open: Open<'a>,
    source: Box<dyn Source>,
    counts_instructions: bool,
    /// Accesses of each run through the trace.
    limit: u64,
    /// Those that this run may still have.
    left: u64,
    block: Block,
    /// The first access of the block that has not been made.
    next: usize,
    /// What each thread's last access says of its instructions, in this run.
    threads: FxHashMap<u16, u64>,
    /// Its cores.
    pub cores: Range<usize>,
    /// Instructions of all its threads.
    instructions: u64,
    /// Whether the trace has been run through.
    done: bool,
}

/// Accesses that follow each other, all of one thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Which of the block.
    pub range: Range<usize>,
    /// Their process.
    pub process: u16,
    /// Their core.
    pub core: usize,
    /// What is taken from the instruction count of the trace for the instructions since the
    /// thread's access before this run.
    pub since: u64,
    /// Instructions of the run.
    pub instructions: u64,
}

impl<'a> Program<'a> {
    /// The first run through a trace, of `limit` accesses at most; its cores are to be told.
    ///
    /// # Errors
    /// The trace's; a failure where there is no access in it.
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
            block: Block::default(),
            next: 0,
            threads: FxHashMap::default(),
            cores: 0..1,
            instructions: 0,
            done: false,
        };
        program.read()?;
        if program.block.is_empty() {
            return Err(Error::failure(format!(
                "there is no access in {}",
                program.name
            )));
        }
        Ok(program)
    }

    /// Accesses of a run through the trace, where that is known beforehand.
    pub fn accesses(&self) -> Option<u64> {
        self.source
            .meta()
            .accesses
            .map(|accesses| accesses.min(self.limit))
    }

    /// What is known of its trace.
    pub fn meta(&self) -> &Meta {
        self.source.meta()
    }

    /// Its name, for people.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether its trace counts instructions.
    pub fn counts_instructions(&self) -> bool {
        self.counts_instructions
    }

    /// Whether any of its accesses says which instruction made it. Where the first ones do not, the
    /// trace is read until one does, beside this run through it.
    ///
    /// # Errors
    /// The trace's.
    pub fn has_ips(&mut self) -> Result<bool> {
        let says = |block: &Block| block.ip.iter().any(|ip| *ip != 0);
        if says(&self.block) {
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

    /// Whether its trace has been run through once.
    pub fn done(&self) -> bool {
        self.done
    }

    /// How far it has come: instructions of all its cores.
    pub fn position(&self) -> u64 {
        self.instructions
    }

    /// The accesses that have been read last.
    pub fn block(&self) -> &Block {
        &self.block
    }

    /// Reads on; answers whether there was anything, or the trace has ended.
    fn read(&mut self) -> Result<bool> {
        self.next = 0;
        if self.left == 0 {
            self.block.clear();
            return Ok(false);
        }
        self.source.read(&mut self.block)?;
        if let Ok(left) = usize::try_from(self.left) {
            self.block.truncate(left);
        }
        self.left -= self.block.len() as u64;
        Ok(!self.block.is_empty())
    }

    /// Makes sure that there are accesses, unless the trace has ended.
    ///
    /// # Errors
    /// The trace's.
    pub fn prepare(&mut self) -> Result<()> {
        if !self.done && self.next == self.block.len() && !self.read()? {
            self.done = true;
        }
        Ok(())
    }

    /// Begins again if it has ended.
    ///
    /// # Errors
    /// The trace's.
    pub fn go_on(&mut self) -> Result<()> {
        if self.next < self.block.len() || self.read()? {
            return Ok(());
        }
        self.source = (self.open)()?;
        self.left = self.limit;
        self.threads.clear();
        match self.read()? {
            true => Ok(()),
            false => Err(Error::failure(format!(
                "{} had accesses when it was read first, and has none now",
                self.name
            ))),
        }
    }

    /// Takes the next run of accesses of one thread, at most `most`, and up to about so many
    /// `instructions`; there is one.
    pub fn run(&mut self, most: u64, instructions: u64) -> Run {
        let begin = self.next;
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let end = self.block.len().min(begin.saturating_add(most));
        let end = run_end(&self.block.thread, begin, end);
        let end = run_end(&self.block.process, begin, end);
        let thread = self.block.thread.get(begin).copied().unwrap_or(0);
        let (end, since, spent) = match self.counts_instructions {
            true => self.counted(thread, begin..end, instructions),
            false => {
                let accesses = instructions / INSTRUCTIONS_AN_ACCESS + 1;
                let accesses = usize::try_from(accesses).unwrap_or(usize::MAX);
                let end = end.min(begin.saturating_add(accesses));
                (end, 0, (end - begin) as u64 * INSTRUCTIONS_AN_ACCESS)
            }
        };
        self.next = end;
        // One that begins anew at every access comes further as well.
        self.instructions = self.instructions.saturating_add(spent.max(1));
        Run {
            range: begin..end,
            process: self.block.process.get(begin).copied().unwrap_or(0),
            core: self.cores.start + usize::from(thread) % self.cores.len(),
            since,
            instructions: spent,
        }
    }

    /// Where a run of a thread ends that is to have so many instructions, from which count it
    /// begins, and how many it has.
    fn counted(
        &mut self,
        thread: u16,
        range: Range<usize>,
        instructions: u64,
    ) -> (usize, u64, u64) {
        let counts = &self.block.instruction[range.clone()];
        // A thread begins with its first access.
        let before = self.threads.get(&thread).copied().unwrap_or(counts[0]);
        let last = before.saturating_add(instructions);
        let length = counts.partition_point(|count| *count <= last).max(1);
        let now = counts[length - 1].max(before);
        self.threads.insert(thread, now);
        (range.start + length, before, now - before)
    }
}

/// Where the run of equal names that begins at `begin` ends.
fn run_end(names: &[u16], begin: usize, end: usize) -> usize {
    match names.get(begin) {
        Some(name) => names[begin..end]
            .iter()
            .position(|other| other != name)
            .map_or(end, |length| begin + length),
        None => end,
    }
}
