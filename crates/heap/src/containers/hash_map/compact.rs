//! Compaction of a map: entries and overflow lines move, and chains of overflow lines become as
//! short as they can. A step handles a group. A group that is split meanwhile gives entries to one
//! that comes later.

use crate::error::Result;
use crate::layout::{FIELD_BITS, FIELD_MAX};
use crate::medium::{LINE_BYTES, Medium, WORD_BYTES};
use crate::sink::{Sink, Source};

use super::super::compacting::{Compacting, Mover, Phase, Position};
use super::chain::Chain;
use super::layout::{LINE_WORDS, LINES, slots};
use super::sums::{expect_line, make_line};
use super::table::Table;

impl Compacting for Table {
    fn number_at(&self, at: &Position) -> usize {
        self.number(at.first().copied().unwrap_or(0))
    }

    fn compact_some<M: Medium>(
        &self,
        mover: &mut Mover<'_, '_, M>,
        at: &mut Position,
    ) -> Result<bool> {
        let group = at.first().copied().unwrap_or(0);
        if group >= self.groups() {
            return Ok(false);
        }
        let first = self.group(group);
        let mut chain = Chain::default();
        for line in (first..).step_by(LINE_BYTES as usize).take(LINES as usize) {
            chain.clear();
            chain.add(mover.sink, line)?;
            let needed = chain.slots.len().saturating_sub(1) / slots(self.shape.checked);
            if mover.phase == Phase::Condense && needed < chain.links.len() {
                self.shorten(mover, line, &mut chain)?;
            }
            self.move_entries(mover, line, &chain)?;
        }
        *at = vec![group + 1];
        Ok(group + 1 < self.groups())
    }
}

impl Table {
    /// Makes a chain as short as it can be.
    fn shorten<M: Medium>(
        &self,
        mover: &mut Mover<'_, '_, M>,
        first: u64,
        chain: &mut Chain,
    ) -> Result<()> {
        let mut line = [0; LINE_WORDS];
        self.put_line(mover.sink, &chain.slots, first, &mut line)?;
        mover.sink.write(first, &line)?;
        for link in chain.links.drain(..) {
            mover.replaced(link)?;
        }
        Ok(())
    }

    /// Moves the lines behind a first one, and the entries of all, that are to move.
    fn move_entries<M: Medium>(
        &self,
        mover: &mut Mover<'_, '_, M>,
        first: u64,
        chain: &Chain,
    ) -> Result<()> {
        let slots = slots(self.shape.checked);
        let (mut at, mut before) = (first, None);
        // As many as the chain had when it was read.
        for _ in 0..=chain.slots.len() / slots + chain.links.len() {
            let mut line = mover.sink.words::<LINE_WORDS>(at)?;
            if self.shape.checked {
                expect_line(at, &line)?;
            }
            let next = line[slots];
            let moves = before.is_some() && mover.look(at);
            for (i, word) in line.iter_mut().enumerate().take(slots) {
                let entry = *word & FIELD_MAX;
                if entry == 0 {
                    continue;
                }
                let entry = self.entries.read(mover.sink, entry)?;
                if let Some(new) = self.entries.compact(mover, &entry)? {
                    *word = new | *word >> FIELD_BITS << FIELD_BITS;
                    if !moves {
                        let slot = at + i as u64 * WORD_BYTES;
                        self.set_in_line(mover.sink, at, slot, *word)?;
                    }
                }
            }
            if let (true, Some(before)) = (moves, before) {
                let new = make_line(mover.sink, &line)?;
                let link = before + slots as u64 * WORD_BYTES;
                self.set_in_line(mover.sink, before, link, new)?;
                mover.replaced(at)?;
                at = new;
            }
            before = Some(at);
            if next == 0 {
                break;
            }
            at = next;
        }
        Ok(())
    }
}
