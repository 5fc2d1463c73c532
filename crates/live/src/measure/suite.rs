//! Suites of programs to measure: a folder with `suite.toml` and the files that its commands need.
//! Suites under `benches/` are built in, and unpacked to a temporary folder.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use include_dir::{Dir, include_dir};
use serde::{Deserialize, Deserializer, de};
use tempfile::TempDir;

use crate::program::Invocation;
use crate::run::Dram;
use terrace_base::{Bytes, Context, Error, Result};

/// Name of the description in a suite's folder.
const DESCRIPTION: &str = "suite.toml";

/// A built-in suite.
pub struct BuiltIn {
    /// Name.
    pub name: &'static str,
    /// Description in a line.
    pub summary: &'static str,
    description: &'static str,
    programs: Dir<'static>,
}

/// The built-in suites; `benches/NAME` documents each.
pub const BUILT_IN: [BuiltIn; 2] = [
    BuiltIn {
        name: "live",
        summary: "ordinary programs of Debian: NumPy, sort, SQLite, xz, scikit-learn, redis",
        description: include_str!("../../../../benches/live/suite.toml"),
        programs: include_dir!("$CARGO_MANIFEST_DIR/../../benches/live/programs"),
    },
    BuiltIn {
        name: "osvpp",
        summary: "SparkBench on one JVM, as chapter 5 of Fedorov 2016 measures it",
        description: include_str!("../../../../benches/osvpp/suite.toml"),
        programs: include_dir!("$CARGO_MANIFEST_DIR/../../benches/osvpp/programs"),
    },
];

/// A suite with its folder.
#[derive(Debug)]
pub struct Suite {
    /// Name of the suite, or of its folder.
    pub name: String,
    /// Description.
    pub description: Description,
    directory: PathBuf,
    /// Temporary folder of a built-in suite.
    _unpacked: Option<TempDir>,
}

/// Contents of `suite.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// DRAM budgets of each program.
    pub dram: Vec<Dram>,
    /// Repetitions of each way.
    pub repeat: usize,
    /// By Debian package, a command that succeeds if the package is installed.
    #[serde(default)]
    packages: BTreeMap<String, Vec<String>>,
    /// Programs.
    #[serde(rename = "program")]
    pub programs: Vec<Program>,
}

/// A program of a suite. Its commands are run in the suite's folder.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// Name, unique in the suite.
    pub name: String,
    /// Description in a line.
    pub description: String,
    /// Debian packages that it needs.
    #[serde(default)]
    pub needs: Vec<String>,
    /// Command that prepares its inputs, run once and not measured.
    prepare: Option<Vec<String>>,
    command: Vec<String>,
    /// Footprint; if it is not given, a first run measures it.
    #[serde(default, deserialize_with = "size")]
    pub footprint: Option<Bytes>,
    /// Predictability of its next page, in a word.
    pub expect: Option<String>,
    /// Smallest required speed-up against the better kernel way.
    pub bar: Option<f64>,
}

impl Suite {
    /// Opens the built-in suite of this name, or the suite in this folder.
    ///
    /// # Errors
    /// A usage error if there is none, or its description is wrong.
    pub fn open(name: &str) -> Result<Self> {
        match BUILT_IN.iter().find(|suite| suite.name == name) {
            Some(suite) => Self::unpack(suite),
            None => Self::read(Path::new(name)),
        }
    }

    fn unpack(suite: &BuiltIn) -> Result<Self> {
        // Programs may run as another user.
        let unpacked = tempfile::Builder::new()
            .prefix("terrace-suite-")
            .permissions(fs::Permissions::from_mode(0o755))
            .tempdir();
        let unpacked = unpacked.or_fail(|| "cannot make a temporary directory".into())?;
        let programs = unpacked.path().join("programs");
        fs::create_dir(&programs)
            .and_then(|()| suite.programs.extract(&programs))
            .or_fail(|| format!("cannot unpack the suite to {}", programs.display()))?;
        Ok(Self {
            name: suite.name.to_owned(),
            description: Description::parse(suite.description, DESCRIPTION)?,
            directory: unpacked.path().to_owned(),
            _unpacked: Some(unpacked),
        })
    }

