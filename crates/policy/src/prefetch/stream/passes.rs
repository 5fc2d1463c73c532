//! How the passes of a stream are found, and followed.
//!
//! The pages at the start of a pass are often in memory, because the last pass touched them: many
//! columns of a matrix share a page. So a pass need not fault where it begins, nor at all.

use super::nest::Nest;
use super::track::Track;
use super::{STEPS, WIDE};
use crate::page::{Fault, Memory};

/// Fewest elements of a pass. Shorter passes end before the next pays, and occur by chance.
const SHORTEST: u64 = 16;
/// Steps, each twice as long as the one before, in which the end of a pass is searched for.
const DOUBLINGS: u32 = 14;
/// Most passes that may go by without a fault.
const PASSES: i64 = 64;

impl Track {
    /// Returns the address at which a pass starts.
    pub(super) fn start_of(&self, pass: u64) -> Option<u64> {
        let distance = self.nest.outer().checked_mul(i64::try_from(pass).ok()?)?;
        self.origin.checked_add_signed(distance)
    }

    /// Makes the pass of the position the first.
    pub(super) fn rebase(&mut self) {
        let (pass, element) = self.nest.place(self.position);
        if pass > 0
            && let Some(origin) = self.start_of(pass)
        {
            let gone = self.position - element;
            self.origin = origin;
            self.position = element;
            self.frontier -= gone;
            self.renewed = self.renewed.saturating_sub(gone);
        }
    }

    /// Returns the element that a fault belongs to in a pass that was not predicted: the pages of
    /// the passes before may all be in memory, so that nothing was fetched for them.
    pub(super) fn element_of_later_pass(&self, fault: &Fault) -> Option<u64> {
        let outer = self.nest.outer();
        if !self.nest.is_known() || outer == 0 || self.stride.unsigned_abs() < WIDE {
            return None;
        }
        let distance = fault.address().wrapping_sub(self.origin) as i64;
        let aside = match outer > 0 {
            true => distance.rem_euclid(self.stride),
            false => -distance.checked_neg()?.rem_euclid(self.stride),
        };
        let pass = Some(aside / outer).filter(|pass| (1..=PASSES).contains(pass))?;
        let place = u64::try_from(distance.checked_sub(aside)? / self.stride).ok()?;
        match aside % outer {
            0 => self.nest.element(pass as u64, place),
            _ => None,
        }
    }

    /// Forgets where the known passes end if a fault shows that this one is longer; returns whether
    /// it does.
    pub(super) fn outlast(&mut self, fault: &Fault) -> bool {
        let distance = fault.address().wrapping_sub(self.origin) as i64;
        let behind = self.nest.length..self.nest.length.saturating_add(STEPS);
        let place = u64::try_from(distance / self.stride).unwrap_or(0);
        let is_ours = (self.space, self.thread) == (fault.at.space, fault.thread);
        let longer = is_ours && distance % self.stride == 0 && behind.contains(&place);
        if longer {
            self.frontier = self.frontier.min(self.nest.length);
            self.renewed = self.renewed.min(self.frontier);
            self.nest.length = Nest::ENDLESS;
        }
        longer
    }

    /// Makes this stream, which was just found, a pass after that of `last`, an earlier stream of
    /// the same stride. The next pass is known if this one starts at a distance from the last at
    /// which one of the two before started, too: where several columns lie in a page and only
    /// pages are known, most distances are 0.
    pub(super) fn succeed(&mut self, last: &Self, memory: &mut dyn Memory) {
        let length = last.touched(memory).max(self.position + 1);
        self.start_beside(last, length, memory);
        let distance = Some(self.origin.wrapping_sub(last.origin) as i64);
        let known = last.nest.distances;
        self.nest.distances = [distance, known[0]];
        if known.contains(&distance) && length >= SHORTEST && self.position < length {
            self.nest.length = length;
        }
    }

    /// Moves the start to that element of this walk which is nearest to the start of `last`, if
    /// the program has touched what lies between.
    fn start_beside(&mut self, last: &Self, length: u64, memory: &mut dyn Memory) {
        let distance = self.origin.wrapping_sub(last.origin) as i64;
        let Some(doubled) = distance.checked_mul(2) else {
            return;
        };
        // Rounds to the nearest whole number of steps.
        let nearest = (doubled / self.stride + 1).div_euclid(2);
        let Some(skipped) = u64::try_from(nearest).ok().filter(|n| *n < length) else {
            return;
        };
        let mut whole = self.clone();
        whole.start_earlier(skipped);
        if whole.is_touched_through(0..skipped, memory) {
            *self = whole;
        }
    }

