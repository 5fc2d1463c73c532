//! System calls that change what memory a process has.

/// Kinds of mappings that are not extended: shared, of files, of huge pages, locked, and stacks,
/// which grow.
const OTHER_KINDS: i32 =
    libc::MAP_SHARED | libc::MAP_HUGETLB | libc::MAP_LOCKED | libc::MAP_STACK | libc::MAP_GROWSDOWN;

/// A system call that changes mappings, or gives their pages back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// Memory is mapped.
    Map {
        /// Where other mappings make room for it; none if the kernel chooses an address.
        over: Option<u64>,
        bytes: u64,
        /// Whether it is of the kind that is extended.
        fits: bool,
    },
    /// Memory is unmapped.
    Unmap { start: u64, bytes: u64 },
    /// A mapping gets another size, and may move.
    Resize {
        start: u64,
        old: u64,
        new: u64,
        /// Where other mappings make room for it; none if the kernel chooses an address.
        over: Option<u64>,
    },
    /// Pages are given back, and their mapping stays.
    Discard { start: u64, bytes: u64 },
    /// The heap gets another end, if the kernel agrees.
    Break,
}

impl Call {
    /// Returns what a system call with these arguments does to mappings; none if that is nothing of
    /// interest.
    pub fn of(number: i64, [a, b, c, d, e]: [u64; 5]) -> Option<Self> {
        match number {
            libc::SYS_mmap => {
                let (protection, flags) = (c as i32, d as i32);
                let anonymous = flags & (libc::MAP_ANONYMOUS | OTHER_KINDS) == libc::MAP_ANONYMOUS;
                // Reserved address space is not memory yet.
                let usable =
                    protection & libc::PROT_WRITE != 0 && protection & libc::PROT_EXEC == 0;
                Some(Self::Map {
                    over: (flags & libc::MAP_FIXED != 0).then_some(a),
                    bytes: b,
                    fits: anonymous && usable,
                })
            }
            libc::SYS_munmap => Some(Self::Unmap { start: a, bytes: b }),
            libc::SYS_mremap => Some(Self::Resize {
                start: a,
                old: b,
                new: c,
                over: (d as i32 & libc::MREMAP_FIXED != 0).then_some(e),
            }),
            libc::SYS_madvise => {
                let gives_back = matches!(
                    c as i32,
                    libc::MADV_DONTNEED | libc::MADV_FREE | libc::MADV_REMOVE
                );
                gives_back.then_some(Self::Discard { start: a, bytes: b })
            }
            libc::SYS_brk => Some(Self::Break),
            _ => None,
        }
    }
}