    fn read(folder: &Path) -> Result<Self> {
        let file = folder.join(DESCRIPTION);
        let text = fs::read_to_string(&file).map_err(|e| {
            let names: Vec<_> = BUILT_IN.iter().map(|suite| suite.name).collect();
            Error::usage(format!(
                "`{}` is no suite: cannot read {}: {e}; name a folder with a {DESCRIPTION}, or \
                 one of {}",
                folder.display(),
                file.display(),
                names.join(", ")
            ))
        })?;
        let directory = folder.canonicalize();
        let directory = directory.or_fail(|| format!("cannot look at {}", folder.display()))?;
        let name = directory.file_name().unwrap_or(directory.as_os_str());
        Ok(Self {
            name: name.to_string_lossy().into_owned(),
            description: Description::parse(&text, &file.display().to_string())?,
            directory,
            _unpacked: None,
        })
    }

    /// Returns the programs of these names, or all if none is given, in the suite's order.
    ///
    /// # Errors
    /// A usage error that names the unknown program.
    pub fn select(&self, only: &[String]) -> Result<Vec<Program>> {
        let programs = &self.description.programs;
        if let Some(name) = only.iter().find(|&o| programs.iter().all(|p| p.name != *o)) {
            let names: Vec<_> = programs.iter().map(|p| p.name.as_str()).collect();
            return Err(Error::usage(format!(
                "the suite {} has no program `{name}`; there are: {}",
                self.name,
                names.join(", ")
            )));
        }
        let wanted = |p: &&Program| only.is_empty() || only.contains(&p.name);
        Ok(programs.iter().filter(wanted).cloned().collect())
    }

    /// Checks that the Debian packages which these programs need are installed.
    ///
    /// # Errors
    /// A failure that says how to install missing packages.
    pub fn require_packages(&self, programs: &[Program]) -> Result<()> {
        let needed: BTreeSet<_> = programs.iter().flat_map(|p| &p.needs).collect();
        let missing: Vec<_> = needed
            .into_iter()
            .filter(|package| !succeeds(&self.description.packages[*package]))
            .map(String::as_str)
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        Err(Error::failure(format!(
            "the suite {} needs packages that are not there; install them: apt-get install {}",
            self.name,
            missing.join(" ")
        )))
    }

    /// Returns how a program is run, with its output in `log`.
    pub fn invocation(&self, program: &Program, log: &Path) -> Invocation {
        self.in_folder(&program.command, log)
    }

    /// Returns how a program is prepared, if it needs that.
    pub fn preparation(&self, program: &Program, log: &Path) -> Option<Invocation> {
        let words = program.prepare.as_ref()?;
        Some(self.in_folder(words, log))
    }

    fn in_folder(&self, words: &[String], log: &Path) -> Invocation {
        Invocation {
            words: words.iter().map(Into::into).collect(),
            directory: Some(self.directory.clone()),
            log: Some(log.to_owned()),
            ..Invocation::default()
        }
    }
}

impl Description {
    /// Parses a description; `file` names it in errors.
    fn parse(text: &str, file: &str) -> Result<Self> {
        let description: Self = toml::from_str(text).map_err(|e| {
            let before = &text.as_bytes()[..e.span().map_or(0, |s| s.start).min(text.len())];
            let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
            Error::usage(format!("{file}, line {line}: {}", e.message()))
        })?;
        match description.fault() {
            Some(fault) => Err(Error::usage(format!("{file}: {fault}"))),
            None => Ok(description),
        }
    }

    /// Checks what its types do not guarantee.
    fn fault(&self) -> Option<String> {
        if self.dram.is_empty() || self.repeat == 0 || self.programs.is_empty() {
            return Some("a suite needs a dram, a repeat above 0 and a program".to_owned());
        }
        let mut names = BTreeSet::new();
        self.programs.iter().find_map(|program| {
            let name = &program.name;
            if !names.insert(name) {
                return Some(format!("two programs are called `{name}`"));
            }
            if name.contains('/') {
                return Some(format!("the name `{name}` has a / in it"));
            }
            if program.command.is_empty() {
                return Some(format!("the command of `{name}` is empty"));
            }
            let unknown = program
                .needs
                .iter()
                .find(|n| !self.packages.contains_key(*n));
            unknown.map(|package| {
                format!("`{name}` needs `{package}`, for which [packages] has no command")
            })
        })
    }
}

