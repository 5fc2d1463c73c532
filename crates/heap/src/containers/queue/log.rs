//! The elements of a queue: the state in DRAM that all its handles share, and its operations over
//! any source and sink.
//!
//! The head is 64 bytes, behind which the description of the type follows (`types`) in the same
//! object: magic; bytes of an element, or all ones if they have any length; the numbers of elements
//! ever popped and ever pushed; the offsets of the front element and of the end of the back
//! element; the first and the last segment.
//!
//! A segment is an object: a pointer to the next segment, the offset of its own end, and elements
//! side by side. An element is its length and its bytes, filled with zeros to a whole word; if the
//! highest bit of the length is set, a pointer to the value, which lies apart, is in place of the
//! bytes. All ones in place of a length mean that the queue continues in the next segment. A
//! segment whose elements were all popped is freed when the first element of the next segment is
//! popped.
//!
//! Where contents have checksums (`sums`), the bytes of an element have the lower half of their
//! word in the head, and the upper half is the check of the head. A third word of a segment is the
//! check of the first two, and a word behind each element, and behind the mark that the queue
//! continues, is its check.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Result, ensure};
use crate::guard::Guard;
use crate::layout::Geometry;
use crate::medium::{Medium, WORD_BYTES};
use crate::sink::{Contents, Sink, Source};
use crate::transaction::held::Guarded;

use super::super::apart::{APART, Parts, Stored};
use super::super::data::Value;
use super::super::emptying::{Emptying, Progress, STEP};
use super::super::inspecting::{Inspecting, Order};
use super::super::types::Types;
use super::layout::{ANY, DESCRIBED, HEAD_WORDS, MAGIC, UNDESCRIBED};
use super::sums;

/// Indices of the words of the head.
pub(super) const POPPED: u64 = 2;
const PUSHED: u64 = 3;
pub(super) const FRONT: u64 = 4;
pub(super) const BACK: u64 = 5;
pub(super) const FIRST: u64 = 6;
pub(super) const LAST: u64 = 7;

/// Bytes of a segment, unless an element needs more.
pub(super) const SEGMENT_BYTES: u64 = 4096;
/// Bytes of a segment before its elements.
pub(super) const SEGMENT_HEAD: u64 = 16;
/// Bytes of the longest element that lies in its segment.
const MAX_INLINE: u64 = 2048;
/// Marks, in place of a length, that the queue continues in the next segment.
pub(super) const GOES_ON: u64 = u64::MAX;

/// The elements of a queue.
pub(super) struct Log {
    /// Offset of the head.
    pub head: u64,
    pub part: Parts,
    pub guard: Guard,
    /// Counts steps that have moved segments, so that a [`Place`] is not used that lies in an old
    /// one.
    moves: AtomicU64,
}

/// An element.
pub(super) struct Element {
    /// Offset of its length.
    pub at: u64,
    pub value: Stored,
    /// Bytes behind it that are its check.
    check_bytes: u64,
}

/// A place in a queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// The number of the element among all that were ever pushed.
    pub number: u64,
    /// Its offset, or the end of the elements before it.
    pub at: u64,
    pub segment: u64,
    /// The queue's count of moves at that time.
    pub moves: u64,
}

impl Element {
    /// Returns where its bytes end.
    pub fn check_at(&self) -> u64 {
        let bytes = match self.value.is_apart() {
            false => self.value.len.next_multiple_of(WORD_BYTES),
            true => WORD_BYTES,
        };
        self.at + WORD_BYTES + bytes
    }

    /// Returns where it ends.
    fn end(&self) -> u64 {
        self.check_at() + self.check_bytes
    }
}

impl Place {
    /// Returns the place behind the element here.
    pub fn behind(self, element: &Element) -> Self {
        Self {
            number: self.number.saturating_add(1),
            at: element.end(),
            ..self
        }
    }
}

