//! Transactions: changes that happen wholly or not at all.
//!
//! Writes are kept in DRAM and reach the pool at the commit, through the lane's log (redo), with
//! one fence for all. Single words and whole objects go into logs apart from each other (the hybrid
//! log of Kannan 2013, section 4.3). What is opened through a transaction is locked until it has
//! ended.

mod begin;
pub(crate) mod held;
mod made;
mod pieces;
mod sink;
mod write_set;

use std::cell::{Cell, RefCell, RefMut};
use std::collections::BTreeSet;
use std::mem;
use std::rc::Rc;

use bytemuck::Pod;

use crate::error::{Error, Result, ensure};
use crate::guard::{Age, Guard, Inside};
use crate::heap::Heap;
use crate::lane::changes::{Changes, Check, New, Object};
use crate::lane::own::Stamp;
use crate::lane::window::Range;
use crate::layout::record::MAX_BYTES;
use crate::medium::{Medium, WORD_BYTES};
use crate::ptr::Ptr;
use crate::sink::{Contents, Source};

use held::{Checked, Guards};
use made::Made;
use write_set::WriteSet;

/// Lines, objects and fills of a transaction whose memory is kept for the next one, at most.
const MOST_KEPT: usize = 1 << 12;

/// The log for a change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Hint {
    /// Chosen by size: up to 8 bytes are a word, more are an object.
    #[default]
    BySize,
    /// The word log, for the words that differ: for few changes of a large object.
    Words,
    /// The object log, as a whole.
    Object,
}

/// A transaction under way; see [`Heap::transaction`] and [`Heap::begin`].
///
/// It belongs to the thread that began it. It holds off all other threads from what it opens
/// ([`Transaction::open`]) until it has ended; objects that it changes by their pointers the
/// program itself must protect.
///
/// ```
/// use terrace_heap::containers::HashMap;
/// use terrace_heap::{Heap, Ptr, Result};
///
/// fn main() -> Result<()> {
///     let heap = Heap::anonymous(4 << 20)?;
///     let pages = HashMap::<str, u64>::open(&heap, "pages")?;
///     heap.transaction(|tx| {
///         // An object that only the map will point to.
///         let page = tx.alloc(&[0u64; 64])?;
///         tx.open(&pages)?.insert("/", &page.offset())?;
///         Ok::<_, terrace_heap::Error>(())
///     })?;
///     let page = Ptr::<[u64; 64]>::at(pages.get("/")?.unwrap_or(0));
///     assert_eq!(heap.read(page)?, [0; 64]);
///     Ok(())
/// }
/// ```
pub struct Transaction<'h, M: Medium> {
    heap: &'h Heap<M>,
    shared: Rc<Shared<M>>,
    /// Whether it is part of another transaction, and ends with that.
    nested: bool,
    committed: bool,
}

/// The state that a transaction shares with its nested parts.
struct Shared<M: Medium> {
    age: Age,
    /// `None` once it has ended. Kept for the next transaction of its thread.
    state: RefCell<Option<Box<State>>>,
    guards: RefCell<Guards<M>>,
    /// Number of nested parts that have not ended.
    parts: Cell<usize>,
    /// Whether a part has failed, so that all must fail.
    doomed: Cell<bool>,
    /// Whether a change of a container broke off half-way, so that nothing more can be done.
    broken: Cell<bool>,
    /// Counts changes, so that cursors notice that their copies are out of date.
    changes: Cell<u64>,
}

#[derive(Default)]
struct State {
    writes: WriteSet,
    /// Objects to which nothing points yet.
    new: Made,
    /// Whether new objects may be changed directly, so that their records have no check of them.
    direct: bool,
    /// Objects to be freed at the commit.
    freed: BTreeSet<u64>,
    /// What must not be stored before the commit.
    checked: Checked,
    /// The changes of the commit: until then only bytes that are stored already, where nothing lay
    /// before.
    changes: Changes,
}