fn size<'de, D: Deserializer<'de>>(from: D) -> std::result::Result<Option<Bytes>, D::Error> {
    let text = String::deserialize(from)?;
    Bytes::parse(&text).map(Some).map_err(de::Error::custom)
}

/// Whether a command can be run and succeeds.
fn succeeds(command: &[String]) -> bool {
    let Some((program, arguments)) = command.split_first() else {
        return true;
    };
    let silent = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    silent.is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "dram = ['25%', '64M']\nrepeat = 2\n[packages]\nsh = ['true']\n\
        none = ['false']\n[[program]]\nname = 'one'\ndescription = 'd'\nneeds = ['sh']\n\
        command = ['./one']\nfootprint = '3M'\n[[program]]\nname = 'two'\ndescription = 'd'\n\
        needs = ['sh', 'none']\ncommand = ['two']\n";

    fn folder(text: &str) -> TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(DESCRIPTION), text).unwrap();
        folder
    }

    fn open(folder: &TempDir) -> Result<Suite> {
        Suite::open(folder.path().to_str().unwrap())
    }

    #[test]
    fn built_in_suites_are_right_and_whole() {
        for built_in in &BUILT_IN {
            let suite = Suite::open(built_in.name).unwrap();
            let (programs, folder) = (suite.select(&[]).unwrap(), suite.directory.clone());
            for program in &programs {
                assert!(program.footprint.is_some() && program.bar.is_some());
                let words = program.prepare.iter().flatten().chain(&program.command);
                for file in words.filter(|w| w.starts_with("programs/")) {
                    assert!(folder.join(file).is_file(), "{file} is not there");
                }
            }
            drop(suite);
            assert!(!folder.exists(), "what was unpacked is left");
        }
    }

    #[test]
    fn a_folder_of_one_s_own() {
        let folder = folder(GOOD);
        let suite = open(&folder).unwrap();
        assert_eq!(suite.description.dram.len(), 2);
        let programs = suite.select(&["two".to_owned(), "one".to_owned()]).unwrap();
        assert_eq!(programs[0].name, "one");
        assert_eq!(programs[0].footprint, Some(Bytes(3 << 20)));
        assert_eq!(programs[1].footprint, None);

        assert!(suite.require_packages(&programs[..1]).is_ok());
        let missing = suite.require_packages(&programs).unwrap_err().to_string();
        assert!(missing.ends_with("apt-get install none"), "{missing}");
        let unknown = suite.select(&["three".to_owned()]).unwrap_err().to_string();
        assert!(unknown.ends_with("there are: one, two"), "{unknown}");
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (from, to, why) in [
            ("dram = [", "dram = {", "line 1: "),
            ("'64M'", "'lots'", "line 1: `lots` is not a size"),
            ("'64M'", "'120%'", "no share of the footprint"),
            ("'3M'", "'0'", "line 11: `0` is not a size"),
            ("'25%', '64M'", "", "a suite needs a dram"),
            ("repeat = 2", "repeat = 0", "a repeat above 0"),
            ("repeat = 2", "repeat = -1", "line 2: "),
            ("repeat", "again", "unknown field `again`"),
            (
                "'two'\ndesc",
                "'one'\ndesc",
                "two programs are called `one`",
            ),
            ("'one'", "'o/e'", "the name `o/e` has a / in it"),
            ("['./one']", "[]", "the command of `one` is empty"),
            ("['sh']", "['zsh']", "`one` needs `zsh`"),
        ] {
            assert!(GOOD.contains(from), "{from}");
            let folder = folder(&GOOD.replacen(from, to, 1));
            let error = open(&folder).unwrap_err().to_string();
            assert!(error.contains(why), "{from} -> {to}: {error}");
        }
        let error = Suite::open("/no/such/suite").unwrap_err().to_string();
        assert!(error.contains("one of live, osvpp"), "{error}");
    }
}
