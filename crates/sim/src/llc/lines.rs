//! Numbers of cache lines from addresses, and back.

use terrace_base::{Error, Result};

/// Bits of a line within its process; the bits above number the process.
const LINE_BITS: u32 = 45;
/// Bits of a process: a line's number has 63 bits, which leaves a cache one for a dirty bit.
const SPACE_BITS: u32 = 18;

/// The division of addresses into lines.
///
/// A line's number is 45 bits of its virtual address with the number of the process above them:
/// processes never share a line, not even of a page that the kernel would share. Addresses are
/// sign-extended, so the kernel's half fits, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lines {
    shift: u32,
}

/// The address space of a process, as the upper bits of its lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space(u64);

impl Lines {
    /// Divides addresses into lines of `bytes`.
    ///
    /// # Errors
    /// A usage error where that is no power of two from 8 to 4096.
    pub fn new(bytes: u64) -> Result<Self> {
        if !bytes.is_power_of_two() || !(8..=4096).contains(&bytes) {
            return Err(Error::usage(format!(
                "a line of {bytes} bytes cannot be; it has a power of two from 8 to 4096"
            )));
        }
        let shift = bytes.trailing_zeros();
        Ok(Self { shift })
    }

    /// Returns the bytes of a line.
    pub fn bytes(self) -> u64 {
        1 << self.shift
    }

    /// Returns the binary logarithm of the bytes of a line.
    #[inline]
    pub fn shift(self) -> u32 {
        self.shift
    }

    /// Returns the line of the process `space` at `address >> shift`.
    #[inline]
    pub fn of(self, space: Space, shifted: u64) -> u64 {
        shifted & ((1 << LINE_BITS) - 1) | space.0
    }

    /// Whether the bits of a line distinguish the address from all others.
    #[inline]
    pub fn fits(self, address: u64) -> bool {
        let unused = 64 - LINE_BITS - self.shift;
        (address << unused).cast_signed() >> unused == address.cast_signed()
    }

    /// Returns the virtual address at which a line begins.
    pub fn address(self, line: u64) -> u64 {
        let unused = 64 - LINE_BITS;
        let shifted = (line << unused).cast_signed() >> unused;
        shifted.cast_unsigned() << self.shift
    }
}

impl Space {
    /// Returns the address space of a process of the program `program`, of `programs`.
    ///
    /// # Errors
    /// A usage error where there are too many programs or processes.
    pub fn new(program: usize, programs: usize, process: u16) -> Result<Self> {
        let number = program + programs * usize::from(process);
        // The last number is left out: no line has all bits set.
        if number >= (1 << SPACE_BITS) - 1 {
            return Err(Error::usage(format!(
                "process {process} of {programs} programs is one too many to tell apart; simulate fewer traces together"
            )));
        }
        Ok(Self((number as u64) << LINE_BITS))
    }

    /// Returns the bits of the space in its lines.
    pub fn bits(self) -> u64 {
        self.0
    }

    /// Returns the number of the process that a line belongs to.
    pub fn of_line(line: u64) -> u64 {
        line >> LINE_BITS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_comes_back_from_its_line() {
        let lines = Lines::new(64).unwrap();
        let space = Space::new(1, 2, 3).unwrap();
        for address in [
            0,
            64,
            0x7fff_ffff_ffc0,
            0xffff_8000_0000_0040,
            u64::MAX - 63,
        ] {
            assert!(lines.fits(address), "{address:x}");
            let line = lines.of(space, address >> lines.shift());
            assert_eq!(lines.address(line), address, "{address:x}");
            assert_eq!(Space::of_line(line), 7);
        }
        assert!(!lines.fits(1 << 55));
    }

    #[test]
    fn processes_share_nothing() {
        let lines = Lines::new(64).unwrap();
        let mut seen = std::collections::HashSet::new();
        for (program, process) in [(0, 0), (1, 0), (0, 1), (1, 1), (0, u16::MAX)] {
            let space = Space::new(program, 2, process).unwrap();
            for shifted in [0, 1, (1 << 45) - 1] {
                let line = lines.of(space, shifted);
                assert!(seen.insert(line) && line >> 63 == 0);
            }
        }
        assert!(Space::new(7, 8, u16::MAX).is_err());
    }

    #[test]
    fn sizes_that_cannot_be_are_refused() {
        for bytes in [0, 4, 48, 8192] {
            let error = Lines::new(bytes).unwrap_err().to_string();
            assert!(error.contains("power of two"), "{error}");
        }
    }
}