impl<'h, M: Medium> Transaction<'h, M> {
    /// Returns the value at a pointer, with this transaction's changes.
    ///
    /// # Errors
    ///
    /// The pointer is null, or the value is not wholly in the pool.
    pub fn read<T: Pod>(&self, at: Ptr<T>) -> Result<T> {
        let mut value = T::zeroed();
        self.read_bytes(at.offset(), bytemuck::bytes_of_mut(&mut value))?;
        Ok(value)
    }

    /// Same as [`Transaction::read`], for bytes.
    ///
    /// # Errors
    ///
    /// Same as [`Transaction::read`].
    pub fn read_bytes(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        let (first, words) = self.words_of(offset, into.len())?;
        let all: &[u8] = bytemuck::cast_slice(&words);
        into.copy_from_slice(&all[(offset - first) as usize..][..into.len()]);
        Ok(())
    }

    /// Returns the words in which bytes lie, and the offset of the first one.
    fn words_of(&self, offset: u64, len: usize) -> Result<(u64, Vec<u64>)> {
        ensure(offset != 0, || {
            Error::usage("a null pointer points to nothing")
        })?;
        let first = offset & !7;
        let count = (offset - first).saturating_add(len as u64).div_ceil(8);
        self.pool()
            .check(first, count.saturating_mul(8), "a transaction")?;
        let state = self.state()?;
        let mut words = vec![0; count as usize];
        self.heap
            .load_stable(first, bytemuck::cast_slice_mut(&mut words))?;
        state.writes.overlay(first, &mut words);
        drop(state);
        Ok((first, words))
    }

    /// Changes one word, through the word log.
    ///
    /// # Errors
    ///
    /// The word does not lie in an object or root.
    pub fn set(&self, at: Ptr<u64>, value: u64) -> Result<()> {
        self.write_with(at, &value, Hint::Words)
    }

    /// Changes an object, or a field of one.
    ///
    /// # Errors
    ///
    /// The bytes do not lie in an object.
    pub fn write<T: Pod>(&self, at: Ptr<T>, value: &T) -> Result<()> {
        self.write_with(at, value, Hint::BySize)
    }

    /// Same as [`Transaction::write`], with a hint for the log.
    ///
    /// # Errors
    ///
    /// Same as [`Transaction::write`].
    pub fn write_with<T: Pod>(&self, at: Ptr<T>, value: &T, hint: Hint) -> Result<()> {
        self.write_bytes(at.offset(), bytemuck::bytes_of(value), hint)
    }

    /// Changes bytes.
    ///
    /// # Errors
    ///
    /// Same as [`Transaction::write`].
    pub fn write_bytes(&self, offset: u64, bytes: &[u8], hint: Hint) -> Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let (first, old) = self.words_of(offset, bytes.len())?;
        let mut new = old.clone();
        let all: &mut [u8] = bytemuck::cast_slice_mut(&mut new);
        all[(offset - first) as usize..][..bytes.len()].copy_from_slice(bytes);
        let len = new.len() as u64 * WORD_BYTES;
        let mut state = self.state()?;
        if self.change_new(&mut state, first, len) {
            self.pool().store_words(first, &new);
            return Ok(());
        }
        self.heap.expect_object(Range { offset: first, len })?;
        self.touch();
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

    /// Makes an object, which no other thread can reach before the commit, and which does not exist
    /// if the transaction fails.
    ///
    /// # Errors
    ///
    /// The pool is full, or a fence failed.
    pub fn alloc<T: Pod>(&self, value: &T) -> Result<Ptr<T>> {
        let at = self.alloc_bytes(bytemuck::bytes_of(value))?;
        Ok(Ptr::at(at))
    }

    /// Makes an object with these bytes, filled with zeros to a multiple of 16; returns its offset.
    ///
    /// # Errors
    ///
    /// Same as [`Transaction::alloc`].
    pub fn alloc_bytes(&self, bytes: &[u8]) -> Result<u64> {
        self.make_object(&Contents::Parts(&[bytes]))
    }

