//! The lower of two levels: the file or device to which zram writes pages.
//!
//! It has a swap header like any area, by which it is recognised, although the kernel never swaps
//! to it: zram leaves the first page alone. The journal has it as an area of its own, before the
//! zram device.

use std::fmt;
use std::fs::File;

use terrace_base::block::Claim;
use terrace_base::{Context, Error, Result};

use super::area::{Area, Made};
use super::device;
use super::identity::Identity;
use super::loop_device::LoopDevice;
use super::{Demand, Spec, file, sizes, zram};
use crate::journal::Journal;
use crate::system::lock::Say;

/// The file or device; removed, or blank again, when dropped. The zram device must have been reset
/// by then.
#[derive(Debug)]
pub(super) struct Lower {
    area: Area,
    identity: Identity,
    /// The device until it is made.
    claim: Option<Claim>,
    /// Whether it is removed already, or left to other runs.
    is_settled: bool,
}

impl Lower {
    /// Plans a file in a directory, or claims a device; changes nothing yet. `demand` says what it
    /// has to hold; if that is unknown, a file may become as large as a tier that grows.
    ///
    /// # Errors
    /// A usage error if it cannot be what was asked for.
    pub fn plan(disk: &Spec, demand: &Demand, journal: &Journal) -> Result<Self> {
        let (area, claim) = match disk {
            Spec::Device { path, force } => {
                let claim = device::claim(path, demand.least(), *force)?;
                (Area::Device(claim.path.clone()), Some(claim))
            }
            Spec::Directory(directory) => {
                let (_, bound) = sizes(directory, demand)?;
                let path = journal.path_for(directory, "backing");
                (Area::File(path, bound.size()), None)
            }
            Spec::TwoLevels(_) | Spec::Zram | Spec::Existing | Spec::Node(_) => {
                return Err(Error::usage(
                    "idle pages go from zram to a disk; name a directory or a block device after `zram+`",
                ));
            }
        };
        Ok(Self {
            area,
            identity: Identity::fresh(),
            claim,
            is_settled: false,
        })
    }

    /// Records it in the journal: before it is made, and its place afterwards.
    ///
    /// # Errors
    /// See [`Journal::note`].
    pub fn note(&self, journal: &mut Journal) -> Result<()> {
        journal.note(Made(self.area.clone(), self.identity.clone()))
    }

    /// Makes the file, whose space the disk gives as it is written, or prepares the device. Says
    /// what that destroys.
    ///
    /// # Errors
    /// A usage error if no file can be made there, a failure if the device cannot be written.
    pub fn make(&mut self, say: &mut dyn FnMut(&str)) -> Result<()> {
        let uuid = self.identity.uuid;
        let path = self.area.path();
        if let Some(claim) = self.claim.take() {
            device::warn(&claim, say);
            claim.prepare(uuid, None)?;
        } else if let Some(size) = self.area.size() {
            file::make_sparse(&path, size, uuid).map_err(|e| {
                Error::usage(format!(
                    "cannot make the file {}: {e}; name a directory that can be written",
                    path.display()
                ))
            })?;
        }
        self.identity = self.identity.clone().located(&path)?;
        Ok(())
    }

    /// Puts it below a zram device that has no size yet.
    ///
    /// # Errors
    /// A failure if the kernel refuses, or has no loop devices, which a file needs.
    pub fn put_below(&self, number: u32) -> Result<()> {
        let path = self.area.path();
        let what = || format!("cannot put {self} below zram");
        if let Area::Device(_) = self.area {
            return zram::set_backing(number, &path).or_fail(what);
        }
        let file = File::options().read(true).write(true).open(&path);
        // Kept open by zram from then on.
        let device = file
            .and_then(|file| LoopDevice::over(&file))
            .or_fail(what)?;
        zram::set_backing(number, &device.path).or_fail(what)
    }

    /// Leaves it to the runs that go on, with the zram device above it.
    pub fn leave(mut self) {
        self.is_settled = true;
    }

    /// Removes the file, or makes the device blank.
    ///
    /// # Errors
    /// A failure if that is not possible; it stays in the journal.
    pub fn remove(mut self, say: Say) -> Result<()> {
        self.is_settled = true;
        self.area.remove(&self.identity, false, say)
    }
}

impl Drop for Lower {
    fn drop(&mut self) {
        if !self.is_settled {
            // What cannot be removed now stays in the journal for `terrace doctor --clean`.
            let _ = self.area.remove(&self.identity, false, &mut |_| {});
        }
    }
}

impl fmt::Display for Lower {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.area {
            Area::File(path, size) => {
                let directory = path.parent().unwrap_or(path).display();
                write!(f, "a file of at most {size} in {directory}")
            }
            other => write!(f, "the {other}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::MetadataExt;
    use std::path::Path;

    use super::super::area::SMALLEST;
    use super::*;
    use terrace_base::Bytes;

    /// A directory on a disk, with a journal of its own.
    fn here() -> (tempfile::TempDir, Journal) {
        let directory = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let journal = Journal::begin(&directory.path().join("state")).unwrap();
        (directory, journal)
    }

    fn demand(wanted: Bytes) -> Demand {
        Demand {
            wanted: Some(wanted),
            ..Demand::default()
        }
    }

    fn make(directory: &Path, wanted: Bytes, journal: &mut Journal) -> Result<Lower> {
        let mut lower = Lower::plan(&Spec::Directory(directory.into()), &demand(wanted), journal)?;
        lower.note(journal)?;
        lower.make(&mut |_| {})?;
        lower.note(journal)?;
        Ok(lower)
    }

    #[test]
    fn a_file_takes_space_as_it_is_written_and_goes_when_it_is_dropped() {
        let (directory, mut journal) = here();
        let size = Bytes(96 << 20);
        let lower = make(directory.path(), size, &mut journal).unwrap();
        let path = lower.area.path();
        let found = fs::metadata(&path).unwrap();
        assert_eq!(found.len(), size.0);
        assert!(found.blocks() * 512 < 1 << 20, "{}", found.blocks());
        let shown = lower.to_string();
        assert!(
            shown.starts_with("a file of at most 96.0 MiB in /"),
            "{shown}"
        );
        drop(lower);
        assert!(!path.exists());
    }

    #[test]
    fn a_file_is_recognised_by_its_header_and_can_be_left_to_others() {
        let (directory, mut journal) = here();
        let lower = make(directory.path(), SMALLEST, &mut journal).unwrap();
        let (area, identity) = (lower.area.clone(), lower.identity.clone());
        lower.leave();
        assert!(area.path().exists());
        let remove = |identity: &Identity| area.remove(identity, false, &mut |_| {});
        remove(&Identity::fresh()).unwrap_err();
        remove(&identity).unwrap();
        assert!(!area.path().exists());
    }

    #[test]
    fn memory_is_no_lower_level() {
        let (_directory, journal) = here();
        let shm = Spec::Directory("/dev/shm".into());
        let error = Lower::plan(&shm, &demand(SMALLEST), &journal).unwrap_err();
        assert!(error.to_string().contains("is DRAM itself"), "{error}");
        let error = Lower::plan(&Spec::Zram, &Demand::default(), &journal).unwrap_err();
        assert!(error.to_string().contains("after `zram+`"), "{error}");
    }
}
