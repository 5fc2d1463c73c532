//! Chains: a line of a group, and the overflow lines behind it.

use crate::error::{Error, Result};
use crate::layout::{FIELD_BITS, FIELD_MAX};
use crate::sink::Source;

use super::layout::{CHECKED_SLOTS, LINE_WORDS, slots, tag_of};
use super::sums::expect_line;

/// The most lines of a sound chain: a map grows long before.
const MAX_CHAIN: usize = 1 << 16;

/// The result of a search for an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Search {
    /// The entry exists.
    Found {
        /// Offset of the line of its slot.
        line: u64,
        /// Offset of the slot that points to it.
        slot: u64,
        /// Offset of the entry.
        entry: u64,
    },
    /// There is no such entry, and this slot is empty.
    Room {
        /// Offset of its line.
        line: u64,
        /// Offset of the slot.
        slot: u64,
    },
    /// There is no such entry, and all slots are full.
    Full {
        /// Offset of the last line.
        line: u64,
        /// Offset of the word for the pointer to another line.
        link: u64,
    },
}

/// Looks for the entry of a hash for which `is_it` returns true.
///
/// There is no branch on which slots are full: it would be unpredictable, so nothing that follows
/// could begin before the line has arrived. The line is read from where it lies: copying it, two
/// words at a time, would wait for its stores, a word at a time, to finish.
///
/// A line has `S` slots; if it has [`CHECKED_SLOTS`], each line is checked.
#[inline]
pub(super) fn search<const S: usize>(
    source: &impl Source,
    first: u64,
    hash: u64,
    is_it: impl Fn(u64) -> Result<bool>,
) -> Result<Search> {
    let tag = u64::from(tag_of(hash));
    let mut room = None;
    let (mut at, mut line) = (first, [0; LINE_WORDS]);
    for _ in 0..MAX_CHAIN {
        source.load(at, &mut line)?;
        if S == CHECKED_SLOTS {
            expect_line(at, &line)?;
        }
        let (mut same, mut empty) = (0u32, 0u32);
        for (i, &slot) in line[..S].iter().enumerate() {
            same |= u32::from(slot >> FIELD_BITS == tag) << i;
            empty |= u32::from(slot == 0) << i;
        }
        same &= !empty;
        while same != 0 {
            let i = same.trailing_zeros() as usize;
            let (slot, entry) = (at + i as u64 * 8, line[i] & FIELD_MAX);
            if is_it(entry)? {
                return Ok(Search::Found {
                    line: at,
                    slot,
                    entry,
                });
            }
            same &= same - 1;
        }
        if empty != 0 {
            room = room.or(Some((at, at + u64::from(empty.trailing_zeros()) * 8)));
        }
        if line[S] == 0 {
            let link = at + S as u64 * 8;
            let full = Search::Full { line: at, link };
            return Ok(room.map_or(full, |(line, slot)| Search::Room { line, slot }));
        }
        at = line[S];
    }
    Err(too_long(first))
}

/// The contents of a line and the lines behind it.
#[derive(Default)]
pub(super) struct Chain {
    /// Full slots.
    pub slots: Vec<u64>,
    /// Offsets of the lines behind the first one.
    pub links: Vec<u64>,
}

/// Calls `look` with each line of a chain.
#[inline]
fn walk<F>(source: &impl Source, first: u64, mut look: F) -> Result<()>
where
    F: FnMut(&[u64], u64),
{
    let slots = slots(source.pool().geometry.checksums);
    let mut at = first;
    for _ in 0..MAX_CHAIN {
        let line = source.words(at)?;
        if slots == CHECKED_SLOTS {
            expect_line(at, &line)?;
        }
        at = line[slots];
        look(&line[..slots], at);
        if at == 0 {
            return Ok(());
        }
    }
    Err(too_long(first))
}

/// Returns the full slots of a line.
#[inline]
fn full(line: &[u64]) -> impl Iterator<Item = u64> {
    line.iter().copied().filter(|&slot| slot != 0)
}

/// Returns how many slots are full in a line and the lines behind it.
pub(super) fn count(source: &impl Source, line: u64) -> Result<u64> {
    let mut found = 0;
    walk(source, line, |line, _| found += full(line).count() as u64)?;
    Ok(found)
}

impl Chain {
    /// Adds the contents of a line and the lines behind it.
    pub fn add(&mut self, source: &impl Source, line: u64) -> Result<()> {
        walk(source, line, |line, link| {
            self.slots.extend(full(line));
            self.links.extend(Some(link).filter(|&link| link != 0));
        })
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.slots.clear();
        self.links.clear();
    }
}

fn too_long(line: u64) -> Error {
    Error::damaged(format!(
        "a hash map is damaged: the line at {line} has no end"
    ))
}
