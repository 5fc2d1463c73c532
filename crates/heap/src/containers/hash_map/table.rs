//! The table of a map: the state in DRAM that all its handles share, and its operations over any
//! source and sink.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use crate::checksum::Checksum;
use crate::error::{Error, Result, ensure};
use crate::guard::{Guard, Reading, Writing};
use crate::heap::Heap;
use crate::lane::own::Stamp;
use crate::layout::FIELD_BITS;
use crate::medium::{LINE_BYTES, Medium};
use crate::pool::Pool;
use crate::sink::{Sink, Source};
use crate::transaction::held::Guarded;

use super::super::data::Value;
use super::super::root::make_table;
use super::super::types::Types;
use super::chain::{Search, count, search};
use super::entry::{Entries, Entry, New};
use super::layout::{
    CHECKED_SLOTS, DESCRIBED, FULL, GROUP_BYTES, LINE_WORDS, LINES, Pointer, SLOTS, Shape,
    TABLE_WORDS, group_of, line_of, tag_of,
};
use super::sums::{expect_table, make_line, make_lines, sealed};

/// Says that entries were not counted yet.
const UNCOUNTED: i64 = i64::MIN;
/// The most guards of a map.
const MAX_GUARDS: u64 = 1024;
/// Groups that are read to estimate how many entries a map has.
const SAMPLE: u64 = 64;
/// Segments of a leaf of [`Segments`].
const LEAF: usize = 1 << 10;

/// The table of a map.
pub(super) struct Table {
    /// Offset of the table.
    pub at: u64,
    pub shape: Shape,
    pub entries: Entries,
    pub segments: Segments,
    /// Changed only by the thread that grows the map and holds the guards of the groups that are
    /// split.
    groups: AtomicU64,
    /// Each protects the groups whose numbers end with the same bits, so a group and the one that
    /// it splits off have the same guard. A power of two in number.
    pub guards: Box<[Guard]>,
    /// The guard of the table itself, held while the map grows.
    pub growth: Guard,
    /// Estimated number of entries under each guard when the map was opened.
    guess: AtomicI64,
    /// Number of entries when the heap was opened.
    base: AtomicI64,
}

/// Offsets of segments, 0 for those that are not there.
pub(super) struct Segments(Box<[OnceLock<Box<[AtomicU64]>>]>);

impl Segments {
    fn new(count: usize) -> Self {
        Self((0..count.div_ceil(LEAF)).map(|_| OnceLock::new()).collect())
    }

    #[inline]
    fn get(&self, segment: usize) -> u64 {
        let leaf = self.0[segment / LEAF].get();
        leaf.map_or(0, |leaf| leaf[segment % LEAF].load(Ordering::Acquire))
    }

    pub fn set(&self, segment: usize, at: u64) {
        let leaf =
            self.0[segment / LEAF].get_or_init(|| (0..LEAF).map(|_| AtomicU64::new(0)).collect());
        leaf[segment % LEAF].store(at, Ordering::Release);
    }
}

impl Table {
    /// Makes a table with its first segment and the description of its types; returns its offset.
    ///
    /// # Errors
    ///
    /// The pool is full, or a fence failed.
    pub fn create<S: Sink>(sink: &mut S, shape: &Shape, types: &Types) -> Result<u64> {
        let mut words = shape.encode();
        let first = make_lines(sink, shape.groups_of(0) * GROUP_BYTES)?;
        let Pointer::InTable(byte) = shape.pointer(0) else {
            unreachable!("the first segment is in the table");
        };
        words[(byte / 8) as usize] = first;
        make_table(sink, &DESCRIBED.with_types(&words, types), sealed)
    }

