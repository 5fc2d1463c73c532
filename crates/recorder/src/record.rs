//! The record of one access, as the plug-in writes it: 16 bytes.
//!
//! | bits | of `what` | of `whence` |
//! |---|---|---|
//! | 0..48 | the address, its sign in bit 47 | the instruction's address, likewise |
//! | 48..59 | bytes touched, up to 2047 | instructions since the record before it, up to 65535 (16 bits) |
//! | 59 | whether its page holds nothing but zeros after its run | |
//! | 60 | whether it stores | |
//! | 61 | no access but the end of a report: bits 0..32 are the version of the page | its checksum, or 0 |
//! | 62 | no access but a word of a report: bits 0..48 are its address | its 8 bytes |
//! | 61 and 60 | no access, but says of the next: bits 0..8 are the instructions since the load from which its address comes | |
//! | 61 and 62 | no access but pages that were given back: bits 0..48 are the address of the first | their number |
//! | 63 | no access but a mark | the count of instructions, all 64 bits of it |
//! | 63 and 61 | no access but the next call of a stack: bits 0..16 are its module, 65535 if none | its offset |
//! | 63 and 62 | no access but an allocation by the stack before: bits 0..48 are its address | its bytes |
//! | 63, 62 and 61 | no access but an end of an allocation: bits 0..48 are its address | |
//! | 63 and 60 | no access but an event that orders threads: bit 0 says whether it acquires | its point |
//!
//! A mark is written where the instructions between two accesses do not fit into 16 bits. The first
//! record of a chunk counts from [`Chunk::instruction`](crate::pool::Chunk::instruction).
//!
//! The report of a page follows the row whose run it ends, in the same chunk: the words that differ
//! from what was reported of the page before, and the end. Without its end a report is not valid:
//! the process was killed while it made it.

use crate::frame::Frame;
use crate::order::{Event, Point};
use crate::page::SHIFT;

/// Addresses have 48 bits, of which the last is the sign: x86-64 with four levels of page tables.
const ADDRESS_BITS: u32 = 48;
const ADDRESS: u64 = (1 << ADDRESS_BITS) - 1;
const STORE: u64 = 1 << 60;
const ZEROS: u64 = 1 << 59;
const REPORTED: u64 = 1 << 61;
const WORD: u64 = 1 << 62;
const DEPENDS: u64 = REPORTED | STORE;
const DISCARD: u64 = WORD | REPORTED;
const MARK: u64 = 1 << 63;
const FRAME: u64 = MARK | REPORTED;
const ALLOCATED: u64 = MARK | WORD;
const FREED: u64 = MARK | DISCARD;
const ORDER: u64 = MARK | STORE;
/// Whether an event acquires.
const ACQUIRE: u64 = 1;
/// The number of no module.
const NO_MODULE: u16 = u16::MAX;

/// The most bytes of one record.
pub const MAX_BYTES: u32 = (1 << 11) - 1;
/// The most instructions that may lie between two records.
pub const MAX_STEP: u64 = u16::MAX as u64;

/// Bytes touched, whether they are stored, and whether zeros are left, at their place in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind(u16);

impl Kind {
    /// Returns the kind of an access of `bytes`, at most [`MAX_BYTES`].
    pub const fn new(bytes: u32, write: bool) -> Self {
        Self((bytes & MAX_BYTES) as u16 | (write as u16) << 12)
    }

    /// Bytes touched.
    pub const fn bytes(self) -> u32 {
        self.0 as u32 & MAX_BYTES
    }

    /// Returns the kind as a number, which is not 0 where bytes are touched.
    pub const fn to_bits(self) -> u16 {
        self.0
    }

    /// Returns the kind of that number.
    pub const fn from_bits(bits: u16) -> Self {
        Self(bits)
    }

    /// Whether it stores.
    pub const fn write(self) -> bool {
        self.0 & 1 << 12 != 0
    }

    /// Whether the page holds nothing but zeros after the run that it begins; never, where that is
    /// not recorded.
    pub const fn zeros(self) -> bool {
        self.0 & 1 << 11 != 0
    }
}

/// One access.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    what: u64,
    whence: u64,
}

