//! Size classes: multiples of 16 bytes up to 256, then four for each doubling, so that at most a
//! fifth of a slot is wasted.

/// Slots are multiples of this.
const UNIT: u64 = 16;
/// Up to here each multiple is a class.
const FINE: u64 = 256;

/// The classes of a pool.
pub(crate) struct Classes {
    /// Bytes of a slot, ascending.
    slots: Vec<u64>,
}

impl Classes {
    /// Those of which a chunk has room for at least two slots.
    pub fn new(chunk_bytes: u64) -> Self {
        let mut slots: Vec<u64> = (1..=FINE / UNIT).map(|units| units * UNIT).collect();
        let mut base = FINE;
        while base < chunk_bytes / 2 {
            slots.extend((5..=8).map(|quarters| base * quarters / 4));
            base *= 2;
        }
        slots.retain(|&slot| slot <= chunk_bytes / 2);
        Self { slots }
    }

    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Bytes of a slot of a class.
    pub fn slot(&self, class: usize) -> u64 {
        self.slots[class]
    }

    /// The smallest class that has room; `None` if a slot would need chunks of its own.
    #[inline]
    pub fn of(&self, bytes: u64) -> Option<usize> {
        if bytes <= FINE {
            return Some((bytes.max(1).div_ceil(UNIT) - 1) as usize);
        }
        let class = self.slots.partition_point(|&slot| slot < bytes);
        (class < self.slots.len()).then_some(class)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_size_has_the_smallest_class_with_room() {
        for chunk in [4096, 65536] {
            let classes = Classes::new(chunk);
            assert_eq!(classes.slot(classes.len() - 1), chunk / 2);
            for bytes in 0..=chunk {
                let slow = classes.slots.iter().position(|&slot| slot >= bytes);
                assert_eq!(classes.of(bytes), slow, "{bytes}");
                if let Some(class) = slow.filter(|_| bytes >= FINE) {
                    assert!(classes.slot(class) * 4 <= bytes * 5, "{bytes}");
                }
            }
        }
    }

    #[test]
    fn slots_are_units() {
        let classes = Classes::new(65536);
        assert!(classes.slots.iter().all(|slot| slot.is_multiple_of(UNIT)));
        assert!(classes.slots.is_sorted());
    }
}
