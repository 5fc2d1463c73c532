//! A lane's transaction log: words, objects and data apart from each other.
//!
//! Entries are appended until the log is full; then all operations of the lane are settled and the
//! log begins anew. That is the truncation of Kannan 2013, section 4.3, at the size of the
//! processor's last-level cache, [`MAX_CHUNKS`] chunks unless one transaction alone needs more.

use crate::allocator::Space;
use crate::checksum::Checksum;
use crate::error::{Error, Result};
use crate::layout::chunk::Use;
use crate::layout::intent::Commit;
use crate::medium::{Medium, WORD_BYTES};
use crate::pool::Pool;

use super::Held;
use super::changes::Changes;

/// The log grows up to this many chunks before it is truncated: 1 MiB.
const MAX_CHUNKS: u64 = 16;
/// Bytes of an entry of the word log: offset, value.
pub(crate) const WORD_ENTRY: u64 = 16;
/// Bytes of an entry of the object log: offset, length, offset of its data.
pub(crate) const OBJECT_ENTRY: u64 = 24;

/// Words that are stored at once.
const PIECE_WORDS: usize = 12;

/// The place of a lane's log, and how far it is filled.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Log {
    first: u64,
    chunks: u64,
    /// Offset of the first free byte of each part.
    free: Parts,
    /// Offset of the end of each part.
    ends: Parts,
}

/// A number for each part of a log: for words, for objects, and for data.
type Parts = [u64; 3];

/// Returns the bytes that changes need in each part.
fn needed(changes: &Changes) -> Parts {
    let runs = changes.runs.iter();
    let runs = runs.map(|(_, words)| words.len() as u64 * WORD_BYTES);
    let fills = changes.fills.iter().map(|(range, _)| range.len);
    let words = changes.words.len() as u64 * WORD_ENTRY;
    let objects = (changes.runs.len() + changes.fills.len()) as u64 * OBJECT_ENTRY;
    [words, objects, runs.chain(fills).sum()]
}

impl Log {
    /// Returns a log of these chunks: a quarter for words, a quarter for objects, half for data.
    fn of(first: u64, chunks: u64, shift: u32) -> Self {
        let (begin, bytes) = (first << shift, chunks << shift);
        let ends = [begin + bytes / 4, begin + bytes / 2, begin + bytes];
        Self {
            first,
            chunks,
            free: [begin, ends[0], ends[1]],
            ends,
        }
    }

    /// Returns whether there is room for this.
    fn has(&self, need: Parts) -> bool {
        (0..need.len()).all(|part| self.ends[part] - self.free[part] >= need[part])
    }
}

impl Held<'_> {
    /// Makes room in the log for changes, if need be by settling all operations of the lane, so
    /// that it begins anew.
    ///
    /// # Errors
    ///
    /// The pool has no room for so large a log, or a fence failed.
    pub fn make_room<M: Medium>(&mut self, space: &Space<M>, changes: &Changes) -> Result<()> {
        let need = needed(changes);
        if self.state.log.has(need) {
            return Ok(());
        }
        let geometry = &space.pool.geometry;
        let [words, objects, data] = need;
        let bytes = (words * 4).max(objects * 4).max(data * 2);
        let needed = bytes.div_ceil(geometry.chunk_bytes()).max(1);
        self.settle(space)?;
        let old = self.state.log;
        let wanted = needed.next_power_of_two();
        let wanted = wanted.max((old.chunks * 2).min(MAX_CHUNKS));
        let (mut first, mut chunks) = (old.first, old.chunks);
        if wanted > old.chunks {
            let lane = self.index as u16;
            let take = |chunks| {
                let of = Use::Log { lane, chunks };
                let taken = space.chunks.take(&space.pool, chunks, of)?;
                Ok((taken.chunk, chunks))
            };
            // A smaller log will do as well.
            (first, chunks) = take(wanted).or_else(|error| match old.chunks >= needed {
                true => Ok((old.first, old.chunks)),
                false => take(needed).map_err(|_| error),
            })?;
            if old.chunks > 0 && first != old.first {
                space.chunks.give(&space.pool, old.first, old.chunks);
            }
        }
        self.state.log = Log::of(first, chunks, geometry.shift);
        Ok(())
    }

    /// Appends words, runs of words and what was filled, and flushes them. There is room for them.
    pub fn log<M: Medium>(&mut self, space: &Space<M>, changes: &Changes) -> Commit {
        let (pool, log) = (&space.pool, &mut self.state.log);
        let begin = log.free;
        let mut sum = Checksum::new(begin[0]);
        let mut words = Appended::new(pool, begin[0]);
        for &(offset, value) in &changes.words {
            let pair = [offset, value];
            pair.iter().for_each(|&word| sum.word(word));
            words.add(&pair);
        }
        let mut objects = Appended::new(pool, begin[1]);
        let mut data = Appended::new(pool, begin[2]);
        // A run may change what a transaction has filled.
        for (range, _) in &changes.fills {
            let entry = [range.offset, range.len, data.end()];
            entry.iter().for_each(|&word| sum.word(word));
            objects.add(&entry);
            for at in (range.offset..range.offset + range.len).step_by(8) {
                let word = pool.medium.load_word(at);
                sum.word(word);
                data.add(&[word]);
            }
        }
        for (offset, run) in &changes.runs {
            let entry = [*offset, run.len() as u64 * WORD_BYTES, data.end()];
            entry.iter().chain(run).for_each(|&word| sum.word(word));
            objects.add(&entry);
            run.chunks(PIECE_WORDS).for_each(|piece| data.add(piece));
        }
        log.free = [words.finish(), objects.finish(), data.finish()];
        for (first, end) in begin.into_iter().zip(log.free) {
            pool.medium.flush(first, end - first);
        }
        Commit {
            words: begin[0],
            word_count: changes.words.len() as u64,
            objects: begin[1],
            object_count: (changes.runs.len() + changes.fills.len()) as u64,
            records: changes.new.len() as u64,
            log: sum.finish(),
        }
    }
}

