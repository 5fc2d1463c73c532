//! The naive allocator, with which Kannan 2013 compares (sections 3.2.1 and 4.2, table 2): built
//! like jemalloc, with runs of slots of one size, a header with a bitmap a run, and a bin a size
//! class; all of it in the pool, and each change logged, flushed and fenced.
//!
//! To take a slot, or to give it back, costs 4 lines and 4 fences: the log, the word of the bitmap,
//! the run's header, the bin. With the object's record, which both allocators write (what the paper
//! calls the additional information of persistent objects, with their commit status), that are the
//! 5.0 lines an insertion of table 2 where NVWA has 1.0. The paper does not list them; this is what
//! its figure 6 and its text name.
//!
//! Only the way from a chunk to its header, and the list of runs with room behind the one that is
//! used first, are in DRAM: jemalloc computes the former from the address, and needs more lines,
//! not fewer, for the latter when a run fills. There is no cache of slots a thread: it would be
//! metadata that a crash loses.

mod change;
mod header;

use std::collections::BTreeMap;
use std::sync::Mutex;

use super::class::{Classes, slot_of};
use super::index::Holds;
use super::run::Run;
use super::{Allocator, Cache, Found, Room, Space, large};
use crate::error::{Error, Result};
use crate::layout::Geometry;
use crate::layout::chunk::Use;
use crate::lock::lock;
use crate::medium::Medium;
use crate::pool::Pool;

use change::{Bin, Change};
use header::Header;

/// The allocator.
pub(crate) struct Naive {
    classes: Classes,
    runs: Box<[Mutex<Runs>]>,
    /// Free places for headers; the last is used next. Locked after a class.
    spare: Mutex<Vec<Header>>,
}

/// Headers of runs by chunk.
type Headers = BTreeMap<u64, Header>;

/// The runs of a class.
#[derive(Default)]
struct Runs {
    headers: Headers,
    /// Runs with free slots besides the one that is used first.
    partial: Vec<Header>,
}

impl Naive {
    pub fn new(geometry: &Geometry) -> Self {
        let classes = Classes::new(geometry.chunk_bytes());
        Self {
            runs: (0..classes.len()).map(|_| Mutex::default()).collect(),
            classes,
            spare: Mutex::default(),
        }
    }

    #[cold]
    fn new_run<M: Medium>(&self, space: &Space<M>, runs: &mut Runs, slot: u64) -> Result<Header> {
        let pool = &space.pool;
        let header = self.take_header(space)?;
        let taken = space.chunks.take(pool, 1, Use::Run { slot });
        let taken = taken.inspect_err(|_| lock(&self.spare).push(header))?;
        let (geometry, chunk) = (&pool.geometry, taken.chunk);
        header.begin(pool, chunk, slot)?;
        let first = geometry.offset_of(chunk);
        let run = Run::of_slots(first, slot, geometry.chunk_bytes());
        space.index.insert(chunk, 1, run);
        space.index.set_holds(chunk, 1, Holds::Objects);
        runs.headers.insert(chunk, header);
        Ok(header)
    }

    fn take_header<M: Medium>(&self, space: &Space<M>) -> Result<Header> {
        let mut spare = lock(&self.spare);
        if spare.is_empty() {
            let taken = space.chunks.take(&space.pool, 1, Use::Headers)?;
            spare.extend(Header::all_of(&space.pool.geometry, taken.chunk).rev());
        }
        Ok(spare.pop().expect("a chunk has room for headers"))
    }

    /// Gives a slot back in the pool.
    fn clear<M: Medium>(pool: &Pool<M>, class: usize, header: Header, slot: u64) -> Result<()> {
        let bin = Bin::of(&pool.geometry, class);
        let [current, used] = bin.load(pool);
        let at = header.word_at(slot / 64);
        let word = pool.medium.load_word(at) & !(1 << (slot % 64));
        let (free, used) = (header.free(pool) + 1, used.wrapping_sub(1));
        Change([at, word, header.0, free, current, used]).make(pool, bin)
    }

    /// Reads all headers; returns those in use by their chunk, and the free ones.
    fn read<M: Medium>(space: &Space<M>, all: &[Header]) -> Result<(Vec<Header>, Headers)> {
        let (mut spare, mut headers) = (Vec::new(), Headers::new());
        for &header in all {
            let Some(chunk) = header.chunk(&space.pool)? else {
                spare.push(header);
                continue;
            };
            if headers.insert(chunk, header).is_some() {
                return Err(header.damaged("names a chunk that another one names"));
            }
        }
        Ok((spare, headers))
    }

    /// Takes a run over. Slots that were taken for objects that were never completed are given
    /// back.
    fn adopt<M: Medium>(&self, space: &Space<M>, chunk: u64, header: Header) -> Result<()> {
        let pool = &space.pool;
        let run = space.run(chunk);
        let slots = run.slots() as u64;
        let is_used = |&slot: &u64| header.is_used(pool, slot);
        let used = (0..slots).filter(is_used).count() as u64;
        if header.slot(pool) != run.slot_bytes() || header.free(pool) != slots - used {
            return Err(header.damaged("does not fit its run"));
        }
        let class = self.classes.of_run(run);
        for slot in 0..slots {
            match (header.is_used(pool, slot), run.is_free(slot as usize)) {
                (true, true) => Self::clear(pool, class, header, slot)?,
                (false, false) => return Err(header.damaged("has an object in a free slot")),
                _ => {}
            }
        }
        lock(&self.runs[class]).headers.insert(chunk, header);
        Ok(())
    }

