//! Compaction of the allocation log when the pool is full: the records of chunks with few records
//! move to free places in other chunks, and the emptied chunks become free. Objects themselves move
//! as their containers say (`containers::compacted`).
//!
//! A record is copied and fenced before its old chunk is freed, with another fence. After a crash
//! in between both copies exist and are equal; recovery drops one.

use std::collections::BTreeMap;
use std::mem;
use std::sync::MutexGuard;

use crate::error::{Error, Result};
use crate::lane::State;
use crate::layout::chunk::Use;
use crate::layout::record::{RECORD_BYTES, Record};
use crate::lock::lock;
use crate::medium::Medium;
use crate::operation::Core;

/// The free places of each chunk of records.
type Places = BTreeMap<u64, Vec<u64>>;

impl<M: Medium> Core<M> {
    /// Frees chunks of records as far as possible, and chunks with nothing in use; returns
    /// how many. Runs that were being emptied are used again. The caller holds no lane.
    ///
    /// # Errors
    ///
    /// The pool is damaged, or a fence failed.
    pub fn compact(&self) -> Result<u64> {
        let mut lanes = self.lanes.hold_all();
        // From here on no operation is repeated after a crash, so no intent names a place that
        // moves.
        self.lanes.settle_held(&self.space)?;
        let mut places = self.free_places(&mut lanes)?;
        self.drain(&mut lanes);
        self.allocator.end_emptying(&self.space);
        let runs = self.allocator.reclaim(&self.space);
        let emptied = self.empty_chunks(&mut places)? as u64;
        let spare = places.into_values().filter(|places| !places.is_empty());
        *lock(&self.space.spare_records) = spare.collect();
        Ok(runs + emptied)
    }

    /// Chooses runs to be emptied, after all that was freed is free; `movable` as in
    /// [`begin_emptying`](crate::allocator::Allocator::begin_emptying). Returns how many chunks
    /// have become free before. The caller holds no lane.
    ///
    /// # Errors
    ///
    /// The pool is damaged, or a fence failed.
    pub fn begin_emptying(&self, movable: &dyn Fn(u64) -> u64) -> Result<u64> {
        let freed = self.compact()?;
        let mut lanes = self.lanes.hold_all();
        self.drain(&mut lanes);
        self.allocator.begin_emptying(&self.space, movable);
        Ok(freed)
    }

    /// Gives back all slots that lanes have taken in advance.
    fn drain(&self, lanes: &mut [MutexGuard<'_, State>]) {
        for state in lanes {
            self.allocator.drain(&self.space, &mut state.cache);
        }
    }

    /// Returns the number of objects in use. The caller holds no lane.
    pub fn count_objects(&self) -> u64 {
        let _held = self.hold();
        let chunks = 1..self.space.pool.used();
        let runs = chunks.filter_map(|chunk| self.space.run_from(chunk));
        runs.filter(|run| !run.capacity)
            .map(|run| run.records() as u64)
            .sum()
    }

    /// Takes all free places from the lanes.
    fn free_places(&self, lanes: &mut [MutexGuard<'_, State>]) -> Result<Places> {
        let (space, geometry) = (&self.space, &self.space.pool.geometry);
        let mut places = Places::new();
        for chunk in (1..space.pool.used()).filter(|&chunk| !geometry.is_table(chunk)) {
            if space.pool.use_of(chunk)? == Use::Records {
                places.insert(chunk, Vec::new());
            }
        }
        let mut all: Vec<u64> = mem::take(&mut *lock(&space.spare_records)).concat();
        for state in lanes {
            for freed in state.take_freed() {
                self.allocator
                    .release(space, &mut state.cache, freed.object);
                all.push(freed.record);
            }
            all.append(&mut state.records);
        }
        for place in all {
            places
                .entry(geometry.chunk_of(place))
                .or_default()
                .push(place);
        }
        Ok(places)
    }

    /// Empties the chunks with the fewest records into the others.
    fn empty_chunks(&self, places: &mut Places) -> Result<usize> {
        let pool = &self.space.pool;
        let all = (pool.geometry.chunk_bytes() / RECORD_BYTES) as usize;
        let mut order: Vec<u64> = places.keys().copied().collect();
        order.sort_by_key(|chunk| all - places[chunk].len());
        let room: usize = places.values().map(Vec::len).sum();
        // A chunk that is emptied loses its free places, and fills free places of other chunks with
        // its records: together as many as a chunk has.
        order.truncate(room / all);
        let emptied = order;
        for chunk in &emptied {
            places.remove(chunk);
        }
        let mut moved = Vec::new();
        for &chunk in &emptied {
            moved.append(&mut self.move_records(chunk, places)?);
        }
        pool.medium.fence()?;
        for &(object, place) in &moved {
            self.set_record(object, place);
        }
        for &chunk in &emptied {
            pool.set_use(chunk, Use::Free);
        }
        pool.medium.fence()?;
        for &chunk in &emptied {
            self.space.chunks.give(pool, chunk, 1);
        }
        Ok(emptied.len())
    }

    /// Copies the records of a chunk to free places; returns each object with the new place of its
    /// record.
    ///
    /// # Errors
    ///
    /// There are more records than free places were counted for.
    fn move_records(&self, chunk: u64, places: &mut Places) -> Result<Vec<(u64, u64)>> {
        let mut moved = Vec::new();
        let pool = &self.space.pool;
        let all = pool.geometry.places(chunk, RECORD_BYTES);
        for record in all.filter_map(|place| Record::decode(place, pool.load_words(place))) {
            let place = places.values_mut().find_map(Vec::pop).ok_or_else(|| {
                Error::damaged(format!(
                    "the pool is damaged: chunk {chunk} has more object records than it should"
                ))
            })?;
            self.store_record(place, &record);
            moved.push((record.object, place));
        }
        Ok(moved)
    }
}
