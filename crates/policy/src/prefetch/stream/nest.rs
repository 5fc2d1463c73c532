//! Nest: the passes that a stream makes, each beginning at a constant distance from the last, as
//! over the next column of a matrix, or at the same place, as in a cyclic pass over an array.

/// Passes of equal length whose starts lie at a constant distance.
#[derive(Clone, Copy, Debug)]
pub(super) struct Nest {
    /// Elements of a pass; [`Nest::ENDLESS`] while the next pass is not known.
    pub(super) length: u64,
    /// Distances in bytes between the starts of the latest passes, newest first.
    pub(super) distances: [Option<i64>; 2],
}

impl Nest {
    pub(super) const ENDLESS: u64 = u64::MAX;
    pub(super) const UNKNOWN: Self = Self {
        length: Self::ENDLESS,
        distances: [None; 2],
    };

    /// Whether the next pass is known.
    #[inline]
    pub(super) fn is_known(&self) -> bool {
        self.length != Self::ENDLESS
    }

    /// Returns the number of the pass that an element belongs to, and its number within the pass.
    #[inline]
    pub(super) fn place(&self, element: u64) -> (u64, u64) {
        // Mostly it is the first pass, which takes no division.
        match element < self.length {
            true => (0, element),
            false => (element / self.length, element % self.length),
        }
    }

    /// Returns the element that stands at a place within a pass.
    pub(super) fn element(&self, pass: u64, place: u64) -> Option<u64> {
        let before = match pass {
            0 => 0,
            _ => pass.checked_mul(self.length)?,
        };
        (place < self.length).then(|| before + place)
    }

    /// Returns the distance from the start of a pass to that of the next.
    pub(super) fn outer(&self) -> i64 {
        self.distances[0].unwrap_or(0)
    }
}
