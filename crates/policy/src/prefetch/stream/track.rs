//! One stream: its position, the pages that belong to it, and what comes next.

use std::ops::{Range, RangeInclusive};

use super::nest::Nest;
use super::{DENSE, STEPS, WIDE};
use crate::page::{Fault, Location, Memory, PAGE_BYTES, Page, Residence, Space, Thread};
use crate::prefetch::{Prediction, Source};

/// A stream, whose element `k` lies at `origin + k * stride` bytes; elements behind the end of a
/// pass are those of the next pass.
#[derive(Clone, Debug)]
pub(super) struct Track {
    pub(super) source: Source,
    pub(super) space: Space,
    pub(super) thread: Thread,
    pub(super) origin: u64,
    pub(super) stride: i64,
    /// Passes of the stream; the program is in the first.
    pub(super) nest: Nest,
    /// Bytes touched after the first byte of an element, as far as faults have shown.
    pub(super) reach: u64,
    /// Faults still needed before the stream is trusted.
    pub(super) unproven: u32,
    /// Last element known to be touched.
    pub(super) position: u64,
    /// First element not yet predicted.
    pub(super) frontier: u64,
    /// Element from which the stream was last predicted after a fault.
    pub(super) renewed: u64,
    /// Pages in the next prediction.
    pub(super) depth: u64,
}

/// Elements that a program may skip or repeat without leaving its stream.
const SLACK: u64 = 4;

impl Track {
    pub(super) fn address(&self, element: u64) -> Option<u64> {
        let (pass, element) = self.nest.place(element);
        let distance = self.stride.checked_mul(i64::try_from(element).ok()?)?;
        self.start_of(pass)?.checked_add_signed(distance)
    }

    /// Returns the pages that element `k` touches.
    fn pages(&self, element: u64) -> Option<RangeInclusive<u64>> {
        let start = self.address(element)?;
        let end = start.checked_add(self.reach)?;
        Some(start / PAGE_BYTES..=end / PAGE_BYTES)
    }

    /// Returns the element that a fault belongs to, if it is near the stream's position.
    #[inline]
    pub(super) fn element_of(&self, fault: &Fault) -> Option<u64> {
        if (self.space, self.thread) != (fault.at.space, fault.thread) {
            return None;
        }
        let distance = fault.address().wrapping_sub(self.origin) as i64;
        if self.is_nowhere_near(distance) && !self.nest.is_known() {
            return None;
        }
        self.element_nearby(fault)
    }

    fn element_nearby(&self, fault: &Fault) -> Option<u64> {
        let behind = self.position.saturating_sub(SLACK);
        let near = behind..=self.frontier + self.depth.max(DENSE) + SLACK;
        let far = behind..=self.frontier + STEPS;
        self.element_on(fault.at.page, fault.address())
            .filter(|element| {
                near.contains(element) || (far.contains(element) && self.is_exact(fault))
            })
            .or_else(|| self.element_of_later_pass(fault))
    }

    /// Whether an element at such a distance from the origin is out of the stream's range, or no
    /// element of a wide stride lies there. Most faults belong to another stream, so this is fast:
    /// which reason holds is as good as random, so nothing branches on one.
    #[inline]
    fn is_nowhere_near(&self, distance: i64) -> bool {
        let step = self.stride.unsigned_abs();
        let elements = self.frontier + self.depth.max(STEPS) + DENSE;
        let before = ((distance < 0) != (self.stride < 0)) & (distance.unsigned_abs() > step);
        let beyond = distance.unsigned_abs() > step.saturating_mul(elements);
        // An element touches at most two pages after the page where it starts.
        let nearest = (distance as f64 / self.stride as f64 + 0.5) as i64;
        let off = distance.wrapping_sub(nearest.wrapping_mul(self.stride));
        let between = (step >= WIDE) & (off.unsigned_abs() > 3 * PAGE_BYTES);
        before | beyond | between
    }

    /// Whether a fault lies exactly a whole number of wide steps away.
    fn is_exact(&self, fault: &Fault) -> bool {
        let distance = fault.address().wrapping_sub(self.origin) as i64;
        self.stride.unsigned_abs() >= WIDE && distance % self.stride == 0
    }

    /// Returns the element that touches `page`, searched for around byte `address` in the passes
    /// that are predicted.
    pub(super) fn element_on(&self, page: Page, address: u64) -> Option<u64> {
        let (last, _) = self.nest.place(self.frontier);
        (0..=last).find_map(|pass| {
            let distance = address as f64 - self.start_of(pass)? as f64;
            let nearest = distance / self.stride as f64 + 0.5;
            let nearest = (nearest > 0.0).then_some(nearest as u64)?;
            (nearest.saturating_sub(1)..=nearest.saturating_add(1))
                .filter_map(|place| self.nest.element(pass, place))
                // The same page may belong to the next pass, too.
                .filter(|element| !self.nest.is_known() || element + SLACK >= self.position)
                .find(|&element| self.touches(element, page))
        })
    }

    /// Whether an element lies on `page`, or may end on it.
    fn touches(&self, element: u64, page: Page) -> bool {
        let Some(pages) = self.pages(element) else {
            return false;
        };
        // Where there are passes, the page behind an element may be that of another pass.
        let may_spill = pages.start() == pages.end()
            && self.stride.unsigned_abs() >= WIDE
            && !self.nest.is_known();
        pages.contains(&page.0) || (may_spill && page.0 == pages.end() + 1)
    }

