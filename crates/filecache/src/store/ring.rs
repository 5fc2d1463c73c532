//! The order in which places of a medium are filled: that of the oldest segment is next.

use std::collections::VecDeque;

use super::layout::Geometry;

/// A place that holds a segment, or none yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The slot of its first page.
    pub first: u32,
    /// The number of its segment; 0 without one that counts.
    pub sequence: u64,
}

/// The places of a medium but for the one that is filled, the next at the front.
#[derive(Debug, Default)]
pub(super) struct Ring(VecDeque<Place>);

impl Ring {
    /// Begins with the places of segments, oldest first. Those that have none are filled before.
    pub fn new(geometry: Geometry, segments: &[Place]) -> Self {
        let is_free = |first: &u32| segments.iter().all(|place| place.first != *first);
        let all = (0..geometry.segments).map(|number| number * geometry.segment_pages);
        let free = all
            .filter(is_free)
            .map(|first| Place { first, sequence: 0 });
        Self(free.chain(segments.iter().copied()).collect())
    }

    /// Returns the slot of the first page of the next place.
    pub fn next(&self) -> u32 {
        self.0.front().map_or(0, |place| place.first)
    }

    /// Takes the first place to be filled.
    pub fn begin(&mut self) -> u32 {
        self.0.pop_front().map_or(0, |place| place.first)
    }

    /// Takes the next place, as `full` has been filled.
    pub fn turn(&mut self, full: Place) -> u32 {
        self.0.push_back(full);
        self.0.pop_front().map_or(0, |place| place.first)
    }

    /// Returns the number of the oldest segment; 0 while a place has none.
    pub fn oldest(&self) -> u64 {
        self.0.front().map_or(0, |place| place.sequence)
    }

    /// Returns the number of places, with the one that is filled.
    pub fn len(&self) -> u32 {
        self.0.len() as u32 + 1
    }

    /// Takes places from this slot on away.
    pub fn cut(&mut self, end: u32) {
        self.0.retain(|place| place.first < end);
    }

    /// Adds places, which are filled next.
    pub fn add(&mut self, first: impl DoubleEndedIterator<Item = u32>) {
        for first in first.rev() {
            self.0.push_front(Place { first, sequence: 0 });
        }
    }

    /// Forgets the segments.
    pub fn clear(&mut self) {
        self.0.iter_mut().for_each(|place| place.sequence = 0);
    }
}
