//! Touches of pages, in the order of a trace.

use terrace_policy::Space;
use terrace_policy::replacement::PageId;
use terrace_trace::changes::Changes;
use terrace_trace::order::Event;

/// One touch of a page by a thread, in 64 bits:
///
/// | bits | what |
/// |---|---|
/// | 0-31 | the page's number |
/// | 32-61 | instructions since the thread's previous touch |
/// | 62 | whether it is no touch, but a line that a cache writes back |
/// | 63 | whether the page is written |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference(u64);

/// The most instructions between two touches that a reference holds; a run holds the rest of a
/// longer pause.
pub(super) const MAX_INSTRUCTIONS: u64 = (1 << 30) - 1;
/// Bit of a line that a cache writes back.
const WRITE_BACK: u64 = 1 << 62;

impl Reference {
    /// Makes a touch of page 0, `instructions` after the previous one.
    #[inline]
    pub fn new(instructions: u64, write: bool) -> Self {
        Self((instructions.min(MAX_INSTRUCTIONS) << 32) | (u64::from(write) << 63))
    }

    /// Makes a line of page 0 that a cache writes back, `instructions` after the thread's previous
    /// touch.
    #[inline]
    pub fn write_back(instructions: u64) -> Self {
        Self(Self::new(instructions, false).0 | WRITE_BACK)
    }

    /// Returns the same touch of `page`.
    #[inline]
    pub fn of(self, page: PageId) -> Self {
        Self((self.0 & !u64::from(u32::MAX)) | u64::from(page.0))
    }

    /// Returns the page.
    #[inline]
    pub fn page(self) -> PageId {
        PageId(self.0 as u32)
    }

    /// Returns the instructions since the thread's previous touch.
    #[inline]
    pub fn instructions(self) -> u64 {
        self.0 >> 32 & MAX_INSTRUCTIONS
    }

    /// Whether the page is written.
    #[inline]
    pub fn write(self) -> bool {
        self.0 >> 63 != 0
    }

    /// True for a cache write-back.
    #[inline]
    pub fn is_write_back(self) -> bool {
        self.0 & WRITE_BACK != 0
    }
}

/// Touches of several threads, in the order of a trace.
#[derive(Debug, Default)]
pub struct Batch {
    /// The touches, and the lines that caches write back between them.
    pub references: Vec<Reference>,
    /// The number of those lines.
    pub write_backs: usize,
    /// The runs of touches by one thread each.
    pub runs: Vec<Run>,
    /// What each touch changes in its page; empty if the trace is read without contents.
    pub changes: Changes,
    /// Whether the page of each touch holds nothing but zeros after it; empty if the trace does not
    /// say, or is read without.
    pub zeros: Vec<bool>,
    /// The line within its page of each touch, 0 to 63; empty unless
    /// [`super::Workload::keep_lines`].
    pub lines: Vec<u8>,
    /// The allocation site of the object that each touch is of; empty unless
    /// [`super::Workload::keep_sites`].
    pub sites: Vec<Option<u32>>,
    /// Pages that were given back, of one run after the other.
    pub discards: Vec<PageId>,
}

/// What a touch is of, beside its page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// The line within the page; 0 where lines are not kept.
    pub line: u8,
    /// The allocation site of the object; none where there is none, or sites are not kept.
    pub site: Option<u32>,
}

impl Batch {
    /// Returns the number of touches.
    pub fn touches(&self) -> usize {
        self.references.len() - self.write_backs
    }

    /// Returns what a touch is of.
    #[inline]
    pub fn target(&self, index: usize) -> Target {
        Target {
            line: self.lines.get(index).copied().unwrap_or(0),
            site: self.sites.get(index).copied().flatten(),
        }
    }
}

/// A run of touches of one thread within a batch, which begins at the end of the previous run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The thread, numbered densely within its program.
    pub thread: u32,
    /// Its address space.
    pub space: Space,
    /// The end of its touches in [`Batch::references`].
    pub end: usize,
    /// The end of the pages in [`Batch::discards`] that the thread gives back before these touches.
    pub discards: usize,
    /// An event that orders the thread with others, before these touches; such a run has none.
    pub order: Option<Event>,
    /// Instructions of the thread before these touches, besides those that the first of them holds.
    pub pause: u64,
}
