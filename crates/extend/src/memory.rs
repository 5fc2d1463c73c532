//! The slow memory that a user names.

use std::fmt;
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use terrace_base::{Context, Result};
use terrace_device::Catalogue;
use terrace_region::slow::Slow;
use terrace_region::slow::device::Device;
use terrace_region::slow::disk::Disk;
use terrace_region::slow::emulated::Emulated;

/// A slow memory by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Memory {
    /// An emulated memory of a technology of the catalogue.
    Technology(String),
    /// A file without a name in a directory.
    Directory(PathBuf),
    /// A block device that nothing else uses.
    Device(PathBuf),
}

impl Memory {
    /// Reads a path, which has a slash in it, of a directory or of a block device, or the name of a
    /// technology.
    pub fn parse(text: &str) -> Self {
        let is_device =
            || fs::metadata(text).is_ok_and(|found| found.file_type().is_block_device());
        match text.contains('/') {
            true if is_device() => Self::Device(text.into()),
            true => Self::Directory(text.into()),
            false => Self::Technology(text.into()),
        }
    }

    /// Checks that the slow memory can be made, and changes nothing.
    ///
    /// # Errors
    /// Returns those of [`Memory::open`].
    pub fn check(&self, catalogue: &Catalogue) -> Result<()> {
        match self {
            Self::Device(path) => Device::check(path),
            other => other.open(catalogue).map(drop),
        }
    }

    /// Takes the device, if it is one, for a process that opens it by [`Memory::open_taken`].
    ///
    /// # Errors
    /// Returns those of [`Device::take`].
    pub fn take(&self) -> Result<Option<Device>> {
        match self {
            Self::Device(path) => Device::take(path).map(Some),
            _ => Ok(None),
        }
    }

    /// Makes the slow memory where another process has taken the device, if it is one.
    ///
    /// # Errors
    /// Returns those of [`Memory::open`].
    pub fn open_taken(&self, catalogue: &Catalogue) -> Result<Box<dyn Slow>> {
        match self {
            Self::Device(path) => Ok(Box::new(Disk::on_taken(path)?)),
            other => other.open(catalogue),
        }
    }

    /// Makes the slow memory.
    ///
    /// # Errors
    /// Returns a usage error if there is no such technology, its timing is not known, or the device
    /// is not free or not blank; a failure if no file can be made or the device cannot be used.
    pub fn open(&self, catalogue: &Catalogue) -> Result<Box<dyn Slow>> {
        Ok(match self {
            Self::Technology(name) => Box::new(Emulated::new(catalogue.get(name)?.timing()?)),
            Self::Directory(directory) => Box::new(Disk::in_directory(directory)?),
            Self::Device(path) => Box::new(Disk::on_device(path)?),
        })
    }

    /// Returns the memory with a path that holds in every working directory.
    ///
    /// # Errors
    /// Returns a failure if the directory or device does not exist.
    pub fn absolute(self) -> Result<Self> {
        let whole = |path: PathBuf| {
            let cannot = || format!("cannot use {} as slow memory", path.display());
            path.canonicalize().or_fail(cannot)
        };
        Ok(match self {
            Self::Directory(path) => Self::Directory(whole(path)?),
            Self::Device(path) => Self::Device(whole(path)?),
            technology @ Self::Technology(_) => technology,
        })
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Technology(name) => f.write_str(name),
            Self::Directory(path) | Self::Device(path) => write!(f, "{}", path.display()),
        }
    }
}

/// Returns the catalogue with the memories of the user's file, if there is one.
///
/// # Errors
/// Returns those of [`Catalogue::load`].
pub fn catalogue(file: Option<&Path>) -> Result<Catalogue> {
    file.map_or_else(|| Ok(Catalogue::builtin()), Catalogue::load)
}
