//! The traces of one workload, as a command names them.

use std::collections::HashSet;
use std::path::PathBuf;

use terrace_base::Result;
use terrace_report::counted::Counted;
use terrace_sim::workload::Workload;
use terrace_trace::kept::Kept;
use terrace_trace::tally::Tallies;
use terrace_trace::{Columns, Reading};

use crate::progress::Progress;
use crate::screen::say;

/// The traces of one workload.
pub struct Traces<'a> {
    paths: &'a [PathBuf],
    places: Places,
    reading: Reading,
    limit: Option<u64>,
    quiet: bool,
}

impl<'a> Traces<'a> {
    pub fn new(paths: &'a [PathBuf], reading: Reading, limit: Option<u64>, quiet: bool) -> Self {
        Self {
            paths,
            places: Places {
                paths: paths.to_vec(),
                kept: Vec::new(),
            },
            reading,
            limit,
            quiet,
        }
    }

    /// Has those that can be read only once kept, to be read more than once.
    pub fn keep(&mut self) -> Result<()> {
        self.places = Places::kept(self.paths, self.quiet)?;
        Ok(())
    }

    /// Opens them, with these columns, and a progress bar for what is done with them.
    pub fn open(&self, what: &'static str, columns: Columns) -> Result<(Workload, Progress)> {
        let paths = self.places.paths();
        let workload = Workload::open(paths, &self.reading, self.limit, columns)?;
        let progress = Progress::new(workload.accesses(), self.quiet).doing(what);
        Ok((workload, progress))
    }

    /// What was read otherwise than it stands in them; it is said, too.
    pub fn counted(&self) -> Vec<Counted> {
        self.places
            .counted(self.paths, &self.reading.tallies, self.quiet)
    }

    /// As they were named.
    pub fn names(&self) -> Vec<String> {
        names(self.paths)
    }
}

/// As traces were named.
pub fn names(paths: &[PathBuf]) -> Vec<String> {
    let names = paths.iter().map(|path| path.display().to_string());
    names.collect()
}

/// Where traces are that are read more than once.
pub struct Places {
    paths: Vec<PathBuf>,
    /// Files for those that come through pipes; they are there as long as this lives.
    kept: Vec<Kept>,
}

impl Places {
    /// Keeps traces in files that come through pipes, and says so.
    pub fn kept(paths: &[PathBuf], quiet: bool) -> Result<Self> {
        let mut places = Self {
            paths: Vec::new(),
            kept: Vec::new(),
        };
        for path in paths {
            let Some(kept) = Kept::of(path)? else {
                places.paths.push(path.clone());
                continue;
            };
            if !quiet {
                say(&format!(
                    "terrace: `{}` is read more than once: its {} are kept in a temporary file in \
                     {}\n",
                    path.display(),
                    kept.bytes(),
                    kept.directory().display()
                ));
            }
            places.paths.push(kept.path());
            places.kept.push(kept);
        }
        Ok(places)
    }

    pub fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// Returns what was read otherwise than it stands in the traces, by their names, and says it.
    pub fn counted(&self, names: &[PathBuf], tallies: &Tallies, quiet: bool) -> Vec<Counted> {
        counted(names.iter().zip(&self.paths), tallies, quiet)
    }
}

/// Returns what was read otherwise than it stands in traces, by name and place, and says it.
pub fn counted<'a>(
    traces: impl Iterator<Item = (&'a PathBuf, &'a PathBuf)>,
    tallies: &Tallies,
    quiet: bool,
) -> Vec<Counted> {
    let mut seen = HashSet::new();
    let traces = traces.filter(|(_, place)| seen.insert(*place));
    let all = traces.flat_map(|(name, place)| {
        let counts = tallies.of(place).into_iter();
        counts.map(|(what, count)| Counted {
            trace: name.display().to_string(),
            count,
            what,
        })
    });
    let all: Vec<Counted> = all.collect();
    if !quiet {
        let said = all.iter().map(Counted::sentence);
        said.for_each(|sentence| say(&format!("terrace: {sentence}\n")));
    }
    all
}
