//! The containers of a heap, compacted: [`super::compacting`] says how.

use std::any::Any;

use crate::error::{Cause, Error, Result, ensure};
use crate::guard::{Guard, Inside};
use crate::heap::Heap;
use crate::layout::FIELD_MAX;
use crate::medium::Medium;
use crate::transaction::held::Guarded;

use super::compacting::{Compacting, Mover, Pass, Phase, Step};
use super::emptied::is_container;
use super::root::pointer_of;
use super::{btree_map, hash_map, queue, vector};

/// Objects that steps look at, and then stop, where no handle of the container exists.
const MANY: u64 = 4096;

/// What [`Heap::compact_some`] has done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Compaction {
    /// Bytes of chunks that have become free, without those of objects of whole chunks that others
    /// replace.
    pub freed: u64,
    /// Objects that moved, or that others replace.
    pub moved: u64,
    /// About how many objects are still to be looked at; 0: compaction has ended.
    pub left: u64,
    /// The containers that this call has left out because they are damaged, whole or from the
    /// damage on.
    pub skipped: Vec<Skipped>,
}

/// A container that is damaged, so that it was not compacted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Skipped {
    /// Name of the container's root.
    pub name: String,
    /// What is wrong with it.
    pub error: Error,
}

impl Compaction {
    /// Checks that no container was left out.
    ///
    /// # Errors
    ///
    /// Containers are damaged.
    pub fn expect_all(&self) -> Result<()> {
        let Some((first, others)) = self.skipped.split_first() else {
            return Ok(());
        };
        let others = match others.len() {
            0 => String::new(),
            1 => "; 1 more was left out, too".to_owned(),
            many => format!("; {many} more were left out, too"),
        };
        Err(Error::damaged(format!(
            "the container {:?} is damaged and was left out of the compaction: {}{others}",
            first.name, first.error
        )))
    }
}

impl<M: Medium> Heap<M> {
    /// Compacts the pool, so that chunks become free, or what [`Heap::compact_some`] has left of
    /// it; returns how many bytes have become free. Other threads can go on.
    ///
    /// # Errors
    ///
    /// Same as [`Heap::compact_some`]; a container is damaged, and all others were compacted.
    pub fn compact(&self) -> Result<u64> {
        let done = self.compact_some(u64::MAX)?;
        done.expect_all()?;
        Ok(done.freed)
    }

    /// Compacts a part of the pool: a call looks at about `objects` objects, and the next one goes
    /// on where it has stopped. Other threads can go on meanwhile; what they free or make in front
    /// of it waits for the next compaction.
    ///
    /// Sparse nodes of ordered maps become fewer. Objects that containers own, and that share a
    /// chunk with few others, move to other chunks. All else stays where it is: objects that the
    /// program reaches by its own pointers, the tables of containers and the segments of hash maps,
    /// and objects of half a chunk or more. The records of objects fill as few chunks as they need.
    /// The pool holds the same at any time, also after a crash. A container that is damaged is left
    /// out, and named in what is returned.
    ///
    /// # Errors
    ///
    /// This thread is within a transaction of the heap, or of another one that must not wait; the
    /// pool is damaged, or a fence failed.
    pub fn compact_some(&self, objects: u64) -> Result<Compaction> {
        self.expect_open()?;
        self.core().expect_writable()?;
        ensure(!self.in_transaction(), || {
            Error::usage("a thread compacts a pool outside of its transactions")
        })?;
        let mut pass = self.hold_compacting()?;
        let mut done = Compaction::default();
        let compacted = self.go_on(&mut pass, objects.max(1), &mut done);
        if compacted.is_err() {
            *pass = Pass::default();
            // The error is what matters.
            let _ = self.core().compact();
        }
        compacted?;
        done.left = pass.left();
        Ok(done)
    }

    fn go_on(&self, pass: &mut Pass, objects: u64, done: &mut Compaction) -> Result<()> {
        if pass.phase == Phase::None {
            let all = self.core().count_objects() * 2;
            *pass = Pass {
                phase: Phase::Condense,
                roots: self.containers()?,
                all,
                ..Pass::default()
            };
        }
        let end = pass.looked.saturating_add(objects);
        while pass.looked < end {
            let Some(&(root, kind)) = pass.roots.last() else {
                self.end_phase(pass, done)?;
                if pass.phase == Phase::None {
                    return Ok(());
                }
                continue;
            };
            match self.step(root, kind, pass, &mut done.moved) {
                Err(error) if error.cause() == Cause::Damaged => {
                    self.skip(root, error, pass, done)?;
                }
                step => step?,
            }
        }
        Ok(())
    }

