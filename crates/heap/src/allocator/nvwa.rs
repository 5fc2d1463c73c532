//! The NVM-write-aware allocator (NVWA; Kannan 2013, section 4.2): its state of slots is in DRAM
//! and follows from the allocation log, so reserving and releasing store nothing in the pool. Only
//! a new chunk does.

use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::Ordering;

use super::class::{Classes, slot_of};
use super::index::Holds;
use super::run::Run;
use super::{Allocator, Cache, Found, Room, Space, large};
use crate::error::Result;
use crate::layout::chunk::Use;
use crate::lock::lock;
use crate::medium::Medium;

/// A lane takes slots of about this many bytes at once, and at most [`MAX_BATCH`] slots.
const BATCH_BYTES: u64 = 16 << 10;
const MAX_BATCH: u64 = 64;

/// The NVWA allocator.
pub(crate) struct Nvwa {
    classes: Classes,
    /// Whether it hands out capacity, which is gone when the pool is closed.
    capacity: bool,
    /// For each class, the chunks of its runs with free slots; the last one is used first.
    partial: Box<[Mutex<Vec<u64>>]>,
    /// The chunks of runs that are being emptied, which are in no list.
    emptying: Mutex<Vec<u64>>,
}

impl Nvwa {
    /// Returns an allocator for persistent objects.
    pub fn new(chunk_bytes: u64) -> Self {
        let classes = Classes::new(chunk_bytes);
        let partial = (0..classes.len()).map(|_| Mutex::default()).collect();
        Self {
            classes,
            capacity: false,
            partial,
            emptying: Mutex::default(),
        }
    }

    /// Returns an allocator for capacity: the pool does not record the use of its chunks.
    pub fn for_capacity(chunk_bytes: u64) -> Self {
        Self {
            capacity: true,
            ..Self::new(chunk_bytes)
        }
    }

    /// Returns how many slots of a class move between its runs and a cache at once.
    fn batch(&self, class: usize) -> usize {
        (BATCH_BYTES / slot_of(class)).clamp(1, MAX_BATCH) as usize
    }

    fn cached<'c>(&self, cache: &'c mut Cache, class: usize) -> &'c mut Vec<u64> {
        if cache.slots.len() <= class {
            cache.slots.resize_with(self.classes.len(), Vec::new);
        }
        &mut cache.slots[class]
    }

    /// Takes a free slot of an existing run. `None` if a run must be added first
    /// ([`Nvwa::add_run`]), or if there is no class for `bytes`.
    #[inline]
    pub fn reserve_listed<M: Medium>(
        &self,
        space: &Space<M>,
        cache: &mut Cache,
        bytes: u64,
    ) -> Option<Room> {
        let class = self.classes.of(bytes)?;
        let slots = self.cached(cache, class);
        if slots.is_empty() && !self.take_listed(space, slots, class) {
            return None;
        }
        Some(Room {
            offset: slots.pop()?,
            bytes: slot_of(class),
            fresh: false,
        })
    }

    /// Takes slots of the runs of a class; returns whether there was one.
    fn take_listed<M: Medium>(&self, space: &Space<M>, slots: &mut Vec<u64>, class: usize) -> bool {
        let mut partial = lock(&self.partial[class]);
        while let Some(&chunk) = partial.last() {
            let run = space.run(chunk);
            run.take_some(self.batch(class), slots);
            if !slots.is_empty() {
                // The last is used next: in the order of addresses, which suits the processor's
                // prefetchers.
                slots.reverse();
                return true;
            }
            run.listed.store(false, Ordering::Relaxed);
            partial.pop();
        }
        false
    }

    /// Cuts a chunk that was taken into slots for `bytes`.
    pub fn add_run<M: Medium>(&self, space: &Space<M>, chunk: u64, bytes: u64) {
        let class = self.classes.of(bytes).expect("runs have a class");
        let geometry = &space.pool.geometry;
        let first = geometry.offset_of(chunk);
        let mut run = Run::of_slots(first, slot_of(class), geometry.chunk_bytes());
        run.capacity = self.capacity;
        run.listed.store(true, Ordering::Relaxed);
        space.index.insert(chunk, 1, run);
        lock(&self.partial[class]).push(chunk);
    }

    /// Returns whether objects of this size share chunks.
    pub fn shares(&self, bytes: u64) -> bool {
        self.classes.of(bytes).is_some()
    }

    /// Gives the older half of a cache back to the runs.
    #[cold]
    fn drain_half<M: Medium>(&self, space: &Space<M>, slots: &mut Vec<u64>, class: usize) {
        self.give(space, slots.drain(..self.batch(class)), class);
    }

    /// Gives slots back to the runs.
    fn give<M: Medium>(
        &self,
        space: &Space<M>,
        slots: impl IntoIterator<Item = u64>,
        class: usize,
    ) {
        let mut partial = lock(&self.partial[class]);
        for offset in slots {
            let chunk = space.pool.geometry.chunk_of(offset);
            let run = space.run(chunk);
            run.give(run.slot_at(offset).expect("what is cached is a slot"));
            if !run.emptying.load(Ordering::Relaxed) && !run.listed.swap(true, Ordering::Relaxed) {
                partial.push(chunk);
            }
        }
    }

    /// Chooses runs of a class to be emptied: those of the fewest objects, as long as all their
    /// objects have room in the others. Only runs with free slots can give room, or are worth being
    /// emptied.
    fn choose<M: Medium>(
        &self,
        space: &Space<M>,
        class: usize,
        movable: &dyn Fn(u64) -> u64,
    ) -> HashSet<u64> {
        let mut partial = lock(&self.partial[class]);
        let used = |chunk: u64| {
            let run = space.run(chunk);
            (run.slots() - run.free_slots()) as u64
        };
        let free = |&chunk: &u64| space.run(chunk).free_slots() as u64;
        let mut room: u64 = partial.iter().map(free).sum();
        let mut order: Vec<(u64, u64)> = partial.iter().map(|&at| (used(at), at)).collect();
        order.retain(|&(used, chunk)| used > 0 && used <= movable(chunk));
        order.sort_unstable();
        let mut chosen = HashSet::new();
        for (used, chunk) in order {
            // Its own free slots are room no more.
            let slots = space.run(chunk).slots() as u64;
            if slots > room {
                break;
            }
            debug_assert!(used < slots);
            room -= slots;
            chosen.insert(chunk);
        }
        partial.retain(|chunk| !chosen.contains(chunk));
        chosen
    }
}

