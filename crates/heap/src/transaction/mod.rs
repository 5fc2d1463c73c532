//! Transactions: changes that happen wholly or not at all.
//!
//! What is written is kept in DRAM and reaches the pool at the commit, through the lane's log (redo),
//! with one fence for all of it. Single words and whole objects go into logs apart from each other
//! (the hybrid log of Kannan 2013, section 4.3). [`Heap::transaction_in_place`] keeps the old
//! contents instead (undo): reading is as fast as outside, but each first change costs a fence.

mod begin;
mod commit;
mod in_place;
mod write_set;

use std::cell::{Cell, RefCell, RefMut};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

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

/// A transaction that is under way; see [`Heap::begin`] and [`Heap::transaction`].
///
/// It belongs to the thread that has begun it. Whoever changes the same data from several threads has
/// to hold the others off until the transaction has ended.
pub struct Transaction<'h, M: Medium> {
    heap: &'h Heap<M>,
    shared: Rc<Shared<'h>>,
    /// It is part of another one, and ends with that.
    nested: bool,
    committed: bool,
}

/// What a transaction shares with those that are part of it.
#[derive(Default)]
struct Shared<'h> {
    state: RefCell<State<'h>>,
    /// How many that are part of it have not ended.
    parts: Cell<usize>,
    /// A part has failed, so nothing of it all may happen.
    doomed: Cell<bool>,
    /// Nothing can be done any more.
    ended: Cell<bool>,
}

#[derive(Default)]
struct State<'h> {
    writes: WriteSet,
    /// Objects that nobody can reach yet: where they are, and their bytes, a multiple of 16.
    new: BTreeMap<u64, u64>,
    /// Whether new objects may be changed directly, so that their records cannot vouch for them.
    direct: bool,
    /// Objects to be freed at the commit.
    freed: BTreeSet<u64>,
    /// Old contents, if objects are changed in place.
    in_place: Option<InPlace<'h>>,
}

impl<'h, M: Medium> Transaction<'h, M> {
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
        let (pool, state) = (self.pool(), self.state()?);
        if offset == 0 {
            return Err(Error::usage("a null pointer points to nothing"));
        }
        pool.check(first, count.saturating_mul(8), "a transaction")?;
        let mut words = vec![0; count as usize];
        pool.medium
            .load(first, bytemuck::cast_slice_mut(&mut words));
        state.writes.overlay(first, &mut words);
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
        let mut state = self.state()?;
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
        let mut state = self.state()?;
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
        let mut state = self.state()?;
        if let Some(len) = state.new.remove(&at.offset()) {
            state.writes.forget(at.offset(), at.offset() + len);
            state.give_back(self.heap.core(), at.offset());
            return Ok(());
        }
        let object = self.heap.core().object(at.offset())?.offset;
        if !state.freed.insert(object) {
            return Err(freed(object));
        }
        Ok(())
    }

    /// Bytes of the slot of an object, or of one that this transaction has made.
    ///
    /// # Errors
    ///
    /// There is none, or this transaction has freed it.
    pub fn bytes_of<T>(&self, at: Ptr<T>) -> Result<u64> {
        let state = self.state()?;
        if let Some(&bytes) = state.new.get(&at.offset()) {
            return Ok(bytes);
        }
        if state.freed.contains(&at.offset()) {
            return Err(freed(at.offset()));
        }
        self.heap.object(at).map(|object| object.bytes)
    }

    /// New objects of this transaction may be changed directly, before the commit and afterwards
    /// ([`Heap::persist`]): one more fence.
    ///
    /// # Errors
    ///
    /// The transaction has ended.
    pub fn change_directly(&self) -> Result<()> {
        self.state()?.direct = true;
        Ok(())
    }

    pub(crate) fn heap(&self) -> &'h Heap<M> {
        self.heap
    }

    /// What it has done so far.
    ///
    /// # Errors
    ///
    /// It has ended, as one of which it is a part has.
    fn state(&self) -> Result<RefMut<'_, State<'h>>> {
        match self.shared.ended.get() {
            true => Err(ended()),
            false => Ok(self.shared.state.borrow_mut()),
        }
    }

    fn pool(&self) -> &Pool<M> {
        &self.heap.core().space.pool
    }
}

fn freed(object: u64) -> Error {
    Error::usage(format!(
        "the object at {object} was freed by this transaction already"
    ))
}

fn ended() -> Error {
    Error::usage("the transaction has ended, as the one of which it is a part has")
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
