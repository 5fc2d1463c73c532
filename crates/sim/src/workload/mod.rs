//! The programs of a simulation: their traces and their threads.

mod batch;
mod convert;

use std::path::PathBuf;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use terrace_base::{Error, Result};
use terrace_policy::replacement::PageId;
use terrace_policy::{Page, Space};
use terrace_trace::allocation::Allocations;
use terrace_trace::discard::Discard;
use terrace_trace::order::{Event, Order};
use terrace_trace::{Block, Columns, Reading, Source, ahead};

use crate::intern::{MAX_SPACES, PageTable};
use crate::llc::origin;
use crate::llc::requests::Rows;
use crate::place::objects::Objects;
use crate::place::profile;
use crate::thread_run::{is_of_one_thread, thread_run};
use crate::traces::Traces;
use crate::watch::{self, Watch};

pub use batch::{Batch, Reference, Run, Target};

/// The most programs of one machine; each has up to 65536 processes.
const MAX_PROGRAMS: usize = (MAX_SPACES >> 16) as usize;

/// Approximate number of touches of a batch: enough to make it worth loading each simulation's
/// state into the processor's caches, few enough that the batch stays there too.
const BATCH: usize = 1 << 17;

/// The same where several machines count without a clock: they load more state than they use it,
/// and read a batch only from one end to the other. Eight of them miss a cache of 2 MiB 0.88 times
/// as often.
const LONG_BATCH: usize = 1 << 19;

/// Bytes of a line.
const LINE_BYTES: u64 = 64;

/// Words of contents after which a batch is large enough.
const BATCH_WORDS: usize = 1 << 20;

/// A thread of a trace.
#[derive(Clone, Copy)]
struct Thread {
    /// The number within the program.
    number: u32,
    space: Space,
    /// The instruction count at the last access.
    instruction: u64,
}

/// One program: a trace and its threads.
struct Program {
    source: Box<dyn Source>,
    rows: Rows,
    /// Accesses left to read.
    left: u64,
    /// Threads by process and thread of the trace.
    threads: FxHashMap<(u16, u16), Thread>,
    /// By process: the thread that has touched last.
    last: FxHashMap<u16, u16>,
    /// By process and thread: the points that threads without a touch so far have acquired.
    acquired: FxHashMap<(u16, u16), Vec<Event>>,
    /// The objects of the rows to come, if sites are kept.
    objects: Option<Owned>,
}

/// The objects of a program.
struct Owned {
    allocations: Arc<Allocations>,
    objects: Objects,
    /// The next row.
    row: u64,
}

impl Owned {
    /// Returns the site of the object that the next row is an access to.
    fn next(&mut self, process: u16, address: u64) -> Option<u32> {
        let object = self.objects.at(self.row, process, address);
        self.row += 1;
        object.map(|object| self.allocations.objects[object].site)
    }
}

/// Programs that run on one machine.
pub struct Workload {
    programs: Vec<Program>,
    pages: PageTable,
    block: Block,
    /// Whether batches have the lines of touches.
    keeps_lines: bool,
    /// Approximate touches of a batch.
    batch: usize,
    /// The pages of a run, and their numbers.
    touched: Vec<Page>,
    numbers: Vec<PageId>,
}

