//! The programs of a simulation: their traces and their threads.

mod batch;

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use terrace_base::{Error, Result};
use terrace_policy::llc::Kind;
use terrace_policy::replacement::PageId;
use terrace_policy::{PAGE_BYTES, Page, Space};
use terrace_trace::allocation::Allocations;
use terrace_trace::contents::Change;
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

use batch::MAX_INSTRUCTIONS;
pub use batch::{Batch, Reference, Run, Target};

/// The most programs of one machine; each has up to 65536 processes.
const MAX_PROGRAMS: usize = (MAX_SPACES >> 16) as usize;

/// Approximate number of touches of a batch: enough to make it worth loading each simulation's state
/// into the processor's caches, few enough that the batch stays there too.
const BATCH: usize = 1 << 17;

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
            touched: Vec::new(),
            numbers: Vec::new(),
        })
    }

    /// Opens trace files, a program each, with at most `limit` accesses of each, and with these columns.
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

    /// Has batches tell which line each touch is of.
    pub fn keep_lines(&mut self) {
        self.keeps_lines = true;
    }

    /// Has batches tell whose objects touches are of; sites with the same names are one. Returns the sites, and the
    /// name of the program.
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

    /// Checks that all traces tell what pages hold.
    ///
    /// # Errors
    /// A usage error if one does not.
    pub fn require_contents(&self) -> Result<()> {
        let mut programs = self.programs.iter();
        match programs.all(|program| program.source.meta().has_contents) {
            true => Ok(()),
            false => Err(Error::usage(
                "--write needs to know what pages hold, and a trace does not tell; record it with \
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
                "--zero-pages dropped needs to know which pages hold zeros, and a trace does not tell; record it with \
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
        batch.references.reserve(BATCH + BATCH / 2);
        while batch.references.len() < BATCH
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

    /// Appends that pages were given back before access `index` of the block: by its thread, or by the last thread
    /// of a process that has ended.
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

    /// Appends that a thread is ordered with others, or keeps that for its first touch. What it releases before
    /// that has nothing to wait for.
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

    /// Appends the accesses `begin..end` of the block, all of one thread, up to the first long
    /// pause between two of them. Returns the first access that is left.
    fn convert(
        &mut self,
        owner: usize,
        mut begin: usize,
        end: usize,
        batch: &mut Batch,
    ) -> Result<usize> {
        let name = name(&self.block, begin);
        let mut thread = self.thread(owner, name, begin);
        for event in self.programs[owner]
            .acquired
            .remove(&name)
            .unwrap_or_default()
        {
            push_order(thread, event, batch);
        }
        let first = batch.references.len();
        self.touched.clear();
        if self.is_plain(owner) {
            if !self.convert_whole(begin..end, thread.space, batch)? {
                self.convert_plain(begin..end, batch);
            }
            begin = end;
        }
        let has_changes = !self.block.changes.is_empty();
        let tells_zeros = !self.block.zeros.is_empty();
        let rows = self.programs[owner].rows;
        let objects = &mut self.programs[owner].objects;
        let (mut end, mut pause) = (end, 0);
        for index in begin..end {
            let now = self.block.instruction.get(index).copied();
            let now = now.unwrap_or(thread.instruction);
            let instructions = now.saturating_sub(thread.instruction);
            if instructions > MAX_INSTRUCTIONS {
                if index > begin {
                    end = index;
                    break;
                }
                pause = instructions - MAX_INSTRUCTIONS;
            }
            thread.instruction = now;
            let size = self.block.size.get(index).copied();
            let row = |instructions| match rows.request(self.block.write[index], size) {
                None => Reference::new(instructions, self.block.write[index]),
                Some(Kind::WriteBack) => Reference::write_back(instructions),
                Some(kind) => Reference::new(instructions, kind == Kind::Store),
            };
            let address = self.block.address[index];
            let place = (address, size.unwrap_or(0));
            let references = &mut batch.references;
            append_pages(
                place,
                (row(instructions), row(0)),
                &mut self.touched,
                references,
            );
            if self.keeps_lines {
                // The pages that an access goes on to are entered at their beginning.
                batch.lines.push((address % PAGE_BYTES / LINE_BYTES) as u8);
                batch.lines.resize(batch.references.len(), 0);
            }
            if let Some(objects) = objects {
                let site = objects.next(name.0, address);
                batch.sites.resize(batch.references.len(), site);
            }
            if tells_zeros {
                let zeros = self.block.zeros[index];
                batch.zeros.resize(batch.references.len(), zeros);
            }
            if has_changes {
                // The first touch of an access changes its page.
                batch.changes.push(self.block.changes.of(index));
                (batch.changes.len()..batch.references.len())
                    .for_each(|_| batch.changes.push(Change::default()));
            }
        }
        self.numbers.clear();
        self.pages
            .intern(thread.space, &self.touched, &mut self.numbers)?;
        for (reference, number) in batch.references[first..].iter_mut().zip(&self.numbers) {
            *reference = reference.of(*number);
            batch.write_backs += usize::from(reference.is_write_back());
        }
        let touches = batch.references[first..]
            .iter()
            .filter(|row| !row.is_write_back());
        self.pages.touch(touches.map(|touch| touch.page()));
        self.programs[owner].threads.insert(name, thread);
        self.programs[owner].last.insert(name.0, name.1);
        batch.runs.push(Run {
            thread: thread.number,
            space: thread.space,
            end: batch.references.len(),
            discards: batch.discards.len(),
            order: None,
            pause,
        });
        Ok(end)
    }

    /// Whether the accesses of the block are addresses, sizes and whether they are written, and
    /// nothing else is kept of them.
    fn is_plain(&self, owner: usize) -> bool {
        let program = &self.programs[owner];
        let others = [
            program.source.meta().counts_instructions,
            program.rows != Rows::Accesses,
            program.objects.is_some(),
            self.keeps_lines,
            !self.block.changes.is_empty(),
            !self.block.zeros.is_empty(),
        ];
        !others.contains(&true)
    }

    /// Appends plain accesses ([`Workload::is_plain`]) to the batch, if none of them goes on to a
    /// second page; returns whether that is so.
    fn convert_whole(
        &mut self,
        accesses: Range<usize>,
        space: Space,
        batch: &mut Batch,
    ) -> Result<bool> {
        let block = &self.block;
        let sizes = block.size.get(accesses.clone()).unwrap_or_default();
        let (addresses, writes) = (&block.address[accesses.clone()], &block.write[accesses]);
        // All are looked at, which takes less time than to stop at the first.
        let goes_on = |any, (address, &size): (&u64, &u32)| {
            any | (address % PAGE_BYTES + u64::from(size) > PAGE_BYTES)
        };
        if addresses.iter().zip(sizes).fold(false, goes_on) {
            return Ok(false);
        }
        let mut writes = writes.iter();
        let append = |numbers: &[PageId]| {
            let rows = numbers.iter().zip(&mut writes);
            let rows = rows.map(|(&number, &write)| Reference::new(0, write).of(number));
            batch.references.extend(rows);
        };
        let page = |address: &u64| Page::of(*address);
        self.pages.intern_groups(space, addresses, page, append)?;
        Ok(true)
    }

    /// Appends plain accesses ([`Workload::is_plain`]) to the batch, and their pages to those of
    /// the run.
    fn convert_plain(&mut self, accesses: Range<usize>, batch: &mut Batch) {
        let block = &self.block;
        let sizes = block.size.get(accesses.clone()).unwrap_or_default();
        let (addresses, writes) = (&block.address[accesses.clone()], &block.write[accesses]);
        let mut sizes = sizes.iter().copied();
        for (&address, &write) in addresses.iter().zip(writes) {
            let (place, row) = (
                (address, sizes.next().unwrap_or(0)),
                Reference::new(0, write),
            );
            append_pages(place, (row, row), &mut self.touched, &mut batch.references);
        }
    }

    /// Returns a thread of a program by process and thread of the trace; a new one begins with access
    /// `index` of the block.
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

/// Appends the pages of an access to `size` bytes at an address: a touch of the first one, and of
/// each other that it goes on to.
#[inline]
fn append_pages(
    (address, size): (u64, u32),
    (first, other): (Reference, Reference),
    pages: &mut Vec<Page>,
    references: &mut Vec<Reference>,
) {
    let page = Page::of(address);
    pages.push(page);
    references.push(first);
    if address % PAGE_BYTES + u64::from(size) > PAGE_BYTES {
        let last = Page::of(address.saturating_add(u64::from(size) - 1));
        pages.extend((page.0 + 1..=last.0).map(Page));
        let touches = references.len() + last.distance_from(page) as usize;
        references.resize(touches, other);
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
