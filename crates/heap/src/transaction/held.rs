//! The guards that a transaction holds until it has ended.

use std::collections::HashMap;
use std::sync::Arc;

use crate::error::Result;
use crate::guard::{Age, Guard, Inside};
use crate::heap::Heap;
use crate::lane::own::Stamp;
use crate::medium::Medium;

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
    /// released them.
    fn changed(&self, _heap: &Heap<M>, _number: usize) {}
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
    parts: Vec<Part<M>>,
    /// The index of each guard.
    places: HashMap<*const Guard, usize>,
    /// The guard for which the transaction did not wait.
    pub refused: Option<(Arc<dyn Guarded<M>>, usize)>,
}

impl<M: Medium> Default for Guards<M> {
    fn default() -> Self {
        Self {
            parts: Vec::new(),
            places: HashMap::new(),
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
        if self.places.contains_key(&std::ptr::from_ref(guard)) {
            return Ok(());
        }
        if let Err(error) = guard.hold(age) {
            self.refused = Some((Arc::clone(of), number));
            return Err(error);
        }
        self.places
            .insert(std::ptr::from_ref(guard), self.parts.len());
        self.parts.push(Part {
            of: Arc::clone(of),
            number,
            added: 0,
        });
        Ok(())
    }

    /// Counts elements added under a guard that is held, or removed.
    pub fn count(&mut self, guard: &Guard, added: i64) {
        let place = self.place(guard);
        self.parts[place].added += added;
    }

    /// Returns the index of a guard that is held. A transaction of one container needs no hash.
    fn place(&self, guard: &Guard) -> usize {
        match &self.parts[..] {
            [_] => 0,
            _ => self.places[&std::ptr::from_ref(guard)],
        }
    }

    /// Returns the elements added under a guard that is held, minus those removed, since the heap was
    /// opened.
    pub fn added(&self, guard: &Guard) -> i64 {
        let place = self.place(guard);
        self.inside(&self.parts[place]).added + self.parts[place].added
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
        let last = self.parts.iter().map(|part| self.inside(part).last);
        let mut last: Vec<Stamp> = last.flatten().collect();
        last.sort_unstable_by(|a, b| b.cmp(a));
        last.dedup_by_key(|stamp| stamp.lane());
        last
    }

    fn inside(&self, part: &Part<M>) -> Inside {
        // SAFETY: a part is a guard that is held, and guards are held by one thread.
        unsafe { part.of.guard(part.number).held() }
    }

    /// Releases all guards; `last` is the last operation that changed the data under them.
    pub fn release_changed(mut self, heap: &Heap<M>, last: Stamp) {
        let parts = std::mem::take(&mut self.parts);
        for part in &parts {
            part.of.touch();
            // SAFETY: a part is a guard that is held, and it is removed from the parts.
            unsafe {
                part.of.guard(part.number).release(|inside| {
                    inside.last = Some(last);
                    inside.added += part.added;
                });
            }
        }
        for part in &parts {
            part.of.changed(heap, part.number);
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