/// Words that are being appended to a part of a log, and stored many at once.
struct Appended<'p, M> {
    pool: &'p Pool<M>,
    /// Where the words here will be stored.
    at: u64,
    words: [u64; PIECE_WORDS],
    len: usize,
}

impl<'p, M: Medium> Appended<'p, M> {
    fn new(pool: &'p Pool<M>, at: u64) -> Self {
        let words = [0; PIECE_WORDS];
        let len = 0;
        Self {
            pool,
            at,
            words,
            len,
        }
    }

    /// Returns the offset behind all that was added.
    #[inline]
    fn end(&self) -> u64 {
        self.at + self.len as u64 * WORD_BYTES
    }

    /// Adds at most [`PIECE_WORDS`] words.
    #[inline]
    fn add(&mut self, words: &[u64]) {
        if self.len + words.len() > PIECE_WORDS {
            self.store();
        }
        self.words[self.len..][..words.len()].copy_from_slice(words);
        self.len += words.len();
    }

    fn store(&mut self) {
        self.pool.store_words(self.at, &self.words[..self.len]);
        self.at = self.end();
        self.len = 0;
    }

    /// Stores the rest; returns the offset behind it.
    fn finish(&mut self) -> u64 {
        if self.len > 0 {
            self.store();
        }
        self.at
    }
}

/// The entries of a commit whose check is right.
pub(crate) struct Entries {
    /// Offsets of words and their new values.
    pub words: Vec<(u64, u64)>,
    /// Offset, length and offset of the data of objects.
    pub objects: Vec<[u64; 3]>,
}

/// Reads the entries of a commit.
///
/// # Errors
///
/// The commit names bytes that are not in the pool, or its check is wrong.
pub(crate) fn entries<M: Medium>(space: &Space<M>, commit: &Commit) -> Result<Entries> {
    if check(space, commit) != Some(commit.log) {
        return Err(Error::damaged(format!(
            "the transaction log at {} is damaged",
            commit.words
        )));
    }
    let pool = &space.pool;
    let word = |i| pool.load_words::<2>(commit.words + i * WORD_ENTRY).into();
    let object = |i| pool.load_words(commit.objects + i * OBJECT_ENTRY);
    Ok(Entries {
        words: (0..commit.word_count).map(word).collect(),
        objects: (0..commit.object_count).map(object).collect(),
    })
}

/// Returns the check of a commit's entries and data; `None` if they are not all in the pool.
fn check<M: Medium>(space: &Space<M>, commit: &Commit) -> Option<u64> {
    let pool = &space.pool;
    let within = |at: u64, count: u64, entry: u64| {
        let len = count.checked_mul(entry);
        len.is_some_and(|len| pool.holds(at, len))
    };
    let words = within(commit.words, commit.word_count, WORD_ENTRY);
    if !words || !within(commit.objects, commit.object_count, OBJECT_ENTRY) {
        return None;
    }
    let mut sum = Checksum::new(commit.words);
    let mut add = |at: u64, len: u64| {
        for offset in (at..at + len).step_by(8) {
            sum.word(pool.medium.load_word(offset));
        }
    };
    add(commit.words, commit.word_count * WORD_ENTRY);
    for i in 0..commit.object_count {
        let at = commit.objects + i * OBJECT_ENTRY;
        let [offset, len, data] = pool.load_words(at);
        if !pool.holds(data, len) || !pool.holds(offset, len) {
            return None;
        }
        add(at, OBJECT_ENTRY);
        add(data, len);
    }
    Some(sum.finish())
}
