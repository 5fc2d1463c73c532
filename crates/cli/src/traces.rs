//! The traces of one workload, as a command names them.

use std::path::PathBuf;

use terrace_base::Result;
use terrace_sim::workload::Workload;
use terrace_trace::{Columns, Format};

use crate::progress::Progress;

/// The traces of one workload.
pub struct Traces<'a> {
    pub paths: &'a [PathBuf],
    pub format: Option<Format>,
    pub limit: Option<u64>,
    pub quiet: bool,
}

impl Traces<'_> {
    /// Opens them, with these columns, and a progress bar for what is done with them.
    pub fn open(&self, what: &'static str, columns: Columns) -> Result<(Workload, Progress)> {
        let workload = Workload::open(self.paths, self.format, self.limit, columns)?;
        let progress = Progress::new(workload.accesses(), self.quiet).doing(what);
        Ok((workload, progress))
    }

    /// As they were named.
    pub fn names(&self) -> Vec<String> {
        self.paths
            .iter()
            .map(|path| path.display().to_string())
            .collect()
    }
}
