//! Growth by few groups at a time: linear hashing (Litwin: Linear hashing, a new tool for file and
//! table addressing, VLDB 1980), so that nobody waits for a rewrite of the whole.

use std::sync::TryLockError;
use std::sync::atomic::Ordering;

use bytemuck::Pod;

use crate::error::Result;
use crate::layout::FIELD_MAX;
use crate::medium::{LINE_BYTES, Medium};
use crate::operation::{Contents, Publication};
use crate::transaction::Changes;

use super::HashMap;
use super::chain::{MAX_CHAIN, Words, too_long};
use super::stripes::Writing;
use super::table::{GROUP_BYTES, GROUPS_WORD, SEGMENTS, SLOTS, bit_in_slot, directory_word};

/// The words of a group.
const GROUP_WORDS: usize = (GROUP_BYTES / 8) as usize;
/// The words of a line.
const LINE_WORDS: usize = SLOTS + 1;

/// Groups that are split at once, so that they share a fence, in a table that has several times as
/// many and began with so many, so that they lie side by side.
const BLOCK: u64 = 8;

/// Groups side by side that are split, into groups side by side.
#[derive(Clone, Copy)]
struct Block {
    /// The first one that is split, and the first new one.
    old: u64,
    new: u64,
    count: u64,
    /// The bit of the hash that tells them apart.
    bit: u32,
}

impl<K: Pod, V: Pod, M: Medium> HashMap<K, V, M> {
    /// Splits the next groups, unless another thread is about to.
    ///
    /// # Errors
    ///
    /// There is no room, the map is damaged, or a fence failed.
    #[cold]
    pub(super) fn split(&self) -> Result<()> {
        self.grow(|block| {
            // Ascending: `old` is a multiple of `count`, and both numbers are powers of two.
            let stripes = block.count.min(self.stripes.len());
            let groups = block.old..block.old + stripes;
            let mut writing: Vec<_> = groups.map(|group| self.stripes.write(group)).collect();
            self.split_block(block, &mut writing)
        })
    }

    /// As [`HashMap::split`], for who holds all stripes.
    ///
    /// # Errors
    ///
    /// As [`HashMap::split`].
    pub(super) fn split_held(&self, writing: &mut [Writing]) -> Result<()> {
        self.grow(|block| {
            let first = self.stripes.number(block.old);
            self.split_block(block, &mut writing[first..first + block.count as usize])
        })
    }

    fn grow(&self, split: impl FnOnce(Block) -> Result<()>) -> Result<()> {
        let _alone = match self.growing.try_lock() {
            Ok(guard) => guard,
            Err(TryLockError::Poisoned(guard)) => guard.into_inner(),
            Err(TryLockError::WouldBlock) => return Ok(()),
        };
        let new = self.groups();
        let position = self.shape.position(new);
        if position.segment >= SEGMENTS {
            return Ok(());
        }
        if position.within == 0 {
            self.add_segment(position.segment)?;
        }
        let bit = new.ilog2();
        split(Block {
            old: new - (1 << bit),
            new,
            count: match new >= 8 * BLOCK && self.shape.groups_of(0) >= BLOCK {
                true => BLOCK,
                false => 1,
            },
            bit,
        })
    }

    /// Moves those entries to the new groups whose hash has the bit. Their stripes are held.
    fn split_block(&self, block: Block, writing: &mut [Writing]) -> Result<()> {
        let words = block.count as usize * GROUP_WORDS;
        let mut halves = [vec![0; words], vec![0; words]];
        let mut spill = Spill::default();
        let from = self.group(block.old);
        for first in (0..words).step_by(LINE_WORDS) {
            let mut counts = [0; 2];
            let mut behind = from + first as u64 * 8;
            while behind != 0 {
                let found = self.pool().line(behind)?;
                for slot in found.into_iter().take(SLOTS).filter(|&slot| slot != 0) {
                    let half = usize::from(self.bit(slot, block.bit)?);
                    match counts[half] {
                        full @ SLOTS.. => spill.slots.push((half, first, full, slot)),
                        count => halves[half][first + count] = slot,
                    }
                    counts[half] += 1;
                }
                behind = found[SLOTS];
                if behind != 0 {
                    spill.free(behind)?;
                }
            }
        }
        self.store_halves(block, writing, halves, spill)?;
        let groups = block.new + block.count;
        self.groups.store(groups, Ordering::Release);
        Ok(())
    }

