//! Lanes: each thread that works on the heap holds one, and threads share nothing else that they
//! write. `own` decides what one lane may change after another.
//!
//! Order of locks: first the locks of the user's data, then the state of one lane, then one of the
//! locks that are held for moments only: that of a window, of an allocator, of the free chunks. A
//! thread that holds a lane waits neither for another lane nor for a lock of the user's data.

pub(crate) mod changes;
pub(crate) mod log;
pub(crate) mod own;
pub(crate) mod window;

use std::cell::Cell;
use std::collections::VecDeque;
use std::mem;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

use crate::allocator::{Cache, Space};
use crate::error::Result;
use crate::layout::chunk::Use;
use crate::layout::record::RECORD_BYTES;
use crate::lock::{lock, try_lock};
use crate::medium::{LINE_BYTES, Medium, WORD_BYTES};

use changes::Changes;
use log::Log;
use own::Stamp;
use window::{Range, Window};

/// A lane with more free places for records than this shares some with other lanes.
const MAX_SPARE: usize = 8192;

/// All lanes of a heap.
pub(crate) struct Lanes {
    lanes: Box<[Lane]>,
    /// Lanes from this one on were never held.
    used: AtomicUsize,
}

/// A lane.
pub(crate) struct Lane {
    pub window: Window,
    state: Mutex<State>,
}

/// The state of a lane that only its holder accesses.
#[derive(Default)]
pub(crate) struct State {
    /// The last operation that passed its fence.
    pub fenced: u64,
    /// For each lane, an operation up to which none is repeated, as last seen.
    past: Box<[u64]>,
    /// The thread that carried it out.
    thread: u64,
    /// Words that it has changed and that are still to be flushed, one for each line.
    unflushed: Vec<u64>,
    /// Slots for objects.
    pub cache: Cache,
    /// Slots for capacity.
    pub capacity: Cache,
    /// Free places for records; the last one is used next.
    pub records: Vec<u64>,
    /// Freed objects whose operation may still be repeated after a crash, oldest first.
    freed: VecDeque<Freed>,
    /// Number of intents written since the pool was opened.
    pub intents: u64,
    /// Reusable memory for the changes of the next operation.
    pub scratch: Option<Box<Changes>>,
    /// The transaction log.
    pub log: Log,
}

/// An object that is no longer in use.
#[derive(Clone, Copy)]
pub(crate) struct Freed {
    /// The operation that freed it.
    pub sequence: u64,
    pub object: u64,
    /// Place of its record.
    pub record: u64,
}

impl Lanes {
    /// Returns the lanes, by the sequence up to which each is settled.
    pub fn new(settled: impl IntoIterator<Item = u64>) -> Self {
        let settled: Box<[u64]> = settled.into_iter().collect();
        let lane = |&own: &u64| Lane::new(own, settled.clone());
        Self {
            lanes: settled.iter().map(lane).collect(),
            used: AtomicUsize::new(0),
        }
    }

