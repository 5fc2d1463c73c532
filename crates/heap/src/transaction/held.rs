//! The guards that a transaction holds until it has ended.

use std::sync::Arc;

use crate::error::Result;
use crate::guard::{Age, Guard, Inside};
use crate::heap::Heap;
use crate::lane::Lanes;
use crate::lane::own::Stamp;
use crate::lane::window::Range;
use crate::medium::Medium;

/// The last operations of more guards are not looked at one by one.
const FEW: usize = 4;

/// A container's state in DRAM, which all its handles share.
pub(crate) trait Guarded<M: Medium>: Send + Sync {
    /// Returns one of its guards.
    fn guard(&self, number: usize) -> &Guard;

    /// Returns whether it has one guard, number 0, which a transaction holds from the opening on.
    fn has_one_guard(&self) -> bool {
        true
    }

    /// Called when the container was changed, while the guards are still held.
    fn touch(&self) {}

    /// Called when objects of the container were moved, while the guards are still held.
    fn touch_moved(&self) {
        self.touch();
    }

    /// Called when a transaction that held this guard, and perhaps others, has changed the container and
    /// released them; `added` elements were added under the guard since the heap was opened.
    fn changed(&self, _heap: &Heap<M>, _number: usize, _added: i64) {}
}

/// A guard of a container.
struct Part<M: Medium> {
    of: Arc<dyn Guarded<M>>,
    number: usize,
    /// Elements added by the transaction minus elements removed.
    added: i64,
}

/// The guards that a transaction holds. Dropping it releases them.
pub(super) struct Guards<M: Medium> {
    /// Each guard knows its index.
    parts: Vec<Part<M>>,
    /// The guard for which the transaction did not wait.
    pub refused: Option<(Arc<dyn Guarded<M>>, usize)>,
}

impl<M: Medium> Default for Guards<M> {
    fn default() -> Self {
        Self {
            parts: Vec::new(),
            refused: None,
        }
    }
}

impl<M: Medium> Guards<M> {
    /// Holds a guard, if it is not held already.
    ///
    /// # Errors
    ///
    /// An older transaction holds the guard.
    pub fn hold(&mut self, age: Age, of: &Arc<dyn Guarded<M>>, number: usize) -> Result<()> {
        let guard = of.guard(number);
        if self.place(guard).is_some() {
            return Ok(());
        }
        if let Err(error) = guard.hold(age, self.parts.len()) {
            self.refused = Some((Arc::clone(of), number));
            return Err(error);
        }
        self.parts.push(Part {
            of: Arc::clone(of),
            number,
            added: 0,
        });
        Ok(())
    }

    /// Counts elements added under a guard that is held, or removed.
    pub fn count(&mut self, guard: &Guard, added: i64) {
        if let Some(place) = self.place(guard) {
            self.parts[place].added += added;
        }
    }

    /// Returns the index of a guard, if it is held. What the guard says may be of an earlier
    /// transaction.
    fn place(&self, guard: &Guard) -> Option<usize> {
        let place = guard.place();
        let part = self.parts.get(place)?;
        std::ptr::eq(part.of.guard(part.number), guard).then_some(place)
    }

    /// Returns the elements added under a guard that is held, minus those removed, since the heap was
    /// opened.
    pub fn added(&self, guard: &Guard) -> i64 {
        let part = self.place(guard).map(|place| &self.parts[place]);
        part.map_or(0, |part| self.inside(part).added + part.added)
    }

    /// Changes the states of all guards that are held.
    pub fn change_all(&self, mut change: impl FnMut(&mut Inside)) {
        for part in &self.parts {
            // SAFETY: a part is a guard that is held, and guards are held by one thread.
            unsafe { part.of.guard(part.number).change_held(&mut change) };
        }
    }

    /// Returns the last operations under the guards, the latest of each lane.
    pub fn last(&self) -> Vec<Stamp> {
        let mut last: Vec<Stamp> = Vec::new();
        for stamp in self.parts.iter().filter_map(|part| self.inside(part).last) {
            match last.iter_mut().find(|other| other.lane() == stamp.lane()) {
                Some(other) => *other = stamp.max(*other),
                None => last.push(stamp),
            }
        }
        last
    }

    /// Returns whether the contents of these bytes may tell whether the last operation under any of
    /// the guards has happened; true if there are too many guards to look.
    pub fn last_may_check(&self, lanes: &Lanes, range: Range) -> bool {
        let names = |part: &Part<M>| {
            let last = self.inside(part).last;
            last.is_some_and(|last| lanes.last_checks(last.lane(), range))
        };
        self.parts.len() > FEW || self.parts.iter().any(names)
    }

    fn inside(&self, part: &Part<M>) -> Inside {
        // SAFETY: a part is a guard that is held, and guards are held by one thread.
        unsafe { part.of.guard(part.number).held() }
    }

    /// Releases all guards; `last` is the last operation that changed the data under them.
    pub fn release_changed(mut self, heap: &Heap<M>, last: Stamp) {
        let mut parts = std::mem::take(&mut self.parts);
        for part in &mut parts {
            part.of.touch();
            // SAFETY: a part is a guard that is held, and it is removed from the parts.
            unsafe {
                part.of.guard(part.number).release(|inside| {
                    inside.last = Some(last);
                    inside.added += part.added;
                    part.added = inside.added;
                });
            }
        }
        for part in &parts {
            part.of.changed(heap, part.number, part.added);
        }
    }
}

impl<M: Medium> Drop for Guards<M> {
    /// Releases all guards; nothing was changed.
    fn drop(&mut self) {
        for part in &self.parts {
            // SAFETY: a part is a guard that is held, and it is removed from the parts.
            unsafe { part.of.guard(part.number).release(|_| {}) };
        }
    }
}
