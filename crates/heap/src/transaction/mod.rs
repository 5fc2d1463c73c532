//! Transactions: changes that happen wholly or not at all.
//!
//! What is written is kept in DRAM and reaches the pool at the commit, through the lane's log (redo),
//! with one fence for all of it. Single words and whole objects go into logs apart from each other
//! (the hybrid log of Kannan 2013, section 4.3). [`Heap::transaction_in_place`] keeps the old
//! contents instead (undo): reading is as fast as outside, but each first change costs a fence.

mod commit;
mod in_place;
mod write_set;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::mem;

use bytemuck::Pod;

use crate::error::{Error, Result};
use crate::heap::Heap;
use crate::lane::Held;
use crate::medium::Medium;
use crate::operation::Core;
use crate::pool::Pool;
use crate::ptr::Ptr;

pub(crate) use commit::Changes;
use in_place::InPlace;
pub(crate) use in_place::{check_of_entry, undo};
use write_set::WriteSet;

/// In which log a change goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hint {
    /// By its size: up to 8 bytes are a word, more an object.
    #[default]
    BySize,
    /// Word by word, and only those that differ: for few changes of a large object.
    Words,
    /// As a whole.
    Object,
}

/// A transaction that is under way; see [`Heap::transaction`].
///
/// Whoever changes the same data from several threads has to hold the others off until the
/// transaction has ended.
pub struct Transaction<'h, M: Medium> {
    heap: &'h Heap<M>,
    state: RefCell<State<'h>>,
    /// A nested one has failed, so nothing of it all may happen.
    doomed: Cell<bool>,
}

#[derive(Default)]
struct State<'h> {
    writes: WriteSet,
    /// Objects that nobody can reach yet: where they are, and their bytes, a multiple of 16.
    new: BTreeMap<u64, u64>,
    /// Objects to be freed at the commit.
    freed: BTreeSet<u64>,
    /// Old contents, if objects are changed in place.
    in_place: Option<InPlace<'h>>,
}

thread_local! {
    /// The transactions of this thread: of which heap, and where.
    static ACTIVE: RefCell<Vec<(usize, *const ())>> = const { RefCell::new(Vec::new()) };
}

impl<M: Medium> Heap<M> {
    /// Has `work` change things, durably, wholly or not at all: if it fails or panics, nothing has
    /// happened. One fence, whatever it changes.
    ///
    /// Within `work` a transaction of the same heap is part of the first one; if it fails, all
    /// fails.
    ///
    /// # Errors
    ///
    /// What `work` returns; a nested transaction failed; there is no room for the log, or a fence
    /// failed.
    pub fn transaction<R, E: From<Error>>(
        &self,
        work: impl FnOnce(&Transaction<M>) -> std::result::Result<R, E>,
    ) -> std::result::Result<R, E> {
        self.begin(false, work)
    }

    /// As [`Heap::transaction`], but objects are changed in place at once, and their old contents
    /// kept until the commit. Two fences, and one for each change.
    ///
    /// # Errors
    ///
    /// As [`Heap::transaction`]; what is changed is more than the log holds.
    pub fn transaction_in_place<R, E: From<Error>>(
        &self,
        work: impl FnOnce(&Transaction<M>) -> std::result::Result<R, E>,
    ) -> std::result::Result<R, E> {
        self.begin(true, work)
    }

    /// Whether this thread is within a transaction of this heap.
    pub fn in_transaction(&self) -> bool {
        self.active().is_some()
    }