impl Log {
    /// Returns the words of the head of a new queue, with the description of its type.
    pub fn new_head<T: Value + ?Sized>(types: &Types) -> Vec<u64> {
        let head = [MAGIC, T::BYTES.unwrap_or(ANY), 0, 0, 0, 0, 0, 0];
        DESCRIBED.with_types(&head, types)
    }

    /// Returns the queue with a head.
    pub fn new(head: u64, geometry: &Geometry, guard: Guard) -> Self {
        Self {
            head,
            part: Parts::of(geometry),
            guard,
            moves: AtomicU64::new(0),
        }
    }

    /// Checks that the head is that of a queue with elements of this size.
    ///
    /// # Errors
    ///
    /// The head is damaged, or of other elements.
    pub fn check<T: Value + ?Sized>(&self, source: &impl Source, name: &str) -> Result<()> {
        self.expect_head(source)?;
        let mut head = source.words::<HEAD_WORDS>(self.head)?;
        if self.part.checked {
            head[1] = sums::bytes_of(head[1]);
        }
        let elements = head[PUSHED as usize].checked_sub(head[POPPED as usize]);
        // Each element takes a word, so a larger count is damage; this bounds all loops.
        ensure(
            [MAGIC, UNDESCRIBED].contains(&head[0])
                && elements.is_some_and(|elements| elements <= source.bytes() / WORD_BYTES),
            || Error::damaged("a queue's head is damaged"),
        )?;
        ensure(head[1] == T::BYTES.unwrap_or(ANY), || of_others(name))
    }

    /// Returns the number of elements.
    ///
    /// # Errors
    ///
    /// The head is not in the pool.
    pub fn len(&self, source: &impl Source) -> Result<u64> {
        self.expect_head(source)?;
        let pushed = self.word(source, PUSHED)?;
        Ok(pushed.saturating_sub(self.word(source, POPPED)?))
    }

    /// Adds an element at the back.
    ///
    /// # Errors
    ///
    /// The pool is full, the queue is damaged, or a fence failed.
    pub fn push<S: Sink>(&self, sink: &mut S, bytes: &[u8]) -> Result<()> {
        self.expect_head(sink)?;
        let pushed = self.word(sink, PUSHED)?;
        let (mut len, mut inline) = (bytes.len() as u64, bytes);
        let pointer;
        if len > MAX_INLINE {
            pointer = Stored::store(sink, bytes, self.part)?.to_le_bytes();
            (len, inline) = (len | APART, &pointer);
        }
        let parts = [&len.to_le_bytes()[..], inline];
        let need = WORD_BYTES + (inline.len() as u64).next_multiple_of(WORD_BYTES);
        let need = need + self.check_bytes();
        let at = self.place_for(sink, need)?;
        let check;
        let parts = match self.part.checked {
            false => &parts[..],
            true => {
                check = sums::element_check(at, &parts).to_le_bytes();
                &[parts[0], parts[1], &check[..]][..]
            }
        };
        // What lies behind the back was never used.
        sink.fill(at, parts, true)?;
        self.set(sink, BACK, at + need)?;
        self.set(sink, PUSHED, pushed.checked_add(1).ok_or_else(damaged)?)?;
        self.seal_head(sink)
    }

    /// Returns the offset for a new element of `bytes` bytes; makes a new segment if the last one
    /// is full.
    fn place_for<S: Sink>(&self, sink: &mut S, need: u64) -> Result<u64> {
        let (back, last) = (self.word(sink, BACK)?, self.word(sink, LAST)?);
        // A segment always keeps room for the mark that the queue continues in the next one.
        let behind = need + WORD_BYTES + self.check_bytes();
        if last != 0 && back.saturating_add(behind) <= self.segment(sink, last)?.1 {
            return Ok(back);
        }
        let head = SEGMENT_HEAD + self.check_bytes();
        let bytes = SEGMENT_BYTES.max(head + behind);
        let new = sink.make(&Contents::Zeros(bytes))?;
        sink.set(new + WORD_BYTES, new + bytes)?;
        self.seal_segment(sink, new)?;
        match last {
            0 => {
                self.set(sink, FIRST, new)?;
                self.set(sink, FRONT, new + head)?;
            }
            last => {
                sink.set(last, new)?;
                self.seal_segment(sink, last)?;
                sink.set(back, GOES_ON)?;
                self.seal_mark(sink, back, GOES_ON)?;
            }
        }
        self.set(sink, LAST, new)?;
        Ok(new + head)
    }

