//! Allocators: they find room for objects.
//!
//! Two levels, as in Kannan 2013, section 4.2: [`Chunks`](chunks::Chunks) hands out chunks and
//! records that in the pool; an [`Allocator`] cuts them into slots. Records in the allocation log
//! say which objects are in use, so [`Nvwa`](nvwa::Nvwa) need not store anything else.
//! [`Naive`](naive::Naive) stores all that it knows, for comparison.

pub(crate) mod chunks;
pub(crate) mod class;
pub(crate) mod index;
mod journal;
mod large;
#[cfg(feature = "experiments")]
pub(crate) mod naive;
pub(crate) mod nvwa;
pub(crate) mod run;

use std::sync::Mutex;

use crate::error::Result;
use crate::pool::Pool;

use chunks::Chunks;
use index::Index;
use run::Run;

/// The pool with the state in DRAM that allocators share.
pub(crate) struct Space<M> {
    pub pool: Pool<M>,
    pub chunks: Chunks,
    /// The run of each offset, and the places of the records of its objects.
    pub index: Index,
    /// Free places for records that belong to no lane; no list is empty.
    pub spare_records: Mutex<Vec<Vec<u64>>>,
}

impl<M> Space<M> {
    /// Returns the run in which a chunk lies, which is known to lie in one.
    #[inline]
    pub fn run(&self, chunk: u64) -> &Run {
        self.index.get(chunk).expect("a run in use is indexed")
    }

    /// Returns the run that begins with a chunk.
    pub fn run_from(&self, chunk: u64) -> Option<&Run> {
        let run = self.index.get(chunk);
        run.filter(|run| self.pool.geometry.chunk_of(run.first) == chunk)
    }
}

/// Room for one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    /// Its offset, a multiple of 16.
    pub offset: u64,
    /// Its bytes, a multiple of 16, at least as many as were requested.
    pub bytes: u64,
    /// Whether it was never used before, and so holds zeros.
    pub fresh: bool,
}

/// Slots that a lane has taken in advance, by size class; the last one is used next.
#[derive(Default)]
pub(crate) struct Cache {
    pub slots: Vec<Vec<u64>>,
}

/// What recovery has found for an allocator.
#[derive(Default)]
pub(crate) struct Found {
    /// First chunks of runs and large objects that are in use at least in part; the index has them.
    pub runs: Vec<u64>,
    /// Chunks of the naive allocator's headers.
    #[cfg_attr(not(feature = "experiments"), expect(dead_code))]
    pub headers: Vec<u64>,
}

/// Finds room for objects. The caller holds the lane to which the cache belongs.
pub(crate) trait Allocator<M>: Send + Sync {
    /// Takes room for an object. The room is free again if the program ends before a record says
    /// that the object is in use.
    ///
    /// # Errors
    ///
    /// The pool is full, or a fence failed.
    fn reserve(&self, space: &Space<M>, cache: &mut Cache, bytes: u64) -> Result<Room>;

    /// Gives back the room of an object that no record names.
    fn release(&self, space: &Space<M>, cache: &mut Cache, offset: u64);

    /// Takes over what recovery has found, before any other call.
    ///
    /// # Errors
    ///
    /// The allocator's data in the pool are damaged, or a fence failed.
    fn recover(&self, space: &Space<M>, found: &Found) -> Result<()>;

    /// Gives back chunks with nothing in use; returns how many.
    fn reclaim(&self, space: &Space<M>) -> u64;

    /// Gives back all slots of a lane's cache. All lanes are held.
    fn drain(&self, _space: &Space<M>, _cache: &mut Cache) {}

    /// Chooses runs to be emptied, whose objects have room in other runs, and uses no slot of them
    /// from now on. `movable` tells of how many slots of the run of a chunk the objects can be
    /// moved. All lanes are held, and their caches are empty.
    fn begin_emptying(&self, _space: &Space<M>, _movable: &dyn Fn(u64) -> u64) {}

    /// Uses all runs again that were being emptied. All lanes are held.
    fn end_emptying(&self, _space: &Space<M>) {}
}
