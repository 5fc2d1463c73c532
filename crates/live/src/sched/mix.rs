//! A file that names the programs of a mix.
//!
//! ```toml
//! [[program]]
//! command = "xz -k -T1 data"
//! directory = "/tmp"       # where it runs; that of terrace, if left out
//! count = 2                # so many of it; 1, if left out
//! ```

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use terrace_base::{Context, Error, Result};

use crate::program::Invocation;

/// Programs in a file at most, counted as often as they run.
const MOST: usize = 1024;

/// Contents of the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    program: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    command: String,
    directory: Option<PathBuf>,
    #[serde(default = "once")]
    count: usize,
}

fn once() -> usize {
    1
}

/// Reads the programs that a file names.
///
/// # Errors
/// A usage error if the file cannot be read, or is no such file.
pub fn read(path: &Path) -> Result<Vec<Invocation>> {
    let bytes = fs::read(path).or_fail(|| format!("cannot read {}", path.display()));
    let bytes = bytes.map_err(|error| Error::usage(error.to_string()))?;
    let text = String::from_utf8(bytes);
    let text = text.map_err(|_| Error::usage(format!("{} is no text", path.display())))?;
    parse(&text).map_err(|why| Error::usage(format!("{}: {why}", path.display())))
}

fn parse(text: &str) -> std::result::Result<Vec<Invocation>, String> {
    let file: File = toml::from_str(text).map_err(|error| error.to_string())?;
    let mut all = Vec::new();
    for entry in &file.program {
        let invocation = entry.invocation()?;
        if entry.count == 0 || all.len() + entry.count > MOST {
            return Err(format!(
                "count is {}, and may be 1 to {MOST} in all",
                entry.count
            ));
        }
        all.extend(std::iter::repeat_n(invocation, entry.count));
    }
    match all.is_empty() {
        true => Err("it names no programs; write [[program]] and command = \"...\"".to_owned()),
        false => Ok(all),
    }
}

impl Entry {
    fn invocation(&self) -> std::result::Result<Invocation, String> {
        let words = shlex::split(&self.command).filter(|words| !words.is_empty());
        let words = words.ok_or_else(|| format!("`{}` is no command line", self.command))?;
        let words: Vec<OsString> = words.into_iter().map(OsString::from).collect();
        Ok(Invocation {
            directory: self.directory.clone(),
            ..words.into()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_as_often_as_they_are_to_run() {
        let text = "[[program]]\ncommand = \"a 'b c'\"\ncount = 2\n[[program]]\ncommand = \"d\"\ndirectory = \"/\"\n";
        let all = parse(text).unwrap();
        let words: Vec<_> = all.iter().map(|it| it.words.len()).collect();
        assert_eq!(words, [2, 2, 1]);
        assert_eq!(all[2].directory.as_deref(), Some(Path::new("/")));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, why) in [
            ("", "names no programs"),
            ("[[program]]\ncommand = \"\"", "no command line"),
            ("[[program]]\ncommand = \"'a\"", "no command line"),
            ("[[program]]\ncommand = \"a\"\ncount = 0", "count is 0"),
            (
                "[[program]]\ncommand = \"a\"\ncount = 99999",
                "count is 99999",
            ),
            ("[[program]]\ncmd = \"a\"", "unknown field"),
            ("[[program]", "TOML"),
        ] {
            let told = parse(text).unwrap_err();
            assert!(told.contains(why), "{text}: {told}");
        }
        assert!(read(Path::new("/no/such/mix.toml")).is_err());
    }
}
