//! Names that a run gives: to its journal, its groups and its files.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use terrace_base::{Error, Result};

/// Prefix of the groups and files of runs.
pub(crate) const PREFIX: &str = "terrace-";

/// Returns the prefix of all names of the run of this process.
pub(crate) fn name_of(pid: u32) -> String {
    format!("{PREFIX}{pid}")
}

/// Returns the name of a process's journal: of its first session, or a later one.
pub(super) fn journal_of(pid: u32, session: usize) -> OsString {
    match session {
        1 => format!("run-{pid}.json").into(),
        _ => format!("run-{pid}-s{session}.json").into(),
    }
}

/// Returns the process whose journal has this name; `None` for other names.
pub(super) fn owner_of(name: &OsStr) -> Option<u32> {
    let text = name.to_str()?.strip_prefix("run-")?;
    let text = text.strip_suffix(".json")?;
    let (pid, session) = text.split_once("-s").unwrap_or((text, "1"));
    let (pid, session) = (pid.parse().ok()?, session.parse().ok()?);
    (journal_of(pid, session) == name).then_some(pid)
}

/// Checks that a file or group has a name of the run of this process: the run's own, and any
/// suffix.
///
/// # Errors
/// A failure if it has another name.
pub(crate) fn require_name_of(pid: u32, path: &Path) -> Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    match name.strip_prefix(&name_of(pid)) {
        Some(rest) if !rest.starts_with(|c: char| c.is_ascii_digit()) => Ok(()),
        _ => Err(Error::failure("this is no name that the run gives")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn journals_are_known_by_their_names() {
        let of = |name: &str| owner_of(OsStr::new(name));
        assert_eq!(of("run-7.json"), Some(7));
        assert_eq!(of("run-7-s2.json"), Some(7));
        for name in [
            "run-.json",
            "run-7-s1.json",
            "run-07.json",
            "run-7-s.json",
            "run-+7.json",
            "7.json",
        ] {
            assert_eq!(of(name), None, "{name}");
        }
    }
}
