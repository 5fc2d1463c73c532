//! Who finds room for objects.
//!
//! Two levels, as in Kannan 2013, section 4.2: [`Chunks`](chunks::Chunks) hands out chunks and says
//! so in the pool; an [`Allocator`] cuts them into slots. That an object is in use is not the
//! allocator's business: records in the allocation log say so, and [`Nvwa`](nvwa::Nvwa) needs to
//! store nothing else. [`Naive`](naive::Naive) stores all that it knows, for comparison.

pub(crate) mod chunks;
pub(crate) mod class;
pub(crate) mod index;
mod large;
#[cfg(feature = "experiments")]
pub(crate) mod naive;
pub(crate) mod nvwa;
pub(crate) mod run;

use std::sync::Mutex;

use crate::error::Result;
use crate::medium::Medium;
use crate::pool::Pool;

use chunks::Chunks;
use index::Index;
use run::Run;

/// What an allocator works with.
pub(crate) struct Space<M> {
    pub pool: Pool<M>,
    pub chunks: Chunks,
    /// Which run an offset lies in, and where its object's record is.
    pub index: Index,
    /// Free places for records that belong to no lane; none of the lists is empty.
    pub spare_records: Mutex<Vec<Vec<u64>>>,
}

impl<M: Medium> Space<M> {
    /// The run that begins with a chunk.
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
    /// Its bytes, a multiple of 16, at least as many as were asked for.
    pub bytes: u64,
    /// Whether it was never used, and so holds zeros.
    pub fresh: bool,
}

/// Slots that a lane has taken in advance, by size class; the last one is taken next.
#[derive(Default)]
pub(crate) struct Cache {
    pub slots: Vec<Vec<u64>>,
}

/// What recovery has found that concerns an allocator.
#[derive(Default)]
pub(crate) struct Found {
    /// Chunks with which a run or a large object begins, in use at least in part; in the index.
    pub runs: Vec<u64>,
    /// Chunks of the naive allocator's headers.
    #[cfg_attr(not(feature = "experiments"), expect(dead_code))]
    pub headers: Vec<u64>,
}

/// Finds room for objects. The caller holds the lane to which the cache belongs.
pub(crate) trait Allocator<M>: Send + Sync {
    /// Takes room for an object. If the program ends before a record says that the object is in
    /// use, the room is free again.
    ///
    /// # Errors
    ///
    /// There is no room, or a fence failed.
    fn reserve(&self, space: &Space<M>, cache: &mut Cache, bytes: u64) -> Result<Room>;

    /// Gives back the room of an object of which no record says that it is in use.
    fn release(&self, space: &Space<M>, cache: &mut Cache, offset: u64);

    /// Takes over what recovery has found, before anything else is asked of it.
    ///
    /// # Errors
    ///
    /// What it keeps in the pool is damaged, or a fence failed.
    fn recover(&self, space: &Space<M>, found: &Found) -> Result<()>;

    /// Gives chunks back of which nothing is in use.
    fn reclaim(&self, space: &Space<M>);
}
