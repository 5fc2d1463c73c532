//! The size classes of `allocator::class`, by arithmetic alone: nothing has to be allocated.

/// The most classes: for chunks of 16 MiB.
pub(super) const MAX_CLASSES: usize = 76;

/// Up to here each multiple of 16 is a class.
const FINE: usize = 256;
const UNIT: usize = 16;
const FINE_CLASSES: usize = FINE / UNIT;

/// The smallest class with room.
#[inline]
pub(super) fn class_of(bytes: usize) -> usize {
    if bytes <= FINE {
        return bytes.max(1).div_ceil(UNIT) - 1;
    }
    let last = bytes - 1;
    let doubling = last.ilog2();
    let quarter = (last >> (doubling - 2)) & 3;
    FINE_CLASSES + (doubling - FINE.ilog2()) as usize * 4 + quarter
}

/// Bytes of a slot of a class.
#[inline]
pub(super) fn slot_of(class: usize) -> usize {
    let Some(coarse) = class.checked_sub(FINE_CLASSES) else {
        return (class + 1) * UNIT;
    };
    (5 + coarse % 4) << (FINE.ilog2() as usize + coarse / 4 - 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::allocator::class::Classes;

    #[test]
    fn these_are_the_classes_of_persistent_objects() {
        for chunk in [4096, 65536] {
            let slow = Classes::new(chunk);
            for bytes in 0..=chunk / 2 {
                assert_eq!(Some(class_of(bytes as usize)), slow.of(bytes), "{bytes}");
            }
            for class in 0..slow.len() {
                assert_eq!(slot_of(class) as u64, slow.slot(class));
            }
        }
        assert_eq!(Classes::new(16 << 20).len(), MAX_CLASSES);
    }
}
