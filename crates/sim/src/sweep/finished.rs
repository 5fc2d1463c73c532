//! Finished results of sweeps, a file a pass, in a directory that any number of sweeps share, from
//! any host.
//!
//! A file is named by the key of its pass. It gets the name when it is whole; two sweeps that write
//! the same one write the same bytes. So nothing is locked, and to go on is to read what is there.
//!
//! A file begins with a line that names the format, its version and that of the program. The digest
//! of the rest follows, 32 bytes, and then the pass, in postcard's format: unlike JSON it has
//! infinities, and unlike a table it has every figure of an outcome as it was.

use std::collections::{HashMap, HashSet};
use std::fs::{self, DirBuilder, File};
use std::io::{ErrorKind, Result as IoResult};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use terrace_base::user::give_to_caller;
use terrace_base::{Context, Error, Output, Result};
use terrace_trace::Digest;

use super::key;
use super::version::VERSION;
use crate::pages::Outcome;

/// Ending of the names.
const ENDING: &str = "result";

/// Outcomes of a workload on some machines, by their keys.
#[derive(Debug, Serialize, Deserialize)]
struct Pass {
    workload: Digest,
    machines: Vec<(Digest, Outcome)>,
}

/// Finished results.
#[derive(Debug)]
pub struct Finished {
    directory: PathBuf,
    /// Outcomes by workload and machine.
    found: HashMap<Digest, HashMap<Digest, Outcome>>,
    skipped: usize,
}

impl Finished {
    /// Reads the results of these workloads in a directory, which need not be there.
    ///
    /// # Errors
    /// A failure where the directory is there and cannot be read.
    pub fn open(directory: &Path, workloads: &HashSet<Digest>) -> Result<Self> {
        let mut finished = Self {
            directory: directory.to_owned(),
            found: HashMap::new(),
            skipped: 0,
        };
        for path in
            results(directory).or_fail(|| format!("cannot read `{}`", directory.display()))?
        {
            match fs::read(path).ok().and_then(|bytes| decode(&bytes)) {
                Some(pass) if workloads.contains(&pass.workload) => finished.insert(pass),
                Some(_) => {}
                None => finished.skipped += 1,
            }
        }
        Ok(finished)
    }

    /// Returns the number of files that are not used: they are damaged or of another version.
    pub fn skipped(&self) -> usize {
        self.skipped
    }

    /// Returns the outcome of a workload on a machine, if it is finished.
    pub fn outcome(&self, workload: &Digest, machine: &Digest) -> Option<&Outcome> {
        self.found.get(workload)?.get(machine)
    }

    /// Returns any outcome of a workload: its footprint is the same for every machine.
    pub fn any(&self, workload: &Digest) -> Option<&Outcome> {
        self.found.get(workload)?.values().next()
    }

    /// Writes the outcomes of a pass, and waits until they are on disk.
    ///
    /// # Errors
    /// A failure where they cannot be written; nothing of them is there then.
    pub fn add(
        &mut self,
        workload: Digest,
        outcomes: impl Iterator<Item = (Digest, Outcome)>,
    ) -> Result<()> {
        let machines: Vec<_> = outcomes.collect();
        let keys = machines.iter().map(|(machine, _)| *machine);
        let name = format!("{}.{ENDING}", key::pass(workload, keys));
        let pass = Pass { workload, machines };
        let path = self.directory.join(name);
        make(&self.directory).or_fail(|| format!("cannot write `{}`", path.display()))?;
        let written = Output::save(&path, &encode(&pass));
        if written.is_err() {
            // A directory with something in it stays.
            let _ = fs::remove_dir(&self.directory);
        }
        written?;
        self.insert(pass);
        Ok(())
    }

    fn insert(&mut self, pass: Pass) {
        let found = self.found.entry(pass.workload).or_default();
        found.extend(pass.machines);
    }