    pub(crate) fn make_object(&self, contents: &Contents) -> Result<u64> {
        let core = self.heap.core();
        let mut state = self.state()?;
        let made = core.with_room(|| core.make(&mut core.hold_open()?, contents))?;
        self.touch();
        state.new.add(made);
        Ok(made.offset)
    }

    /// Frees an object at the commit.
    ///
    /// # Errors
    ///
    /// There is no such object, or this transaction has freed it already.
    pub fn free<T>(&self, at: Ptr<T>) -> Result<()> {
        let core = self.heap.core();
        let mut state = self.state()?;
        let mut held = core.hold();
        self.touch();
        if let Some(new) = state.new.remove(at.offset()) {
            state.writes.forget(at.offset(), at.offset() + new.len);
            core.unmake(&mut held, at.offset());
            return Ok(());
        }
        let object = core.object(&held, at.offset())?.offset;
        ensure(state.freed.insert(object), || freed(object))?;
        Ok(())
    }

    /// Returns the bytes of an object's slot, also of an object that this transaction has made.
    ///
    /// # Errors
    ///
    /// There is no such object, or this transaction has freed it.
    pub fn bytes_of<T>(&self, at: Ptr<T>) -> Result<u64> {
        let mut state = self.state()?;
        if let Some(new) = state.new.at(at.offset()) {
            return Ok(new.len);
        }
        ensure(!state.freed.contains(&at.offset()), || freed(at.offset()))?;
        self.heap.object(at).map(|object| object.bytes)
    }

    /// Allows new objects of this transaction to be changed directly, before the commit and
    /// afterwards ([`Heap::persist`]), at the price of one more fence.
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

    /// Counts elements added under a guard, or removed.
    pub(crate) fn count(&self, guard: &Guard, added: i64) {
        self.shared.guards.borrow_mut().count(guard, added);
    }

    /// Returns the elements added under a guard since the heap was opened, as this transaction sees
    /// it.
    pub(crate) fn added(&self, guard: &Guard) -> i64 {
        self.shared.guards.borrow().added(guard)
    }

    /// Returns the last operations under the guards that it holds.
    pub(crate) fn last_operations(&self) -> Vec<Stamp> {
        self.shared.guards.borrow().last().collect()
    }

    /// Changes the states of all guards that it holds, after operations of their own under them.
    pub(crate) fn change_guards(&self, change: impl FnMut(&mut Inside)) {
        self.shared.guards.borrow().change_all(change);
        if let Some(state) = &mut *self.shared.state.borrow_mut() {
            state.checked.look_again();
        }
    }

    /// Returns the number of its changes.
    pub(crate) fn changes(&self) -> u64 {
        self.shared.changes.get()
    }

    #[inline]
    fn touch(&self) {
        self.shared.changes.set(self.shared.changes.get() + 1);
    }

