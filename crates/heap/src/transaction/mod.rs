//! Transactions: changes that happen wholly or not at all.
//!
//! What is written is kept in DRAM and reaches the pool at the commit, through the lane's log (redo),
//! with one fence for all of it. Single words and whole objects go into logs apart from each other
//! (the hybrid log of Kannan 2013, section 4.3). What is opened through a transaction is locked until
//! it has ended.

mod begin;
pub(crate) mod held;
mod write_set;

use std::cell::{Cell, RefCell, RefMut};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use bytemuck::Pod;

use crate::containers::Container;
use crate::error::{Error, Result};
use crate::guard::{Age, Guard};
use crate::heap::Heap;
use crate::lane::changes::{Changes, Check, New, Object};
use crate::lane::window::Range;
use crate::layout::record::MAX_BYTES;
use crate::medium::{Medium, WORD_BYTES};
use crate::pool::Pool;
use crate::ptr::Ptr;
use crate::sink::{Contents, Sink, Source};

use held::Guards;
use write_set::WriteSet;

/// In which log a change goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Hint {
    /// By its size: up to 8 bytes are a word, more an object.
    #[default]
    BySize,
    /// Word by word, and only those that differ: for few changes of a large object.
    Words,
    /// As a whole.
    Object,
}

/// A transaction that is under way; see [`Heap::transaction`] and [`Heap::begin`].
///
/// It belongs to the thread that has begun it. Of what it opens ([`Transaction::open`]) it holds off all
/// other threads until it has ended; of objects that it changes by their pointers the program does.
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
    /// It is part of another one, and ends with that.
    nested: bool,
    committed: bool,
}

/// What a transaction shares with those that are part of it.
struct Shared<M: Medium> {
    age: Age,
    state: RefCell<State>,
    guards: RefCell<Guards<M>>,
    /// How many that are part of it have not ended.
    parts: Cell<usize>,
    /// A part has failed, so nothing of it all may happen.
    doomed: Cell<bool>,
    /// A change of a container broke off half way, so nothing more can be done.
    broken: Cell<bool>,
    /// Nothing can be done any more.
    ended: Cell<bool>,
    /// Counts changes, so that who follows a structure sees that it is no longer the same.
    changes: Cell<u64>,
}

#[derive(Default)]
struct State {
    writes: WriteSet,
    /// Objects that nobody can reach yet: where they are, and their bytes, a multiple of 16.
    new: BTreeMap<u64, u64>,
    /// Whether new objects may be changed directly, so that their records cannot vouch for them.
    direct: bool,
    /// Objects to be freed at the commit.
    freed: BTreeSet<u64>,
}

impl<M: Medium> Shared<M> {
    fn new(age: Age) -> Self {
        Self {
            age,
            state: RefCell::default(),
            guards: RefCell::default(),
            parts: Cell::default(),
            doomed: Cell::default(),
            broken: Cell::default(),
            ended: Cell::default(),
            changes: Cell::default(),
        }
    }
}

impl<'h, M: Medium> Transaction<'h, M> {
    /// A container within this transaction: what is done through it happens with the transaction, and
    /// reads see it before. No other thread uses the container, or the part of it that was used, until
    /// the transaction has ended.
    ///
    /// # Errors
    ///
    /// The container is of another heap; the transaction has ended; an older transaction holds the
    /// container ([`Cause::Again`](crate::Cause::Again)), and [`Heap::transaction`] tries again by
    /// itself when the closure returns.
    pub fn open<'t, C: Container<M>>(&'t self, container: &'t C) -> Result<C::Opened<'t>>
    where
        'h: 't,
    {
        if container.heap().id() != self.heap.id() {
            return Err(Error::usage(
                "a transaction opens containers of its own heap, and this one is of another",
            ));
        }
        container.open_in(self)
    }

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

    /// Same as [`Transaction::read`], of bytes.
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
        if offset == 0 {
            return Err(Error::usage("a null pointer points to nothing"));
        }
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

    /// Changes one word; a hint that it is one.
    ///
    /// # Errors
    ///
    /// It does not lie in an object or root.
    pub fn set(&self, at: Ptr<u64>, value: u64) -> Result<()> {
        self.write_with(at, &value, Hint::Words)
    }

    /// Changes an object, or a field of one.
    ///
    /// # Errors
    ///
    /// It does not lie in an object.
    pub fn write<T: Pod>(&self, at: Ptr<T>, value: &T) -> Result<()> {
        self.write_with(at, value, Hint::BySize)
    }

    /// Same as [`Transaction::write`], into the log that is meant.
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
        let len = new.len() as u64 * WORD_BYTES;
        let mut state = self.state()?;
        if state.is_new(first, len) {
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
        self.make_object(&Contents::Parts(&[bytes]))
    }

    pub(crate) fn make_object(&self, contents: &Contents) -> Result<u64> {
        let core = self.heap.core();
        let mut state = self.state()?;
        let made = core.with_room(|| core.make(&mut core.hold_open()?, contents))?;
        self.touch();
        state.new.insert(made.offset, made.len);
        Ok(made.offset)
    }

