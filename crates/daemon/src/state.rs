//! What is kept while the daemon does not run: the budget of writes, in a file.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use terrace_base::{Output, Result};

use crate::fleet::{Kept, Ledger};

/// Version of the file.
const VERSION: u32 = 1;

/// The largest file that is read: a thousand targets have less.
const LARGEST: u64 = 1 << 20;

/// The file.
pub struct State {
    path: PathBuf,
}

#[derive(Serialize, Deserialize)]
struct Written {
    version: u32,
    #[serde(flatten)]
    kept: Kept,
}

impl State {
    /// Names the file in a directory.
    pub fn within(directory: &Path) -> Self {
        Self {
            path: directory.join("budget.json"),
        }
    }

    /// Returns the budget as it goes on, and what is wrong with the file. A budget that is not
    /// known begins empty, because it may have been spent; without a file it is the first.
    pub fn resume(&self, wall_ms: u64) -> (Ledger, Option<String>) {
        match self.read() {
            Ok(None) => (Ledger::default(), None),
            Ok(Some(kept)) => (Ledger::resumed(kept, wall_ms), None),
            Err(why) => {
                let path = self.path.display();
                let said = format!("{path} {why}; the budget of writes begins empty");
                (Ledger::empty(), Some(said))
            }
        }
    }

    fn read(&self) -> std::result::Result<Option<Kept>, String> {
        let file = match File::open(&self.path) {
            Ok(file) => file,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(format!("cannot be read: {e}")),
        };
        let mut text = Vec::new();
        let read = file.take(LARGEST).read_to_end(&mut text);
        read.map_err(|e| format!("cannot be read: {e}"))?;
        let written: Written = serde_json::from_slice(&text).map_err(|_| "is damaged")?;
        match written.version {
            VERSION => Ok(Some(written.kept)),
            other => Err(format!(
                "has version {other}, which this terraced does not know"
            )),
        }
    }

    /// Keeps the budget. The file is the old or the new one, whatever happens.
    ///
    /// # Errors
    /// A failure that names the file.
    pub fn keep(&self, kept: Kept) -> Result<()> {
        let written = Written {
            version: VERSION,
            kept,
        };
        if let Some(directory) = self.path.parent() {
            // Made by systemd, as a rule.
            let _ = fs::create_dir_all(directory);
        }
        let text = serde_json::to_vec(&written).expect("a budget is JSON");
        Output::save(&self.path, &text)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn share(ledger: Ledger) -> i64 {
        let mut ledger = ledger;
        let names = ["a".to_owned()].into_iter();
        ledger.share_among(names, Some(1000), std::time::Duration::ZERO);
        ledger.share("a").unwrap()
    }

    #[test]
    fn a_budget_goes_on_or_begins_full_once() {
        let directory = tempfile::tempdir().unwrap();
        let state = State::within(&directory.path().join("new"));
        let (first, wrong) = state.resume(0);
        assert_eq!((share(first), wrong), (1000, None));
        let kept = Kept {
            time_ms: 5,
            shares: [("a".to_owned(), -7)].into(),
            common: 0,
        };
        state.keep(kept).unwrap();
        let (again, wrong) = state.resume(5);
        assert_eq!((share(again), wrong), (-7, None));
    }

    #[test]
    fn one_that_is_damaged_begins_empty_and_is_told() {
        let directory = tempfile::tempdir().unwrap();
        let state = State::within(directory.path());
        let whole = r#"{"version":1,"time_ms":5,"shares":{"a":900},"common":0}"#;
        let newer = whole.replace(":1", ":2");
        for text in ["", "{}", &whole[..30], &newer, "\0\0\0\0", "[1,2]"] {
            fs::write(&state.path, text).unwrap();
            let (ledger, wrong) = state.resume(5);
            assert_eq!(share(ledger), 0, "{text}");
            let wrong = wrong.unwrap();
            assert!(
                wrong.ends_with("; the budget of writes begins empty"),
                "{wrong}"
            );
        }
        fs::remove_file(&state.path).unwrap();
        fs::create_dir(&state.path).unwrap();
        assert!(state.resume(5).1.unwrap().contains("cannot be read"));
    }

    proptest! {
        #[test]
        fn no_bytes_fill_a_budget(bytes in prop::collection::vec(any::<u8>(), 1..100)) {
            let directory = tempfile::tempdir().unwrap();
            let state = State::within(directory.path());
            fs::write(&state.path, bytes).unwrap();
            prop_assert_eq!(share(state.resume(5).0), 0);
        }
    }
}