    /// Removes the element at the front and returns it.
    ///
    /// # Errors
    ///
    /// The queue is damaged.
    pub fn pop<T: Value + ?Sized, S: Sink>(&self, sink: &mut S) -> Result<Option<T::Owned>> {
        let front = self.front(sink)?;
        let Some((element, place)) = self.element(sink, front)? else {
            return Ok(None);
        };
        let value = element.value.read::<T>(sink)?;
        element.value.free(sink)?;
        let first = self.word(sink, FIRST)?;
        if place.segment != first {
            self.set(sink, FIRST, place.segment)?;
            sink.free(first)?;
        }
        self.set(sink, FRONT, element.end())?;
        self.set(sink, POPPED, place.number.saturating_add(1))?;
        self.seal_head(sink)?;
        Ok(Some(value))
    }

    /// Returns the front of the queue.
    ///
    /// # Errors
    ///
    /// The head is not in the pool, or damaged.
    pub fn front(&self, source: &impl Source) -> Result<Place> {
        self.expect_head(source)?;
        Ok(Place {
            number: self.word(source, POPPED)?,
            at: self.word(source, FRONT)?,
            segment: self.word(source, FIRST)?,
            moves: self.moves(),
        })
    }

    /// Returns the element at a place, and the place behind it; `None` behind the last one. If the
    /// element there was removed, returns the one at the front.
    ///
    /// # Errors
    ///
    /// The queue is damaged.
    pub fn get<T: Value + ?Sized>(
        &self,
        source: &impl Source,
        place: Option<Place>,
    ) -> Result<Option<(T::Owned, Place)>> {
        let place = self.find(source, place)?;
        let Some((element, place)) = self.element(source, place)? else {
            return Ok(None);
        };
        let value = element.value.read::<T>(source)?;
        Ok(Some((value, place.behind(&element))))
    }

    /// Returns where the element of a place is now; the front, if it was removed or no place is
    /// given.
    fn find(&self, source: &impl Source, place: Option<Place>) -> Result<Place> {
        let front = self.front(source)?;
        // At the front itself the place may be of a segment that was freed since.
        let Some(place) = place.filter(|place| place.number > front.number) else {
            return Ok(front);
        };
        if place.moves == front.moves {
            return Ok(place);
        }
        let mut found = front;
        while found.number < place.number
            && let Some((element, here)) = self.element(source, found)?
        {
            found = here.behind(&element);
        }
        Ok(found)
    }

    fn moves(&self) -> u64 {
        self.moves.load(Ordering::Acquire)
    }

    /// Returns the element at a place, and its offset.
    pub fn element(
        &self,
        source: &impl Source,
        mut place: Place,
    ) -> Result<Option<(Element, Place)>> {
        if place.number >= self.word(source, PUSHED)? {
            return Ok(None);
        }
        let mut said = source.word(place.at)?;
        if said == GOES_ON {
            self.expect_mark(source, place.at, GOES_ON)?;
            place.segment = self.segment(source, place.segment)?.0;
            ensure(place.segment != 0, damaged)?;
            place.at = place
                .segment
                .saturating_add(SEGMENT_HEAD + self.check_bytes());
            said = source.word(place.at)?;
        }
        let sane = said != GOES_ON && said & !APART <= source.bytes();
        ensure(sane, damaged)?;
        let at = place.at;
        let value = Stored::decode(source, said, at + WORD_BYTES, self.part)?;
        let check_bytes = self.check_bytes();
        let element = Element {
            at,
            value,
            check_bytes,
        };
        self.expect_element(source, &element)?;
        Ok(Some((element, place)))
    }

