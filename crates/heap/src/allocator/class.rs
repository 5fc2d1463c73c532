//! Size classes: multiples of 16 bytes up to 256, then four for each doubling, so that at most a
//! fifth of a slot is wasted. Computed by arithmetic alone, because a global allocator needs it.

use super::run::Run;

/// Sizes of slots are multiples of this.
const UNIT: u64 = 16;
/// Up to this size each multiple is a class.
const FINE: u64 = 256;
const FINE_CLASSES: usize = (FINE / UNIT) as usize;

/// The largest number of classes, which chunks of 16 MiB have.
pub(crate) const MAX_CLASSES: usize = 76;

/// Returns the smallest class with room for a number of bytes.
#[inline]
pub(crate) fn class_of(bytes: u64) -> usize {
    if bytes <= FINE {
        return (bytes.max(1).div_ceil(UNIT) - 1) as usize;
    }
    let last = bytes - 1;
    let doubling = last.ilog2();
    let quarter = (last >> (doubling - 2)) & 3;
    FINE_CLASSES + (doubling - FINE.ilog2()) as usize * 4 + quarter as usize
}

/// Returns the bytes of a slot of a class.
#[inline]
pub(crate) fn slot_of(class: usize) -> u64 {
    let Some(coarse) = class.checked_sub(FINE_CLASSES) else {
        return (class as u64 + 1) * UNIT;
    };
    (5 + coarse as u64 % 4) << (FINE.ilog2() as usize + coarse / 4 - 2)
}

/// The classes of a pool: those with at least two slots in a chunk.
#[derive(Clone, Copy)]
pub(crate) struct Classes {
    largest: u64,
}

impl Classes {
    /// Returns the classes for chunks of `chunk_bytes`, a power of two of at least 512.
    pub fn new(chunk_bytes: u64) -> Self {
        Self {
            largest: chunk_bytes / 2,
        }
    }

    pub fn len(&self) -> usize {
        class_of(self.largest) + 1
    }

    /// Returns the smallest class with room; `None` if a slot would need chunks of its own.
    #[inline]
    pub fn of(&self, bytes: u64) -> Option<usize> {
        (bytes <= self.largest).then(|| class_of(bytes))
    }

    /// Returns the class of a run.
    #[inline]
    pub fn of_run(&self, run: &Run) -> usize {
        self.of(run.slot_bytes()).expect("a run has a class")
    }

    /// Returns whether a class has slots of this size.
    pub fn has(&self, slot: u64) -> bool {
        slot > 0 && slot <= self.largest && slot_of(class_of(slot)) == slot
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The twin lists the classes, and takes the first with room.
    #[test]
    fn each_size_has_the_smallest_class_with_room() {
        for chunk in [4096u64, 65536] {
            let mut slots: Vec<u64> = (1..=16).map(|units| units * 16).collect();
            let mut base = 256;
            while base < chunk / 2 {
                slots.extend((5..=8).map(|quarters| base * quarters / 4));
                base *= 2;
            }
            let classes = Classes::new(chunk);
            assert_eq!(classes.len(), slots.len());
            for bytes in 0..=chunk {
                let slow = slots.iter().position(|&slot| slot >= bytes);
                assert_eq!(classes.of(bytes), slow, "{bytes}");
                assert_eq!(classes.has(bytes), slots.contains(&bytes), "{bytes}");
            }
            for (class, &slot) in slots.iter().enumerate() {
                assert_eq!(slot_of(class), slot);
                assert!(slot.is_multiple_of(UNIT));
            }
        }
        assert_eq!(Classes::new(16 << 20).len(), MAX_CLASSES);
    }

    #[test]
    fn at_most_a_fifth_of_a_slot_is_wasted() {
        for bytes in FINE..1 << 16 {
            assert!(slot_of(class_of(bytes)) * 4 <= bytes * 5, "{bytes}");
        }
    }
}