    /// Opens the table at an offset; `made` is the operation that made it, if one since the heap
    /// was opened did.
    ///
    /// # Errors
    ///
    /// It is damaged.
    pub fn open<M: Medium>(heap: &Heap<M>, at: u64, made: Option<Stamp>) -> Result<Self> {
        let pool = &heap.core().space.pool;
        let words = pool.words::<TABLE_WORDS>(at)?;
        let checked = pool.geometry.checksums;
        if checked {
            expect_table(at, &words)?;
        }
        let (shape, groups) = Shape::decode(&words, checked)?;
        let mut table = Self::with(pool, at, (shape, groups), || Guard::new(made));
        table.find_segments(pool)?;
        table.guess = AtomicI64::new(table.sample(pool)?);
        Ok(table)
    }

    /// Returns the table at an offset, of whose segments none is known yet.
    pub fn with<M: Medium>(
        pool: &Pool<M>,
        at: u64,
        (shape, groups): (Shape, u64),
        guard: impl Fn() -> Guard,
    ) -> Self {
        // Groups split off only behind all that are there, so those of a guard keep it.
        let count = (1u64 << groups.ilog2()).min(MAX_GUARDS);
        Self {
            at,
            shape,
            entries: Entries::new(&shape, &pool.geometry),
            segments: Segments::new(shape.segments()),
            groups: AtomicU64::new(groups),
            guards: (0..count).map(|_| guard()).collect(),
            growth: guard(),
            guess: AtomicI64::new(0),
            base: AtomicI64::new(UNCOUNTED),
        }
    }

    fn find_segments(&self, source: &impl Source) -> Result<()> {
        let needed = self.shape.position(self.groups() - 1).segment;
        for segment in 0..=needed {
            let at = self.segment_at(source, segment)?;
            let end = at.checked_add(self.shape.groups_of(segment) * GROUP_BYTES);
            ensure(
                at != 0 && at.is_multiple_of(8) && end.is_some_and(|end| end <= source.bytes()),
                || {
                    Error::damaged(
                        "a hash map is damaged: a segment is missing, or lies outside the pool",
                    )
                },
            )?;
            self.segments.set(segment, at);
        }
        Ok(())
    }

    /// Returns the offset of a segment as the directory has it; 0 if it has none.
    pub fn segment_at(&self, source: &impl Source, segment: usize) -> Result<u64> {
        self.expect(source)?;
        if let Pointer::InPage { page, .. } = self.shape.pointer(segment) {
            match source.word(self.at + page)? {
                0 => return Ok(0),
                page => self.expect_page(source, page)?,
            }
        }
        self.segment_of(source, segment)
    }

    /// Same as [`Table::segment_at`], whether or not the directory is damaged.
    ///
    /// # Errors
    ///
    /// The directory is not in the pool.
    pub fn segment_of(&self, source: &impl Source, segment: usize) -> Result<u64> {
        match self.shape.pointer(segment) {
            Pointer::InTable(byte) => source.word(self.at + byte),
            Pointer::InPage { page, within } => match source.word(self.at + page)? {
                0 => Ok(0),
                page => source.word(page.saturating_add(within)),
            },
        }
    }

    /// Returns about how many entries are under a guard.
    fn sample(&self, source: &impl Source) -> Result<i64> {
        let groups = self.groups();
        let looked = groups.min(SAMPLE);
        let mut found = 0;
        for i in 0..looked {
            found += self.count_group(source, i * (groups / looked))?;
        }
        Ok((found * groups / looked / self.guards.len() as u64) as i64)
    }

    fn count_group(&self, source: &impl Source, group: u64) -> Result<u64> {
        let first = self.group(group);
        (0..LINES)
            .map(|line| count(source, first + line * LINE_BYTES))
            .sum()
    }

    /// Returns the entry of a key.
    ///
    /// # Errors
    ///
    /// The map is damaged.
    #[inline]
    pub fn find(&self, source: &impl Source, hash: u64, key: &[u8]) -> Result<Search> {
        let is_it = |entry| self.entries.has_key(source, entry, key);
        let line = self.line(hash);
        match self.shape.checked {
            false => search::<SLOTS>(source, line, hash, is_it),
            true => search::<CHECKED_SLOTS>(source, line, hash, is_it),
        }
    }

