//! The options that say where results go, the same for every command.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use clap::Args;
use terrace_base::apart::Named;
use terrace_base::{Error, Result, keep_apart};
use terrace_results::html::Look;

/// What stands for standard output.
pub const STANDARD: &str = "-";

/// Where results go besides the terminal.
#[derive(Args, Clone, Debug, Default)]
pub struct Results {
    /// Write results as JSON to FILE; without FILE, print it
    ///
    /// With the effective settings. JSON on standard output, which - names as well, takes the place
    /// of the table. Where a file to be read follows, write --json=-.
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = STANDARD)]
    pub json: Option<PathBuf>,

    /// Write results as CSV to FILE
    ///
    /// Standard output for -. A row a result. Columns are the fields of the JSON.
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub csv: Option<PathBuf>,

    /// Write results as Parquet to FILE
    ///
    /// Standard output for -. The same rows and columns as in the CSV.
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub parquet: Option<PathBuf>,

    /// Write results as a page with plots to FILE
    ///
    /// Standard output for -. Tables, plots, effective settings and the machine, in one file of
    /// HTML that loads nothing.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// Write the plots of the page as vectors (SVG) to FILE
    ///
    /// Standard output for -. Several plots stand one below the other.
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub svg: Option<PathBuf>,

    /// Title of the first plot of --svg
    #[arg(long, value_name = "TEXT", requires = "svg", hide_short_help = true)]
    pub title: Option<String>,

    /// Name a series of --svg otherwise, as in lru=LRU; may be repeated
    #[arg(long = "label", value_name = "SERIES=TEXT", requires = "svg", value_parser = label,
          hide_short_help = true)]
    pub labels: Vec<(String, String)>,
}

/// Parses the name of a series, and another one. A policy with settings has a name with `=`, so the
/// last one parts the two.
fn label(text: &str) -> std::result::Result<(String, String), String> {
    let parts = text
        .rsplit_once('=')
        .filter(|(series, _)| !series.is_empty());
    let (series, name) = parts.ok_or("write SERIES=TEXT, as in lru=LRU")?;
    Ok((series.to_owned(), name.to_owned()))
}

/// A form of results.
#[derive(Clone, Copy, Debug)]
pub enum Form {
    Json,
    Csv,
    Parquet,
    Html,
    Svg,
}

impl Form {
    /// Returns the option that asks for the form.
    fn option(self) -> &'static str {
        match self {
            Self::Json => "--json",
            Self::Csv => "--csv",
            Self::Parquet => "--parquet",
            Self::Html => "--html",
            Self::Svg => "--svg",
        }
    }
}

impl Results {
    /// Returns the forms that were asked for, and where each goes.
    pub fn given(&self) -> Vec<(Form, &Path)> {
        let all = [
            (Form::Json, &self.json),
            (Form::Csv, &self.csv),
            (Form::Parquet, &self.parquet),
            (Form::Html, &self.html),
            (Form::Svg, &self.svg),
        ];
        let given = all.map(|(form, path)| Some((form, path.as_deref()?)));
        given.into_iter().flatten().collect()
    }

    /// Returns how plots are drawn as vectors.
    pub fn look(&self) -> Look {
        Look {
            title: self.title.clone(),
            labels: self.labels.clone(),
        }
    }

    /// Checks that no output is an input or another output, that at most one is standard output,
    /// and that `--json` did not take a file that was to be read.
    ///
    /// # Errors
    /// Returns a usage error that names the file and the options.
    pub fn check(&self, inputs: &[Named], others: &[Named]) -> Result<()> {
        let given = self.given().into_iter();
        let named = given.map(|(form, path)| (form.option(), path));
        let (standard, files): (Vec<_>, Vec<_>) = others
            .iter()
            .copied()
            .chain(named)
            .partition(|(_, path)| is_standard(path));
        if let [(first, _), (second, _), ..] = standard[..] {
            return Err(Error::usage(format!(
                "{first} and {second} cannot both be written to standard output; name a file for one"
            )));
        }
        keep_apart(inputs, &files)?;
        match self.json.as_deref().filter(|path| !is_standard(path)) {
            Some(path) if !may_be_json(path) => Err(Error::usage(format!(
                "--json would overwrite {}, which is not JSON; to read it, write --json=- or put \
                 --json last; to replace it, remove it first",
                path.display()
            ))),
            _ => Ok(()),
        }
    }
}

/// Whether a path stands for standard output.
pub fn is_standard(path: &Path) -> bool {
    path.as_os_str() == STANDARD
}

/// Whether a regular file that is there is empty or begins as JSON does. Other files may be
/// anything.
fn may_be_json(path: &Path) -> bool {
    if !path.is_file() {
        return true;
    }
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(256).read_to_end(&mut head));
    match read {
        Ok(_) => matches!(head.trim_ascii_start().first(), None | Some(b'{' | b'[')),
        Err(error) => error.kind() != ErrorKind::NotFound,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_no_json_is_not_replaced_by_json() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("a.parquet");
        let results = Results {
            json: Some(file.clone()),
            ..Results::default()
        };
        results.check(&[], &[]).unwrap();
        for (text, may) in [("", true), (" \n{}", true), ("[1]", true), ("PAR1", false)] {
            std::fs::write(&file, text).unwrap();
            assert_eq!(results.check(&[], &[]).is_ok(), may, "{text}");
        }
    }

    #[test]
    fn standard_output_is_for_one() {
        let results = Results {
            json: Some(STANDARD.into()),
            html: Some(STANDARD.into()),
            ..Results::default()
        };
        let error = results.check(&[], &[]).unwrap_err().to_string();
        assert!(error.contains("--json and --html"), "{error}");
    }
}
