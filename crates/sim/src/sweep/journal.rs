//! What is finished of a sweep, on disk, so that it can be stopped at any time and go on.
//!
//! One JSON line a machine and trace. Lines that are torn, or of other sweeps, are passed over.

use std::collections::HashMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use terrace_base::{Context, Error, Result};

use crate::pages::Outcome;

/// A line of the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Entry {
    workload: Value,
    machine: Value,
    outcome: Outcome,
}

/// What was found, by workload and machine, each as JSON text with sorted keys.
type Found = HashMap<String, HashMap<String, Outcome>>;

/// The journal, locked as long as it lives. An empty one does not stay behind.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    found: Found,
}

impl Journal {
    /// Opens or begins the journal `path`, and reads what was finished.
    ///
    /// # Errors
    /// A failure where another process has it, or where it cannot be written.
    pub fn open(path: &Path) -> Result<Self> {
        let mut file = lock(path)?;
        let mut text = Vec::new();
        file.read_to_end(&mut text).or_fail(|| cannot(path))?;
        let whole = text.iter().rposition(|byte| *byte == b'\n');
        let whole = whole.map_or(0, |last| last + 1);
        if whole < text.len() {
            file.set_len(whole as u64).or_fail(|| cannot(path))?;
        }
        Ok(Self {
            path: path.to_owned(),
            file,
            found: read(&text[..whole]),
        })
    }

    /// What is finished of a workload on a machine.
    pub fn outcome(&self, workload: &Value, machine: &Value) -> Option<&Outcome> {
        let machines = self.found.get(&workload.to_string())?;
        machines.get(&machine.to_string())
    }

    /// Some outcome of a workload: its footprint does not depend on the machine.
    pub fn any(&self, workload: &Value) -> Option<&Outcome> {
        self.found.get(&workload.to_string())?.values().next()
    }

    /// Adds what was found, on disk when it returns.
    ///
    /// # Errors
    /// A failure where it cannot be written.
    pub fn add(
        &mut self,
        workload: &Value,
        outcomes: impl Iterator<Item = (Value, Outcome)>,
    ) -> Result<()> {
        let mut lines = String::new();
        for (machine, outcome) in outcomes {
            let entry = Entry {
                workload: workload.clone(),
                machine,
                outcome,
            };
            // JSON has no infinity: what would not be read as it is now is found anew next time.
            let line = serde_json::to_string(&entry).unwrap_or_default();
            if serde_json::from_str::<Entry>(&line).is_ok_and(|read| read == entry) {
                lines += &line;
                lines.push('\n');
            }
            insert(&mut self.found, entry);
        }
        let written = self.file.write_all(lines.as_bytes());
        written
            .and_then(|()| self.file.sync_data())
            .or_fail(|| cannot(&self.path))
    }

    /// Removes it: everything is where it belongs.
    ///
    /// # Errors
    /// A failure where it cannot be removed.
    pub fn remove(self) -> Result<()> {
        std::fs::remove_file(&self.path)
            .or_fail(|| format!("cannot remove `{}`", self.path.display()))
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        // One that was removed when all was done is not empty here: the name may be another's.
        if self.found.is_empty() && self.file.metadata().is_ok_and(|found| found.len() == 0) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Opens and locks the file that has this name, for another may have removed the one that was
/// opened before it was locked.
fn lock(path: &Path) -> Result<File> {
    loop {
        let mut options = OpenOptions::new();
        let file = options.read(true).append(true).create(true).open(path);
        let file = file.or_fail(|| cannot(path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Error::failure(format!(
                    "another sweep is writing `{}`; wait for it, or give this one another -o",
                    path.display()
                )));
            }
            Err(TryLockError::Error(e)) => return Err(e).or_fail(|| cannot(path)),
        }
        if is_at(&file, path).or_fail(|| cannot(path))? {
            return Ok(file);
        }
    }
}

/// Whether the open file is the one of this name.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let open = file.metadata()?;
    match path.metadata() {
        Ok(named) => Ok((open.dev(), open.ino()) == (named.dev(), named.ino())),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(e),
    }
}

fn read(text: &[u8]) -> Found {
    let mut found = Found::new();
    let lines = text.split(|byte| *byte == b'\n');
    let entries = lines.filter_map(|line| serde_json::from_slice(line).ok());
    entries.for_each(|entry| insert(&mut found, entry));
    found
}

fn insert(found: &mut Found, entry: Entry) {
    let machines = found.entry(entry.workload.to_string()).or_default();
    machines.insert(entry.machine.to_string(), entry.outcome);
}