    /// Returns the value of a key.
    ///
    /// # Errors
    ///
    /// The map is damaged.
    #[inline]
    pub fn get<V: Value + ?Sized>(
        &self,
        source: &impl Source,
        hash: u64,
        key: &[u8],
    ) -> Result<Option<V::Owned>> {
        match self.find(source, hash, key)? {
            Search::Found { entry, .. } => self
                .entries
                .place(source, entry)?
                .value::<V>(source)
                .map(Some),
            _ => Ok(None),
        }
    }

    /// Sets the value of a key. The old value goes to `old`, which is left alone if there was none:
    /// moving room for a value although it is empty makes the processor wait for the fence.
    ///
    /// # Errors
    ///
    /// The pool is full, the map is damaged, or a fence failed.
    #[inline]
    pub fn put<V: Value + ?Sized, S: Sink>(
        &self,
        sink: &mut S,
        new: New,
        old: &mut Option<V::Owned>,
    ) -> Result<()> {
        match self.find(sink, new.hash, new.key)? {
            Search::Found { line, slot, entry } => {
                let entry = self.entries.place(sink, entry)?;
                *old = Some(entry.value::<V>(sink)?);
                self.replace(sink, (line, slot), entry, new)
            }
            Search::Room { line, slot } => {
                let word = self.make(sink, new)?;
                self.set_in_line(sink, line, slot, word)
            }
            Search::Full { line, link } => self.put_behind(sink, (line, link), new),
        }
    }

    /// Sets the value of an existing entry. Apart from `put`, which is mostly called for new keys.
    #[inline(never)]
    fn replace<S: Sink>(
        &self,
        sink: &mut S,
        (line, slot): (u64, u64),
        entry: Entry,
        new: New,
    ) -> Result<()> {
        if entry.overwrite(sink, new.value)? {
            return self.entries.seal(sink, &entry);
        }
        let word = self.make(sink, new)?;
        self.set_in_line(sink, line, slot, word)?;
        entry.free(sink)
    }

    /// Makes an entry behind a full line, in a new overflow line.
    #[inline(never)]
    fn put_behind<S: Sink>(&self, sink: &mut S, (last, link): (u64, u64), new: New) -> Result<()> {
        let mut line = [0; LINE_WORDS];
        line[0] = self.make(sink, new)?;
        let line = make_line(sink, &line)?;
        self.set_in_line(sink, last, link, line)
    }

    /// Makes an entry; returns the word of its slot.
    #[inline]
    fn make<S: Sink>(&self, sink: &mut S, new: New) -> Result<u64> {
        let entry = self.entries.make(sink, &new)?;
        Ok(entry | u64::from(tag_of(new.hash)) << FIELD_BITS)
    }

    /// Removes a key; its value goes to `old` as with [`Table::put`].
    ///
    /// # Errors
    ///
    /// The map is damaged, or a fence failed.
    #[inline]
    pub fn remove<V: Value + ?Sized, S: Sink>(
        &self,
        sink: &mut S,
        hash: u64,
        key: &[u8],
        old: &mut Option<V::Owned>,
    ) -> Result<()> {
        let Search::Found { line, slot, entry } = self.find(sink, hash, key)? else {
            return Ok(());
        };
        let entry = self.entries.place(sink, entry)?;
        *old = Some(entry.value::<V>(sink)?);
        self.set_in_line(sink, line, slot, 0)?;
        entry.free(sink)
    }

    /// Returns the number of entries; `added` of them were added since the heap was opened. Counts
    /// them the first time. All guards are held.
    ///
    /// # Errors
    ///
    /// The map is damaged.
    pub fn len(&self, source: &impl Source, added: i64) -> Result<u64> {
        let base = self.base.load(Ordering::Acquire);
        if base != UNCOUNTED {
            return Ok((base + added).max(0) as u64);
        }
        let found = (0..self.groups()).map(|group| self.count_group(source, group));
        let found = found.sum::<Result<u64>>()? as i64;
        self.base.store(found - added, Ordering::Release);
        Ok(found as u64)
    }

