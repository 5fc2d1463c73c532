//! Growth by a few groups at a time: linear hashing (Litwin: Linear hashing, a new tool for file
//! and table addressing, VLDB 1980), so that no operation waits until the whole table is rewritten.

use std::ops::Range;

use crate::error::{Cause, Result};
use crate::guard::Writing;
use crate::heap::Heap;
use crate::layout::FIELD_MAX;
use crate::medium::Medium;
use crate::operation::Operation;
use crate::sink::{Sink, Source};

use super::chain::Chain;
use super::layout::{self, GROUP_BYTES, GROUPS_WORD, LINE_WORDS, Pointer, bit_in_slot};
use super::sums::{make_line, make_lines, seal_line};
use super::table::Table;

/// The words of a group.
const GROUP_WORDS: usize = (GROUP_BYTES / 8) as usize;

/// Number of groups that are split at once, so that they share a fence. Only in tables several
/// times as large that began with at least as many, so that the groups lie side by side.
const BLOCK: u64 = 8;

impl Table {
    /// Splits the next groups; returns whether it could. It does nothing while other threads hold
    /// guards that it needs: they, or the next operation that finds the table full, try again.
    ///
    /// # Errors
    ///
    /// The pool is full, the map is damaged, or a fence failed. The map stays as it was, and valid.
    #[cold]
    pub fn grow<M: Medium>(&self, heap: &Heap<M>) -> Result<bool> {
        let Some(mut growth) = self.growth.try_write() else {
            return Ok(false);
        };
        let new = self.groups();
        let position = self.shape.position(new);
        if position.segment >= self.shape.segments() || new >= self.shape.most_groups() {
            return Ok(false);
        }
        if position.within == 0 {
            self.add_segment(heap, &mut growth, position.segment)?;
        }
        let count = match new >= 8 * BLOCK && self.shape.groups_of(0) >= BLOCK {
            true => BLOCK,
            false => 1,
        };
        let Some(mut guards) = self.try_write(new - (1 << new.ilog2()), count) else {
            return Ok(false);
        };
        guards.push(growth);
        self.split(heap, new..new + count, &mut guards)?;
        Ok(true)
    }

    /// Enlarges a new, empty table that no other thread knows to `groups` groups, or as many as the
    /// pool has room for.
    ///
    /// # Errors
    ///
    /// The pool is damaged, or a fence failed.
    pub fn enlarge<M: Medium>(&self, heap: &Heap<M>, groups: u64) -> Result<()> {
        let mut growth = self.growth.write()?;
        let enlarged = self.add_segments(heap, &mut growth, groups);
        // All guards protect groups of the new segments.
        for guard in &self.guards {
            guard.write()?.last = growth.last;
        }
        enlarged
    }

    fn add_segments(&self, heap: &Heap<impl Medium>, growth: &mut Writing, to: u64) -> Result<()> {
        while self.groups() < to.min(self.shape.most_groups()) {
            let segment = self.shape.position(self.groups()).segment;
            if segment >= self.shape.segments() {
                return Ok(());
            }
            match self.add_segment(heap, growth, segment) {
                Err(error) if error.cause() == Cause::Full => return Ok(()),
                added => added?,
            }
            let more = self.groups() + self.shape.groups_of(segment);
            let mut sink = Operation::begin(heap.core(), growth.last)?;
            self.expect(&sink)?;
            sink.set(self.at + GROUPS_WORD * 8, more)?;
            self.seal(&mut sink)?;
            growth.last = sink.commit()?.or(growth.last);
            self.set_groups(more);
        }
        Ok(())
    }

    /// Makes a segment, unless it is there already.
    fn add_segment<M: Medium>(
        &self,
        heap: &Heap<M>,
        growth: &mut Writing,
        segment: usize,
    ) -> Result<()> {
        let mut at = self.segment_at(&heap.core().space.pool, segment)?;
        if at == 0 {
            let mut sink = Operation::begin(heap.core(), growth.last)?;
            let bytes = self.shape.groups_of(segment) * GROUP_BYTES;
            at = make_lines(&mut sink, bytes)?;
            self.link_segment(&mut sink, segment, at)?;
            growth.last = sink.commit()?.or(growth.last);
        }
        self.segments.set(segment, at);
        Ok(())
    }