    /// Holds the lane of this thread, or another one that is free.
    #[inline]
    pub fn hold(&self) -> Held<'_> {
        let (thread, own) = this_thread();
        let own = own % self.lanes.len();
        let (index, state) = match try_lock(&self.lanes[own].state) {
            Some(state) => (own, state),
            None => self.hold_any(own),
        };
        if index >= self.used.load(Ordering::Relaxed) {
            // Before anything is looked up under the lane: `pass_by` must not miss it.
            self.used.fetch_max(index + 1, Ordering::SeqCst);
        }
        Held {
            lanes: self,
            lane: &self.lanes[index],
            index,
            thread,
            state,
        }
    }

    /// Returns whether an operation is the last one of its lane, and is not settled.
    #[inline]
    pub fn is_last(&self, stamp: Stamp) -> bool {
        self.lanes[stamp.lane()].window.is_last(stamp.sequence())
    }

    /// Calls `each` with the bytes whose contents tell after a crash whether the last operation of
    /// a lane has happened.
    pub fn each_checked(&self, last: Stamp, each: impl FnMut(Range)) {
        let window = &self.lanes[last.lane()].window;
        window.each_checked(last.sequence(), each);
    }

    #[cold]
    fn hold_any(&self, own: usize) -> (usize, MutexGuard<'_, State>) {
        let mut others = (1..self.lanes.len()).map(|i| (own + i) % self.lanes.len());
        let free = others.find_map(|index| Some((index, try_lock(&self.lanes[index].state)?)));
        free.unwrap_or_else(|| (own, lock(&self.lanes[own].state)))
    }

    /// Makes the effects of all lanes durable and settles them. The caller holds none.
    ///
    /// # Errors
    ///
    /// A fence failed.
    pub fn settle<M: Medium>(&self, space: &Space<M>) -> Result<()> {
        let _all = self.hold_all();
        self.settle_held(space)
    }

    /// Makes the effects of all lanes, which the caller holds, durable and settles them.
    ///
    /// # Errors
    ///
    /// A fence failed.
    pub fn settle_held<M: Medium>(&self, space: &Space<M>) -> Result<()> {
        for lane in self.used() {
            lane.window.flush(&space.pool);
        }
        if !self.used().is_empty() {
            space.pool.medium.fence()?;
        }
        for (index, lane) in self.used().iter().enumerate() {
            let at = space.pool.geometry.settled_of(index);
            lane.window.settle_all(&space.pool, at)?;
        }
        Ok(())
    }

    /// Holds all lanes. The caller holds none.
    pub fn hold_all(&self) -> Vec<MutexGuard<'_, State>> {
        self.lanes.iter().map(|lane| lock(&lane.state)).collect()
    }

    /// Waits until every lane that is held now has been given back. The caller holds none.
    pub fn pass_by(&self) {
        self.used().iter().for_each(|lane| drop(lock(&lane.state)));
    }

    fn used(&self) -> &[Lane] {
        &self.lanes[..self.used.load(Ordering::SeqCst)]
    }
}

impl State {
    /// Returns all freed objects. Every operation is settled.
    pub fn take_freed(&mut self) -> VecDeque<Freed> {
        mem::take(&mut self.freed)
    }
}

impl Lane {
    /// Returns the state of a lane whose operations are settled up to this one, as are the
    /// operations of the other lanes.
    fn new(settled: u64, past: Box<[u64]>) -> Self {
        Self {
            window: Window::new(settled),
            state: Mutex::new(State {
                fenced: settled,
                past,
                ..State::default()
            }),
        }
    }
}

/// A lane that this thread holds.
pub(crate) struct Held<'l> {
    lanes: &'l Lanes,
    lane: &'l Lane,
    pub index: usize,
    thread: u64,
    pub state: MutexGuard<'l, State>,
}

