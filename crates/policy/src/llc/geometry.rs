//! The shape of a cache.

/// Sets and ways of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Number of sets, at least one.
    pub sets: usize,
    /// Ways of a set, from 1 to 64; not necessarily a power of two.
    pub ways: usize,
}

impl Geometry {
    /// Most ways: the dirty bits of a set are one word.
    pub const MOST_WAYS: usize = 64;
    /// Most lines: their numbers take 2 GiB.
    pub const MOST_LINES: u64 = 1 << 28;

    /// Returns the shape of a cache of `bytes` bytes in lines of `line` bytes.
    ///
    /// # Errors
    /// Returns a message if that is no whole number of sets, or the ways or lines are zero or too
    /// many.
    pub fn of(bytes: u64, ways: usize, line: u64) -> Result<Self, String> {
        if !(1..=Self::MOST_WAYS).contains(&ways) {
            let most = Self::MOST_WAYS;
            return Err(format!(
                "a cache of {ways} ways cannot be; it has from 1 to {most}"
            ));
        }
        let set = ways as u64 * line;
        if set == 0 || bytes == 0 || !bytes.is_multiple_of(set) {
            let near = (bytes / set.max(1)).max(1).saturating_mul(set);
            return Err(format!(
                "{bytes} bytes are no whole number of sets of {ways} lines of {line} bytes; {near} would be"
            ));
        }
        if bytes / line > Self::MOST_LINES {
            let most = Self::MOST_LINES;
            return Err(format!(
                "a cache of {bytes} bytes is too large to be simulated; it may have {most} lines, of {line} bytes here"
            ));
        }
        let sets = usize::try_from(bytes / set).map_err(|e| e.to_string())?;
        Ok(Self { sets, ways })
    }

    /// Returns the set of a line: the lowest bits, or the remainder if the number of sets is no
    /// power of two.
    #[inline]
    pub fn set_of(self, line: u64) -> usize {
        if self.sets.is_power_of_two() {
            line as usize & (self.sets - 1)
        } else {
            (line % self.sets as u64) as usize
        }
    }

    /// Number of lines.
    pub fn lines(self) -> usize {
        self.sets * self.ways
    }
}

/// Place of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// Set of the cache.
    pub set: usize,
    /// Way of the set.
    pub way: usize,
}

impl Place {
    /// Returns the index of the place in a table with a value for each line.
    #[inline]
    pub fn index(self, geometry: Geometry) -> usize {
        self.set * geometry.ways + self.way
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_make_sets() {
        let of = |bytes, ways| Geometry::of(bytes, ways, 64);
        let sets = |bytes, ways| of(bytes, ways).map(|geometry| geometry.sets);
        assert_eq!(sets(2 << 20, 16), Ok(2048));
        assert_eq!(sets(24 << 10, 12), Ok(32));
        assert_eq!(sets(3 << 20, 24), Ok(2048));
        for (bytes, ways, why) in [
            (1000, 4, "whole number"),
            (0, 4, "whole number"),
            (1024, 0, "1 to 64"),
            (1 << 20, 65, "1 to 64"),
            (1 << 20, 3, "1048512 would be"),
            (1 << 40, 16, "too large"),
        ] {
            let error = of(bytes, ways).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn a_line_s_set_is_its_remainder() {
        for sets in [1, 3, 4, 96, 128] {
            let geometry = Geometry { sets, ways: 1 };
            for line in [0, 1, 95, 12_345, u64::MAX] {
                assert_eq!(geometry.set_of(line) as u64, line % sets as u64);
            }
        }
    }
}