    /// Returns its state.
    ///
    /// # Errors
    ///
    /// The transaction, or the one that it is a part of, has ended; a change of a container broke
    /// off; or this is a child of the process that opened the heap.
    #[inline]
    fn state(&self) -> Result<RefMut<'_, State>> {
        self.expect_usable()?;
        let state = self.shared.state.borrow_mut();
        RefMut::filter_map(state, Option::as_deref_mut).map_err(|_| ended())
    }

    /// Checks that something can be done in it, unless it has ended.
    ///
    /// # Errors
    ///
    /// Same as [`Transaction::state`].
    #[inline]
    fn expect_usable(&self) -> Result<()> {
        self.heap.expect_not_child()?;
        ensure(!self.shared.broken.get(), broken)
    }

    /// Checks that something can be done in it.
    ///
    /// # Errors
    ///
    /// Same as [`Transaction::state`].
    #[inline]
    fn expect_under_way(&self) -> Result<()> {
        self.expect_usable()?;
        ensure(self.shared.state.borrow().is_some(), ended)
    }

    /// Returns whether bytes, which are going to be changed, lie within an object to which nothing
    /// points yet. Then the check of its contents is to be made anew.
    #[inline]
    fn change_new(&self, state: &mut State, offset: u64, len: u64) -> bool {
        state.new.may_hold(offset) && self.change_made(state, offset, len)
    }

    /// Same as [`Transaction::change_new`], where new objects are near.
    #[inline(never)]
    fn change_made(&self, state: &mut State, offset: u64, len: u64) -> bool {
        let core = self.heap.core();
        // All new objects are put into order to be looked through.
        if core.is_in_use(&core.hold(), offset) {
            return false;
        }
        let within = state.new.around(offset, len);
        within.is_some_and(|new| {
            new.check = Check::ToBeMade;
            true
        })
    }

    /// Returns whether bytes at which nothing lies in the pool may be stored before the commit.
    /// They may not if this transaction has other changes of them that are to come after, or if
    /// their contents tell after a crash whether an operation has happened.
    #[inline]
    fn may_fill(&self, state: &mut State, range: Range) -> bool {
        let (lanes, guards) = (&self.heap.core().lanes, self.shared.guards.borrow());
        !state.writes.may_hold(range.offset, range.len)
            && !guards.last_may_check(lanes, &mut state.checked, range)
    }

    /// Carries out all changes. After a failure they can still be undone.
    fn carry_out(&self) -> Result<()> {
        self.heap.expect_open()?;
        let core = self.heap.core();
        core.space.pool.medium.expect_there()?;
        let mut state = self.state()?;
        let guards = self.shared.guards.borrow();
        let mut changes = state.changes();
        let done = core.with_room(|| {
            let mut held = core.hold_open()?;
            for stamp in guards.last() {
                held.own_guarded(&core.space, stamp)?;
            }
            changes.freed.clear();
            for &offset in &state.freed {
                changes.freed.push(core.object(&held, offset)?);
            }
            if held.has_others() {
                let freed = changes.freed.iter().map(Object::range);
                let touched: Vec<Range> = changes.changed().chain(freed).collect();
                held.own(&core.space, &touched)?;
            }
            for (range, _) in &changes.fills {
                core.space.pool.medium.flush(range.offset, range.len);
            }
            core.commit(&mut held, &mut changes)
        });
        // A missing page looks like damage.
        let there = || core.space.pool.medium.expect_there();
        let done = done.or_else(|error| there().and(Err(error)))?;
        state.new.clear();
        state.changes = changes;
        drop((state, guards));
        if let Some(stamp) = done {
            self.shared.guards.take().release_changed(self.heap, stamp);
        }
        Ok(())
    }
}

fn freed(object: u64) -> Error {
    Error::usage(format!(
        "the object at {object} was freed by this transaction already"
    ))
}

fn ended() -> Error {
    Error::usage("the transaction has ended, because the one that it is a part of has ended")
}

fn broken() -> Error {
    Error::usage("a change of a container broke off within the transaction, so all of it failed")
}

impl State {
    /// Returns the changes, without freed objects.
    fn changes(&mut self) -> Changes {
        let direct = self.direct;
        let new = |new: &New| New {
            check: match new.check {
                _ if direct || new.len > MAX_BYTES => Check::ToBeFenced,
                Check::Known(check) => Check::Known(check),
                _ => Check::ToBeMade,
            },
            ..*new
        };
        let mut changes = mem::take(&mut self.changes);
        changes.new.extend(self.new.iter().map(new));
        self.writes.add_to(&mut changes, self.freed.len());
        changes
    }

    /// Returns whether little memory is needed to keep it.
    fn is_small(&self) -> bool {
        let lens = [
            self.writes.len(),
            self.new.count(),
            self.freed.len(),
            self.checked.len(),
            self.changes.fills.len(),
            self.changes.new.len(),
        ];
        lens.iter().all(|&len| len <= MOST_KEPT)
    }

    /// Forgets everything, but keeps the memory.
    fn clear(&mut self) {
        self.writes.clear();
        self.new.clear();
        self.direct = false;
        if !self.freed.is_empty() {
            self.freed.clear();
        }
        self.checked.clear();
        self.changes.clear();
    }
}