fn cannot(path: &Path) -> String {
    format!("cannot write `{}`", path.display())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proptest::prelude::*;
    use serde_json::json;
    use terrace_base::Nanos;

    use super::*;
    use crate::pages::{Counts, Latencies, Lifetime, ProgramTime, Times};

    fn outcome(reads: u64, slowdown: f64, levelled: Option<f64>) -> Outcome {
        Outcome {
            counts: Counts {
                reads,
                ..Counts::default()
            },
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
                levelled,
                ..Lifetime::default()
            },
            energy: None,
            footprint_pages: 7,
            tier_pages_used: 0,
            full_at: None,
            warmup: Some(0),
        }
    }

    fn add(journal: &mut Journal, machine: u64, outcome: Outcome) {
        let entry = [(json!({ "machine": machine }), outcome)];
        journal.add(&json!("trace"), entry.into_iter()).unwrap();
    }

    fn found(journal: &Journal, machine: u64) -> Option<&Outcome> {
        journal.outcome(&json!("trace"), &json!({ "machine": machine }))
    }

    #[test]
    fn only_one_at_a_time_has_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("journal");
        let journal = Journal::open(&path).unwrap();
        let error = Journal::open(&path).unwrap_err().to_string();
        assert!(error.contains("another sweep is writing"), "{error}");
        drop(journal);
        assert!(!path.exists(), "an empty journal stays behind");
        Journal::open(&path).unwrap();
    }

    /// Who waits at the door while the file is removed must not get in: nobody would find what
    /// they write.
    #[test]
    fn a_removed_file_is_not_the_journal() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("journal");
        let opened = File::create(&path).unwrap();
        assert!(is_at(&opened, &path).unwrap());
        fs::remove_file(&path).unwrap();
        assert!(!is_at(&opened, &path).unwrap());
        fs::write(&path, "").unwrap();
        assert!(!is_at(&opened, &path).unwrap());
    }

    /// JSON has no infinity.
    #[test]
    fn what_cannot_be_read_back_is_found_anew() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("journal");
        let mut journal = Journal::open(&path).unwrap();
        add(&mut journal, 0, outcome(1, f64::INFINITY, None));
        add(&mut journal, 1, outcome(1, 1.0, Some(f64::INFINITY)));
        add(&mut journal, 2, outcome(1, 1.0, None));
        assert!((0..3).all(|machine| found(&journal, machine).is_some()));
        drop(journal);
        let journal = Journal::open(&path).unwrap();
        let found = [0, 1, 2].map(|machine| found(&journal, machine).is_some());
        assert_eq!(found, [false, false, true]);
    }

    proptest! {
        #[test]
        fn figures_are_read_as_they_were(
            reads: u64, slowdown in prop::num::f64::NORMAL, years in prop::option::of(prop::num::f64::ANY),
        ) {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("journal");
            let outcome = outcome(reads, slowdown, years.filter(|years| years.is_finite()));
            add(&mut Journal::open(&path).unwrap(), 0, outcome.clone());
            let journal = Journal::open(&path).unwrap();
            prop_assert_eq!(found(&journal, 0), Some(&outcome));
        }

        #[test]
        fn wherever_it_is_torn_whole_lines_count(count in 1u64..5, cut in 0.0..1.0) {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("journal");
            let mut journal = Journal::open(&path).unwrap();
            (0..count).for_each(|machine| add(&mut journal, machine, outcome(machine, 1.5, None)));
            drop(journal);
            let text = fs::read(&path).unwrap();
            let text = &text[..(text.len() as f64 * cut) as usize];
            fs::write(&path, text).unwrap();
            let whole = text.iter().filter(|byte| **byte == b'\n').count() as u64;
            let mut journal = Journal::open(&path).unwrap();
            for machine in 0..count {
                prop_assert_eq!(found(&journal, machine).is_some(), machine < whole);
            }
            (whole..count).for_each(|m| add(&mut journal, m, outcome(m, 1.5, None)));
            drop(journal);
            let journal = Journal::open(&path).unwrap();
            for machine in 0..count {
                prop_assert_eq!(found(&journal, machine), Some(&outcome(machine, 1.5, None)));
            }
        }

        #[test]
        fn lines_of_others_are_passed_over(
            lines in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..4),
        ) {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("journal");
            let mut text = lines.join(&b'\n');
            text.push(b'\n');
            fs::write(&path, text).unwrap();
            let mut journal = Journal::open(&path).unwrap();
            prop_assert_eq!(journal.any(&json!("trace")), None);
            add(&mut journal, 0, outcome(1, 1.5, None));
            drop(journal);
            prop_assert!(found(&Journal::open(&path).unwrap(), 0).is_some());
        }
    }
}
