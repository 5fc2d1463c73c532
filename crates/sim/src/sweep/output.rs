//! Where the results of a sweep go.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use terrace_base::{Context, Error, Result};

/// The name of the results in a directory.
const NAME: &str = "sweep";

/// Names of files: `NAME.parquet`, `NAME.csv`, and until they are whole `NAME.partial.jsonl`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// The results as a table for programs.
    pub parquet: PathBuf,
    /// The same as text.
    pub csv: PathBuf,
    /// What is finished of it.
    pub journal: PathBuf,
}

impl Output {
    /// The files of this name, with or without `.parquet` or `.csv`; in a directory they are
    /// called `sweep`.
    ///
    /// # Errors
    /// A usage error where the directory does not exist, or something that is no file has one of
    /// the names.
    pub fn new(name: &Path) -> Result<Self> {
        let name = match name.extension().and_then(|ending| ending.to_str()) {
            _ if name.is_dir() => name.join(NAME),
            Some("parquet" | "csv") => name.with_extension(""),
            _ => name.to_owned(),
        };
        let named = |ending| {
            let mut file = name.file_name().unwrap_or_default().to_owned();
            file.push(ending);
            name.with_file_name(file)
        };
        let output = Self {
            parquet: named(".parquet"),
            csv: named(".csv"),
            journal: named(".partial.jsonl"),
        };
        output.check(&name)?;
        Ok(output)
    }

    fn check(&self, name: &Path) -> Result<()> {
        let directory = name.parent().filter(|parent| *parent != Path::new(""));
        let directory = directory.unwrap_or(Path::new("."));
        if name.file_name().is_none()
            || name.to_string_lossy().ends_with('/')
            || !directory.is_dir()
        {
            return Err(Error::usage(format!(
                "there is no directory for the results `{}`; make it, or give another -o",
                name.display()
            )));
        }
        for path in self.all() {
            if path.metadata().is_ok_and(|found| !found.is_file()) {
                return Err(Error::usage(format!(
                    "`{}` is not a regular file; give another -o for the results",
                    path.display()
                )));
            }
        }
        Ok(())
    }

    /// Whether one of the files is the file `path`.
    pub fn is(&self, path: &Path) -> bool {
        let canonical = |path: &Path| path.canonicalize().ok();
        canonical(path).is_some_and(|path| {
            self.all()
                .iter()
                .any(|own| canonical(own).as_ref() == Some(&path))
        })
    }

    fn all(&self) -> [&Path; 3] {
        [&self.parquet, &self.csv, &self.journal]
    }
}

/// Replaces the file as a whole, so that it is never found half written. Only one process may
/// do that at a time.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut unfinished = path.as_os_str().to_owned();
    unfinished.push(".unfinished");
    let unfinished = PathBuf::from(unfinished);
    let written = File::create(&unfinished).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&unfinished, path)
    });
    if written.is_err() {
        // What failed is said below; that this failed too helps nobody.
        let _ = fs::remove_file(&unfinished);
    }
    written.or_fail(|| format!("cannot write `{}`", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_and_without_an_ending() {
        let directory = tempfile::tempdir().unwrap();
        let in_it = |name: &str| directory.path().join(name);
        for name in ["a.b", "a.b.csv", "a.b.parquet"] {
            let output = Output::new(&in_it(name)).unwrap();
            assert_eq!(output.parquet, in_it("a.b.parquet"), "{name}");
            assert_eq!(output.csv, in_it("a.b.csv"), "{name}");
            assert_eq!(output.journal, in_it("a.b.partial.jsonl"), "{name}");
        }
        let output = Output::new(directory.path()).unwrap();
        assert_eq!(output.csv, in_it("sweep.csv"));
    }

    #[test]
    fn a_directory_that_is_not_there() {
        let directory = tempfile::tempdir().unwrap();
        for name in ["none/a", "none/"] {
            let error = Output::new(&directory.path().join(name)).unwrap_err();
            assert!(
                error.to_string().contains("there is no directory"),
                "{error}"
            );
        }
        assert!(Output::new(Path::new("")).is_err());
        fs::create_dir(directory.path().join("a.csv")).unwrap();
        let error = Output::new(&directory.path().join("a")).unwrap_err();
        assert!(
            error.to_string().contains("is not a regular file"),
            "{error}"
        );
    }

    #[test]
    fn a_file_is_replaced_whole_or_not_at_all() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.csv");
        replace(&path, b"old").unwrap();
        replace(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        let taken = directory.path().join("taken");
        fs::create_dir(&taken).unwrap();
        replace(&taken, b"new").unwrap_err();
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2);
    }
}
