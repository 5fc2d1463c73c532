//! Compaction of a vector: its small segments move. All are handled in one step, as they are few.

use crate::error::Result;
use crate::medium::{Medium, WORD_BYTES};
use crate::sink::{Contents, Sink, Source};

use super::super::compacting::{Compacting, Mover, Position};
use super::elements::Elements;
use super::layout::directory_at;

impl Compacting for Elements {
    fn compact_some<M: Medium>(
        &self,
        mover: &mut Mover<'_, '_, M>,
        _: &mut Position,
    ) -> Result<bool> {
        let (len, mut first) = (self.len(mover.sink)?, 0);
        for segment in 0..self.shape.segments() {
            let elements = self.shape.elements_of(segment);
            let pointer = directory_at(self.table, segment);
            let at = self.pointer(pointer, mover.sink.word(pointer)?)?;
            if at != 0 && mover.look(at) {
                let used = len.saturating_sub(first).min(elements);
                let new = self.move_segment(mover, at, elements, first..first + used)?;
                mover.sink.set(pointer, self.said(pointer, new))?;
            }
            first += elements;
        }
        Ok(false)
    }
}

impl Elements {
    /// Moves a segment of this many elements, these of them in use; returns where it is now.
    fn move_segment<M: Medium>(
        &self,
        mover: &mut Mover<'_, '_, M>,
        old: u64,
        elements: u64,
        used: std::ops::Range<u64>,
    ) -> Result<u64> {
        let stride = self.shape.stride();
        let words = mover.load(old, elements * stride)?;
        if !self.shape.checked {
            let parts: &[&[u8]] = &[bytemuck::cast_slice(&words)];
            return mover.replace(old, &Contents::Parts(parts));
        }
        for index in used.clone() {
            self.bytes(mover.sink, index)?;
        }
        let contents = |new| {
            let mut words = words.clone();
            let places = (new..).step_by(stride as usize);
            let all = words.chunks_mut((stride / WORD_BYTES) as usize);
            for ((at, index), element) in places.zip(used.clone()).zip(all) {
                if let [bytes @ .., check] = element {
                    *check = self.element_check(at, index, bytemuck::cast_slice(bytes));
                }
            }
            words
        };
        mover.replace(old, &Contents::Placed(elements * stride, &contents))
    }
}