    /// Returns the error that ends a sweep, with the path of the finished results if there are any.
    pub fn stays(&self, error: &Error) -> Error {
        if self.found.is_empty() {
            return error.clone();
        }
        let mut stays = Error::failure(format!(
            "{error}; what is finished stays in `{}`, and the same sweep goes on from there",
            self.directory.display()
        ));
        stays.kind = error.kind;
        stays
    }
}

/// Returns the files of results in a directory; none where it is not there.
fn results(directory: &Path) -> IoResult<Vec<PathBuf>> {
    let files = match fs::read_dir(directory) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        files => files?,
    };
    let mut paths = files
        .map(|file| file.map(|file| file.path()))
        .collect::<IoResult<Vec<_>>>()?;
    paths.retain(|path| path.extension().is_some_and(|ending| ending == ENDING));
    Ok(paths)
}

/// Makes a directory, unless it is there.
fn make(directory: &Path) -> IoResult<()> {
    match DirBuilder::new().mode(0o755).create(directory) {
        Err(e) if e.kind() == ErrorKind::AlreadyExists => return Ok(()),
        made => made?,
    }
    give_to_caller(&File::open(directory)?);
    Ok(())
}

/// First line of a file.
fn head() -> String {
    let program = env!("CARGO_PKG_VERSION");
    format!("terrace.results/{VERSION} {program}\n")
}

fn encode(pass: &Pass) -> Vec<u8> {
    let pass = postcard::to_stdvec(pass).expect("plain data serializes");
    let digest = *Digest::of(&pass).as_bytes();
    [head().as_bytes(), &digest, &pass].concat()
}