impl Held<'_> {
    /// Returns the sequence of the next operation.
    pub fn next(&self) -> u64 {
        self.state.fenced + 1
    }

    /// Returns the lane's last operation.
    #[inline]
    pub fn last(&self) -> Stamp {
        Stamp::new(self.index, self.state.fenced)
    }

    /// Fences, so that what was flushed becomes durable, and with it the next operation, which will
    /// make these changes in place.
    ///
    /// # Errors
    ///
    /// A fence failed.
    #[inline]
    pub fn fence<M: Medium>(&mut self, space: &Space<M>, changes: &Changes) -> Result<()> {
        self.fence_effects(space)?;
        self.state.fenced += 1;
        let (named, checked) = (changes.named(), changes.checked());
        self.lane.window.enter(self.state.fenced, named, checked);
        Ok(())
    }

    /// Makes durable what the last operations have changed, and all else that was flushed.
    ///
    /// # Errors
    ///
    /// A fence failed.
    #[inline]
    pub fn fence_effects<M: Medium>(&mut self, space: &Space<M>) -> Result<()> {
        let state = &mut *self.state;
        if state.thread != self.thread {
            // A fence does not wait for flushes of other threads.
            self.lane.window.flush(&space.pool);
            state.thread = self.thread;
        } else {
            for &word in &state.unflushed {
                space.pool.medium.flush(word, WORD_BYTES);
            }
        }
        state.unflushed.clear();
        space.pool.medium.fence()
    }

    /// Changes words in place, as described by the operation that has just passed its fence. They
    /// are flushed just before the lane's next fence: every locked instruction, such as releasing a
    /// lock, waits for a line that is on its way.
    #[inline]
    pub fn set_words<M: Medium>(&mut self, space: &Space<M>, words: &[(u64, u64)]) {
        for &(offset, value) in words {
            space.pool.medium.store_word(offset, value);
            let line = offset / LINE_BYTES;
            let unflushed = &mut self.state.unflushed;
            let is_other = |last: &u64| last / LINE_BYTES != line;
            if unflushed.last().is_none_or(is_other) {
                unflushed.push(offset);
            }
        }
    }

    /// Settles all operations of this lane, so that none is repeated and its log can be
    /// overwritten.
    ///
    /// # Errors
    ///
    /// A fence failed.
    pub fn settle<M: Medium>(&mut self, space: &Space<M>) -> Result<()> {
        self.fence_effects(space)?;
        let at = space.pool.geometry.settled_of(self.index);
        self.lane.window.settle_all(&space.pool, at)
    }

    /// Notes an object that the operation under way frees.
    #[inline]
    pub fn free_later(&mut self, object: u64, record: u64) {
        let sequence = self.state.fenced;
        self.state.freed.push_back(Freed {
            sequence,
            object,
            record,
        });
    }

    /// Returns an object that was freed by an operation that is never repeated.
    #[inline]
    pub fn next_freed(&mut self) -> Option<Freed> {
        let past = self.lane.window.past();
        match self.state.freed.front() {
            Some(freed) if freed.sequence <= past => self.state.freed.pop_front(),
            _ => None,
        }
    }

    /// Takes a place for a record.
    ///
    /// # Errors
    ///
    /// The pool has no room for another chunk of records, or a fence failed.
    #[inline]
    pub fn take_record<M: Medium>(&mut self, space: &Space<M>) -> Result<u64> {
        match self.state.records.pop() {
            Some(record) => Ok(record),
            None => self.take_chunk_of_records(space),
        }
    }

    #[cold]
    fn take_chunk_of_records<M: Medium>(&mut self, space: &Space<M>) -> Result<u64> {
        let spare = lock(&space.spare_records).pop();
        if let Some(places) = spare {
            self.state.records = places;
        } else {
            let taken = space.chunks.take(&space.pool, 1, Use::Records)?;
            let places = space.pool.geometry.places(taken.chunk, RECORD_BYTES);
            self.state.records.extend(places.rev());
        }
        Ok(self.state.records.pop().expect("a chunk has records"))
    }

    /// Gives a place for a record back.
    #[inline]
    pub fn give_record<M: Medium>(&mut self, space: &Space<M>, place: u64) {
        self.state.records.push(place);
        if self.state.records.len() > MAX_SPARE {
            let places = self.state.records.drain(..MAX_SPARE / 2).collect();
            lock(&space.spare_records).push(places);
        }
    }
}

/// This thread's number, from 1 on, and its preferred lane.
fn this_thread() -> (u64, usize) {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    thread_local! {
        static NUMBER: u64 = NEXT.fetch_add(1, Ordering::Relaxed);
    }
    let number = NUMBER.with(|number| *number);
    let lane = LANE.with(Cell::get).unwrap_or(number as usize - 1);
    (number, lane)
}

thread_local! {
    static LANE: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Makes the calling thread use the lane of this number, modulo the count of lanes, in every heap:
/// for programs that know their threads, and for tests.
pub fn use_lane(number: usize) {
    LANE.with(|lane| lane.set(Some(number)));
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use super::*;

    /// How long the other thread has to do what it must not.
    const PATIENCE: Duration = Duration::from_millis(50);

    /// Once, the next holder of the lane waited for itself for ever.
    #[test]
    fn a_lane_is_held_again_after_a_panic() {
        let lanes = Lanes::new([0]);
        let panicked = thread::scope(|scope| {
            let panics = scope.spawn(|| {
                let _held = lanes.hold();
                panic!("on purpose");
            });
            panics.join()
        });
        assert!(panicked.is_err());
        assert_eq!(lanes.hold().index, 0);
    }

    #[test]
    fn nobody_passes_by_a_lane_that_is_held() {
        let lanes = Lanes::new([0; 2]);
        use_lane(1);
        let held = lanes.hold();
        let (passed, heard) = mpsc::channel();
        thread::scope(|scope| {
            let lanes = &lanes;
            scope.spawn(move || {
                lanes.pass_by();
                passed.send(()).unwrap();
            });
            assert!(heard.recv_timeout(PATIENCE).is_err());
            drop(held);
            heard.recv().unwrap();
        });
    }
}
