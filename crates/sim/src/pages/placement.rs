//! A placement file that is in force in a simulation: objects of its sites are in DRAM while they
//! live.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use terrace_base::Result;
use terrace_policy::PAGE_BYTES;
use terrace_trace::allocation::Allocations;

use crate::place::PlacementFile;
use crate::place::objects::peaks;

/// A placement.
#[derive(Clone, PartialEq, Eq)]
pub struct Placement {
    /// The file as it was named.
    pub path: PathBuf,
    file: PlacementFile,
}

/// What of a placement is in force in a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct InForce {
    /// By allocation site: whether its objects are in DRAM.
    pub(super) sites: Vec<bool>,
    /// The pages of DRAM that they need at most.
    pub(super) pages: usize,
}

impl fmt::Debug for Placement {
    /// Writes what the file says, and not where it lies: keys of results are made of this.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.file.fmt(f)
    }
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

    /// Returns what is in force in a program with this many pages of DRAM: the sites of the file in
    /// their order, as far as there is room for what they allocate in this run, which may be
    /// another than the one that was placed.
    ///
    /// # Errors
    /// A usage error where the file is that of another program.
    pub(super) fn in_force(
        &self,
        allocations: &Allocations,
        program: &str,
        dram: usize,
    ) -> Result<InForce> {
        let (found, _) = self.file.find(allocations.sites.iter(), program)?;
        let (bytes, _) = peaks(allocations);
        let mut force = InForce {
            sites: vec![false; allocations.sites.len()],
            pages: 0,
        };
        for site in found {
            let pages = usize::try_from(bytes[site].div_ceil(PAGE_BYTES)).unwrap_or(usize::MAX);
            if pages <= dram - force.pages {
                force.pages += pages;
                force.sites[site] = true;
            }
        }
        Ok(force)
    }
}
