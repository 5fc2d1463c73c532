//! Journal of the finished results of a sweep on disk, so that the sweep can be stopped and
//! resumed.
//!
//! The first line holds the options of the sweep; each further line is one result as JSON, for one
//! machine and trace. Torn lines and lines of other traces and machines are skipped.

use std::collections::HashMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use terrace_base::{Context, Error, Result};

use crate::pages::Outcome;

/// Line of the journal with a result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Entry {
    workload: Value,
    machine: Value,
    outcome: Outcome,
}

/// First line of the journal.
#[derive(Serialize, Deserialize)]
struct Head {
    /// Options of the sweep, see [`super::Sweep::options`].
    options: String,
}

/// Outcomes by workload and machine, each as JSON text with sorted keys.
type Found = HashMap<String, HashMap<String, Outcome>>;

/// Journal of a sweep, locked while it exists. An empty journal is removed when it is dropped.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    /// First line, until it is written.
    head: Option<String>,
    found: Found,
}

impl Journal {
    /// Opens or creates the journal `path` of a sweep with these options, and reads its results.
    ///
    /// # Errors
    /// A failure where another process holds the journal, or it cannot be written; a usage error
    /// where it belongs to other options.
    pub fn open(path: &Path, options: &str) -> Result<Self> {
        let mut file = lock(path)?;
        let mut text = Vec::new();
        file.read_to_end(&mut text).or_fail(|| cannot(path))?;
        let whole = whole_lines(&text);
        if whole.len() < text.len() {
            file.set_len(whole.len() as u64).or_fail(|| cannot(path))?;
        }
        let mut lines = whole.split_inclusive(|byte| *byte == b'\n');
        let head = match lines.next() {
            Some(line) => {
                belongs(path, line, options)?;
                None
            }
            None => Some(json(&Head {
                options: options.to_owned(),
            })),
        };
        Ok(Self {
            path: path.to_owned(),
            file,
            head,
            found: read(lines),
        })
    }

    /// Returns the outcome of a workload on a machine, if it is finished.
    pub fn outcome(&self, workload: &Value, machine: &Value) -> Option<&Outcome> {
        let machines = self.found.get(&workload.to_string())?;
        machines.get(&machine.to_string())
    }

    /// Returns any outcome of a workload: its footprint is the same for every machine.
    pub fn any(&self, workload: &Value) -> Option<&Outcome> {
        self.found.get(&workload.to_string())?.values().next()
    }

    /// Appends an outcome and waits until it is on disk.
    ///
    /// # Errors
    /// A failure where it cannot be written; complete lines are kept if one of them is a result.
    pub fn add(
        &mut self,
        workload: &Value,
        outcomes: impl Iterator<Item = (Value, Outcome)>,
    ) -> Result<()> {
        let head = self.head.take().unwrap_or_default();
        let mut lines = head.clone();
        for (machine, outcome) in outcomes {
            let entry = Entry {
                workload: workload.clone(),
                machine,
                outcome,
            };
            // JSON has no infinity: an outcome that would read back differently is not written, and
            // is simulated again by the next run.
            let line = json(&entry);
            if serde_json::from_str::<Entry>(&line).is_ok_and(|read| read == entry) {
                lines += &line;
            }
            insert(&mut self.found, entry);
        }
        let before = self.file.metadata().map(|found| found.len());
        let before = before.or_fail(|| cannot(&self.path))?;
        let written = self.file.write_all(lines.as_bytes());
        let written = written.and_then(|()| self.file.sync_data());
        written.or_fail(|| cannot(&self.path)).inspect_err(|_| {
            self.keep_whole(before, lines.as_bytes(), head.len());
        })
    }

    /// Truncates the partly written `lines`, whose first `head` bytes are the first line, to
    /// complete lines; a first line alone is removed too.
    fn keep_whole(&self, before: u64, lines: &[u8], head: usize) {
        let Ok(found) = self.file.metadata() else {
            return;
        };
        let written = found.len().saturating_sub(before) as usize;
        let whole = whole_lines(&lines[..written.min(lines.len())]).len();
        let kept = if whole > head { whole } else { 0 };
        // A torn line that cannot be removed is skipped when the journal is read.
        let _ = self.file.set_len(before + kept as u64);
    }

    /// Returns the error that ends a sweep, with the path of the finished results if there are any.
    pub fn stays(&self, error: &Error) -> Error {
        if self.is_empty() {
            return error.clone();
        }
        let mut stays = Error::failure(format!(
            "{error}; what is finished stays in `{}`, and the same sweep goes on from there",
            self.path.display()
        ));
        stays.kind = error.kind;
        stays
    }

    fn is_empty(&self) -> bool {
        self.file.metadata().is_ok_and(|found| found.len() == 0)
    }

