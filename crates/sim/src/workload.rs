//! What is simulated: the programs, their traces, and their threads.

use rustc_hash::FxHashMap;
use terrace_base::{Error, Result};
use terrace_policy::replacement::PageId;
use terrace_policy::{PAGE_BYTES, Page, Space};
use terrace_trace::{Block, Source};

use crate::intern::{MAX_SPACES, PageTable};

/// Programs on one machine; each has as many processes as 16 bits can name.
const MAX_PROGRAMS: usize = (MAX_SPACES >> 16) as usize;

/// Touches of a batch, about: enough that what simulations in one pass keep in the processor's
/// caches is worth loading, few enough that a batch stays there as well.
const BATCH: usize = 1 << 17;

/// One touch of a page by a thread, in 64 bits:
///
/// | bits | what |
/// |---|---|
/// | 0-31 | the page's number |
/// | 32-62 | instructions since the thread's touch before |
/// | 63 | whether it is written to |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference(u64);

/// The most instructions that fit between two touches; a longer pause is cut to it (a second of
/// a processor).
const MAX_INSTRUCTIONS: u64 = (1 << 31) - 1;

impl Reference {
    /// A touch `instructions` after the one before, of page 0.
    #[inline]
    pub fn new(instructions: u64, write: bool) -> Self {
        Self((instructions.min(MAX_INSTRUCTIONS) << 32) | (u64::from(write) << 63))
    }

    /// The same touch, of `page`.
    #[inline]
    pub fn of(self, page: PageId) -> Self {
        Self((self.0 & !u64::from(u32::MAX)) | u64::from(page.0))
    }

    /// The page.
    #[inline]
    pub fn page(self) -> PageId {
        PageId(self.0 as u32)
    }

    /// Instructions since the thread's touch before.
    #[inline]
    pub fn instructions(self) -> u64 {
        self.0 >> 32 & MAX_INSTRUCTIONS
    }

    /// Whether it is written to.
    #[inline]
    pub fn write(self) -> bool {
        self.0 >> 63 != 0
    }
}

/// Touches of several threads, as they came from a trace.
#[derive(Debug, Default)]
pub struct Batch {
    /// The touches.
    pub references: Vec<Reference>,
    /// Whose they are: a thread and where its run of touches ends.
    pub runs: Vec<Run>,
}

/// A run of touches of one thread within a batch; it begins where the one before ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The thread, numbered densely within its program.
    pub thread: u32,
    /// Its address space.
    pub space: Space,
    /// The end of its touches in [`Batch::references`].
    pub end: usize,
}

/// A thread of a trace.
#[derive(Clone, Copy)]
struct Thread {
    /// Its number within the program.
    number: u32,
    space: Space,
    /// The instruction of its last access.
    instruction: u64,
}

/// One program: a trace, and what is known of its threads.
struct Program {
    source: Box<dyn Source>,
    /// How many more accesses of it are wanted.
    left: u64,
    /// By process and thread.
    threads: FxHashMap<(u16, u16), Thread>,
}

/// Programs that run on one machine.
pub struct Workload {
    programs: Vec<Program>,
    pages: PageTable,
    block: Block,
    /// The pages of a run, and their numbers.
    touched: Vec<Page>,
    numbers: Vec<PageId>,
}

impl Workload {
    /// These traces, a program each; of each at most `limit` accesses.
    ///
    /// # Errors
    /// A usage error where there is none, or more than 8.
    pub fn new(sources: Vec<Box<dyn Source>>, limit: Option<u64>) -> Result<Self> {
        if sources.is_empty() {
            return Err(Error::usage("there is no trace to simulate; name one"));
        }
        if sources.len() > MAX_PROGRAMS {
            return Err(Error::usage(format!(
                "{} programs are more than can be simulated together, which is {MAX_PROGRAMS}",
                sources.len()
            )));
        }
        let programs = sources.into_iter().map(|source| Program {
            source,
            left: limit.unwrap_or(u64::MAX),
            threads: FxHashMap::default(),
        });
        Ok(Self {
            programs: programs.collect(),
            pages: PageTable::new(),
            block: Block::default(),
            touched: Vec::new(),
            numbers: Vec::new(),
        })
    }

    /// How many programs there are.
    pub fn programs(&self) -> usize {
        self.programs.len()
    }

    /// The pages of all programs so far.
    pub fn pages(&self) -> &PageTable {
        &self.pages
    }

    /// How many threads of a program have been seen.
    pub fn threads(&self, program: usize) -> usize {
        self.programs[program].threads.len()
    }

    /// Whether the trace of each program counts instructions.
    pub fn counts_instructions(&self) -> Vec<bool> {
        let counts = |program: &Program| program.source.meta().counts_instructions;
        self.programs.iter().map(counts).collect()
    }

    /// The next touches of a program, none at its end.
    ///
    /// # Errors
    /// The trace's, where it is corrupt.
    pub fn read(&mut self, program: usize) -> Result<Option<Batch>> {
        let mut batch = Batch::default();
        batch.references.reserve(BATCH + BATCH / 2);
        while batch.references.len() < BATCH && self.append_block(program, &mut batch)? {}
        Ok((!batch.references.is_empty()).then_some(batch))
    }

    /// Appends the next block of a program's trace; returns whether there was one.
    fn append_block(&mut self, owner: usize, batch: &mut Batch) -> Result<bool> {
        let program = &mut self.programs[owner];
        if program.left == 0 {
            return Ok(false);
        }
        program.source.read(&mut self.block)?;
        let left = usize::try_from(program.left).unwrap_or(usize::MAX);
        let accesses = self.block.len().min(left);
        program.left = match accesses {
            0 => 0,
            _ => program.left - accesses as u64,
        };
        let mut begin = 0;
        while begin < accesses {
            let end = run_end(&self.block.thread, begin, accesses);
            let end = run_end(&self.block.process, begin, end);
            self.convert(owner, begin, end, batch)?;
            begin = end;
        }
        Ok(accesses > 0)
    }

