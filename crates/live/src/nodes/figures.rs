//! Figures of the pages of a run on two nodes.

use std::collections::BTreeMap;
use std::time::Duration;

use terrace_base::Bytes;

use super::timeline::Moment;

/// Figures of a run whose pages move between two nodes.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    /// The node with DRAM.
    pub fast: u32,
    /// The node with slower memory.
    pub slow: u32,
    /// Memory of the program on each node over time, by the kernel's count.
    pub timeline: Vec<Moment>,
    /// The most that lay on the fast node at any look.
    pub peak_fast: Bytes,
    /// Pages that went to the fast node.
    pub promoted: u64,
    /// Pages that went to the slow node.
    pub demoted: u64,
    /// Pages that should have moved and did not, by the name of the error.
    pub failed: BTreeMap<String, u64>,
    /// Accesses that were seen, a hint fault each.
    pub seen: u64,
    /// Faults that were not seen, as too many came at once.
    pub unseen: u64,
    /// Looks at all page tables.
    pub looks: u64,
    /// Pages known at the last look.
    pub known: u64,
    /// Processor time of watching, deciding and moving.
    pub cpu: Duration,
    /// Time by which a load of the slow node was measured to take longer, in picoseconds.
    pub slower_ps: u64,
}

impl Figures {
    /// Counts pages that were not moved for this error.
    pub(super) fn fail(&mut self, error: i32, pages: u64) {
        *self.failed.entry(name(error)).or_default() += pages;
    }
}

/// Returns the name of an error of move_pages(2).
fn name(error: i32) -> String {
    let known = match error {
        libc::EACCES => "EACCES",
        libc::EAGAIN => "EAGAIN",
        libc::EBUSY => "EBUSY",
        libc::EFAULT => "EFAULT",
        libc::EINVAL => "EINVAL",
        libc::EIO => "EIO",
        libc::ENODEV => "ENODEV",
        libc::ENOENT => "ENOENT",
        libc::ENOMEM => "ENOMEM",
        libc::EPERM => "EPERM",
        libc::ESRCH => "ESRCH",
        other => return format!("error {other}"),
    };
    known.to_owned()
}
