//! Compaction of what containers own, so that chunks become free which hold little.
//!
//! A pass looks at all containers twice. First they *condense*: sparse nodes of ordered maps become
//! fewer. With what was seen of each chunk, runs of few objects are chosen, whose slots are not
//! used from then on, and the second time the objects in them *move*: a copy is made, the word that
//! points to the object is changed, and the object is freed, all by one operation under the guard
//! that every other change of it needs, too. So a crash leaves either of the two, readers hold the
//! same guard, and a run that all objects have left is free when those operations are never
//! repeated.
//!
//! A pass is carried out in steps, each of some objects under one guard, and may stop behind each
//! of them. What moves must be found by the pointer to it: so objects that programs reach by
//! pointers of their own stay, as do the tables of containers, the segments of hash maps, and
//! objects of whole chunks. A run with any of these is not chosen.

use std::collections::HashMap;

use crate::error::{Error, Result, ensure};
use crate::medium::{Medium, WORD_BYTES};
use crate::operation::Operation;
use crate::sink::{Contents, Sink, Source};

/// Objects that a step looks at, and then stops.
pub(super) const STEP: u64 = 256;

/// How far a container is; it says what the numbers mean. None: it is not begun.
pub(crate) type Position = Vec<u64>;

/// A container's state, which can be compacted.
pub(crate) trait Compacting {
    /// Returns the number of the guard of what is at a position.
    fn number_at(&self, _: &Position) -> usize {
        0
    }

    /// Looks at some objects from a position on, which becomes that of the next step; returns
    /// whether there may be more. The guard of the position is held.
    ///
    /// # Errors
    ///
    /// The container is damaged, or the pool is full.
    fn compact_some<M: Medium>(
        &self,
        mover: &mut Mover<'_, '_, M>,
        at: &mut Position,
    ) -> Result<bool>;
}

/// What is done with objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Nothing: there is no pass.
    #[default]
    None,
    /// Containers become as small as they can.
    Condense,
    /// Objects leave the runs that are being emptied.
    Move,
}

/// An operation that compacts a part of a container.
pub(crate) struct Mover<'m, 'c, M: Medium> {
    pub sink: &'m mut Operation<'c, M>,
    pub phase: Phase,
    /// Chunks of the objects that were seen, each as often as an object of it was.
    pub(super) seen: Vec<u64>,
    pub(super) looked: u64,
    pub(super) moved: u64,
}

impl<M: Medium> Mover<'_, '_, M> {
    /// Looks at an object of the container; returns whether it is to move.
    pub fn look(&mut self, object: u64) -> bool {
        self.looked += 1;
        let Some((chunk, emptying)) = self.sink.run_of(object) else {
            return false;
        };
        if self.phase == Phase::Condense {
            self.seen.push(chunk);
        }
        self.phase == Phase::Move && emptying
    }

    /// Returns how many objects it has looked at.
    pub fn looked(&self) -> u64 {
        self.looked
    }

    /// Frees an object that others replace.
    ///
    /// # Errors
    ///
    /// No object begins there.
    pub fn replaced(&mut self, object: u64) -> Result<()> {
        self.moved += 1;
        self.looked += 1;
        self.sink.free(object)
    }

    /// Makes an object, which replaces another one; returns its offset, to which the caller has
    /// the pointer point. The contents are those of the other object, whose checks were right, with
    /// checks for the new place.
    ///
    /// # Errors
    ///
    /// No object begins there, or there is no room.
    pub fn replace(&mut self, object: u64, contents: &Contents) -> Result<u64> {
        let new = self.sink.make(contents)?;
        self.replaced(object)?;
        Ok(new)
    }

    /// Loads an object of `bytes` bytes, which is to be copied.
    ///
    /// # Errors
    ///
    /// It is not in the pool.
    pub fn load(&self, object: u64, bytes: u64) -> Result<Vec<u64>> {
        ensure(bytes <= self.sink.bytes(), || {
            Error::damaged(format!("the object at {object} is longer than the pool"))
        })?;
        let mut words = vec![0; bytes.div_ceil(WORD_BYTES) as usize];
        self.sink.load(object, &mut words)?;
        Ok(words)
    }
}

/// A pass over all containers.
#[derive(Default)]
pub(crate) struct Pass {
    pub(super) phase: Phase,
    /// Places and kinds of the roots of containers that come behind this one.
    pub(super) roots: Vec<(u64, u16)>,
    /// Places of the roots of containers that are damaged.
    pub(super) skipped: Vec<u64>,
    pub(super) at: Position,
    /// For each chunk, the objects that were seen in it.
    pub(super) movable: HashMap<u64, u64>,
    /// Same, of this container.
    pub(super) seen: HashMap<u64, u64>,
    /// Objects that are to be looked at, and that were.
    pub(super) all: u64,
    pub(super) looked: u64,
}

impl Pass {
    /// Takes over what a step has done.
    pub(super) fn take(&mut self, step: Step) {
        self.looked += step.looked;
        self.at = step.at;
        for chunk in step.seen {
            *self.seen.entry(chunk).or_default() += 1;
        }
        if !step.more {
            for (chunk, seen) in self.seen.drain() {
                *self.movable.entry(chunk).or_default() += seen;
            }
            self.end_container();
        } else if self.at.is_empty() {
            // All is looked at anew.
            self.seen.clear();
        }
    }

    /// Goes over to the next container.
    pub(super) fn end_container(&mut self) {
        self.roots.pop();
        self.at.clear();
        self.seen.clear();
    }

    /// Returns about how many objects are still to be looked at.
    pub(super) fn left(&self) -> u64 {
        match self.phase {
            Phase::None => 0,
            _ => self.all.saturating_sub(self.looked).max(1),
        }
    }
}

/// What a step has done.
pub(super) struct Step {
    pub more: bool,
    pub at: Position,
    pub seen: Vec<u64>,
    pub looked: u64,
    pub moved: u64,
}