    /// Leaves out the container of a root, which is damaged. What was seen of it does not count, so
    /// no run with an object of it is chosen.
    fn skip(&self, root: u64, error: Error, pass: &mut Pass, done: &mut Compaction) -> Result<()> {
        pass.end_container();
        if pass.skipped.contains(&root) {
            return Ok(());
        }
        pass.skipped.push(root);
        let roots = self.roots()?;
        let found = roots.into_iter().find(|found| found.place.offset() == root);
        let name = found.map(|root| root.name).unwrap_or_default();
        done.skipped.push(Skipped { name, error });
        Ok(())
    }

    /// Goes over to the next phase.
    fn end_phase(&self, pass: &mut Pass, done: &mut Compaction) -> Result<()> {
        let core = self.core();
        if pass.phase == Phase::Condense {
            let movable = |chunk| pass.movable.get(&chunk).copied().unwrap_or(0);
            let freed = core.begin_emptying(&movable)?;
            done.freed += core.space.pool.geometry.offset_of(freed);
            pass.phase = Phase::Move;
            pass.roots = self.containers()?;
            return Ok(());
        }
        *pass = Pass::default();
        done.freed += core.space.pool.geometry.offset_of(core.compact()?);
        Ok(())
    }

    /// Returns the places and kinds of the roots of all containers.
    fn containers(&self) -> Result<Vec<(u64, u16)>> {
        let mut roots = self.roots()?;
        roots.retain(|root| is_container(self, root.kind, root.pointer.offset()));
        Ok(roots
            .iter()
            .map(|root| (root.place.offset(), root.kind))
            .collect())
    }

    /// Carries out a step on the container of a root, and adds how many objects have moved.
    fn step(&self, root: u64, kind: u16, pass: &mut Pass, moved: &mut u64) -> Result<()> {
        let pool = &self.core().space.pool;
        let table = pointer_of(pool, root)? & FIELD_MAX;
        let guard = || Guard::new(None);
        match kind {
            btree_map::ROOT_KIND => self.step_of(root, pass, moved, || {
                Ok(btree_map::unknown::<M>(table, &pool.geometry, guard()))
            }),
            queue::ROOT_KIND => self.step_of(root, pass, moved, || {
                Ok(queue::unknown::<M>(table, &pool.geometry, guard()))
            }),
            vector::ROOT_KIND => self.step_of(root, pass, moved, || vector::unknown(pool, table)),
            _ => self.step_of(root, pass, moved, || hash_map::unknown(self, table)),
        }
    }

    fn step_of<C: Compacting + Guarded<M> + Any>(
        &self,
        root: u64,
        pass: &mut Pass,
        moved: &mut u64,
        make: impl FnOnce() -> Result<C>,
    ) -> Result<()> {
        let at = pass.at.clone();
        let visited = self.visit_shared(
            root,
            |state: &C| state.guard(state.number_at(&at)).write(),
            make,
            |state, inside, alone| {
                let end = pass.looked + MANY;
                loop {
                    let step = self.step_or_look(state, inside, pass)?;
                    *moved += step.moved;
                    let more = step.more;
                    pass.take(step);
                    // What makes a state anew, and settles, is worth many steps.
                    if !alone || !more || pass.looked >= end {
                        return Ok(());
                    }
                }
            },
        )?;
        if visited.is_none() {
            pass.end_container();
        }
        Ok(())
    }

    /// Carries out a step; what there is no room to replace stays.
    fn step_or_look<C: Compacting + Guarded<M>>(
        &self,
        state: &C,
        inside: &mut Inside,
        pass: &Pass,
    ) -> Result<Step> {
        let step = match self.try_step(state, inside, pass, pass.phase) {
            Err(error) if error.cause() == Cause::Full => {
                self.try_step(state, inside, pass, Phase::None)
            }
            step => step,
        }?;
        if step.moved > 0 {
            state.touch_moved();
        }
        Ok(step)
    }

    fn try_step<C: Compacting>(
        &self,
        state: &C,
        inside: &mut Inside,
        pass: &Pass,
        phase: Phase,
    ) -> Result<Step> {
        self.operate(inside, |sink| {
            let mut mover = Mover {
                sink,
                phase,
                seen: Vec::new(),
                looked: 0,
                moved: 0,
            };
            let mut at = pass.at.clone();
            let more = state.compact_some(&mut mover, &mut at)?;
            let Mover {
                seen,
                looked,
                moved,
                ..
            } = mover;
            Ok(Step {
                more,
                at,
                seen,
                looked,
                moved,
            })
        })
    }
}
