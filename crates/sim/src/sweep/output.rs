//! Files with the results of a sweep.

use std::path::{Path, PathBuf};

use terrace_base::{self as base, Error, Result};

/// Name of the results within a directory.
const NAME: &str = "sweep";

/// Paths of the results: `NAME.parquet` and `NAME.csv`, and where passes are kept, `NAME.results`
/// if nothing else is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Results as a Parquet table.
    pub parquet: PathBuf,
    /// Results as CSV.
    pub csv: PathBuf,
    /// Folder of finished passes, a directory or the URI of one in a store.
    pub results: PathBuf,
}

impl Output {
    /// Returns the files of a name given with or without `.parquet` or `.csv`; in a directory they
    /// are called `sweep`. Passes are kept in `results`, if it is given.
    ///
    /// # Errors
    /// A usage error where the directory does not exist, or where one of the names is in use by
    /// something other than a regular file.
    pub fn new(name: &Path, results: Option<&Path>) -> Result<Self> {
        let name = match name.extension().and_then(|ending| ending.to_str()) {
            _ if name.is_dir() => name.join(NAME),
            Some("parquet" | "csv") => name.with_extension(""),
            // Something other than a regular file has this name: it is meant, and would not be
            // written.
            _ if name.metadata().is_ok_and(|found| !found.is_file()) => {
                return Err(Error::usage(format!(
                    "`{}` is neither a directory nor a name for results, which get the endings .parquet and .csv; \
                     give another -o",
                    name.display()
                )));
            }
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
            results: results.map_or_else(|| named(".results"), Path::to_owned),
        };
        output.check(&name)?;
        Ok(output)
    }

    fn check(&self, name: &Path) -> Result<()> {
        let directory = name.parent().filter(|parent| *parent != Path::new(""));
        let directory = directory.unwrap_or(Path::new("."));
        let is_folder = name.to_string_lossy().ends_with('/');
        if name.file_name().is_none() || is_folder || !directory.is_dir() {
            return Err(Error::usage(format!(
                "there is no directory for the results `{}`; make it, or give another -o",
                name.display()
            )));
        }
        for path in self.tables() {
            if path.metadata().is_ok_and(|found| !found.is_file()) {
                return Err(Error::usage(format!(
                    "`{}` is not a regular file; give another -o for the results",
                    path.display()
                )));
            }
            base::Output::create(path)?;
        }
        if self.results.is_dir() {
            base::Output::create(&self.results.join("result"))?;
        }
        Ok(())
    }

    /// Returns the files.
    pub fn tables(&self) -> [&Path; 2] {
        [&self.parquet, &self.csv]
    }

    /// Returns what a sweep of an earlier version had finished under this name, if it is there: it
    /// is not read.
    pub fn earlier(&self) -> Option<PathBuf> {
        let journal = self.csv.with_extension("partial.jsonl");
        journal.exists().then_some(journal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_and_without_an_ending() {
        let directory = tempfile::tempdir().unwrap();
        let in_it = |name: &str| directory.path().join(name);
        for name in ["a.b", "a.b.csv", "a.b.parquet"] {
            let output = Output::new(&in_it(name), None).unwrap();
            assert_eq!(output.parquet, in_it("a.b.parquet"), "{name}");
            assert_eq!(output.csv, in_it("a.b.csv"), "{name}");
            assert_eq!(output.results, in_it("a.b.results"), "{name}");
            assert_eq!(output.earlier(), None);
        }
        std::fs::write(in_it("a.b.partial.jsonl"), "").unwrap();
        let output = Output::new(&in_it("a.b"), None).unwrap();
        assert_eq!(output.earlier(), Some(in_it("a.b.partial.jsonl")));
        let output = Output::new(directory.path(), None).unwrap();
        assert_eq!(output.csv, in_it("sweep.csv"));
        let output = Output::new(&in_it("a"), Some(Path::new("s3://results/a"))).unwrap();
        assert_eq!(output.results, Path::new("s3://results/a"));
    }

    #[test]
    fn a_directory_that_is_not_there() {
        let directory = tempfile::tempdir().unwrap();
        for name in ["none/a", "none/"] {
            let error = Output::new(&directory.path().join(name), None).unwrap_err();
            assert!(
                error.to_string().contains("there is no directory"),
                "{error}"
            );
        }
        assert!(Output::new(Path::new(""), None).is_err());
        std::fs::create_dir(directory.path().join("a.csv")).unwrap();
        let error = Output::new(&directory.path().join("a"), None).unwrap_err();
        assert!(
            error.to_string().contains("is not a regular file"),
            "{error}"
        );
    }
}
