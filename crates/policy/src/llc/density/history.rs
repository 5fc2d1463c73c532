//! The recent past of a sampled set: what was touched, whether it lay in the cache or not.

use super::class::Class;
use super::reuse::{AGES, Reuse};
use crate::llc::{Geometry, Request};

/// Bits of a tag, to which a line's tag is folded by XOR.
pub const TAG_BITS: u32 = 16;

/// A touch that none has followed yet.
#[derive(Clone, Copy)]
struct Touch {
    tag: u16,
    class: Class,
}

/// The last touches of a set, as many as let a line reach the highest age.
#[derive(Clone)]
pub struct History {
    sets: u64,
    /// Touches of a set in a unit of age.
    unit: usize,
    /// A ring: the touch at time t is in slot t modulo length.
    touches: Vec<Option<Touch>>,
    now: usize,
}

impl History {
    /// An empty one, of a set of such a cache.
    pub fn new(geometry: Geometry, unit: usize) -> Self {
        Self {
            sets: geometry.sets as u64,
            unit,
            touches: vec![None; AGES * unit],
            now: 0,
        }
    }

    /// Time passes: a request has come to the set.
    pub fn tick(&mut self) {
        self.now += 1;
    }

    /// The request makes its line one of `class`: counts how the touch before has ended, and the
    /// one that is forgotten now.
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
