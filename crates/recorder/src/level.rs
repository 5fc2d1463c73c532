//! The level of a trace: what one row is.

/// What one row of a trace is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum Level {
    /// Every access.
    #[default]
    Accesses = 0,
    /// A run of accesses of one thread to one line of 64 bytes.
    Lines = 1,
    /// A run of accesses of one thread to one page of 4 KiB.
    Pages = 2,
}

impl Level {
    /// Every level, from fine to coarse.
    pub const ALL: [Self; 3] = [Self::Accesses, Self::Lines, Self::Pages];

    /// Returns the name in options and traces.
    pub fn name(self) -> &'static str {
        ["accesses", "lines", "pages"][self as usize]
    }

    /// Returns the level with this number.
    pub fn of(number: u32) -> Self {
        let level = Self::ALL.get(number as usize);
        level.copied().unwrap_or_default()
    }

    /// Returns the binary logarithm of the bytes within which accesses are joined; 0: none are
    /// joined.
    pub const fn shift(self) -> u32 {
        [0, 6, 12][self as usize]
    }
}

/// Cuts `bytes` from `address` on where units of 2^`shift` bytes end, and calls `each` with address
/// and bytes of each piece. An access to no byte is one piece. Bytes beyond the last address do not
/// exist.
#[inline(always)]
pub fn pieces(mut address: u64, mut bytes: u32, shift: u32, mut each: impl FnMut(u64, u32)) {
    loop {
        let room = (1 << shift) - (address & ((1 << shift) - 1));
        if u64::from(bytes) <= room {
            return each(address, bytes);
        }
        each(address, room as u32);
        bytes -= room as u32;
        let Some(next) = address.checked_add(room) else {
            return;
        };
        address = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_level_has_its_number() {
        for level in [Level::Accesses, Level::Lines, Level::Pages] {
            assert_eq!(Level::of(level as u32), level);
        }
    }

    proptest! {
        #[test]
        fn pieces_are_the_bytes_of_each_unit(
            address in prop_oneof![0..10_000_u64, u64::MAX - 10_000..u64::MAX - 4096],
            bytes in 1..300_u32, shift in prop_oneof![Just(6_u32), Just(12)],
        ) {
            let mut slow: Vec<(u64, u32)> = Vec::new();
            for byte in (0..u64::from(bytes)).map(|at| address + at) {
                match slow.last_mut() {
                    Some((first, length)) if *first >> shift == byte >> shift => *length += 1,
                    _ => slow.push((byte, 1)),
                }
            }
            let mut fast = Vec::new();
            pieces(address, bytes, shift, |address, bytes| fast.push((address, bytes)));
            prop_assert_eq!(fast, slow);
        }
    }
}