impl<M: Medium> Allocator<M> for Nvwa {
    /// Only for objects: for capacity, a caller without a lane takes the chunks.
    #[inline]
    fn reserve(&self, space: &Space<M>, cache: &mut Cache, bytes: u64) -> Result<Room> {
        loop {
            if let Some(room) = self.reserve_listed(space, cache, bytes) {
                return Ok(room);
            }
            let Some(class) = self.classes.of(bytes) else {
                return large::reserve(space, bytes);
            };
            // Without the lock of the class: a thread that waited that long for it would go to
            // sleep, which takes much longer.
            let slot = slot_of(class);
            let taken = space.chunks.take(&space.pool, 1, Use::Run { slot })?;
            space.index.set_holds(taken.chunk, 1, Holds::Objects);
            self.add_run(space, taken.chunk, bytes);
        }
    }

    #[inline]
    fn release(&self, space: &Space<M>, cache: &mut Cache, offset: u64) {
        let chunk = space.pool.geometry.chunk_of(offset);
        let run = space.run(chunk);
        if run.large {
            return large::release(space, chunk, run.slot_bytes());
        }
        let class = self.classes.of_run(run);
        if run.emptying.load(Ordering::Relaxed) {
            return self.give(space, [offset], class);
        }
        let batch = self.batch(class);
        let slots = self.cached(cache, class);
        slots.push(offset);
        if slots.len() > 2 * batch {
            self.drain_half(space, slots, class);
        }
    }

    fn recover(&self, space: &Space<M>, found: &Found) -> Result<()> {
        for &chunk in &found.runs {
            let run = space.run(chunk);
            if run.large || run.free_slots() == 0 {
                continue;
            }
            let class = self.classes.of_run(run);
            if !run.listed.swap(true, Ordering::Relaxed) {
                lock(&self.partial[class]).push(chunk);
            }
        }
        Ok(())
    }

    fn reclaim(&self, space: &Space<M>) -> u64 {
        let mut given = 0;
        for partial in &self.partial {
            lock(partial).retain(|&chunk| {
                let run = space.run(chunk);
                if run.free_slots() < run.slots() {
                    return true;
                }
                // No object or cache has a slot of it, and the lock of its class keeps other
                // threads from taking one.
                space.index.remove(chunk, 1);
                space.chunks.give(&space.pool, chunk, 1);
                given += 1;
                false
            });
        }
        given
    }

    fn drain(&self, space: &Space<M>, cache: &mut Cache) {
        for (class, slots) in cache.slots.iter_mut().enumerate() {
            self.give(space, slots.drain(..), class);
        }
    }

    fn begin_emptying(&self, space: &Space<M>, movable: &dyn Fn(u64) -> u64) {
        let classes = 0..self.classes.len();
        let chosen: Vec<u64> = classes
            .flat_map(|class| self.choose(space, class, movable))
            .collect();
        for &chunk in &chosen {
            let run = space.run(chunk);
            run.listed.store(false, Ordering::Relaxed);
            run.emptying.store(true, Ordering::Relaxed);
        }
        lock(&self.emptying).extend(chosen);
    }

    fn end_emptying(&self, space: &Space<M>) {
        for chunk in lock(&self.emptying).drain(..) {
            let run = space.run(chunk);
            run.emptying.store(false, Ordering::Relaxed);
            if run.free_slots() > 0 && !run.listed.swap(true, Ordering::Relaxed) {
                lock(&self.partial[self.classes.of_run(run)]).push(chunk);
            }
        }
    }
}