    /// Stores the pointer to a segment in the directory.
    fn link_segment<S: Sink>(&self, sink: &mut S, segment: usize, at: u64) -> Result<()> {
        match self.shape.pointer(segment) {
            Pointer::InTable(byte) => {
                sink.set(self.at + byte, at)?;
                self.seal(sink)
            }
            Pointer::InPage { page, within } => match sink.word(self.at + page)? {
                0 => {
                    let mut words = vec![0; (self.shape.page_bytes() / 8) as usize];
                    words[(within / 8) as usize] = at;
                    let new = self.make_page(sink, &words)?;
                    sink.set(self.at + page, new)?;
                    self.seal(sink)
                }
                page => {
                    sink.set(page.saturating_add(within), at)?;
                    self.seal_page(sink, page)
                }
            },
        }
    }

    /// Splits groups side by side into themselves and new ones. The guards are held.
    fn split(
        &self,
        heap: &Heap<impl Medium>,
        new: Range<u64>,
        guards: &mut [Writing],
    ) -> Result<()> {
        let last = guards.iter().filter_map(|guard| guard.last);
        let mut sink = Operation::begin(heap.core(), last)?;
        let words = (new.end - new.start) as usize * GROUP_WORDS;
        let mut halves = [vec![0; words], vec![0; words]];
        let (mut chain, mut links) = (Chain::default(), Vec::new());
        let mut slots = [const { Vec::new() }; 2];
        // Entries whose hash has this bit move.
        let bit = new.start.ilog2();
        let from = self.group(new.start - (1 << bit));
        for first in (0..words).step_by(LINE_WORDS) {
            chain.clear();
            chain.add(&sink, from + first as u64 * 8)?;
            for &slot in &chain.slots {
                slots[usize::from(self.bit_of(&sink, slot, bit)?)].push(slot);
            }
            let places = [from, self.group(new.start)];
            for ((slots, half), at) in slots.iter_mut().zip(&mut halves).zip(places) {
                let line = &mut half[first..first + LINE_WORDS];
                self.put_line(&mut sink, slots, at + first as u64 * 8, line)?;
                slots.clear();
            }
            links.append(&mut chain.links);
        }
        links.into_iter().try_for_each(|line| sink.free(line))?;
        sink.write(from, &halves[0])?;
        sink.write(self.group(new.start), &halves[1])?;
        self.expect(&sink)?;
        sink.set(self.at + GROUPS_WORD * 8, new.end)?;
        self.seal(&mut sink)?;
        let done = sink.commit()?;
        for guard in guards {
            guard.last = done.or(guard.last);
        }
        self.set_groups(new.end);
        Ok(())
    }

    /// Puts slots into a line at an offset, and those that do not fit into new overflow lines,
    /// which it links.
    pub fn put_line<S: Sink>(
        &self,
        sink: &mut S,
        slots: &[u64],
        at: u64,
        line: &mut [u64],
    ) -> Result<()> {
        let room = layout::slots(self.shape.checked);
        let (here, further) = slots.split_at(slots.len().min(room));
        line[..here.len()].copy_from_slice(here);
        for slots in further.chunks(room) {
            let mut overflow = [0; LINE_WORDS];
            overflow[..slots.len()].copy_from_slice(slots);
            overflow[room] = line[room];
            line[room] = make_line(sink, &overflow)?;
        }
        if self.shape.checked {
            seal_line(at, line);
        }
        Ok(())
    }

    /// Returns whether the hash of a slot's entry has a bit.
    fn bit_of(&self, source: &impl Source, slot: u64, bit: u32) -> Result<bool> {
        match bit_in_slot(slot, bit) {
            Some(bit) => Ok(bit),
            None => Ok(self.entries.hash_at(source, slot & FIELD_MAX)? >> bit & 1 == 1),
        }
    }
}
