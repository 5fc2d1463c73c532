//! A file system that a command has mounted.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use terrace_base::{Context, Error, Result, mounts};

use crate::journal::{Awaited, Change, DeadRun};

/// A directory was mounted on.
#[derive(Debug, Serialize, Deserialize)]
pub struct Mount(pub PathBuf);

#[typetag::serde(name = "mount")]
impl Change for Mount {
    fn is_undone(&self) -> bool {
        !mounts::is_mounted(&self.0)
    }

    /// Unmounts what no process serves any more. What is mounted there may be of a later process.
    fn undo(&self, run: &DeadRun, _say: &mut dyn FnMut(&str)) -> Result<()> {
        let unmounted = mounts::unmount_dead(&self.0);
        let dead = unmounted.or_fail(|| "it cannot be unmounted".into())?;
        if dead || self.is_undone() || (run.is_anothers)(self) {
            return Ok(());
        }
        Err(Error::failure("a process serves it"))
    }

    /// Ends the mount: a thread of its process waits in the kernel for pages that other threads
    /// would have brought, and keeps the process from ending.
    fn abort(&self) {
        let _ = mounts::abort(&self.0);
    }

    fn awaited(&self, _owner: u32) -> Option<Awaited> {
        (!self.is_undone()).then_some(Awaited::Mount)
    }
}

impl fmt::Display for Mount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the mount on {}", self.0.display())
    }
}
