//! Operations: what changes a pool durably, wholly or not at all, with one fence (`FORMAT.md`, "Why
//! recovery is right"). Every change of an object or a root goes through [`Core::commit`].

pub(crate) mod commit;
mod core;

use std::mem::ManuallyDrop;
use std::sync::atomic::Ordering;

use crate::checksum::Checksum;
use crate::error::Result;
use crate::lane::Held;
use crate::lane::changes::{Changes, Check, Object};
use crate::lane::own::Stamp;
use crate::lane::window::Range;
use crate::medium::{Medium, WORD_BYTES};
use crate::pool::Pool;
use crate::sink::{Contents, Sink, Source, padded_len};
pub(crate) use core::{Core, WRITING};

/// An operation of a lane under way. Dropped before its commit, it has changed nothing.
pub(crate) struct Operation<'c, M: Medium> {
    core: &'c Core<M>,
    held: Held<'c>,
    /// Borrowed from the lane. Boxed, so that it is returned by moving one word: moving more after
    /// a fence would wait for the fence.
    changes: ManuallyDrop<Box<Changes>>,
}

impl<'c, M: Medium> Operation<'c, M> {
    /// Begins an operation that changes data under guards whose last operations are these.
    ///
    /// # Errors
    ///
    /// A fence failed.
    #[inline]
    pub fn begin(core: &'c Core<M>, last: impl IntoIterator<Item = Stamp>) -> Result<Self> {
        let mut held = core.hold_open()?;
        for stamp in last {
            held.own_guarded(&core.space, stamp)?;
        }
        let changes = held.state.scratch.take().unwrap_or_default();
        Ok(Self {
            core,
            held,
            changes: ManuallyDrop::new(changes),
        })
    }

    /// Owns bytes that are under no guard, so that this operation may change them.
    ///
    /// # Errors
    ///
    /// A fence failed.
    pub fn own(&mut self, ranges: &[Range]) -> Result<()> {
        self.held.own(&self.core.space, ranges)
    }

    /// Returns the object that begins at an offset.
    ///
    /// # Errors
    ///
    /// There is none.
    pub fn object(&self, offset: u64) -> Result<Object> {
        self.core.object(&self.held, offset)
    }

    /// Returns the chunk of the run of several slots in which an object lies, and whether the run
    /// is being emptied; `None` for an object of whole chunks.
    pub fn run_of(&self, object: u64) -> Option<(u64, bool)> {
        let chunk = self.core.space.pool.geometry.chunk_of(object);
        let run = self.core.space.index.get(chunk).filter(|run| !run.large)?;
        Some((chunk, run.emptying.load(Ordering::Relaxed)))
    }

    /// Returns the lane that is held.
    pub fn held(&self) -> &Held<'c> {
        &self.held
    }

    /// Carries out the changes; returns the operation's stamp, if there are any.
    ///
    /// # Errors
    ///
    /// There is no room for the log, the changes lie in no object, or a fence failed. Then nothing
    /// has happened.
    #[inline]
    pub fn commit(mut self) -> Result<Option<Stamp>> {
        let done = self.core.commit(&mut self.held, &mut self.changes)?;
        self.changes.new.clear();
        Ok(done)
    }
}

impl<M: Medium> Drop for Operation<'_, M> {
    #[inline]
    fn drop(&mut self) {
        for new in &self.changes.new {
            self.core.unmake(&mut self.held, new.offset);
        }
        self.changes.clear();
        // SAFETY: not used again: the operation is being dropped.
        self.held.state.scratch = Some(unsafe { ManuallyDrop::take(&mut self.changes) });
    }
}

impl<M: Medium> Source for Operation<'_, M> {
    type Medium = M;

    #[inline]
    fn pool(&self) -> &Pool<M> {
        &self.core.space.pool
    }

    /// Returns whether any change so far is to words that exist already.
    #[inline]
    fn is_changed(&self) -> Result<bool> {
        Ok(self.is_changed_near(0, 0))
    }

    #[inline]
    fn is_changed_near(&self, _: u64, _: u64) -> bool {
        !self.changes.words.is_empty() || !self.changes.runs.is_empty()
    }

    /// Overlays the changes so far, which are few.
    #[cold]
    fn overlay(&self, offset: u64, loaded: &mut [u64]) {
        let mut put = |at: u64, word| {
            let place = at.checked_sub(offset).map(|bytes| (bytes / 8) as usize);
            if let Some(loaded) = place.and_then(|place| loaded.get_mut(place)) {
                *loaded = word;
            }
        };
        for (first, run) in &self.changes.runs {
            (*first..)
                .step_by(8)
                .zip(run)
                .for_each(|(at, &word)| put(at, word));
        }
        self.changes
            .words
            .iter()
            .for_each(|&(at, word)| put(at, word));
    }
}

