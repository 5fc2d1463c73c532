//! Which children of a combination named a page, in the upper half of a source.

use super::MOST_CHILDREN;
use crate::prefetch::Source;

/// The owner's own source in the lower half; in the upper half a bit for each child that named the
/// page, and above these the number of the owner, which hears outcomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tag(u64);

const BITS: u32 = 32;
const OWNER: u32 = BITS + MOST_CHILDREN as u32;
const OWN: u64 = (1 << BITS) - 1;
const CHILDREN: u64 = (1 << OWNER) - (1 << BITS);

impl Tag {
    /// Tag of a page that only `child` named.
    pub(super) fn of(child: usize, own: Source) -> Self {
        Self((child as u64) << OWNER | 1 << (BITS as usize + child) | own.0 & OWN)
    }

    pub(super) fn from(source: Source) -> Self {
        Self(source.0)
    }

    pub(super) fn source(self) -> Source {
        Source(self.0)
    }

    /// Tag with the same owner and the children of both tags.
    pub(super) fn with(self, other: Self) -> Self {
        Self(self.0 | other.0 & CHILDREN)
    }

    pub(super) fn owner(self) -> usize {
        (self.0 >> OWNER) as usize
    }

    /// Returns the owner's own source.
    pub(super) fn own(self) -> Source {
        Source(self.0 & OWN)
    }

    pub(super) fn has(self, child: usize) -> bool {
        self.0 & 1 << (BITS as usize + child) != 0
    }

    /// Returns the children that named the page, one bit each, lowest bit first.
    pub(super) fn by(self) -> u8 {
        (self.0 >> BITS) as u8
    }

    /// Whether several children named the page.
    pub(super) fn is_shared(self) -> bool {
        let children = self.0 & CHILDREN;
        children & children.wrapping_sub(1) != 0
    }

    /// Number of children that named the page.
    pub(super) fn children(self) -> usize {
        (self.0 & CHILDREN).count_ones() as usize
    }

    /// Whether both tags belong to one prediction of one child.
    pub(super) fn is_same_prediction(self, other: Self) -> bool {
        (self.owner(), self.own()) == (other.owner(), other.own())
    }
}
