//! The traces of a simulation: their names, and where they are read.

use std::path::{Path, PathBuf};

use terrace_base::Result;
use terrace_trace::Reading;
use terrace_trace::spooled::Spooled;

use crate::watch::{Event, Watch};

/// The traces of a simulation.
#[derive(Debug)]
pub struct Traces {
    named: Vec<PathBuf>,
    /// Where each is read.
    places: Vec<PathBuf>,
    /// Files for those that come through pipes; they are there as long as this lives.
    kept: Vec<Spooled>,
    /// How they are read.
    pub reading: Reading,
    /// Accesses of each at most; `None` for all.
    pub limit: Option<u64>,
}

impl Traces {
    /// Makes traces of files with these names.
    pub fn new(named: &[PathBuf], reading: Reading, limit: Option<u64>) -> Self {
        Self {
            named: named.to_vec(),
            places: named.to_vec(),
            kept: Vec::new(),
            reading,
            limit,
        }
    }

    /// Makes traces of files that are read at these places, each behind its name.
    pub fn placed(
        traces: impl IntoIterator<Item = (PathBuf, PathBuf)>,
        reading: Reading,
        limit: Option<u64>,
    ) -> Self {
        let (named, places) = traces.into_iter().unzip();
        Self {
            named,
            places,
            kept: Vec::new(),
            reading,
            limit,
        }
    }

    /// Keeps traces in files that come through pipes, so that all can be read more than once.
    ///
    /// # Errors
    /// A failure where a trace cannot be read, or there is no room for it.
    pub fn keep(&mut self, watch: Watch) -> Result<()> {
        for (trace, place) in self.named.iter().zip(&mut self.places) {
            if let Some(kept) = Spooled::of(place)? {
                watch(Event::Spooled { trace, kept: &kept });
                *place = kept.path();
                self.kept.push(kept);
            }
        }
        Ok(())
    }

    /// Returns the paths under which they were named.
    pub fn named(&self) -> &[PathBuf] {
        &self.named
    }

    /// Returns the paths at which they are read, in the order of their names.
    pub fn places(&self) -> &[PathBuf] {
        &self.places
    }

    /// Returns their names.
    pub fn names(&self) -> Vec<String> {
        let names = self.named.iter().map(|path| path.display().to_string());
        names.collect()
    }

    /// Returns each name with the path at which it is read.
    pub fn named_places(&self) -> impl Iterator<Item = (&Path, &Path)> {
        let names = self.named.iter().map(PathBuf::as_path);
        names.zip(self.places.iter().map(PathBuf::as_path))
    }
}