impl<M: Medium> Sink for Operation<'_, M> {
    #[inline]
    fn set(&mut self, at: u64, word: u64) -> Result<()> {
        self.core.space.pool.check(at, WORD_BYTES, "an operation")?;
        if self.is_new(Range::word(at)) {
            return self.fill_new(at, &[&word.to_le_bytes()]);
        }
        match self.changed_word(at) {
            Some(changed) => *changed = word,
            None => self.changes.words.push((at, word)),
        }
        Ok(())
    }

    fn write(&mut self, at: u64, words: &[u64]) -> Result<()> {
        let (pool, len) = (&self.core.space.pool, words.len() as u64 * WORD_BYTES);
        pool.check(at, len, "an operation")?;
        let range = Range { offset: at, len };
        if self.is_new(range) {
            return self.fill_new(at, &[bytemuck::cast_slice(words)]);
        }
        let apart = |other: Range| !other.overlaps(range);
        if self.changes.changed().all(apart) {
            self.changes.runs.push((at, words.to_vec()));
            return Ok(());
        }
        let mut places = (at..).step_by(8).zip(words);
        places.try_for_each(|(at, &word)| self.set(at, word))
    }

    #[inline]
    fn fill(&mut self, at: u64, parts: &[&[u8]], _: bool) -> Result<()> {
        let (core, len) = (self.core, padded_len(parts));
        core.space.pool.check(at, len, "an operation")?;
        let range = Range { offset: at, len };
        if self.is_new(range) {
            return self.fill_new(at, parts);
        }
        if self.held.last_names(range) {
            core.pass(&mut self.held)?;
        }
        core.expect_objects(range)?;
        let mut sum = Checksum::new(at);
        core.store(at, parts, &mut sum);
        core.space.pool.medium.flush(at, len);
        self.changes.fills.push((range, Some(sum.finish() as u32)));
        Ok(())
    }

    #[inline]
    fn make(&mut self, contents: &Contents) -> Result<u64> {
        let new = self.core.make(&mut self.held, contents)?;
        self.changes.new.push(new);
        Ok(new.offset)
    }

    #[inline]
    fn free(&mut self, object: u64) -> Result<()> {
        let object = self.core.object(&self.held, object)?;
        self.changes.freed.push(object);
        Ok(())
    }
}

impl<M: Medium> Operation<'_, M> {
    /// Returns the new value of a word, if it was changed already.
    #[inline]
    fn changed_word(&mut self, at: u64) -> Option<&mut u64> {
        let Changes { words, runs, .. } = &mut **self.changes;
        let mut words = words.iter_mut();
        if let Some((_, word)) = words.find(|(other, _)| *other == at) {
            return Some(word);
        }
        runs.iter_mut().find_map(|(first, run)| {
            let place = at.checked_sub(*first)? / WORD_BYTES;
            run.get_mut(place as usize)
        })
    }

    /// Returns whether bytes lie in an object that this operation has made.
    #[inline]
    fn is_new(&self, range: Range) -> bool {
        let new = &self.changes.new;
        new.iter().any(|new| new.range().overlaps(range))
    }

    /// Stores words in an object that this operation has made, at once.
    #[cold]
    fn fill_new(&mut self, at: u64, parts: &[&[u8]]) -> Result<()> {
        let mut sum = Checksum::new(at);
        self.core.store(at, parts, &mut sum);
        for new in &mut self.changes.new {
            if new.range().overlaps(Range::word(at)) {
                new.check = match new.check {
                    Check::Known(_) | Check::ToBeMade => Check::ToBeMade,
                    Check::ToBeFenced => Check::ToBeFenced,
                    Check::Durable | Check::Flushed => {
                        self.core.space.pool.medium.flush(at, padded_len(parts));
                        Check::Flushed
                    }
                };
            }
        }
        Ok(())
    }
}
