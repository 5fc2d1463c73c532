//! What the kernel's page cache keeps of a file, and in what version.

use std::sync::Mutex;

use terrace_base::lock;

use crate::file::Version;

/// What the kernel's page cache has of a file.
#[derive(Default)]
pub(super) struct KernelCache {
    /// The version that its pages are of.
    pub version: Option<Version>,
    /// Whether it has pages that may not be of that version, or not be for long.
    pub is_uncertain: bool,
    /// Changes through the mount so far.
    begun: u64,
    /// Those of them that have not ended.
    under_way: u64,
}

/// A change of a file through the mount, until it is dropped. The version moves before the bytes
/// do, and what is read in between is of neither.
pub(super) struct Changing<'a>(&'a Mutex<KernelCache>);

impl<'a> Changing<'a> {
    pub fn begin(kept: &'a Mutex<KernelCache>) -> Self {
        let mut state = lock(kept);
        state.begun += 1;
        state.under_way += 1;
        Self(kept)
    }
}

impl Drop for Changing<'_> {
    fn drop(&mut self) {
        lock(self.0).under_way -= 1;
    }
}

impl KernelCache {
    /// Returns a number that stays the same until the next change through the mount; `None` during
    /// one.
    pub fn at_rest(&self) -> Option<u64> {
        (self.under_way == 0).then_some(self.begun)
    }

    /// Whether the pages may stay when the file is opened as of this version, or cannot be used any
    /// more: the kernel drops them then.
    pub fn is_of(&mut self, now: Option<Version>) -> bool {
        let is_same = now.is_some() && self.version == now && !self.is_uncertain;
        if !is_same {
            (self.version, self.is_uncertain) = (now, false);
        }
        is_same
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_rests_while_nothing_changes_it() {
        let kept = Mutex::new(KernelCache::default());
        let before = lock(&kept).at_rest();
        assert!(before.is_some());
        let (first, second) = (Changing::begin(&kept), Changing::begin(&kept));
        assert_eq!(lock(&kept).at_rest(), None);
        drop(first);
        assert_eq!(lock(&kept).at_rest(), None);
        drop(second);
        let after = lock(&kept).at_rest();
        assert!(
            after.is_some() && after != before,
            "a change lies in between"
        );
        // What the kernel is told of an open file is no change.
        lock(&kept).is_of(None);
        assert_eq!(lock(&kept).at_rest(), after);
    }
}