    /// The transaction of this heap that this thread has under way.
    fn active(&self) -> Option<*const Transaction<'_, M>> {
        ACTIVE.with_borrow(|active| {
            let of_this = active.iter().find(|(heap, _)| *heap == self.id());
            of_this.map(|&(_, transaction)| transaction.cast())
        })
    }

    /// Refuses to do what is no part of a transaction while one is under way.
    ///
    /// # Errors
    ///
    /// One is.
    pub(crate) fn expect_no_transaction(&self, what: &str) -> Result<()> {
        match self.active() {
            None => Ok(()),
            Some(_) => Err(Error::usage(format!(
                "within a transaction {what} can only be changed by a batch"
            ))),
        }
    }

    fn begin<R, E: From<Error>>(
        &self,
        in_place: bool,
        work: impl FnOnce(&Transaction<M>) -> std::result::Result<R, E>,
    ) -> std::result::Result<R, E> {
        if let Some(outer) = self.active() {
            // SAFETY: it is of this heap, so of this type, and it is on the stack of this thread
            // until `Active` is dropped.
            let outer = unsafe { &*outer };
            let nested = Nested(&outer.doomed);
            let done = work(outer)?;
            mem::forget(nested);
            return Ok(done);
        }
        let transaction = Transaction {
            heap: self,
            state: RefCell::default(),
            doomed: Cell::new(false),
        };
        if in_place {
            transaction.begin_in_place()?;
        }
        let done = {
            let _active = Active::new(self.id(), &transaction);
            work(&transaction)?
        };
        if transaction.doomed.get() {
            return Err(Error::usage("a nested transaction failed, so all of it did").into());
        }
        transaction.commit()?;
        Ok(done)
    }
}

/// Dooms the outer transaction unless it is forgotten.
struct Nested<'t>(&'t Cell<bool>);

impl Drop for Nested<'_> {
    fn drop(&mut self) {
        self.0.set(true);
    }
}

/// While it lives, the thread's transactions of the heap are nested.
struct Active;

impl Active {
    fn new<M: Medium>(heap: usize, transaction: &Transaction<M>) -> Self {
        let at = std::ptr::from_ref(transaction).cast();
        ACTIVE.with_borrow_mut(|active| active.push((heap, at)));
        Self
    }
}

impl Drop for Active {
    fn drop(&mut self) {
        ACTIVE.with_borrow_mut(Vec::pop);
    }
}

