//! What can still be read of a damaged queue, and a new queue of it.

use crate::error::Result;
use crate::heap::Heap;
use crate::medium::{Medium, WORD_BYTES};
use crate::pool::Pool;
use crate::ptr::Place as RootPlace;
use crate::sink::Source;

use super::super::data;
use super::super::salvaging::{Found, Lost, guard, operate};
use super::layout::{ANY, DESCRIBED, MAGIC};
use super::log::{BACK, LAST, Log, Place, damaged};
use super::sums;

/// Makes the queue of a root in a new heap, of what can be read of a damaged one; returns how many
/// elements that were.
///
/// # Errors
///
/// The new pool cannot grow, or a fence failed.
pub(in super::super) fn salvage_into<M: Medium, N: Medium>(
    pool: &Pool<M>,
    found: &Found,
    heap: &Heap<N>,
    place: RootPlace<u8>,
    lost: &mut Lost,
) -> Result<u64> {
    let bytes = match found.sizes()[0] {
        data::ANY => ANY,
        bytes => bytes.into(),
    };
    let words = DESCRIBED.with_types(&[MAGIC, bytes, 0, 0, 0, 0, 0, 0], &found.types);
    let (head, _) = heap.find_or_make_table(place, &words, sums::sealed)?;
    let new = Log::new(head, &heap.core().space.pool.geometry, guard());
    let old = Log::new(found.table, &pool.geometry, guard());
    let mut read = 0;
    old.salvage(pool, lost, &mut |element| {
        read += 1;
        operate(heap, |sink| new.push(sink, element))
    })?;
    Ok(read)
}

impl Log {
    /// Calls `take` with each element that can be read, from the front to the back.
    fn salvage(
        &self,
        source: &impl Source,
        lost: &mut Lost,
        take: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let (mut place, mut left) = match self.front(source).and_then(|front| {
            let most = source.bytes() / WORD_BYTES;
            Ok((front, self.len(source)?.min(most)))
        }) {
            Ok(begin) => begin,
            Err(error) => {
                lost.part(self.head, format!("{error}; all elements are lost"));
                return Ok(());
            }
        };
        while left > 0 && !self.is_behind(source, place)? {
            let found = self.element(source, place).and_then(|found| {
                let (element, at) = found.ok_or_else(damaged)?;
                let behind = at.behind(&element);
                Ok((element.value.bytes(source), behind))
            });
            match found {
                Ok((Ok(bytes), behind)) => {
                    take(&bytes)?;
                    (place, left) = (behind, left - 1);
                }
                Ok((Err(error), behind)) => {
                    lost.entry(place.at, error.to_string());
                    (place, left) = (behind, left - 1);
                }
                Err(error) => {
                    lost.part(place.at, format!("{error}; elements are lost here"));
                    match self.next_sound(source, place) {
                        Some(next) => place = next,
                        None => break,
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns whether a place is behind the last element.
    fn is_behind(&self, source: &impl Source, place: Place) -> Result<bool> {
        let (back, last) = (self.word(source, BACK)?, self.word(source, LAST)?);
        Ok(place.segment == last && place.at >= back)
    }

    /// Returns the next place behind a damaged one at which an element or a mark is as it was
    /// written: only where these have checks, it is certain to be one.
    fn next_sound(&self, source: &impl Source, mut place: Place) -> Option<Place> {
        if !self.part.checked {
            return None;
        }
        // Each segment is a part of the queue once.
        for _ in 0..source.bytes() / super::log::SEGMENT_BYTES + 1 {
            let (next, end) = self.segment(source, place.segment).ok()?;
            while place.at + WORD_BYTES < end {
                place.at += WORD_BYTES;
                if let Ok(Some((_, found))) = self.element(source, place)
                    && found.segment == place.segment
                {
                    return Some(place);
                }
            }
            place.segment = Some(next).filter(|&next| next != 0)?;
            place.at = place.segment + 2 * WORD_BYTES;
        }
        None
    }
}