/// Returns the pass in the bytes of a file; none if they are not all that was written, or of
/// another version.
fn decode(bytes: &[u8]) -> Option<Pass> {
    let (digest, pass) = bytes.strip_prefix(head().as_bytes())?.split_first_chunk()?;
    if Digest::of(pass).as_bytes() != digest {
        return None;
    }
    postcard::from_bytes(pass).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use terrace_base::Nanos;
    use terrace_policy::prefetch::LifeStory;

    use super::*;
    use crate::pages::{Counts, Drawn, Latencies, Lifetime, ProgramTime, Times};

    fn outcome(reads: u64, slowdown: f64, even: Option<f64>) -> Outcome {
        Outcome {
            timed: true,
            counts: Counts {
                reads,
                ..Counts::default()
            },
            story: LifeStory::default(),
            times: Times::default(),
            latencies: Latencies::default(),
            untouched: 0,
            constituents: Vec::new(),
            programs: vec![ProgramTime {
                time_ns: Nanos(reads),
                all_dram_ns: Nanos(1),
                slowdown,
                threads: 1,
            }],
            lifetime: Lifetime {
                even,
                ..Lifetime::default()
            },
            energy: None,
            footprint_pages: 7,
            tier_pages_used: 0,
            full_at: None,
            warmup: Some(0),
            drawn: Drawn::default(),
            schemes: Vec::new(),
        }
    }

    fn key(of: u64) -> Digest {
        Digest::of(&of.to_le_bytes())
    }

    /// The finished results of the workload 0.
    fn open(directory: &Path) -> Finished {
        Finished::open(directory, &HashSet::from([key(0)])).unwrap()
    }

    /// Adds a pass on one machine; returns its file.
    fn add(finished: &mut Finished, workload: u64, machine: u64, outcome: Outcome) -> PathBuf {
        let entry = [(key(machine), outcome)];
        finished.add(key(workload), entry.into_iter()).unwrap();
        let name = super::key::pass(key(workload), [key(machine)].into_iter());
        finished.directory.join(format!("{name}.result"))
    }

    fn found(finished: &Finished, machine: u64) -> Option<&Outcome> {
        finished.outcome(&key(0), &key(machine))
    }

    #[test]
    fn any_number_of_sweeps_have_it_at_once() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("results");
        let (mut one, mut other) = (open(&path), open(&path));
        assert!(!path.exists(), "nothing is finished");
        for machine in [1, 2] {
            add(&mut one, 0, machine, outcome(machine, 1.0, None));
        }
        for machine in [2, 3] {
            add(&mut other, 0, machine, outcome(machine, 1.0, None));
        }
        assert_eq!(fs::read_dir(&path).unwrap().count(), 3);
        let all = open(&path);
        for machine in 1..4 {
            assert_eq!(found(&all, machine), Some(&outcome(machine, 1.0, None)));
        }
        assert_eq!(all.any(&key(0)).unwrap().footprint_pages, 7);
        assert_eq!(all.skipped(), 0);
    }

    #[test]
    fn results_of_others_and_what_is_no_result_are_passed_over() {
        let directory = tempfile::tempdir().unwrap();
        let mut finished = open(directory.path());
        add(&mut finished, 1, 0, outcome(1, 1.0, None));
        fs::write(directory.path().join("notes"), "notes").unwrap();
        let finished = open(directory.path());
        assert_eq!((finished.any(&key(0)), finished.skipped()), (None, 0));
        let error = Error::failure("full");
        assert_eq!(finished.stays(&error).to_string(), "full");
    }

    #[test]
    fn what_another_version_wrote_is_counted() {
        let directory = tempfile::tempdir().unwrap();
        let path = add(&mut open(directory.path()), 0, 0, outcome(1, 1.0, None));
        let bytes = fs::read(&path).unwrap();
        let next = format!("terrace.results/{} ", VERSION + 1);
        let this = format!("terrace.results/{} ", VERSION);
        let rest = bytes.strip_prefix(this.as_bytes()).unwrap();
        fs::write(&path, [next.as_bytes(), rest].concat()).unwrap();
        let finished = open(directory.path());
        assert_eq!((finished.any(&key(0)), finished.skipped()), (None, 1));
    }

    #[test]
    fn what_cannot_be_written_leaves_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let mut finished = open(&directory.path().join("none/results"));
        let error = finished.add(key(0), std::iter::empty()).unwrap_err();
        assert!(error.to_string().starts_with("cannot write"), "{error}");
        assert!(Finished::open(Path::new("/dev/null"), &HashSet::new()).is_err());
    }

    proptest! {
        /// Infinities, and what is no number, too.
        #[test]
        fn figures_are_read_as_they_were(
            reads: u64, slowdown in prop::num::f64::ANY, years in prop::option::of(prop::num::f64::ANY),
        ) {
            let directory = tempfile::tempdir().unwrap();
            add(&mut open(directory.path()), 0, 0, outcome(reads, slowdown, years));
            let finished = open(directory.path());
            let found = found(&finished, 0).unwrap();
            prop_assert_eq!(found.programs[0].slowdown.to_bits(), slowdown.to_bits());
            prop_assert_eq!(found.lifetime.even.map(f64::to_bits), years.map(f64::to_bits));
            let rest = Outcome {
                programs: found.programs.iter().map(|time| ProgramTime { slowdown: 1.0, ..*time }).collect(),
                lifetime: Lifetime { even: None, ..found.lifetime },
                ..found.clone()
            };
            prop_assert_eq!(rest, outcome(reads, 1.0, None));
        }

        #[test]
        fn what_is_torn_or_damaged_is_counted_and_found_anew(
            reads: u64, cut in any::<prop::sample::Index>(), flip: u8,
        ) {
            let directory = tempfile::tempdir().unwrap();
            let path = add(&mut open(directory.path()), 0, 0, outcome(reads, 1.5, None));
            let mut bytes = fs::read(&path).unwrap();
            let cut = cut.index(bytes.len());
            match flip {
                0 => bytes.truncate(cut),
                flip => bytes[cut] ^= flip,
            }
            fs::write(&path, bytes).unwrap();
            let mut finished = open(directory.path());
            prop_assert_eq!(finished.any(&key(0)), None);
            prop_assert_eq!(finished.skipped(), 1);
            add(&mut finished, 0, 0, outcome(reads, 1.5, None));
            prop_assert_eq!(open(directory.path()).skipped(), 0);
        }
    }
}