/// The meaning of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// An access.
    Access {
        /// The byte address.
        address: u64,
        /// Bytes touched, and whether it stores.
        kind: Kind,
        /// The address of the instruction.
        ip: u64,
        /// Instructions since the record before it.
        step: u64,
    },
    /// The number of instructions executed before the next access, less its step.
    Instruction(u64),
    /// The address of the next access comes from a load so many instructions before it.
    Depends(u8),
    /// A word that the page of the access before it holds now.
    Word {
        /// The byte address, a multiple of 8.
        address: u64,
        /// The 8 bytes as a number.
        value: u64,
    },
    /// The end of the words of a page.
    Reported {
        /// The number of the report among those of the page, from 1.
        version: u32,
        /// The [checksum](crate::page::checksum) of the page, 0 where none was taken.
        checksum: u64,
    },
    /// Pages that the process gave back to the kernel.
    Discard {
        /// The number of the first.
        page: u64,
        /// How many.
        pages: u64,
    },
    /// A call of the stack of the next allocation, the innermost first.
    Frame(Frame),
    /// An object was allocated.
    Allocated {
        /// The byte address.
        address: u64,
        /// The size.
        bytes: u64,
    },
    /// The object at this address was freed.
    Freed {
        /// The byte address.
        address: u64,
    },
    /// The thread's accesses so far come before accesses of others, or those that follow come
    /// after.
    Order(Event),
}

impl Record {
    /// Records an access. `step`, at most [`MAX_STEP`], counts from the record before it.
    #[inline]
    pub const fn access(address: u64, kind: Kind, ip: u64, step: u64) -> Self {
        Self {
            what: address & ADDRESS | (kind.0 as u64) << ADDRESS_BITS,
            whence: ip & ADDRESS | step << ADDRESS_BITS,
        }
    }

    /// Sets the count of instructions.
    pub const fn instruction(count: u64) -> Self {
        Self {
            what: MARK,
            whence: count,
        }
    }

    /// Reports a word of a page.
    #[inline]
    pub const fn word(address: u64, value: u64) -> Self {
        Self {
            what: address & ADDRESS | WORD,
            whence: value,
        }
    }

    /// Says that the address of the next access comes from a load so many instructions before it.
    #[inline]
    pub const fn depends(instructions: u8) -> Self {
        Self {
            what: DEPENDS | instructions as u64,
            whence: 0,
        }
    }

    /// Ends the report of a page.
    pub const fn reported(version: u32, checksum: u64) -> Self {
        Self {
            what: version as u64 | REPORTED,
            whence: checksum,
        }
    }

    /// Says that pages were given back: the number of the first, and how many.
    pub const fn discard(page: u64, pages: u64) -> Self {
        Self {
            what: (page << SHIFT) & ADDRESS | DISCARD,
            whence: pages,
        }
    }

    /// Says which call of a stack comes next.
    pub fn frame(frame: Frame) -> Self {
        Self {
            what: u64::from(frame.module.unwrap_or(NO_MODULE)) | FRAME,
            whence: frame.offset,
        }
    }

    /// Says that an object was allocated by the stack before.
    pub const fn allocated(address: u64, bytes: u64) -> Self {
        Self {
            what: address & ADDRESS | ALLOCATED,
            whence: bytes,
        }
    }

    /// Says that an object was freed.
    pub const fn freed(address: u64) -> Self {
        Self {
            what: address & ADDRESS | FREED,
            whence: 0,
        }
    }

    /// Says how the thread's accesses are ordered with those of others.
    pub const fn order(event: Event) -> Self {
        match event {
            Event::Release(Point(point)) => Self {
                what: ORDER,
                whence: point,
            },
            Event::Acquire(Point(point)) => Self {
                what: ORDER | ACQUIRE,
                whence: point,
            },
        }
    }

    /// Whether this is an access.
    #[inline]
    pub const fn is_access(self) -> bool {
        self.what & (MARK | WORD | REPORTED) == 0
    }

    /// Returns the same access as a store.
    #[inline]
    pub const fn stored(self) -> Self {
        Self {
            what: self.what | STORE,
            ..self
        }
    }

    /// Returns the same access as one after whose run the page holds nothing but zeros.
    #[inline]
    pub const fn of_zeros(self) -> Self {
        Self {
            what: self.what | ZEROS,
            ..self
        }
    }

    /// Returns the two words.
    #[inline]
    pub const fn words(self) -> [u64; 2] {
        [self.what, self.whence]
    }

    /// Makes a record of two words.
    #[inline]
    pub const fn of([what, whence]: [u64; 2]) -> Self {
        Self { what, whence }
    }

    /// Returns the meaning.
    #[inline]
    pub const fn said(self) -> Said {
        if !self.is_access() {
            return self.said_of_another();
        }
        Said::Access {
            address: extended(self.what),
            kind: Kind((self.what >> ADDRESS_BITS) as u16 & 0x1fff),
            ip: extended(self.whence),
            step: self.whence >> ADDRESS_BITS,
        }
    }