    /// Frees an object at the commit.
    ///
    /// # Errors
    ///
    /// There is none, or it was freed by this transaction already.
    pub fn free<T>(&self, at: Ptr<T>) -> Result<()> {
        let core = self.heap.core();
        let mut state = self.state()?;
        let mut held = core.hold();
        self.touch();
        if let Some(len) = state.new.remove(&at.offset()) {
            state.writes.forget(at.offset(), at.offset() + len);
            core.unmake(&mut held, at.offset());
            return Ok(());
        }
        let object = core.object(&held, at.offset())?.offset;
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

    /// Counts elements that come under a guard, or go.
    pub(crate) fn count(&self, guard: &Guard, came: i64) {
        self.shared.guards.borrow_mut().count(guard, came);
    }

    /// Elements that came under a guard since the heap was opened, as this transaction sees it.
    pub(crate) fn came(&self, guard: &Guard) -> i64 {
        self.shared.guards.borrow().came(guard)
    }

    /// How often anything was changed by it.
    pub(crate) fn changes(&self) -> u64 {
        self.shared.changes.get()
    }

    fn touch(&self) {
        self.shared.changes.set(self.shared.changes.get() + 1);
    }

    /// What it has done so far.
    ///
    /// # Errors
    ///
    /// It has ended, as one of which it is a part has; a change of a container broke off; or this is a
    /// child of the process that opened the heap.
    fn state(&self) -> Result<RefMut<'_, State>> {
        self.heap.expect_not_child()?;
        match (self.shared.ended.get(), self.shared.broken.get()) {
            (true, _) => Err(ended()),
            (_, true) => Err(broken()),
            _ => Ok(self.shared.state.borrow_mut()),
        }
    }

    fn pool(&self) -> &Pool<M> {
        &self.heap.core().space.pool
    }

    /// Carries out what was done so far. If that fails, it can still be undone.
    fn carry_out(&self) -> Result<()> {
        self.heap.expect_open()?;
        let core = self.heap.core();
        let mut state = self.state()?;
        let last = self.shared.guards.borrow().last();
        let mut changes = state.changes();
        let done = core.with_room(|| {
            let mut held = core.hold_open()?;
            for &stamp in &last {
                held.own_guarded(&core.space, stamp)?;
            }
            let freed = state.freed.iter().map(|&offset| core.object(&held, offset));
            changes.freed = freed.collect::<Result<_>>()?;
            let freed = changes.freed.iter().map(Object::range);
            let touched: Vec<Range> = changes.changed().chain(freed).collect();
            held.own(&core.space, &touched)?;
            core.commit(&mut held, &mut changes)
        })?;
        state.new.clear();
        drop(state);
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
    Error::usage("the transaction has ended, as the one of which it is a part has")
}

fn broken() -> Error {
    Error::usage("a change of a container broke off within the transaction, so all of it failed")
}

impl State {
    /// What is to be changed, but for what is freed.
    fn changes(&mut self) -> Changes {
        let direct = self.direct;
        let new = |(&offset, &len): (&u64, &u64)| New {
            offset,
            len,
            check: match direct || len > MAX_BYTES {
                true => Check::ToBeFenced,
                false => Check::ToBeMade,
            },
            place: 0,
        };
        Changes {
            new: self.new.iter().map(new).collect(),
            ..std::mem::take(&mut self.writes).into_changes()
        }
    }

    /// Whether bytes lie within an object that nobody can reach yet.
    fn is_new(&self, offset: u64, len: u64) -> bool {
        let before = self.new.range(..=offset).next_back();
        before.is_some_and(|(&object, &bytes)| offset + len <= object + bytes)
    }
}

impl<M: Medium> Source for Transaction<'_, M> {
    fn load(&self, offset: u64, into: &mut [u64]) -> Result<()> {
        let state = self.state()?;
        self.pool().load(offset, into)?;
        state.writes.overlay(offset, into);
        Ok(())
    }

    fn load_bytes(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        let mut words = vec![0; into.len().div_ceil(8)];
        self.load(offset, &mut words)?;
        into.copy_from_slice(&bytemuck::cast_slice(&words)[..into.len()]);
        Ok(())
    }

    fn prefetch(&self, offset: u64, len: u64) {
        self.pool().prefetch(offset, len);
    }

    fn bytes(&self) -> u64 {
        self.pool().bytes()
    }
}

impl<M: Medium> Source for &Transaction<'_, M> {
    fn load(&self, offset: u64, into: &mut [u64]) -> Result<()> {
        (**self).load(offset, into)
    }

    fn load_bytes(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        (**self).load_bytes(offset, into)
    }

    fn prefetch(&self, offset: u64, len: u64) {
        (**self).prefetch(offset, len);
    }

    fn bytes(&self) -> u64 {
        (**self).bytes()
    }
}

impl<M: Medium> Sink for &Transaction<'_, M> {
    fn set(&mut self, at: u64, word: u64) -> Result<()> {
        self.pool().check(at, WORD_BYTES, "a transaction")?;
        self.touch();
        let mut state = self.state()?;
        match state.is_new(at, WORD_BYTES) {
            true => self.pool().store_words(at, &[word]),
            false => state.writes.set(at, word),
        }
        Ok(())
    }

    fn write(&mut self, at: u64, words: &[u64]) -> Result<()> {
        let len = words.len() as u64 * WORD_BYTES;
        self.pool().check(at, len, "a transaction")?;
        self.touch();
        let mut state = self.state()?;
        match state.is_new(at, len) {
            true => self.pool().store_words(at, words),
            false if words.len() == 1 => state.writes.set(at, words[0]),
            false => state.writes.write(at, words),
        }
        Ok(())
    }

    fn fill(&mut self, at: u64, parts: &[&[u8]]) -> Result<()> {
        let mut words = Vec::new();
        for part in parts {
            words.extend(part.chunks(8).map(crate::checksum::padded));
        }
        self.write(at, &words)
    }

    fn make(&mut self, contents: &Contents) -> Result<u64> {
        self.make_object(contents)
    }

    fn free(&mut self, object: u64) -> Result<()> {
        Transaction::free(self, Ptr::<u8>::at(object))
    }
}