    /// Whether the program has touched the elements between its last known position and `element`.
    /// A walk omits none; a fault that skips some belongs to another walk that crosses this one.
    pub(super) fn leads_to(&self, element: u64, memory: &mut dyn Memory) -> bool {
        self.is_touched_through(self.position + 1..element, memory)
    }

    /// Whether the program has touched these elements; a few of them are checked.
    pub(super) fn is_touched_through(&self, elements: Range<u64>, memory: &mut dyn Memory) -> bool {
        let (first, end) = (elements.start, elements.end);
        [1, 2, end.saturating_sub(first) / 2]
            .iter()
            .filter_map(|back| end.checked_sub(*back))
            .filter(|between| elements.contains(between))
            .all(|between| self.has_touched(between, memory))
    }

    /// Whether the program has touched the first byte of an element.
    pub(super) fn has_touched(&self, element: u64, memory: &mut dyn Memory) -> bool {
        let page = self.address(element).map(Page::of);
        page.is_some_and(|page| {
            memory.residence(Location::new(self.space, page)) == Residence::InMemory
        })
    }

    /// Moves the start back by some steps, which the program has made.
    pub(super) fn start_earlier(&mut self, steps: u64) {
        let distance = i64::try_from(steps)
            .ok()
            .and_then(|n| self.stride.checked_mul(-n));
        if let Some(origin) = distance.and_then(|d| self.origin.checked_add_signed(d)) {
            self.origin = origin;
            self.position += steps;
            self.frontier += steps;
            self.renewed += steps;
        }
    }

    /// Sets the position to `element`, where the program faulted on `page`.
    pub(super) fn resume(&mut self, element: u64, page: Page) {
        if let Some(start) = self.address(element) {
            let spill = page.start().saturating_sub(start);
            self.reach = self.reach.max(spill.min(PAGE_BYTES - 1));
        }
        self.position = self.position.max(element);
        self.frontier = self.frontier.max(element + 1);
    }

    /// Predicts the next `depth` pages, or those up to the end of the pass, and moves the frontier
    /// behind them.
    pub(super) fn predict(&mut self) -> Option<Prediction> {
        let wanted = self.depth as usize;
        let (pass, _) = self.nest.place(self.frontier);
        let mut pages: Vec<Location> = Vec::with_capacity(wanted + 1);
        while pages.len() < wanted && self.nest.place(self.frontier).0 == pass {
            let Some(element) = self.pages(self.frontier) else {
                break;
            };
            self.frontier += 1;
            for at in element.map(|page| Location::new(self.space, Page(page))) {
                if pages.last() != Some(&at) {
                    pages.push(at);
                }
            }
        }
        (!pages.is_empty()).then_some(Prediction {
            source: self.source,
            pages,
            goes_on: true,
        })
    }

    /// Whether a fault within the predicted range needs a new prediction. Such a fault shows that
    /// the prediction failed there: pages that were in memory have been evicted since, the oldest
    /// first. But mostly the fetch is only late, and what follows is on its way: only the second
    /// half of what was predicted is worth to be looked at again.
    pub(super) fn is_due_again(&self, element: u64) -> bool {
        element >= self.renewed + self.frontier.saturating_sub(self.renewed) / 2
    }

    /// Shortens the next prediction and moves the frontier back, because pages predicted ahead are
    /// gone.
    pub(super) fn retreat(&mut self) {
        if self.frontier > self.position + 1 {
            self.frontier = self.position + 1;
            self.depth = (self.depth / 2).max(1);
        }
    }

    pub(super) fn deepen(&mut self, limit: u64) {
        self.depth = (self.depth * 2).min(limit);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn track() -> impl Strategy<Value = Track> {
        let pages = |n: i64| n * PAGE_BYTES as i64;
        let stride = prop_oneof![
            Just(pages(1)),
            Just(pages(-1)),
            (pages(1)..pages(40), any::<bool>()).prop_map(|(s, back)| if back { -s } else { s }),
            (1i64 << 12..1 << 34, any::<bool>()).prop_map(|(s, back)| if back { -s } else { s }),
        ];
        let place = (0..500u64, 1..300u64, 0..PAGE_BYTES, 1..300u64);
        (stride, 0..1u64 << 46, place).prop_map(
            |(stride, origin, (position, ahead, reach, depth))| Track {
                source: Source(0),
                space: Space(1),
                thread: Thread(1),
                origin,
                stride,
                nest: Nest::UNKNOWN,
                reach,
                unproven: 0,
                position,
                frontier: position + ahead,
                renewed: 0,
                depth,
            },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]
        /// The fast check finds a fault nowhere near only where no element is near.
        #[test]
        fn as_without_a_glance(
            track in track(),
            element in -20..1000i64,
            aside in -5 * PAGE_BYTES as i64..5 * PAGE_BYTES as i64,
            thread in 0..8u32,
        ) {
            let distance = element * track.stride + aside;
            let address = track.origin.wrapping_add_signed(distance);
            let fault = Fault::new(Thread(u32::from(thread > 0)), Space(1), address);
            let slow = track.element_nearby(&fault).filter(|_| fault.thread == track.thread);
            prop_assert_eq!(track.element_of(&fault), slow);
        }
    }
}
