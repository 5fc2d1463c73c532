//! The pages to which a recording can be restricted: those that `terrace extend` would put into
//! extended memory.
//!
//! These are the pages of private anonymous mappings from a size on, as `terrace-preload`
//! chooses them; a large block of `malloc` has such a mapping. Both rules have to agree. A table
//! has a bit for each page of the address space, and takes memory only where bits were set. A
//! forked child inherits it, as it inherits the mappings.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::call::Call;
use crate::mapping;
use crate::page::{BYTES, SHIFT};

/// Bits of an address of a program on x86-64.
const ADDRESS_BITS: u32 = 47;
/// Words of the table.
const WORDS: usize = 1 << (ADDRESS_BITS - SHIFT - u64::BITS.ilog2());

/// The extended pages of a process.
#[derive(Debug)]
pub struct Extended {
    /// Bytes of the least mapping.
    least: u64,
    /// `WORDS` words, which are never unmapped.
    table: *const AtomicU64,
}

// SAFETY: the words are atomic, and stay mapped.
unsafe impl Send for Extended {}
// SAFETY: as above.
unsafe impl Sync for Extended {}

impl Extended {
    /// Makes the table of a process without mappings of `least` bytes or more.
    ///
    /// # Errors
    /// Returns the error of the system, which refused the memory.
    pub fn new(least: u64) -> io::Result<Self> {
        let table = mapping::zeros(WORDS * size_of::<AtomicU64>())?;
        Ok(Self {
            least,
            table: table.cast_const().cast(),
        })
    }

    /// Whether an address lies in an extended page.
    #[inline]
    pub fn holds(&self, address: u64) -> bool {
        let page = address >> SHIFT;
        let word = self.word((page / u64::from(u64::BITS)) as usize);
        word.is_some_and(|word| word.load(Ordering::Relaxed) & bit(page) != 0)
    }

    /// A call begins: what it unmaps may be another mapping before it has returned.
    pub fn begin(&self, call: &Call) {
        match *call {
            Call::Map {
                over: Some(start),
                bytes,
                ..
            }
            | Call::Unmap { start, bytes } => self.mark(start, bytes, false),
            _ => {}
        }
    }

    /// A call has returned this address, or the negative number of an error.
    pub fn end(&self, call: &Call, result: i64) {
        let Ok(start) = u64::try_from(result) else {
            return;
        };
        match *call {
            // What was here before is not marked any more.
            Call::Map { bytes, fits, .. }
                if fits && bytes.next_multiple_of(BYTES as u64) >= self.least =>
            {
                self.mark(start, bytes, true);
            }
            Call::Resize {
                start: before,
                old,
                new,
                ..
            } => {
                let extended = self.holds(before);
                self.mark(before, old, false);
                self.mark(start, new, extended);
            }
            _ => {}
        }
    }

    /// Marks the pages of a range as extended or not.
    fn mark(&self, start: u64, bytes: u64, extended: bool) {
        let bits = u64::from(u64::BITS);
        let (mut page, end) = (
            start >> SHIFT,
            start.saturating_add(bytes).div_ceil(BYTES as u64),
        );
        while page < end {
            let next = end.min((page / bits + 1) * bits);
            let Some(word) = self.word((page / bits) as usize) else {
                return;
            };
            let mask = (u64::MAX >> (bits - (next - page))) << (page % bits);
            // Pages without a bit take no memory, and it is not taken to clear bits that are not
            // set.
            if extended {
                word.fetch_or(mask, Ordering::Relaxed);
            } else if word.load(Ordering::Relaxed) & mask != 0 {
                word.fetch_and(!mask, Ordering::Relaxed);
            }
            page = next;
        }
    }

    #[inline]
    fn word(&self, at: usize) -> Option<&AtomicU64> {
        // SAFETY: the word lies in the table, which is zeros at first and stays mapped.
        (at < WORDS).then(|| unsafe { &*self.table.add(at) })
    }
}