    /// Returns the meaning of what is no access.
    const fn said_of_another(self) -> Said {
        if self.what & MARK != 0 {
            self.said_of_a_mark()
        } else if self.what & DISCARD == DISCARD {
            Said::Discard {
                page: (self.what & ADDRESS) >> SHIFT,
                pages: self.whence,
            }
        } else if self.what & WORD != 0 {
            Said::Word {
                address: extended(self.what),
                value: self.whence,
            }
        } else if self.what & STORE != 0 {
            Said::Depends(self.what as u8)
        } else {
            Said::Reported {
                version: self.what as u32,
                checksum: self.whence,
            }
        }
    }
}

impl Record {
    /// Returns the meaning of a mark, or of a report of allocations.
    const fn said_of_a_mark(self) -> Said {
        match self.what & FREED {
            FREED => Said::Freed {
                address: extended(self.what),
            },
            ALLOCATED => Said::Allocated {
                address: extended(self.what),
                bytes: self.whence,
            },
            FRAME => Said::Frame(Frame {
                module: match self.what as u16 {
                    NO_MODULE => None,
                    module => Some(module),
                },
                offset: self.whence,
            }),
            _ if self.what & STORE != 0 => Said::Order(self.event()),
            _ => Said::Instruction(self.whence),
        }
    }
}

impl Record {
    const fn event(self) -> Event {
        let point = Point(self.whence);
        match self.what & ACQUIRE {
            0 => Event::Release(point),
            _ => Event::Acquire(point),
        }
    }
}

/// Returns the address in the low bits of `word`.
const fn extended(word: u64) -> u64 {
    ((word << (64 - ADDRESS_BITS)) as i64 >> (64 - ADDRESS_BITS)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn address() -> impl Strategy<Value = u64> {
        any::<i64>().prop_map(|bits| (bits >> 16) as u64)
    }

    proptest! {
        #[test]
        fn what_is_written_is_said(
            address in address(), ip in address(),
            bytes in 0..=MAX_BYTES, write: bool, step in 0..=MAX_STEP,
        ) {
            let kind = Kind::new(bytes, write);
            prop_assert_eq!((kind.bytes(), kind.write()), (bytes, write));
            let record = Record::access(address, kind, ip, step);
            prop_assert_eq!(record.said(), Said::Access { address, kind, ip, step });
            prop_assert!(!kind.zeros());
            let Said::Access { kind: of_zeros, .. } = record.of_zeros().said() else {
                panic!("it is an access");
            };
            prop_assert!(of_zeros.zeros());
            prop_assert_eq!((of_zeros.bytes(), of_zeros.write()), (bytes, write));
            let kind = Kind::new(bytes, true);
            prop_assert_eq!(record.stored().said(), Said::Access { address, kind, ip, step });
        }

        #[test]
        fn a_dependence_is_no_access(instructions: u8) {
            let depends = Record::depends(instructions);
            prop_assert_eq!(depends.said(), Said::Depends(instructions));
            prop_assert!(!depends.is_access());
        }

        #[test]
        fn a_mark_is_no_access(count: u64) {
            prop_assert_eq!(Record::instruction(count).said(), Said::Instruction(count));
        }

        #[test]
        fn a_report_is_no_access(address in address(), value: u64, version: u32) {
            let word = Record::word(address, value);
            prop_assert_eq!(word.said(), Said::Word { address, value });
            let end = Record::reported(version, value);
            prop_assert_eq!(end.said(), Said::Reported { version, checksum: value });
            prop_assert!(!word.is_access() && !end.is_access());
        }

        #[test]
        fn an_allocation_is_no_access(address in address(), bytes: u64, module in prop::option::of(0..NO_MODULE)) {
            let frame = Frame { module, offset: bytes };
            let records = [
                (Record::frame(frame), Said::Frame(frame)),
                (Record::allocated(address, bytes), Said::Allocated { address, bytes }),
                (Record::freed(address), Said::Freed { address }),
            ];
            for (record, said) in records {
                prop_assert_eq!(record.said(), said);
                prop_assert!(!record.is_access());
            }
        }

        #[test]
        fn an_order_of_threads_is_no_access(point: u64) {
            for event in [Event::Release(Point(point)), Event::Acquire(Point(point))] {
                let record = Record::order(event);
                prop_assert_eq!(record.said(), Said::Order(event));
                prop_assert!(!record.is_access());
            }
        }

        #[test]
        fn what_is_given_back_is_no_access(page in 0..1_u64 << 36, pages: u64) {
            let discard = Record::discard(page, pages);
            prop_assert_eq!(discard.said(), Said::Discard { page, pages });
            prop_assert!(!discard.is_access());
        }
    }
}
