//! Finding targets, and finding them again after restarts and redeployments.
//!
//! The control groups of a machine are the one place where units, containers and pods all stand,
//! and what is reclaimed from are groups. So the groups are watched, and names are looked up among
//! them: systemd, container engines and kubelet write them into the names of groups. That works
//! without systemd as well, and from a container that sees the machine's groups. Other names of
//! units are links where systemd has its units. A restart is a group of the same name with another
//! inode: kernels give no number of a group twice.

mod ask;
mod lookup;
mod pods;
mod tree;
mod units;
mod watch;

use std::collections::BTreeMap;
use std::path::PathBuf;

pub use lookup::Lookup;
pub use tree::{Tree, top};
pub use watch::Watch;

/// A control group that is there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Group {
    /// Its directory.
    pub path: PathBuf,
    /// Its inode, which no other group had or will have.
    pub inode: u64,
}

/// The groups of each target, or why they cannot be known.
pub type Found = BTreeMap<String, Result<Vec<Group>, String>>;