/// Returns the bit of a page in its word.
fn bit(page: u64) -> u64 {
    1 << (page % u64::from(u64::BITS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    const PRIVATE: i32 = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    const USABLE: i32 = libc::PROT_READ | libc::PROT_WRITE;

    fn map(start: u64, bytes: u64, protection: i32, flags: i32) -> Call {
        let arguments = [start, bytes, protection as u64, flags as u64, u64::MAX];
        Call::of(libc::SYS_mmap, arguments).unwrap()
    }

    fn call(extended: &Extended, call: &Call, result: u64) {
        extended.begin(call);
        extended.end(call, result.cast_signed());
    }

    #[test]
    fn kinds_of_mappings() {
        let extended = Extended::new(1 << 20).unwrap();
        let is_extended = |bytes, protection, flags| {
            let unmap = Call::of(libc::SYS_munmap, [1 << 40, 1 << 30, 0, 0, 0]).unwrap();
            call(&extended, &unmap, 0);
            call(&extended, &map(0, bytes, protection, flags), 1 << 40);
            extended.holds(1 << 40)
        };
        assert!(is_extended(1 << 20, USABLE, PRIVATE));
        // A byte less is a page less only if it is one by itself.
        assert!(is_extended((1 << 20) - 1, USABLE, PRIVATE));
        assert!(!is_extended((1 << 20) - 4096, USABLE, PRIVATE));
        assert!(!is_extended(1 << 30, libc::PROT_NONE, PRIVATE));
        assert!(!is_extended(1 << 30, USABLE | libc::PROT_EXEC, PRIVATE));
        assert!(!is_extended(1 << 30, USABLE, libc::MAP_PRIVATE));
        assert!(!is_extended(1 << 30, USABLE, PRIVATE | libc::MAP_STACK));
        assert!(!is_extended(
            1 << 30,
            USABLE,
            libc::MAP_SHARED | libc::MAP_ANONYMOUS
        ));
    }

    #[test]
    fn addresses_that_no_program_has_are_in_no_mapping() {
        let extended = Extended::new(4096).unwrap();
        call(
            &extended,
            &map(0, 1 << 20, USABLE, PRIVATE),
            (1 << 47) - 4096,
        );
        assert!(extended.holds((1 << 47) - 1));
        assert!(!extended.holds(1 << 47) && !extended.holds(u64::MAX));
        extended.end(&map(0, 4096, USABLE, PRIVATE), -i64::from(libc::ENOMEM));
        assert!(!extended.holds(u64::MAX - 4096));
    }

    #[test]
    fn a_mapping_that_moves_stays_what_it_is() {
        let extended = Extended::new(1 << 20).unwrap();
        call(&extended, &map(0, 1 << 20, USABLE, PRIVATE), 1 << 30);
        let arguments = [1 << 30, 1 << 20, 1 << 21, 0, 0];
        let moved = Call::of(libc::SYS_mremap, arguments).unwrap();
        call(&extended, &moved, 1 << 31);
        assert!(!extended.holds(1 << 30) && extended.holds((1 << 31) + (1 << 21) - 1));
        let arguments = [1 << 32, 1 << 20, 1 << 21, 0, 0];
        let other = Call::of(libc::SYS_mremap, arguments).unwrap();
        call(&extended, &other, 1 << 33);
        assert!(!extended.holds(1 << 33));
    }

    proptest! {
        /// The slow twin is a set of pages.
        #[test]
        fn ranges_are_those_of_a_set(
            changes in prop::collection::vec((0..300_u64, 1..200_u64, any::<bool>(), any::<bool>()), 1..30)
        ) {
            let extended = Extended::new(50 << SHIFT).unwrap();
            let mut pages = HashSet::new();
            for (from, count, maps, fixed) in changes {
                let (start, bytes) = (from << SHIFT, count << SHIFT);
                (from..from + count).for_each(|page| {
                    pages.remove(&page);
                });
                // Where the kernel chooses, nothing is mapped.
                if !(maps && fixed) {
                    let unmap = Call::of(libc::SYS_munmap, [start, bytes, 0, 0, 0]).unwrap();
                    call(&extended, &unmap, 0);
                }
                if maps {
                    let flags = PRIVATE | if fixed { libc::MAP_FIXED } else { 0 };
                    call(&extended, &map(start, bytes, USABLE, flags), start);
                    if count >= 50 {
                        pages.extend(from..from + count);
                    }
                }
                for page in 0..520 {
                    prop_assert_eq!(extended.holds(page << SHIFT | 7), pages.contains(&page), "{}", page);
                }
            }
        }
    }
}
