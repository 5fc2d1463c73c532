//! One swap area: made, switched on, switched off, removed.

use std::fmt;
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use terrace_base::block;
use terrace_base::{Bytes, Context, Error, Result};
use uuid::Uuid;

use super::holders::holders;
use super::identity::Identity;
use super::swapoff::switch_off;
use super::{file, swaps, zram};
use crate::journal::names::require_name_of;
use crate::journal::{Awaited, Change, DeadRun};
use crate::system::lock::Say;

/// The smallest area worth having.
pub const SMALLEST: Bytes = Bytes(64 << 20);

/// A swap area of a run, as the journal records it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Area {
    /// A file of this size, or smaller if the disk has no room.
    File(PathBuf, Bytes),
    /// A block device.
    Device(PathBuf),
    /// A zram device: its number, its size, and whether the run added it.
    Zram(u32, Bytes, bool),
}

impl Area {
    /// Returns the path of the area.
    pub fn path(&self) -> PathBuf {
        match self {
            Self::File(path, _) | Self::Device(path) => path.clone(),
            Self::Zram(number, ..) => zram::path(*number),
        }
    }

    /// Makes a file, or sizes a zram device. A block device is prepared by its claim.
    pub(crate) fn make(&self, uuid: Uuid) -> Result<()> {
        match self {
            Self::File(path, size) => file::make(path, *size, uuid).map_err(|e| {
                let directory = parent(path);
                Error::usage(format!(
                    "cannot make a swap file of {size} in {directory}: {e}; name a directory \
                     that can be written and has room"
                ))
            }),
            Self::Device(..) => Ok(()),
            Self::Zram(number, size, _) => zram::set_size(*number, *size)
                .and_then(|()| block::format(&self.path(), uuid))
                .or_fail(|| format!("cannot prepare {}", self.path().display())),
        }
    }

    pub(super) fn switch_on(&self) -> Result<()> {
        let path = self.path();
        swaps::switch_on(&path).map_err(|error| {
            let advice = match error.raw_os_error() {
                Some(libc::EPERM) => {
                    "CAP_SYS_ADMIN is needed (run as root), and less than 29 areas in use"
                }
                Some(libc::EINVAL) => {
                    "this file system holds no swap files, name another directory"
                }
                Some(libc::EBUSY) => "it is in use already",
                _ => "choose another tier",
            };
            Error::failure(format!(
                "cannot swap to {}: {error}; {advice}",
                path.display()
            ))
        })
    }

    /// Whether the kernel swaps to it now.
    pub fn is_on(&self) -> bool {
        swaps::find(&self.path()).is_some()
    }

    /// Returns the bytes in use.
    pub(crate) fn used(&self) -> Bytes {
        swaps::find(&self.path()).map_or(Bytes(0), |swap| swap.used)
    }

    /// Returns the intended size; `None` for a device, which has its own.
    pub(super) fn size(&self) -> Option<Bytes> {
        match self {
            Self::File(_, size) | Self::Zram(_, size, _) => Some(*size),
            Self::Device(_) => None,
        }
    }

    /// Whether it is completely removed.
    pub fn is_undone(&self) -> bool {
        match self {
            Self::File(path, _) => !path.exists(),
            Self::Device(..) => !self.is_on(),
            Self::Zram(number, _, true) => !zram::exists(*number),
            Self::Zram(..) => !self.is_on(),
        }
    }

    /// Whether it can outlive a boot: only files do; others are gone, and their names may be
    /// reused.
    pub fn outlives_boot(&self) -> bool {
        matches!(self, Self::File(..))
    }

    /// Switches it off and removes it, if its identity matches. Does nothing if that was done
    /// before. `rebooted` says that it was made before the last boot. What is waited for is told to
    /// `say`.
    ///
    /// # Errors
    /// A failure if something else lies there, what is in it has no room elsewhere, or the file
    /// cannot be removed.
    pub(crate) fn remove(&self, identity: &Identity, rebooted: bool, say: Say) -> Result<()> {
        let path = self.path();
        let what = || format!("cannot take back the swap area {}", path.display());
        if let (Self::Zram(number, size, added), None) = (self, identity.node) {
            if !zram::exists(*number) {
                return Ok(());
            }
            if !zram::is_half_made(*number, *size) {
                let shown = path.display();
                return Err(Error::failure(format!(
                    "{shown} has another size than the run's"
                )));
            }
            if zram::is_bare(*number) {
                return zram::remove(*number, *added).or_fail(what);
            }
        }
        let file = identity.open(&path, rebooted)?;
        if let Some(file) = &file {
            switch_off(&path, file, say)?;
        }
        match (self, file) {
            (Self::File(..), Some(_)) => fs::remove_file(&path),
            (Self::Device(_), Some(file)) => {
                block::give_back(&swaps::path_of(&file), identity.uuid)
            }
            // Without a node the run was killed before it wrote a header.
            (Self::Zram(number, _, added), file) if file.is_some() || identity.node.is_none() => {
                drop(file);
                zram::remove(*number, *added)
            }
            _ => Ok(()),
        }
        .or_fail(what)
    }
}

impl fmt::Display for Area {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path, size) => write!(f, "swap file of {size} in {}", parent(path)),
            Self::Device(path) => write!(f, "device {}", path.display()),
            Self::Zram(_, size, _) => write!(f, "zram of {size}"),
        }
    }
}

/// A swap area was made.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Made(pub Area, pub Identity);

#[typetag::serde(name = "tier")]
impl Change for Made {
    /// More may come to be known of the identity of an area.
    fn subject(&self) -> Option<String> {
        serde_json::to_string(&self.0).ok()
    }

    fn path(&self) -> Option<PathBuf> {
        Some(self.0.path())
    }

    fn is_undone(&self) -> bool {
        self.0.is_undone()
    }

    fn outlives_boot(&self) -> bool {
        self.0.outlives_boot()
    }

    fn found(&self) -> String {
        match self.0.is_on() {
            true => format!("{self} is on"),
            false => format!("{self} is there"),
        }
    }

    fn undo(&self, run: &DeadRun, say: Say) -> Result<()> {
        match &self.0 {
            Area::File(path, _) => require_name_of(run.owner, path)?,
            Area::Device(path) => hold_device(path)?,
            Area::Zram(..) => {}
        }
        self.0.remove(&self.1, run.rebooted, say)
    }

    fn awaited(&self, _owner: u32) -> Option<Awaited> {
        (self.0.used() > Bytes(0)).then_some(Awaited::Room)
    }

    fn holders(&self) -> Option<Vec<u32>> {
        Some(holders().iter().map(|holder| holder.pid).collect())
    }

    fn shared(&self) -> Option<Bytes> {
        Some(self.0.used())
    }

    fn is_in_use(&self) -> bool {
        self.0.is_on()
    }
}

impl fmt::Display for Made {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the swap area {}", self.0.path().display())
    }
}

/// Checks that a path leads to a block device, if it exists, so that nothing is written to a file.
fn hold_device(path: &Path) -> Result<()> {
    match fs::metadata(path) {
        Ok(found) if !found.file_type().is_block_device() => Err(Error::failure(format!(
            "{} is no block device",
            path.display()
        ))),
        _ => Ok(()),
    }
}

fn parent(path: &Path) -> std::path::Display<'_> {
    path.parent().unwrap_or(path).display()
}