    /// Removes the journal after all results were written.
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
        // A journal that was removed as complete is not empty here; its name may belong to another
        // process.
        if self.is_empty() {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Opens and locks the file of this name; opens it again if another process removed the file
/// between opening and locking.
fn lock(path: &Path) -> Result<File> {
    loop {
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true).mode(0o644);
        let file = options.open(path);
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

/// Returns whether the open file is the one of this name.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let open = file.metadata()?;
    match path.metadata() {
        Ok(named) => Ok((open.dev(), open.ino()) == (named.dev(), named.ino())),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(e),
    }
}

/// Checks that a journal with this first line belongs to a sweep with these options.
fn belongs(path: &Path, line: &[u8], options: &str) -> Result<()> {
    match serde_json::from_slice::<Head>(line) {
        Ok(head) if head.options == options => Ok(()),
        Ok(_) => Err(Error::usage(format!(
            "`{}` is what is finished of a sweep with other options; to go on with that one give its \
             options again, else give another -o or remove the file",
            path.display()
        ))),
        Err(_) => Err(Error::usage(format!(
            "`{}` is not what a sweep of this version has left; give another -o, or remove the file",
            path.display()
        ))),
    }
}

/// Returns a value as one line of JSON.
fn json(of: &impl Serialize) -> String {
    let mut line = serde_json::to_string(of).unwrap_or_default();
    line.push('\n');
    line
}

/// Returns the complete lines at the beginning of a text.
fn whole_lines(text: &[u8]) -> &[u8] {
    let last = text.iter().rposition(|byte| *byte == b'\n');
    &text[..last.map_or(0, |last| last + 1)]
}

/// Returns the outcomes in lines; other lines are skipped.
fn read<'t>(lines: impl Iterator<Item = &'t [u8]>) -> Found {
    let mut found = Found::new();
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
    use terrace_policy::prefetch::LifeStory;

    use super::*;
    use crate::pages::{Counts, Drawn, Latencies, Lifetime, ProgramTime, Times};

    const OPTIONS: &str = "some machines";

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
        let journal = Journal::open(&path, OPTIONS).unwrap();
        let error = Journal::open(&path, OPTIONS).unwrap_err().to_string();
        assert!(error.contains("another sweep is writing"), "{error}");
        drop(journal);
        assert!(!path.exists(), "an empty journal stays behind");
        Journal::open(&path, OPTIONS).unwrap();
    }

    /// A process that waits for the lock of a removed file must not get it: its results would be
    /// lost.
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
        let mut journal = Journal::open(&path, OPTIONS).unwrap();
        add(&mut journal, 0, outcome(1, f64::INFINITY, None));
        add(&mut journal, 1, outcome(1, 1.0, Some(f64::INFINITY)));
        add(&mut journal, 2, outcome(1, 1.0, None));
        assert!((0..3).all(|machine| found(&journal, machine).is_some()));
        drop(journal);
        let journal = Journal::open(&path, OPTIONS).unwrap();
        let found = [0, 1, 2].map(|machine| found(&journal, machine).is_some());
        assert_eq!(found, [false, false, true]);
    }

    #[test]
    fn what_belongs_to_other_options_is_not_gone_on_with() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("journal");
        add(
            &mut Journal::open(&path, "others").unwrap(),
            0,
            outcome(1, 1.5, None),
        );
        for (text, why) in [
            (fs::read_to_string(&path).unwrap(), "with other options"),
            ("notes\n".to_owned(), "is not what a sweep"),
        ] {
            fs::write(&path, &text).unwrap();
            let error = Journal::open(&path, OPTIONS).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
    }

    proptest! {
        #[test]
        fn figures_are_read_as_they_were(
            reads: u64, slowdown in prop::num::f64::NORMAL, years in prop::option::of(prop::num::f64::ANY),
        ) {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("journal");
            let outcome = outcome(reads, slowdown, years.filter(|years| years.is_finite()));
            add(&mut Journal::open(&path, OPTIONS).unwrap(), 0, outcome.clone());
            let journal = Journal::open(&path, OPTIONS).unwrap();
            prop_assert_eq!(found(&journal, 0), Some(&outcome));
        }

        #[test]
        fn wherever_it_is_torn_whole_lines_count(count in 1u64..5, cut in 0.0..1.0) {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("journal");
            let mut journal = Journal::open(&path, OPTIONS).unwrap();
            (0..count).for_each(|machine| add(&mut journal, machine, outcome(machine, 1.5, None)));
            drop(journal);
            let text = fs::read(&path).unwrap();
            let text = &text[..(text.len() as f64 * cut) as usize];
            fs::write(&path, text).unwrap();
            let whole = text.iter().filter(|byte| **byte == b'\n').count() as u64;
            let whole = whole.saturating_sub(1);
            let mut journal = Journal::open(&path, OPTIONS).unwrap();
            for machine in 0..count {
                prop_assert_eq!(found(&journal, machine).is_some(), machine < whole);
            }
            (whole..count).for_each(|m| add(&mut journal, m, outcome(m, 1.5, None)));
            drop(journal);
            let journal = Journal::open(&path, OPTIONS).unwrap();
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
            let mut text = json(&Head { options: OPTIONS.into() }).into_bytes();
            text.extend(lines.join(&b'\n'));
            text.push(b'\n');
            fs::write(&path, text).unwrap();
            let mut journal = Journal::open(&path, OPTIONS).unwrap();
            prop_assert_eq!(journal.any(&json!("trace")), None);
            add(&mut journal, 0, outcome(1, 1.5, None));
            drop(journal);
            prop_assert!(found(&Journal::open(&path, OPTIONS).unwrap(), 0).is_some());
        }
    }
}