    /// Returns the offset of each object of the queue once for each time it is reached, for checks.
    ///
    /// # Errors
    ///
    /// The queue is damaged.
    pub fn objects(&self, source: &impl Source) -> Result<Vec<u64>> {
        self.expect_head(source)?;
        let mut objects = vec![self.head];
        let mut at = self.word(source, FIRST)?;
        while at != 0 {
            ensure(
                objects.len() as u64 <= source.bytes() / SEGMENT_HEAD,
                damaged,
            )?;
            objects.push(at);
            at = self.segment(source, at)?.0;
        }
        let mut place = self.front(source)?;
        while let Some((element, found)) = self.element(source, place)? {
            objects.extend(element.value.objects(source)?);
            place = found.behind(&element);
        }
        Ok(objects)
    }

    /// Returns a word of the head.
    pub fn word(&self, source: &impl Source, word: u64) -> Result<u64> {
        source.word(self.head + word * WORD_BYTES)
    }

    pub fn set<S: Sink>(&self, sink: &mut S, word: u64, value: u64) -> Result<()> {
        sink.set(self.head + word * WORD_BYTES, value)
    }
}

impl Inspecting for Log {
    fn inspect(
        &self,
        source: &impl Source,
        _: Option<Order>,
        wrong: &mut dyn FnMut(u64, String),
    ) -> Result<Vec<u64>> {
        self.expect_head(source)?;
        let (popped, pushed) = (self.word(source, POPPED)?, self.word(source, PUSHED)?);
        let elements = pushed.checked_sub(popped).ok_or_else(damaged)?;
        ensure(elements <= source.bytes() / WORD_BYTES, damaged)?;
        let mut place = self.front(source)?;
        while let Some((element, found)) = self.element(source, place)? {
            place = found.behind(&element);
        }
        let last = self.word(source, LAST)?;
        if elements > 0 && (place.at != self.word(source, BACK)? || place.segment != last) {
            let what = format!(
                "its {elements} elements end at {}, and not at its back",
                place.at
            );
            wrong(place.at, what);
        }
        self.objects(source)
    }
}

impl Emptying for Log {
    /// Removes elements from the front on.
    fn empty_some<S: Sink>(&self, sink: &mut S, _: &mut Progress) -> Result<bool> {
        for _ in 0..STEP {
            if self.pop::<(), S>(sink)?.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Frees the last segment, and the one before it, from which the last element was taken.
    fn shrink<S: Sink>(&self, sink: &mut S) -> Result<()> {
        self.expect_head(sink)?;
        let mut at = self.word(sink, FIRST)?;
        let mut freed = 0;
        while at != 0 {
            ensure(freed <= 2, damaged)?;
            let next = self.segment(sink, at)?.0;
            sink.free(at)?;
            at = next;
            freed += 1;
        }
        [FRONT, BACK, FIRST, LAST]
            .into_iter()
            .try_for_each(|word| self.set(sink, word, 0))?;
        self.seal_head(sink)
    }

    fn free_table<S: Sink>(&self, sink: &mut S) -> Result<()> {
        sink.free(self.head)
    }
}

impl<M: Medium> Guarded<M> for Log {
    fn guard(&self, _: usize) -> &Guard {
        &self.guard
    }

    fn touch_moved(&self) {
        self.moves.fetch_add(1, Ordering::Release);
    }
}

pub(super) fn of_others(name: &str) -> Error {
    Error::usage(format!("the queue {name:?} has elements of another size"))
}

pub(super) fn damaged() -> Error {
    Error::damaged("a queue is damaged: a segment is missing, or has no end")
}
