//! What `/etc/terrace/*.toml` asks for: targets, each with a goal, and the tier that they share.
//!
//! All files of the directory count as one. What is wrong is said in a sentence with file and line,
//! and then nothing of the configuration holds.

mod amounts;
mod place;
mod target;
mod tier;

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use terrace_base::{Context, Error, Result};
use toml::Spanned;

use place::Source;
pub use target::{By, Goal, Percent, Pod, Target};
pub use tier::Tier;

/// The directory of the files.
pub const DIRECTORY: &str = "/etc/terrace";

/// The largest file that is read, in bytes.
const LARGEST: u64 = 1 << 20;

/// The most targets of a machine.
pub const MOST_TARGETS: usize = 500;

/// The longest name of a target, in bytes.
const LONGEST_NAME: usize = 64;

/// What the files ask for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Configuration {
    /// Targets by name.
    pub targets: BTreeMap<String, Target>,
    /// The tier that they share.
    pub tier: Tier,
}

/// A file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    target: BTreeMap<Spanned<String>, Spanned<target::Written>>,
    tier: Option<Spanned<tier::Written>>,
}

impl Configuration {
    /// Reads all files `*.toml` of a directory, in the order of their names.
    ///
    /// # Errors
    /// A usage error that names file, line and what to do; a failure if a file cannot be read.
    pub fn read(directory: &Path) -> Result<Self> {
        let cannot = || format!("cannot read {}", directory.display());
        let mut files = Vec::new();
        for entry in fs::read_dir(directory).or_fail(cannot)? {
            let path = entry.or_fail(cannot)?.path();
            let is_hidden = path.file_name().is_some_and(is_hidden);
            if path.extension().is_some_and(|kind| kind == "toml") && !is_hidden {
                files.push(path);
            }
        }
        files.sort_unstable();
        let texts = files.into_iter().map(|path| {
            let text = text(&path)?;
            Ok((path, text))
        });
        Self::parse(&texts.collect::<Result<Vec<_>>>()?)
    }

    /// Reads the texts of files with these names.
    ///
    /// # Errors
    /// A usage error that names file, line and what to do.
    pub fn parse(files: &[(PathBuf, String)]) -> Result<Self> {
        let mut read = Reading::default();
        for (path, text) in files {
            read.file(&Source { path, text })?;
        }
        Ok(read.configuration)
    }
}

fn is_hidden(name: &std::ffi::OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

/// Returns the text of a file.
fn text(path: &Path) -> Result<String> {
    let cannot = || format!("cannot read {}", path.display());
    let mut options = OpenOptions::new();
    // A pipe with nobody at its other end is not waited for.
    let options = options.read(true).custom_flags(libc::O_NONBLOCK);
    let file = options.open(path).or_fail(cannot)?;
    let mut text = Vec::new();
    let mut bounded = file.take(LARGEST + 1);
    bounded.read_to_end(&mut text).or_fail(cannot)?;
    if text.len() as u64 > LARGEST {
        return Err(Error::usage(format!(
            "{} is longer than 1 MiB; divide it into several files",
            path.display()
        )));
    }
    String::from_utf8(text).map_err(|e| {
        let before = &e.as_bytes()[..e.utf8_error().valid_up_to()];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        let path = path.display();
        Error::usage(format!(
            "{path}, line {line}: this is not UTF-8; save the file as UTF-8"
        ))
    })
}

/// What was read so far, and where it stands.
#[derive(Default)]
struct Reading {
    configuration: Configuration,
    /// Places of targets by their names, and by what they mean.
    names: BTreeMap<String, String>,
    meanings: BTreeMap<By, (String, String)>,
    /// Place of the tier.
    tier: Option<String>,
}

impl Reading {
    fn file(&mut self, source: &Source<'_>) -> Result<()> {
        let written: Written = toml::from_str(source.text).map_err(|e| source.syntax(&e))?;
        for (name, target) in written.target {
            self.target(source, &name, target)?;
        }
        let Some(tier) = written.tier else {
            return Ok(());
        };
        let here = source.place(tier.span().start);
        if let Some(other) = &self.tier {
            return Err(Error::usage(format!(
                "{here}: the tier stands in {other} as well; a machine has one, take one of them out"
            )));
        }
        self.configuration.tier = Tier::of(source, tier)?;
        self.tier = Some(here);
        Ok(())
    }

    fn target(
        &mut self,
        source: &Source<'_>,
        name: &Spanned<String>,
        written: Spanned<target::Written>,
    ) -> Result<()> {
        let at = name.span().start;
        let here = source.place(at);
        let name = name.get_ref();
        check_name(name).map_err(|why| source.wrong(at, &why))?;
        if let Some(other) = self.names.get(name) {
            return Err(Error::usage(format!(
                "{here}: the target `{name}` stands in {other} as well; rename one or take it out"
            )));
        }
        let target = Target::of(source, name, written)?;
        if let Some((other, place)) = self.meanings.get(&target.by) {
            return Err(Error::usage(format!(
                "{here}: the target `{name}` means {}, as `{other}` in {place} does; take one out",
                target.by
            )));
        }
        if self.names.len() == MOST_TARGETS {
            return Err(Error::usage(format!(
                "{here}: the target `{name}` is one more than {MOST_TARGETS}; take some out"
            )));
        }
        self.names.insert(name.clone(), here.clone());
        let meaning = (name.clone(), here);
        self.meanings.insert(target.by.clone(), meaning);
        self.configuration.targets.insert(name.clone(), target);
        Ok(())
    }
}

/// Names are labels of metrics, and fields of logs.
fn check_name(name: &str) -> std::result::Result<(), String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-@".contains(c);
    match () {
        () if name.is_empty() || !name.chars().all(is_plain) => Err(format!(
            "`{name}` is no name of a target; write it of letters, digits and . _ - @"
        )),
        () if name.len() > LONGEST_NAME => Err(format!(
            "`{name}` is too long for a name; {LONGEST_NAME} characters are the most"
        )),
        () => Ok(()),
    }
}

#[cfg(test)]
mod tests;
