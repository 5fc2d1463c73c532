//! Reuse distances by instruction, in requests to the set.

/// The reuse distance predictor.
pub struct Distances {
    /// Distance of lines that are not used again.
    furthest: u32,
    /// Distances by signature; [`UNKNOWN`] before the first lesson.
    table: Vec<u16>,
}

const UNKNOWN: u16 = u16::MAX;

/// Difference below which a lesson does not change a distance; above, it changes by one.
const TOLERANCE: u32 = 16;

impl Distances {
    /// Makes a table without lessons.
    pub fn new(signature_bits: u32, furthest: u32) -> Self {
        Self {
            furthest,
            table: vec![UNKNOWN; 1 << signature_bits],
        }
    }

    /// Returns the distance of an instruction, if there was a lesson.
    #[inline]
    pub fn of(&self, signature: u16) -> Option<u32> {
        let distance = self.table[usize::from(signature)];
        (distance != UNKNOWN).then_some(u32::from(distance))
    }

    /// Learns that a line was used again after `distance` requests.
    pub fn used(&mut self, signature: u16, distance: u32) {
        let known = self.of(signature).unwrap_or(distance);
        let near = known.abs_diff(distance) < TOLERANCE;
        let next = match distance > known {
            _ if near => known,
            true => known + 1,
            false => known - 1,
        };
        self.set(signature, next);
    }

    /// Learns that a line was not used again.
    pub fn unused(&mut self, signature: u16) {
        let next = self.of(signature).map_or(self.furthest, |known| known + 1);
        self.set(signature, next);
    }

    fn set(&mut self, signature: u16, distance: u32) {
        self.table[usize::from(signature)] = distance.min(self.furthest) as u16;
    }

    /// Bits of all distances.
    pub fn storage_bits(&self) -> u64 {
        self.table.len() as u64 * u64::from(self.furthest.ilog2() + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_lesson_counts_in_full_and_the_others_by_one() {
        let mut distances = Distances::new(11, 127);
        assert_eq!(distances.of(5), None);
        let mut learn = |distance| {
            distances.used(5, distance);
            distances.of(5)
        };
        assert_eq!(learn(40), Some(40));
        assert_eq!(learn(55), Some(40), "near enough");
        assert_eq!(learn(56), Some(41));
        assert_eq!(learn(0), Some(40));
        distances.unused(5);
        distances.unused(6);
        assert_eq!((distances.of(5), distances.of(6)), (Some(41), Some(127)));
        distances.unused(6);
        assert_eq!(distances.of(6), Some(127));
    }
}
