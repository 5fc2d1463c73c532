//! A placement file that is in force in a simulation: objects of its sites are in DRAM while they live.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use terrace_base::Result;
use terrace_policy::PAGE_BYTES;
use terrace_trace::allocation::Allocations;

use crate::place::PlacementFile;

/// A placement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// The file as it was named.
    pub path: PathBuf,
    file: PlacementFile,
}

impl Placement {
    /// Reads a placement file.
    ///
    /// # Errors
    /// The errors of [`PlacementFile::load`].
    pub fn load(path: &Path) -> Result<Arc<Self>> {
        Ok(Arc::new(Self {
            path: path.to_owned(),
            file: PlacementFile::load(path)?,
        }))
    }

    /// Returns the pages of DRAM that its objects need.
    pub fn pages(&self) -> usize {
        usize::try_from(self.file.fast_bytes.div_ceil(PAGE_BYTES)).unwrap_or(usize::MAX)
    }

    /// Returns for each site of a program whether its objects are in DRAM.
    ///
    /// # Errors
    /// A usage error where the file is that of another program.
    pub(super) fn fast(&self, allocations: &Allocations, program: &str) -> Result<Vec<bool>> {
        let (found, _) = self.file.find(allocations.sites.iter(), program)?;
        let mut fast = vec![false; allocations.sites.len()];
        found.into_iter().for_each(|site| fast[site] = true);
        Ok(fast)
    }
}