impl<M: Medium> Transaction<'_, M> {
    /// What lies there, with what this transaction has changed.
    ///
    /// # Errors
    ///
    /// It is null, or not wholly in the pool.
    pub fn read<T: Pod>(&self, at: Ptr<T>) -> Result<T> {
        let mut value = T::zeroed();
        self.read_bytes(at.offset(), bytemuck::bytes_of_mut(&mut value))?;
        Ok(value)
    }

    /// As [`Transaction::read`], of bytes.
    ///
    /// # Errors
    ///
    /// As [`Transaction::read`].
    pub fn read_bytes(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        let (first, words) = self.words_of(offset, into.len())?;
        let all: &[u8] = bytemuck::cast_slice(&words);
        into.copy_from_slice(&all[(offset - first) as usize..][..into.len()]);
        Ok(())
    }

    /// The words in which bytes lie, and the offset of the first one.
    fn words_of(&self, offset: u64, len: usize) -> Result<(u64, Vec<u64>)> {
        let first = offset & !7;
        let count = (offset - first).saturating_add(len as u64).div_ceil(8);
        let pool = self.pool();
        if offset == 0 {
            return Err(Error::usage("a null pointer points to nothing"));
        }
        pool.check(first, count.saturating_mul(8), "a transaction")?;
        let mut words = vec![0; count as usize];
        pool.medium
            .load(first, bytemuck::cast_slice_mut(&mut words));
        self.state.borrow().writes.overlay(first, &mut words);
        Ok((first, words))
    }

    /// Changes one word; a hint that it is one.
    ///
    /// # Errors
    ///
    /// It is not in the pool.
    pub fn set(&self, at: Ptr<u64>, value: u64) -> Result<()> {
        self.write_with(at, &value, Hint::Words)
    }

    /// Changes an object, or a field of one.
    ///
    /// # Errors
    ///
    /// It is not wholly in the pool; in place, the log is full or a fence failed.
    pub fn write<T: Pod>(&self, at: Ptr<T>, value: &T) -> Result<()> {
        self.write_with(at, value, Hint::BySize)
    }

    /// As [`Transaction::write`], into the log that is meant.
    ///
    /// # Errors
    ///
    /// As [`Transaction::write`].
    pub fn write_with<T: Pod>(&self, at: Ptr<T>, value: &T, hint: Hint) -> Result<()> {
        self.write_bytes(at.offset(), bytemuck::bytes_of(value), hint)
    }

    /// Changes bytes.
    ///
    /// # Errors
    ///
    /// As [`Transaction::write`].
    pub fn write_bytes(&self, offset: u64, bytes: &[u8], hint: Hint) -> Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let (first, old) = self.words_of(offset, bytes.len())?;
        let mut new = old.clone();
        let all: &mut [u8] = bytemuck::cast_slice_mut(&mut new);
        all[(offset - first) as usize..][..bytes.len()].copy_from_slice(bytes);
        let mut state = self.state.borrow_mut();
        let state = &mut *state;
        if state.is_new(first, new.len() as u64 * 8) {
            self.pool().store_words(first, &new);
            return Ok(());
        }
        if let Some(in_place) = &mut state.in_place {
            return in_place.write(&self.heap.core().space, first, &new);
        }
        let as_words = match hint {
            Hint::BySize => new.len() == 1,
            Hint::Words => true,
            Hint::Object => false,
        };
        if !as_words {
            state.writes.write(first, &new);
            return Ok(());
        }
        for (i, (&old, &new)) in old.iter().zip(&new).enumerate() {
            if old != new {
                state.writes.set(first + i as u64 * 8, new);
            }
        }
        Ok(())
    }

    /// Makes an object. Nobody else can reach it before the commit, and there is none if the
    /// transaction fails.
    ///
    /// # Errors
    ///
    /// There is no room, or a fence failed.
    pub fn alloc<T: Pod>(&self, value: &T) -> Result<Ptr<T>> {
        let at = self.alloc_bytes(bytemuck::bytes_of(value))?;
        Ok(Ptr::at(at))
    }

    /// Makes an object that holds these bytes, filled with zeros to 16; says at which offset.
    ///
    /// # Errors
    ///
    /// As [`Transaction::alloc`].
    pub fn alloc_bytes(&self, bytes: &[u8]) -> Result<u64> {
        let mut words = vec![0; bytes.len().max(1).div_ceil(16) * 2];
        bytemuck::cast_slice_mut(&mut words)[..bytes.len()].copy_from_slice(bytes);
        let core = self.heap.core();
        let mut state = self.state.borrow_mut();
        let object = match &mut state.in_place {
            Some(in_place) => core.make(in_place.lane(), &words),
            None => core.with_room(|| core.make(&mut core.hold(), &words)),
        }?;
        state.new.insert(object, words.len() as u64 * 8);
        Ok(object)
    }

    /// Frees an object at the commit.
    ///
    /// # Errors
    ///
    /// There is none, or it was freed by this transaction already.
    pub fn free<T>(&self, at: Ptr<T>) -> Result<()> {
        let mut state = self.state.borrow_mut();
        if let Some(len) = state.new.remove(&at.offset()) {
            state.writes.forget(at.offset(), at.offset() + len);
            state.give_back(self.heap.core(), at.offset());
            return Ok(());
        }
        let object = self.heap.core().object(at.offset())?.offset;
        if !state.freed.insert(object) {
            return Err(Error::usage(format!(
                "the object at {object} was freed by this transaction already"
            )));
        }
        Ok(())
    }

    fn pool(&self) -> &Pool<M> {
        &self.heap.core().space.pool
    }
}

impl<'h> State<'h> {
    /// Does something with a lane: the one that is held for the whole transaction, if one is.
    fn with_lane<M: Medium, R>(
        &mut self,
        core: &'h Core<M>,
        work: impl FnOnce(&mut Held<'h>) -> R,
    ) -> R {
        match &mut self.in_place {
            Some(in_place) => work(in_place.lane()),
            None => work(&mut core.hold()),
        }
    }

    /// Gives the room of an object back that nobody could reach.
    fn give_back<M: Medium>(&mut self, core: &'h Core<M>, object: u64) {
        self.with_lane(core, |held| core.unmake(held, object));
    }

    /// Whether bytes lie within an object that nobody can reach yet.
    fn is_new(&self, offset: u64, len: u64) -> bool {
        let before = self.new.range(..=offset).next_back();
        before.is_some_and(|(&object, &bytes)| offset + len <= object + bytes)
    }
}

impl<M: Medium> Drop for Transaction<'_, M> {
    /// Undoes what was not committed.
    fn drop(&mut self) {
        let mut state = mem::take(self.state.get_mut());
        for object in mem::take(&mut state.new).into_keys() {
            state.give_back(self.heap.core(), object);
        }
        if let Some(in_place) = state.in_place {
            in_place.roll_back(&self.heap.core().space);
        }
    }
}