    /// Notes that the map is empty and small. All guards are held, with no elements added since
    /// then.
    pub fn set_empty(&self) {
        let first = 1 << self.shape.first;
        let largest = self.shape.position(self.groups() - 1).segment;
        self.set_groups(first);
        (1..=largest + 1)
            .filter(|&segment| segment < self.shape.segments())
            .for_each(|segment| self.segments.set(segment, 0));
        self.guess.store(0, Ordering::Relaxed);
        self.base.store(0, Ordering::Release);
    }

    /// Returns the hash of a key's bytes.
    #[inline]
    pub fn hash(&self, key: &[u8]) -> u64 {
        let mut sum = Checksum::new(self.shape.seed);
        sum.bytes(key);
        sum.finish()
    }

    #[inline]
    pub fn groups(&self) -> u64 {
        self.groups.load(Ordering::Acquire)
    }

    /// Sets the number of groups. The guards of the groups that were split are held.
    pub fn set_groups(&self, groups: u64) {
        self.groups.store(groups, Ordering::Release);
    }

    /// Returns the offset of the line of a hash. Its guard is held.
    #[inline]
    fn line(&self, hash: u64) -> u64 {
        self.group(group_of(hash, self.groups())) + line_of(hash) * LINE_BYTES
    }

    /// Prefetches the line of a hash, as far as it is known without its guard.
    #[inline]
    pub fn prefetch(&self, source: &impl Source, hash: u64) {
        source.prefetch(self.line(hash), LINE_BYTES);
    }

    /// Returns where a group lies.
    #[inline]
    pub fn group(&self, group: u64) -> u64 {
        let position = self.shape.position(group);
        self.segments.get(position.segment) + position.within * GROUP_BYTES
    }

    /// Returns the number of the guard of a hash or of a group's number.
    #[inline]
    pub fn number(&self, hash: u64) -> usize {
        hash as usize & (self.guards.len() - 1)
    }

    /// Returns whether the table should grow, judged by one guard.
    #[inline]
    pub fn is_full(&self, added: i64) -> bool {
        let entries = (self.guess.load(Ordering::Relaxed) + added).max(0) as u64;
        entries * self.guards.len() as u64 > self.groups() * FULL
    }

    /// Returns whether the table should grow if it has as many entries.
    pub fn is_over(&self, entries: u64) -> bool {
        entries > self.groups() * FULL
    }

    /// Returns shared holds on all guards, if no writer holds one. A thread that waits for a guard
    /// holds no other, or is a transaction.
    pub fn try_read_all(&self) -> Option<Vec<Reading<'_>>> {
        self.guards.iter().map(Guard::try_read).collect()
    }

    /// Returns exclusive holds on the guards of consecutive groups, if all are free.
    pub fn try_write(&self, first: u64, count: u64) -> Option<Vec<Writing<'_>>> {
        let count = count.min(self.guards.len() as u64);
        let guards = (first..first + count).map(|group| &self.guards[self.number(group)]);
        guards.map(Guard::try_write).collect()
    }
}

impl<M: Medium> Guarded<M> for Table {
    fn has_one_guard(&self) -> bool {
        false
    }

    fn guard(&self, number: usize) -> &Guard {
        &self.guards[number]
    }

    fn changed(&self, heap: &Heap<M>, number: usize, mut added: i64) {
        // The entries stay valid whether or not the table grows.
        while self.is_full(added) && self.grow(heap).unwrap_or(false) {
            let Ok(inside) = self.guards[number].read() else {
                return;
            };
            added = inside.added;
        }
    }
}

const _: () = assert!((SLOTS + 1) * 8 == LINE_BYTES as usize);
