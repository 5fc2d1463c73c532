//! Pages that the kernel has been given of files that change without making another version.
//!
//! A file that others have open for writing may be stored to at any moment, and nothing tells. So
//! the kernel forgets its pages a moment later, and asks again.

use std::sync::{Arc, Condvar, Mutex, Weak};
use std::time::Duration;

use fuser::Notifier;
use terrace_base::lock;

use super::nodes::Node;
use crate::file::Version;

/// How long the kernel keeps such pages.
const KEPT: Duration = Duration::from_millis(500);

/// The files that the kernel has such pages of.
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
    /// Notes that the kernel is given pages of a file, which are of this version for certain, if of
    /// any.
    pub fn given(&self, node: &Arc<Node>, version: Option<Version>) {
        let mut kept = lock(&node.kernel_cache);
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
                    let was = std::mem::take(&mut lock(&node.kernel_cache).is_uncertain);
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
