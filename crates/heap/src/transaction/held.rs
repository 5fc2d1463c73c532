//! The guards that a transaction holds until it has ended.

use std::sync::Arc;

use crate::error::Result;
use crate::guard::{Age, Guard, Inside};
use crate::heap::Heap;
use crate::lane::Lanes;
use crate::lane::own::Stamp;
use crate::lane::window::Range;
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

    /// Called when a transaction that held this guard, and perhaps others, has changed the
    /// container and released them; `added` elements were added under the guard since the heap was
    /// opened.
    fn changed(&self, _heap: &Heap<M>, _number: usize, _added: i64) {}
}

/// The bytes whose contents may tell whether the last operations under the guards of a transaction
/// have happened.
#[derive(Default)]
pub(super) struct Checked {
    /// In their order, apart from each other.
    ranges: Vec<Range>,
    /// How many guards were looked at.
    parts: usize,
    /// The operations whose bytes are there.
    of: Vec<Stamp>,
}

impl Checked {
    /// Has all guards be looked at again, because there were operations under them.
    pub fn look_again(&mut self) {
        self.parts = 0;
    }

    /// Forgets all; keeps the memory.
    pub fn clear(&mut self) {
        self.ranges.clear();
        self.parts = 0;
        self.of.clear();
    }

    /// Returns how many ranges there are.
    pub fn len(&self) -> usize {
        self.ranges.len()
    }

    #[inline]
    fn overlaps(&self, range: Range) -> bool {
        let before = |other: &Range| other.offset + other.len <= range.offset;
        let first = self.ranges.partition_point(before);
        let first = self.ranges.get(first);
        first.is_some_and(|other| range.overlaps(*other))
    }

    /// Puts the ranges into their order, and joins those that meet.
    fn order(&mut self) {
        self.ranges.sort_unstable_by_key(|range| range.offset);
        self.ranges.dedup_by(|next, range| {
            let end = range.offset + range.len;
            let meet = next.offset <= end;
            if meet {
                range.len = end.max(next.offset + next.len) - range.offset;
            }
            meet
        });
    }
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
    /// Holds a guard that is not held: the one of this number of a container.
    ///
    /// # Errors
    ///
    /// An older transaction holds the guard.
    pub fn hold(
        &mut self,
        age: Age,
        guard: &Guard,
        of: Arc<dyn Guarded<M>>,
        number: usize,
    ) -> Result<()> {
        if let Err(error) = guard.hold(age, self.parts.len()) {
            self.refused = Some((of, number));
            return Err(error);
        }
        self.parts.push(Part {
            of,
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

    /// Returns the elements added under a guard that is held, minus those removed, since the heap
    /// was opened.
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

    /// Returns whether a guard is held.
    #[inline]
    pub fn holds(&self, guard: &Guard) -> bool {
        self.place(guard).is_some()
    }

    /// Returns the last operations under the guards, of each guard.
    pub fn last(&self) -> impl Iterator<Item = Stamp> {
        self.parts.iter().filter_map(|part| self.inside(part).last)
    }

    /// Returns whether the contents of these bytes may tell whether the last operation under any of
    /// the guards has happened.
    #[inline]
    pub fn last_may_check(&self, lanes: &Lanes, checked: &mut Checked, range: Range) -> bool {
        if checked.parts < self.parts.len() {
            self.look_at_last(lanes, checked);
        }
        checked.overlaps(range)
    }

    /// Adds the bytes of the last operations under the guards that were not looked at. Later the
    /// lanes of these may go on or settle them, and then they tell nothing.
    #[inline(never)]
    fn look_at_last(&self, lanes: &Lanes, checked: &mut Checked) {
        let Checked { ranges, parts, of } = checked;
        for part in &self.parts[*parts..] {
            let last = self.inside(part).last;
            if let Some(last) = last.filter(|last| !of.contains(last) && lanes.is_last(*last)) {
                lanes.each_checked(last, |range| ranges.push(range));
                of.push(last);
            }
        }
        *parts = self.parts.len();
        checked.order();
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
