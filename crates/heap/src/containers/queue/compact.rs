//! Compaction of a queue: segments move, and values that lie apart.

use crate::checksum::checksum;
use crate::error::{Result, ensure};
use crate::medium::{Medium, WORD_BYTES};
use crate::sink::{Contents, Sink, Source};

use super::super::compacting::{Compacting, Mover, Position, STEP};
use super::log::{BACK, FIRST, FRONT, LAST, Log, Place, SEGMENT_HEAD, damaged};

impl Compacting for Log {
    /// A position is the number of an element, and where it is as long as it is not at the front.
    fn compact_some<M: Medium>(
        &self,
        mover: &mut Mover<'_, '_, M>,
        at: &mut Position,
    ) -> Result<bool> {
        let front = self.front(mover.sink)?;
        let mut place = match at[..] {
            [number, at, segment] if number > front.number => Place {
                number,
                at,
                segment,
                ..front
            },
            _ => self.move_first(mover, front)?,
        };
        let end = mover.looked() + STEP;
        while mover.looked() < end {
            let Some((element, found)) = self.element(mover.sink, place)? else {
                return Ok(false);
            };
            let (element, found) = match found.segment == place.segment {
                true => (element, found),
                // The pointer to a segment is the first word of the one before.
                false => {
                    let place = self.move_segment(mover, found, Some(place.segment))?;
                    self.element(mover.sink, place)?.ok_or_else(damaged)?
                }
            };
            if let Some(new) = element.value.compact(mover)? {
                mover.sink.set(element.at + WORD_BYTES, new)?;
                self.seal_element(mover.sink, &element)?;
            }
            place = found.behind(&element);
        }
        *at = vec![place.number, place.at, place.segment];
        Ok(true)
    }
}

impl Log {
    /// Moves the first segment if it is to move; returns where the front is now.
    fn move_first<M: Medium>(&self, mover: &mut Mover<'_, '_, M>, front: Place) -> Result<Place> {
        if front.segment == 0 {
            return Ok(front);
        }
        self.move_segment(mover, front, None)
    }

    /// Moves the segment of a place, behind the segment `before`, or the first one, if it is to
    /// move; returns where the place is now.
    fn move_segment<M: Medium>(
        &self,
        mover: &mut Mover<'_, '_, M>,
        place: Place,
        before: Option<u64>,
    ) -> Result<Place> {
        let old = place.segment;
        if !mover.look(old) {
            return Ok(place);
        }
        let (_, end) = self.segment(mover.sink, old)?;
        let bytes = end.checked_sub(old).ok_or_else(damaged)?;
        let within = |at: u64| (old + SEGMENT_HEAD..=end).contains(&at).then(|| at - old);
        let at = within(place.at).ok_or_else(damaged)?;
        let words = mover.load(old, bytes)?;
        let checks = self.checks(mover.sink, place)?;
        ensure(checks.iter().all(|(_, check)| *check < end), damaged)?;
        let contents = |new| {
            let mut words = words.clone();
            words[1] = new + bytes;
            for &(of, check) in &checks {
                let word = |at: u64| ((at - old) / WORD_BYTES) as usize;
                words[word(check)] = checksum(new + (of - old), &words[word(of)..word(check)]);
            }
            words
        };
        let new = mover.replace(old, &Contents::Placed(bytes, &contents))?;
        match before {
            Some(before) => {
                mover.sink.set(before, new)?;
                self.seal_segment(mover.sink, before)?;
            }
            None => {
                self.set(mover.sink, FIRST, new)?;
                self.set(mover.sink, FRONT, new + at)?;
            }
        }
        if self.word(mover.sink, LAST)? == old {
            let back = within(self.word(mover.sink, BACK)?).ok_or_else(damaged)?;
            self.set(mover.sink, LAST, new)?;
            self.set(mover.sink, BACK, new + back)?;
        }
        self.seal_head(mover.sink)?;
        Ok(Place {
            at: new + at,
            segment: new,
            ..place
        })
    }

    /// Returns where what has a check begins in the segment of a place, from there on, and where
    /// its check is.
    fn checks(&self, source: &impl Source, mut place: Place) -> Result<Vec<(u64, u64)>> {
        let segment = place.segment;
        if !self.part.checked {
            return Ok(Vec::new());
        }
        let mut checks = vec![(segment, segment + SEGMENT_HEAD)];
        while let Some((element, found)) = self.element(source, place)? {
            if found.segment != segment {
                // The mark that the queue goes on in the next one.
                checks.push((place.at, place.at + WORD_BYTES));
                break;
            }
            checks.push((element.at, element.check_at()));
            place = found.behind(&element);
        }
        Ok(checks)
    }
}