    /// Returns the number of elements of the first pass that the program has touched: all up to
    /// the position, and some behind it, whose end is searched for in growing steps, then by
    /// halving the last.
    fn touched(&self, memory: &mut dyn Memory) -> u64 {
        let mut is_touched = |ahead: u64| {
            let element = self.nest.element(0, self.position + ahead);
            element.is_some_and(|element| self.has_touched(element, memory))
        };
        let doublings = (0..DOUBLINGS).take_while(|n| is_touched(1 << n)).count();
        let (mut touched, mut untouched) = ((1 << doublings) / 2, 1 << doublings);
        while untouched - touched > 1 {
            let middle = touched + (untouched - touched) / 2;
            match is_touched(middle) {
                true => touched = middle,
                false => untouched = middle,
            }
        }
        self.position + touched + 1
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::page::{Location, PAGE_BYTES, Residence, Space, Thread};
    use crate::prefetch::Source;

    const SPACE: Space = Space(1);

    /// A stream in the first of its passes, of wide strides that no distance is longer than.
    fn track() -> impl Strategy<Value = Track> {
        let stride = (8 * PAGE_BYTES as i64..1 << 18, any::<bool>());
        let outer = (0..1i64 << 18, any::<bool>());
        let signed = |(number, back): (i64, bool)| if back { -number } else { number };
        let shape = (stride.prop_map(signed), outer.prop_map(signed), 16..200u64);
        (shape, 0..400u64, 1..400u64).prop_map(|((stride, outer, length), position, ahead)| Track {
            source: Source(0),
            space: SPACE,
            thread: Thread(1),
            origin: 1 << 40,
            stride,
            nest: Nest {
                length,
                distances: [Some(outer % stride), None],
            },
            reach: 0,
            unproven: 0,
            position: position % length,
            frontier: position % length + ahead,
            renewed: position % length,
            depth: 64,
        })
    }

    /// A memory in which the program has touched these pages.
    struct Touched(BTreeSet<u64>);

    impl Memory for Touched {
        fn residence(&mut self, at: Location) -> Residence {
            match self.0.contains(&at.page.0) {
                true => Residence::InMemory,
                false => Residence::InTier,
            }
        }
    }

    proptest! {
        #[test]
        fn every_element_has_its_place(track in track(), element in 0..1000u64) {
            let (pass, place) = track.nest.place(element);
            prop_assert!(place < track.nest.length);
            prop_assert_eq!(track.nest.element(pass, place), Some(element));
            prop_assert_eq!(track.nest.element(pass, track.nest.length), None);
        }

        #[test]
        fn a_later_first_pass_changes_no_address(track in track(), passes in 0..4u64) {
            let mut later = track.clone();
            later.position += passes * track.nest.length;
            later.frontier += passes * track.nest.length;
            let position = later.address(later.position);
            let frontier = later.address(later.frontier);
            later.rebase();
            prop_assert_eq!(later.position, track.position);
            prop_assert_eq!(later.address(later.position), position);
            prop_assert_eq!(later.address(later.frontier), frontier);
        }

        /// What is predicted is recognised when it faults: as an element at that place.
        #[test]
        fn the_predicted_faults_are_followed(track in track(), ahead in 0..400u64) {
            let element = (track.position + ahead).min(track.frontier);
            let address = track.address(element).unwrap();
            let found = track.element_of(&Fault::new(Thread(1), SPACE, address));
            let page = found.and_then(|found| track.address(found)).map(|a| a / PAGE_BYTES);
            prop_assert_eq!(page, Some(address / PAGE_BYTES), "{:?} for {}", found, element);
        }

        /// The first column on which no page is in memory may lie some passes further on.
        #[test]
        fn a_later_pass_is_recognised(track in track(), pass in 1..8u64, place in 0..16u64) {
            let mut track = track;
            let outer = track.nest.outer() % (track.stride / 8);
            track.nest.distances[0] = Some(outer);
            prop_assume!(outer.abs() > 1);
            let address = track.start_of(pass).unwrap();
            let address = address.wrapping_add_signed(track.stride * place as i64);
            let found = track.element_of_later_pass(&Fault::new(Thread(1), SPACE, address));
            prop_assert_eq!(found, track.nest.element(pass, place));
            let between = Fault::new(Thread(1), SPACE, address.wrapping_add_signed(outer / 2));
            prop_assert_eq!(track.element_of_later_pass(&between), None);
        }

        /// As many elements as a search one by one finds.
        #[test]
        fn the_end_of_a_pass_is_found(track in track(), more in 0..400u64) {
            let end = (track.position + 1 + more).min(track.nest.length);
            let touched = (0..end).map(|k| track.address(k).unwrap() / PAGE_BYTES);
            prop_assert_eq!(track.touched(&mut Touched(touched.collect())), end);
        }

        /// The third pass is known, wherever its first fault is, if what lies before is in memory.
        #[test]
        fn the_start_of_a_pass_is_that_of_the_last(track in track(), at in 2..12u64) {
            prop_assume!(track.nest.outer().abs() * 2 < track.stride.abs());
            let (length, known) = (track.nest.length, track.nest);
            let mut last = track.clone();
            last.nest.length = Nest::ENDLESS;
            last.position = length - 1;
            let mut next = last.clone();
            next.origin = track.start_of(1).unwrap().wrapping_add_signed(track.stride * at as i64);
            (next.position, next.frontier, next.renewed) = (0, 1, 0);
            let touched = (0..length).map(|k| track.address(k).unwrap());
            let again = (0..at).map(|k| track.address(length + k).unwrap());
            let mut memory = Touched(touched.chain(again).map(|a| a / PAGE_BYTES).collect());
            next.succeed(&last, &mut memory);
            prop_assert_eq!(next.origin, track.start_of(1).unwrap());
            prop_assert_eq!(next.position, at);
            prop_assert_eq!(next.nest.length, length);
            prop_assert_eq!(next.nest.distances, [known.distances[0], known.distances[0]]);
        }
    }
}