    /// Makes lines for what does not fit, and commits it all.
    fn store_halves(
        &self,
        block: Block,
        writing: &mut [Writing],
        mut halves: [Vec<u64>; 2],
        mut spill: Spill,
    ) -> Result<()> {
        let core = self.heap.core();
        let mut held = core.hold();
        let mut made = Vec::new();
        let lines = spill.lines().into_iter();
        let done = lines.map(|(half, first, mut line)| {
            let link = &mut halves[half][first + SLOTS];
            line[SLOTS] = *link;
            *link = core.make(&mut held, &line)?;
            made.push((*link, LINE_BYTES));
            Ok(())
        });
        let done = done.collect::<Result<()>>();
        let (from, to) = (self.group(block.old), self.group(block.new));
        let groups = block.new + block.count;
        let mut changes = Changes {
            words: vec![(self.table + GROUPS_WORD * 8, groups)],
            objects: vec![(from, &halves[0]), (to, &halves[1])],
            new: made,
            checked: true,
            freed: spill.freed,
        };
        let done = done
            .and_then(|()| held.take_over(&core.space, &self.stripes.last_of_all(writing)))
            .and_then(|()| core.commit(&mut held, &mut changes));
        match done {
            Ok(last) => writing.iter_mut().for_each(|stripe| stripe.last = last),
            Err(_) => {
                let new = changes.new.iter();
                new.for_each(|&(object, _)| core.unmake(&mut held, object));
            }
        }
        done.map(drop)
    }

    /// A bit of the hash of a slot's entry.
    fn bit(&self, slot: u64, bit: u32) -> Result<bool> {
        match bit_in_slot(slot, bit) {
            Some(bit) => Ok(bit),
            None => Ok(self.pool().word(slot & FIELD_MAX)? >> bit & 1 == 1),
        }
    }

    /// Makes a segment, unless it is there already.
    pub(super) fn add_segment(&self, segment: usize) -> Result<()> {
        if self.segments[segment].load(Ordering::Acquire) != 0 {
            return Ok(());
        }
        let bytes = self.shape.groups_of(segment) * GROUP_BYTES;
        let at = self.heap.core().publish(&Publication {
            destination: self.table + directory_word(segment),
            upper: 0,
            kind: 0,
            contents: Contents::Zeros(bytes),
        })?;
        self.segments[segment].store(at, Ordering::Release);
        Ok(())
    }
}

/// What does not fit into the lines of two groups, and the lines in which it was.
#[derive(Default)]
struct Spill {
    /// Of each slot: of which half, the first word of its line, how many came before, and its word.
    slots: Vec<(usize, usize, usize, u64)>,
    freed: Vec<u64>,
}

impl Spill {
    /// A line is no longer needed.
    fn free(&mut self, line: u64) -> Result<()> {
        if self.freed.len() >= MAX_CHAIN {
            return Err(too_long(line));
        }
        self.freed.push(line);
        Ok(())
    }

    /// Further lines of 7 slots each: behind which group's line each belongs.
    fn lines(&mut self) -> Vec<(usize, usize, [u64; LINE_WORDS])> {
        let mut lines: Vec<(usize, usize, [u64; LINE_WORDS])> = Vec::new();
        self.slots.sort_unstable();
        for &(half, words, before, slot) in &self.slots {
            if before % SLOTS == 0 {
                lines.push((half, words, [0; LINE_WORDS]));
            }
            let line = lines
                .last_mut()
                .expect("the first that spills begins a line");
            line.2[before % SLOTS] = slot;
        }
        lines
    }
}
