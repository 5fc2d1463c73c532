//! The latest touches of a sampled set, whether the lines were in the cache or not.

use super::class::AGES;
use super::class::Class;
use super::reuse::Reuse;
use crate::llc::{Geometry, Request};

/// Bits of a tag, to which the tag of a line is folded by XOR.
pub const TAG_BITS: u32 = 16;

/// A touch that no other touch of its line has followed yet.
#[derive(Clone, Copy)]
struct Touch {
    tag: u16,
    class: Class,
}

/// The latest touches of a set, enough for a line to reach the highest age.
#[derive(Clone)]
pub struct History {
    sets: u64,
    /// Touches of a set in a unit of age.
    unit: usize,
    /// Ring of touches: the touch at time t is in slot t modulo the length.
    touches: Vec<Option<Touch>>,
    now: usize,
}

impl History {
    /// Makes the empty history of a set of such a cache.
    pub fn new(geometry: Geometry, unit: usize) -> Self {
        Self {
            sets: geometry.sets as u64,
            unit,
            touches: vec![None; AGES * unit],
            now: 0,
        }
    }

    /// Advances the time by a request to the set.
    pub fn tick(&mut self) {
        self.now += 1;
    }

    /// Records a request that puts its line into `class`: counts the end of the line's touch
    /// before, and of the touch that is forgotten now.
    pub fn touch(&mut self, request: &Request, class: Class, reuse: &mut Reuse) {
        let (length, tag) = (self.touches.len(), self.tag(request.line));
        let slot = self.now % length;
        if let Some(forgotten) = self.touches[slot].take() {
            reuse.ended(forgotten.class);
        }
        let is_same = |touch: &Option<Touch>| touch.is_some_and(|touch| touch.tag == tag);
        if let Some(found) = self.touches.iter().position(is_same)
            && let Some(before) = self.touches[found].take()
        {
            let age = (slot + length - found) % length / self.unit;
            reuse.touched(before.class, age, request.kind.writes());
        }
        self.touches[slot] = Some(Touch { tag, class });
    }

    fn tag(&self, line: u64) -> u16 {
        let tag = line / self.sets;
        (tag ^ tag >> 16 ^ tag >> 32 ^ tag >> 48) as u16
    }

    /// Bits of the ring: tag and class of each touch, and whether it is open.
    pub fn storage_bits(&self) -> u64 {
        let class = Class::COUNT.next_power_of_two().ilog2();
        self.touches.len() as u64 * u64::from(TAG_BITS + class + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llc::Kind;
    use crate::llc::testing::request;

    /// A line is touched, and again after this many requests to its set: what the first touch is
    /// worth then.
    fn value(distance: usize) -> u32 {
        let geometry = Geometry { sets: 4, ways: 16 };
        let (mut history, mut reuse) = (History::new(geometry, 4), Reuse::new(1, 1.5));
        let request = |line| request(line, Kind::Load);
        let (read, other) = (Class::new(&request(0)), Class::hit(0, true));
        history.touch(&request(0), read, &mut reuse);
        for line in 1..distance as u64 {
            history.tick();
            history.touch(&request(4 * line), other, &mut reuse);
        }
        history.tick();
        history.touch(&request(0), other, &mut reuse);
        reuse.count();
        reuse.value(read, 0, false)
    }

    #[test]
    fn a_touch_is_remembered_until_the_highest_age_is_over() {
        let last = AGES * 4 - 1;
        assert!(value(1) > value(4), "an age later");
        assert_eq!(value(4), value(7), "the same age");
        assert!(value(last) > 0);
        assert_eq!(value(last + 1), 0);
    }
}
