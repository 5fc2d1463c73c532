//! The slow memory that a user names.

use std::fmt;
use std::path::{Path, PathBuf};

use terrace_base::{Context, Result};
use terrace_device::Catalogue;
use terrace_region::slow::Slow;
use terrace_region::slow::disk::Disk;
use terrace_region::slow::emulated::Emulated;

/// A slow memory by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Memory {
    /// An emulated memory of a technology of the catalogue.
    Technology(String),
    /// A file without a name in a directory.
    Directory(PathBuf),
}

impl Memory {
    /// Reads a path, which has a slash in it, or the name of a technology.
    pub fn parse(text: &str) -> Self {
        match text.contains('/') {
            true => Self::Directory(text.into()),
            false => Self::Technology(text.into()),
        }
    }

    /// Makes the slow memory.
    ///
    /// # Errors
    /// Returns a usage error if there is no such technology or its timing is not known, and a failure if no
    /// file can be made.
    pub fn open(&self, catalogue: &Catalogue) -> Result<Box<dyn Slow>> {
        Ok(match self {
            Self::Technology(name) => Box::new(Emulated::new(catalogue.get(name)?.timing()?)),
            Self::Directory(directory) => Box::new(Disk::in_directory(directory)?),
        })
    }

    /// Returns the memory with a path that holds in every working directory.
    ///
    /// # Errors
    /// Returns a failure if the directory does not exist.
    pub fn absolute(self) -> Result<Self> {
        Ok(match self {
            Self::Directory(directory) => {
                let cannot = || format!("cannot use {} as slow memory", directory.display());
                Self::Directory(Path::canonicalize(&directory).or_fail(cannot)?)
            }
            technology => technology,
        })
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Technology(name) => f.write_str(name),
            Self::Directory(directory) => write!(f, "{}", directory.display()),
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