impl Workload {
    /// Makes a workload of traces, a program each, with at most `limit` accesses of each.
    ///
    /// # Errors
    /// A usage error if there is no trace, or more than 8.
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
            rows: origin::rows(source.meta()),
            source,
            left: limit.unwrap_or(u64::MAX),
            threads: FxHashMap::default(),
            last: FxHashMap::default(),
            objects: None,
            acquired: FxHashMap::default(),
        });
        Ok(Self {
            programs: programs.collect(),
            pages: PageTable::new(),
            block: Block::default(),
            keeps_lines: false,
            batch: BATCH,
            touched: Vec::new(),
            numbers: Vec::new(),
        })
    }

    /// Opens trace files, a program each, with at most `limit` accesses of each, and with these
    /// columns.
    ///
    /// # Errors
    /// Errors of [`Workload::new`], and of files that cannot be read.
    pub fn open(
        paths: &[PathBuf],
        reading: &Reading,
        limit: Option<u64>,
        columns: Columns,
    ) -> Result<Self> {
        let open = |path: &PathBuf| reading.open(path, columns).map(ahead);
        let sources = paths.iter().map(open);
        Self::new(sources.collect::<Result<_>>()?, limit)
    }

    /// Opens traces for a part of the work, with these columns.
    ///
    /// # Errors
    /// Errors of [`Workload::open`].
    pub fn of(traces: &Traces, columns: Columns, part: &'static str, watch: Watch) -> Result<Self> {
        let workload = Self::open(traces.places(), &traces.reading, traces.limit, columns)?;
        watch(watch::Event::begins(part, workload.accesses()));
        Ok(workload)
    }

    /// Has batches be long, for several machines that count without a clock.
    pub(crate) fn lengthen_batches(&mut self) {
        self.batch = LONG_BATCH;
    }

    /// Has batches tell which line each touch is of.
    pub fn keep_lines(&mut self) {
        self.keeps_lines = true;
    }

    /// Has batches tell whose objects touches are of; sites with the same names are one. Returns
    /// the sites, and the name of the program.
    ///
    /// # Errors
    /// A usage error if the trace says nothing of allocations, or there are several.
    pub fn keep_sites(&mut self) -> Result<(Arc<Allocations>, String)> {
        let [program] = &mut self.programs[..] else {
            return Err(Error::usage(
                "a placement is one of one program; simulate its trace alone",
            ));
        };
        let meta = program.source.meta();
        let Some(allocations) = meta.allocations.as_deref() else {
            return Err(Error::usage(
                "the trace says nothing of allocations, which a placement needs; record it with terrace record \
                 --allocations",
            ));
        };
        let mut allocations = allocations.clone();
        allocations.join_by_names();
        let allocations = Arc::new(allocations);
        let name = profile::program(meta, "the program");
        program.objects = Some(Owned {
            allocations: Arc::clone(&allocations),
            objects: Objects::new(Arc::clone(&allocations)),
            row: 0,
        });
        Ok((allocations, name))
    }

    /// Returns the number of accesses left in all programs, if the traces tell their length.
    pub fn accesses(&self) -> Option<u64> {
        let left = |program: &Program| {
            let accesses = program.source.meta().accesses?;
            Some(accesses.min(program.left))
        };
        self.programs.iter().map(left).sum()
    }

    /// Returns the number of programs.
    pub fn programs(&self) -> usize {
        self.programs.len()
    }

    /// Returns the pages of all programs so far.
    pub fn pages(&self) -> &PageTable {
        &self.pages
    }

    /// Returns the number of threads of a program so far.
    pub fn threads(&self, program: usize) -> usize {
        self.programs[program].threads.len()
    }

    /// Returns for each program whether its trace counts instructions.
    pub fn counts_instructions(&self) -> Vec<bool> {
        let counts = |program: &Program| program.source.meta().counts_instructions;
        self.programs.iter().map(counts).collect()
    }

    /// Returns for each program whether its trace has passed caches: its rows are lines that were
    /// missed, and lines that are written back.
    pub fn passed_caches(&self) -> Vec<bool> {
        let passed = |program: &Program| program.rows != Rows::Accesses;
        self.programs.iter().map(passed).collect()
    }

    /// Checks that all traces tell what pages hold.
    ///
    /// # Errors
    /// A usage error if one does not.
    pub fn require_contents(&self) -> Result<()> {
        let mut programs = self.programs.iter();
        match programs.all(|program| program.source.meta().has_contents) {
            true => Ok(()),
            false => Err(Error::usage(
                "‘write’ needs to know what pages hold, and a trace does not tell; record it with \
                 `terrace record --contents`",
            )),
        }
    }

    /// Checks that all traces tell which pages hold zeros.
    ///
    /// # Errors
    /// A usage error if one does not.
    pub fn require_zeros(&self) -> Result<()> {
        match self.tell_zeros() {
            true => Ok(()),
            false => Err(Error::usage(
                "‘zero-pages’ dropped needs to know which pages hold zeros, and a trace does not tell; record it with \
                 `terrace record --level pages`",
            )),
        }
    }

    /// Returns whether all traces tell which pages hold zeros.
    pub fn tell_zeros(&self) -> bool {
        let mut programs = self.programs.iter();
        programs.all(|program| program.source.meta().tells_zeros)
    }

    /// Reads the next touches of a program; none at its end.
    ///
    /// # Errors
    /// A failure where the trace is corrupt.
    pub fn read(&mut self, program: usize) -> Result<Option<Batch>> {
        let mut batch = Batch::default();
        batch.references.reserve(self.batch + self.batch / 2);
        while batch.references.len() < self.batch
            && batch.changes.words.len() < BATCH_WORDS
            && self.append_block(program, &mut batch)?
        {}
        Ok((!batch.references.is_empty()).then_some(batch))
    }

    /// Appends the next block of a program's trace, and returns whether there was one.
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
        let discards = std::mem::take(&mut self.block.discards);
        let orders = std::mem::take(&mut self.block.orders);
        let (mut begin, mut due) = (0, discards.iter().peekable());
        let mut ordered = orders.iter().peekable();
        let is_of_one = is_of_one_thread(&self.block);
        while begin < accesses {
            while let Some(discard) = due.next_if(|discard| discard.row <= begin as u64) {
                self.give_back(owner, discard, begin, batch);
            }
            while let Some(order) = ordered.next_if(|order| order.row <= begin as u64) {
                self.order(owner, order, batch);
            }
            let next = [due.peek().map(|it| it.row), ordered.peek().map(|it| it.row)];
            let next = next.into_iter().flatten().min();
            let next = next.map_or(accesses, |row| accesses.min(row as usize));
            let end = match is_of_one {
                true => next,
                false => thread_run(&self.block, begin, next),
            };
            begin = self.convert(owner, begin, end, batch)?;
        }
        self.block.discards = discards;
        self.block.orders = orders;
        Ok(accesses > 0)
    }

    /// Appends that pages were given back before access `index` of the block: by its thread, or by
    /// the last thread of a process that has ended.
    fn give_back(&mut self, owner: usize, discard: &Discard, index: usize, batch: &mut Batch) {
        let space = space(owner, discard.process);
        let pages = discard.page..discard.end();
        self.pages.discard(space, pages, &mut batch.discards);
        let (process, thread) = name(&self.block, index);
        let program = &self.programs[owner];
        let known = |thread: &u16| program.threads.get(&(discard.process, *thread));
        let own = Some(thread).filter(|_| process == discard.process);
        let thread = own.as_ref().and_then(known);
        let thread = thread.or_else(|| known(program.last.get(&discard.process)?));
        // A process without a thread so far has no pages.
        if let Some(thread) = thread {
            batch.runs.push(Run {
                thread: thread.number,
                space,
                end: batch.references.len(),
                discards: batch.discards.len(),
                order: None,
                pause: 0,
            });
        }
    }

    /// Appends that a thread is ordered with others, or keeps that for its first touch. What it
    /// releases before that has nothing to wait for.
    fn order(&mut self, owner: usize, order: &Order, batch: &mut Batch) {
        let program = &mut self.programs[owner];
        let name = (order.process, order.thread);
        match (program.threads.get(&name), order.event) {
            (Some(thread), event) => push_order(*thread, event, batch),
            (None, Event::Acquire(_)) => {
                program.acquired.entry(name).or_default().push(order.event)
            }
            (None, Event::Release(_)) => {}
        }
    }

    /// Returns a thread of a program by process and thread of the trace; a new one begins with
    /// access `index` of the block.
    fn thread(&self, owner: usize, name: (u16, u16), index: usize) -> Thread {
        let program = &self.programs[owner];
        if let Some(thread) = program.threads.get(&name) {
            return *thread;
        }
        Thread {
            number: program.threads.len() as u32,
            space: space(owner, name.0),
            instruction: self.block.instruction.get(index).copied().unwrap_or(0),
        }
    }
}

/// Appends an event of a thread.
fn push_order(thread: Thread, event: Event, batch: &mut Batch) {
    batch.runs.push(Run {
        thread: thread.number,
        space: thread.space,
        end: batch.references.len(),
        discards: batch.discards.len(),
        order: Some(event),
        pause: 0,
    });
}

/// Returns the process and the thread of an access of the block.
fn name(block: &Block, index: usize) -> (u16, u16) {
    let of = |names: &[u16]| names.get(index).copied().unwrap_or(0);
    (of(&block.process), of(&block.thread))
}

/// Returns the address space of a process of a program.
fn space(program: usize, process: u16) -> Space {
    Space((program as u32) << 16 | u32::from(process))
}

#[cfg(test)]
mod tests;
