//! Pages that the kernel has been given of files that change without making another version.
//!
//! A file that others have open for writing may be stored to at any moment, and nothing tells. So the kernel forgets its
//! pages a moment later, and asks again.

use std::sync::{Arc, Condvar, Mutex, Weak};
use std::time::Duration;

use fuser::Notifier;
use terrace_base::lock;

use super::nodes::Node;
use crate::file::Version;

/// How long the kernel keeps such pages.
const KEPT: Duration = Duration::from_millis(500);

/// What the kernel's page cache has of a file.
#[derive(Default)]
pub(super) struct Kept {
    /// The version that its pages are of.
    version: Option<Version>,
    /// Whether it has pages that may not be of that version, or not be for long.
    is_uncertain: bool,
    /// Changes through the mount so far.
    begun: u64,
    /// Those of them that have not ended.
    under_way: u64,
}

/// A change of a file through the mount, until it is dropped. The version moves before the bytes
/// do, and what is read in between is of neither.
pub(super) struct Changing<'a>(&'a Mutex<Kept>);

impl<'a> Changing<'a> {
    pub fn begin(kept: &'a Mutex<Kept>) -> Self {
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

impl Kept {
    /// Returns a number that stays the same until the next change through the mount; `None` during
    /// one.
    pub fn at_rest(&self) -> Option<u64> {
        (self.under_way == 0).then_some(self.begun)
    }

    /// Whether the pages may stay when the file is opened as of this version, or cannot be used any more: the kernel drops
    /// them then.
    pub fn is_of(&mut self, now: Option<Version>) -> bool {
        let is_same = now.is_some() && self.version == now && !self.is_uncertain;
        if !is_same {
            (self.version, self.is_uncertain) = (now, false);
        }
        is_same
    }
}

/// The files of which the kernel has such pages.
#[derive(Default)]
pub(super) struct Uncertain {
    list: Mutex<List>,
    ended: Condvar,
}

#[derive(Default)]
struct List {
    nodes: Vec<Weak<Node>>,
    has_ended: bool,
}

impl Uncertain {
    /// Notes that the kernel is given pages of a file, which are of this version for certain, if of any.
    pub fn given(&self, node: &Arc<Node>, version: Option<Version>) {
        let mut kept = lock(&node.kept);
        let is_certain = version.is_some() && kept.version == version;
        if !is_certain && !kept.is_uncertain {
            kept.is_uncertain = true;
            lock(&self.list).nodes.push(Arc::downgrade(node));
        }
    }

    /// Has the kernel forget them until the end of the mount.
    pub fn forget_until_end(self: Arc<Self>, kernel: Notifier) {
        std::thread::spawn(move || {
            while let Some(nodes) = self.wait() {
                for node in nodes.iter().filter_map(Weak::upgrade) {
                    let was = std::mem::take(&mut lock(&node.kept).is_uncertain);
                    if was {
                        // A file that the kernel does not know any more has no pages.
                        let _ = kernel.inval_inode(node.number, 0, 0);
                    }
                }
            }
        });
    }

    /// Ends it.
    pub fn end(&self) {
        lock(&self.list).has_ended = true;
        self.ended.notify_all();
    }

    fn wait(&self) -> Option<Vec<Weak<Node>>> {
        let goes_on = |list: &mut List| !list.has_ended;
        let waited = self
            .ended
            .wait_timeout_while(lock(&self.list), KEPT, goes_on);
        let mut list = waited.unwrap_or_else(|e| e.into_inner()).0;
        (!list.has_ended).then(|| std::mem::take(&mut list.nodes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_rests_while_nothing_changes_it() {
        let kept = Mutex::new(Kept::default());
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