    /// Counts the slots of a class anew after its runs were taken over, and empties its log.
    fn recount<M: Medium>(&self, space: &Space<M>, class: usize) -> Result<()> {
        let (pool, bin) = (&space.pool, Bin::of(&space.pool.geometry, class));
        let mut runs = lock(&self.runs[class]);
        let [first, _] = bin.load(pool);
        let known = runs.headers.values().any(|header| header.0 == first);
        let current = if known { first } else { 0 };
        let slots = pool.geometry.chunk_bytes() / slot_of(class);
        let used = |header: &Header| slots - header.free(pool);
        let used = runs.headers.values().map(used).sum();
        let room = |header: &Header| header.free(pool) > 0 && header.0 != current;
        runs.partial = runs.headers.values().copied().filter(room).collect();
        if bin.load(pool) != [current, used] {
            bin.store(pool, current, used)?;
        }
        bin.clear_log(pool)
    }
}

impl<M: Medium> Allocator<M> for Naive {
    fn reserve(&self, space: &Space<M>, _cache: &mut Cache, bytes: u64) -> Result<Room> {
        let Some(class) = self.classes.of(bytes) else {
            return large::reserve(space, bytes);
        };
        let mut runs = lock(&self.runs[class]);
        let (pool, bin) = (&space.pool, Bin::of(&space.pool.geometry, class));
        let bytes = slot_of(class);
        let [current, used] = bin.load(pool);
        let current = (current != 0).then_some(Header(current));
        let with_room = current.filter(|header| header.free(pool) > 0);
        let header = match with_room.or_else(|| runs.partial.pop()) {
            Some(header) => header,
            None => self.new_run(space, &mut runs, bytes)?,
        };
        let slots = pool.geometry.chunk_bytes() / bytes;
        let full = || header.damaged("has no free slot, and says that it has");
        let slot = header.first_free(pool, slots).ok_or_else(full)?;
        let chunk = header.chunk(pool)?.and_then(|chunk| space.index.get(chunk));
        let run = chunk.ok_or_else(|| header.damaged("names no run"))?;
        let at = header.word_at(slot / 64);
        let word = pool.medium.load_word(at) | 1 << (slot % 64);
        let (free, used) = (header.free(pool) - 1, used + 1);
        Change([at, word, header.0, free, header.0, used]).make(pool, bin)?;
        run.take(slot as usize);
        Ok(Room {
            offset: run.offset_of(slot as usize),
            bytes,
            fresh: false,
        })
    }

    fn release(&self, space: &Space<M>, _cache: &mut Cache, offset: u64) {
        let pool = &space.pool;
        let chunk = pool.geometry.chunk_of(offset);
        let run = space.run(chunk);
        let slot = run.slot_at(offset).expect("an object begins a slot");
        if run.large {
            return large::release(space, chunk, run.slot_bytes());
        }
        let class = self.classes.of_run(run);
        let mut runs = lock(&self.runs[class]);
        let header = runs.headers[&chunk];
        let [current, _] = Bin::of(&pool.geometry, class).load(pool);
        if header.free(pool) == 0 && current != header.0 {
            runs.partial.push(header);
        }
        // If this fence fails, the next operation's fence fails, too.
        let _ = Self::clear(pool, class, header, slot as u64);
        run.give(slot);
    }

    fn recover(&self, space: &Space<M>, found: &Found) -> Result<()> {
        let pool = &space.pool;
        let of = |&chunk: &u64| Header::all_of(&pool.geometry, chunk);
        let mut all: Vec<Header> = found.headers.iter().flat_map(of).collect();
        all.sort_unstable();
        for class in 0..self.classes.len() {
            Change::redo(pool, Bin::of(&pool.geometry, class), &all)?;
        }
        let (mut spare, mut headers) = Self::read(space, &all)?;
        for &chunk in &found.runs {
            if space.index.get(chunk).is_some_and(|run| run.large) {
                continue;
            }
            let none = || Error::damaged(format!("the pool is damaged: run {chunk} has no header"));
            let header = headers.remove(&chunk).ok_or_else(none)?;
            self.adopt(space, chunk, header)?;
        }
        for class in 0..self.classes.len() {
            self.recount(space, class)?;
        }
        // The logs no longer name them, so they can be used for other runs.
        for &header in headers.values() {
            header.end(pool);
        }
        spare.extend(headers.into_values());
        *lock(&self.spare) = spare;
        pool.medium.fence()
    }

    fn reclaim(&self, space: &Space<M>) -> u64 {
        // What is not given back because a fence failed is found free when the pool is opened next.
        let classes = 0..self.classes.len();
        let given = classes.map(|class| self.reclaim_class(space, class).unwrap_or(0));
        given.sum()
    }
}

impl Naive {
    /// Gives back the runs of a class with nothing in use; returns how many.
    fn reclaim_class<M: Medium>(&self, space: &Space<M>, class: usize) -> Result<u64> {
        let (pool, bin) = (&space.pool, Bin::of(&space.pool.geometry, class));
        let slots = pool.geometry.chunk_bytes() / slot_of(class);
        let mut runs = lock(&self.runs[class]);
        let is_empty = |header: &Header| header.free(pool) == slots;
        let mut empty = runs.headers.clone();
        empty.retain(|_, header| is_empty(header));
        let count = empty.len() as u64;
        if count == 0 {
            return Ok(0);
        }
        let [current, used] = bin.load(pool);
        if empty.values().any(|header| header.0 == current) {
            bin.store(pool, 0, used)?;
        }
        bin.clear_log(pool)?;
        for (chunk, header) in empty {
            header.end(pool);
            pool.medium.fence()?;
            runs.headers.remove(&chunk);
            runs.partial.retain(|&other| other != header);
            lock(&self.spare).push(header);
            // All its slots are free, so no object or cache uses it, and the lock of its class
            // keeps other threads from taking one.
            space.index.remove(chunk, 1);
            space.chunks.give(pool, chunk, 1);
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests;