    /// Appends the accesses `begin..end` of the block, all of one thread.
    fn convert(&mut self, owner: usize, begin: usize, end: usize, batch: &mut Batch) -> Result<()> {
        let process = self.block.process.get(begin).copied().unwrap_or(0);
        let name = (process, self.block.thread.get(begin).copied().unwrap_or(0));
        let mut thread = self.thread(owner, name, begin);
        let first = batch.references.len();
        self.touched.clear();
        for index in begin..end {
            let instructions = match self.block.instruction.get(index) {
                Some(&now) => now.saturating_sub(std::mem::replace(&mut thread.instruction, now)),
                None => 0,
            };
            let write = self.block.write[index];
            let address = self.block.address[index];
            let page = address / PAGE_BYTES;
            self.touched.push(Page(page));
            batch.references.push(Reference::new(instructions, write));
            let size = self.block.size.get(index).copied().unwrap_or(0);
            if address % PAGE_BYTES + u64::from(size) > PAGE_BYTES {
                let last = address.saturating_add(u64::from(size) - 1) / PAGE_BYTES;
                let more = (page + 1..=last).map(Page);
                self.touched.extend(more);
                let touches = batch.references.len() + (last - page) as usize;
                batch.references.resize(touches, Reference::new(0, write));
            }
        }
        self.numbers.clear();
        self.pages
            .intern(thread.space, &self.touched, &mut self.numbers)?;
        for (reference, number) in batch.references[first..].iter_mut().zip(&self.numbers) {
            *reference = reference.of(*number);
        }
        self.programs[owner].threads.insert(name, thread);
        batch.runs.push(Run {
            thread: thread.number,
            space: thread.space,
            end: batch.references.len(),
        });
        Ok(())
    }

    /// A thread of a program by its process and name in the trace; a new one begins with its access `index`
    /// of the block.
    fn thread(&self, owner: usize, name: (u16, u16), index: usize) -> Thread {
        let program = &self.programs[owner];
        if let Some(thread) = program.threads.get(&name) {
            return *thread;
        }
        Thread {
            number: program.threads.len() as u32,
            space: Space((owner as u32) << 16 | u32::from(name.0)),
            instruction: self.block.instruction.get(index).copied().unwrap_or(0),
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use terrace_trace::{Access, Meta};

    /// A trace in memory.
    pub struct Recorded(pub Meta, pub Vec<Block>);

    impl Source for Recorded {
        fn meta(&self) -> &Meta {
            &self.0
        }
        fn read(&mut self, block: &mut Block) -> Result<()> {
            *block = if self.1.is_empty() {
                Block::default()
            } else {
                self.1.remove(0)
            };
            Ok(())
        }
    }

    fn workload(accesses: &[Access], limit: Option<u64>) -> Workload {
        let mut block = Block::default();
        accesses.iter().for_each(|access| block.push(*access));
        Workload::new(
            vec![Box::new(Recorded(Meta::default(), vec![block]))],
            limit,
        )
        .unwrap()
    }

    fn access(thread: u16, address: u64, instruction: u64) -> Access {
        Access {
            thread,
            process: thread / 2,
            address,
            instruction,
            size: 8,
            ..Access::default()
        }
    }

    #[test]
    fn a_reference_holds_what_it_was_made_of() {
        let all = Reference::new(u64::MAX, true).of(PageId(u32::MAX));
        assert_eq!((all.page(), all.write()), (PageId(u32::MAX), true));
        assert_eq!(all.instructions(), MAX_INSTRUCTIONS);
        let little = Reference::new(3, false).of(PageId(9)).of(PageId(7));
        assert_eq!(
            (little.page(), little.instructions(), little.write()),
            (PageId(7), 3, false)
        );
    }

    #[test]
    fn threads_and_address_spaces_are_kept_apart() {
        let accesses = [
            access(0, 0, 10),
            access(1, 0, 20),
            access(2, 0, 30),
            access(0, 9000, 14),
        ];
        let mut workload = workload(&accesses, None);
        let batch = workload.read(0).unwrap().unwrap();
        let threads: Vec<_> = batch.runs.iter().map(|run| (run.thread, run.end)).collect();
        assert_eq!(threads, [(0, 1), (1, 2), (2, 3), (0, 4)]);
        let pages: Vec<_> = batch.references.iter().map(|r| r.page().0).collect();
        assert_eq!(
            pages,
            [0, 0, 1, 2],
            "threads 0 and 1 share a space, 2 has its own"
        );
        let instructions: Vec<_> = batch.references.iter().map(|r| r.instructions()).collect();
        assert_eq!(instructions, [0, 0, 0, 4]);
        assert!(workload.read(0).unwrap().is_none());
    }

    #[test]
    fn an_access_that_crosses_pages_touches_all_of_them() {
        let mut long = access(0, 4090, 0);
        long.size = 4096 + 7;
        let mut workload = workload(&[long, access(0, 4088, 0)], None);
        let batch = workload.read(0).unwrap().unwrap();
        assert_eq!(batch.references.len(), 4);
        assert_eq!(workload.pages().len(), 3);
    }

    #[test]
    fn no_more_than_the_limit_is_read() {
        let mut workload = workload(&[access(0, 0, 0); 5], Some(3));
        assert_eq!(workload.read(0).unwrap().unwrap().references.len(), 3);
        assert!(workload.read(0).unwrap().is_none());
    }
}
