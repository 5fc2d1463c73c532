//! What can still be read of a damaged map.

use std::collections::HashSet;

use crate::error::{Result, ensure};
use crate::guard::Guard;
use crate::heap::Heap;
use crate::layout::FIELD_MAX;
use crate::medium::{LINE_BYTES, Medium};
use crate::pool::Pool;
use crate::sink::Source;

use super::super::salvaging::{Lost, Take, operate};
use super::entry::{New, damaged};
use super::layout::{LINE_WORDS, LINES, Shape, TABLE_WORDS, group_of, line_of, slots};
use super::sums::{expect_line, expect_table};
use super::table::Table;

/// The most lines of a chain that are read.
const MAX_CHAIN: usize = 1 << 16;

/// Calls `take` with each entry that can be read of the map with a table.
///
/// # Errors
///
/// What `take` returns.
pub(super) fn salvage<M: Medium>(
    pool: &Pool<M>,
    at: u64,
    lost: &mut Lost,
    take: Take<'_>,
) -> Result<()> {
    let table = pool.words::<TABLE_WORDS>(at).and_then(|words| {
        let checked = pool.geometry.checksums;
        if checked && let Err(error) = expect_table(at, &words) {
            // Each line and entry has its own check, so whatever the table says is tried.
            lost.part(at, error.to_string());
        }
        let (shape, groups) = Shape::decode(&words, checked)?;
        Ok(Table::with(pool, at, (shape, groups), || Guard::new(None)))
    });
    let table = match table {
        Ok(table) => table,
        Err(error) => {
            lost.part(at, format!("{error}; all entries are lost"));
            return Ok(());
        }
    };
    let mut seen = HashSet::new();
    for group in 0..table.groups() {
        let place = table.shape.position(group);
        let segment = table.segment_of(pool, place.segment);
        let Some(segment) = segment.ok().filter(|&segment| segment != 0) else {
            let what = format!("the segment {} is missing", place.segment);
            if place.within == 0 {
                lost.part(at, format!("{what}; its entries are lost"));
            }
            continue;
        };
        table.segments.set(place.segment, segment);
        for line in 0..LINES {
            let first = table.group(group) + line * LINE_BYTES;
            table.salvage_chain(pool, (group, line), first, &mut seen, lost, take)?;
        }
    }
    Ok(())
}

impl Table {
    fn salvage_chain<M: Medium>(
        &self,
        pool: &Pool<M>,
        place: (u64, u64),
        first: u64,
        seen: &mut HashSet<u64>,
        lost: &mut Lost,
        take: Take<'_>,
    ) -> Result<()> {
        let (slots, mut at) = (slots(self.shape.checked), first);
        for _ in 0..MAX_CHAIN {
            let Ok(line) = pool.words::<LINE_WORDS>(at) else {
                lost.part(
                    at,
                    "a line is not in the pool; its entries are lost".to_owned(),
                );
                return Ok(());
            };
            if self.shape.checked
                && let Err(error) = expect_line(at, &line)
            {
                // Entries that are found all the same are those that were written.
                lost.part(at, format!("{error}; entries may be lost"));
            }
            for slot in line[..slots].iter().filter(|slot| **slot != 0) {
                match self.salvage_entry(pool, place, slot & FIELD_MAX) {
                    Ok((key, value)) if seen.insert(slot & FIELD_MAX) => take(&key, &value)?,
                    Ok(_) => lost.entry(at, "an entry is there twice".to_owned()),
                    Err(error) => lost.entry(slot & FIELD_MAX, error.to_string()),
                }
            }
            at = line[slots];
            if at == 0 {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Returns the key and the value of an entry, which belongs to a line of a group.
    fn salvage_entry<M: Medium>(
        &self,
        pool: &Pool<M>,
        (group, line): (u64, u64),
        at: u64,
    ) -> Result<(Vec<u8>, Vec<u8>)> {
        let (key, value) = self.entries.read(pool, at)?.bytes(pool)?;
        let hash = self.hash(&key);
        let here = group_of(hash, self.groups()) == group && line_of(hash) == line;
        let same = pool.word(at)? == self.entries.stored_hash(hash);
        ensure(here && same, || damaged(at))?;
        Ok((key, value))
    }

    /// Puts an entry, the one of this number, into a new map that no other thread knows.
    ///
    /// # Errors
    ///
    /// The pool cannot grow, or a fence failed.
    pub fn add<M: Medium>(
        &self,
        heap: &Heap<M>,
        number: u64,
        key: &[u8],
        value: &[u8],
    ) -> Result<()> {
        let hash = self.hash(key);
        operate(heap, |sink| {
            let new = New { hash, key, value };
            self.put::<(), _>(sink, new, &mut None)
        })?;
        if self.is_over(number) {
            // A table that is too full is only slower.
            let _ = self.grow(heap);
        }
        Ok(())
    }
}
