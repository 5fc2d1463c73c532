//! What is to be recorded, and what a trace says of that.

use std::ffi::OsString;
use std::path::PathBuf;

use terrace_base::{Bytes, Error, Result, User, program};
use terrace_recorder::level::Level;
use terrace_recorder::pool::RecordSettings;
use terrace_recorder::program::Program;

use super::{memory, sanitizer};

/// The key under which a trace keeps the program and its arguments.
pub const COMMAND: &str = "recorded.command";
/// The key under which a trace keeps what one row is: a [`Level`](super::Level).
pub const LEVEL: &str = "recorded.level";
/// The key under which a trace keeps which accesses passed: `none` filters nothing.
pub const FILTER: &str = "recorded.filter";
/// The filter of private caches, see [`RecordSettings::filtered`].
pub const PRIVATE_CACHES: &str = "l1l2";

/// The key under which a trace keeps the bytes of the least mapping whose accesses it has, and no
/// others.
pub const LEAST_MAPPING: &str = "recorded.least-mapping";
/// The key under which a trace says that it was recorded with contents.
pub const CONTENTS: &str = "recorded.contents";

/// The key under which a trace says that it was recorded where addresses come from.
pub const DEPENDENCES: &str = "recorded.dependences";

/// The key under which a trace says from which size on it has allocations, in bytes.
pub const ALLOCATIONS: &str = "recorded.allocations";

/// What is to be recorded.
#[derive(Clone, Debug)]
pub struct Request {
    /// The program's file.
    pub program: PathBuf,
    /// Its arguments, beginning with its name.
    pub arguments: Vec<OsString>,
    /// Which accesses are kept, and what one row is.
    pub settings: RecordSettings,
    /// The least size of objects whose allocation is recorded; none: no allocations are.
    pub allocations: Option<u64>,
    /// Another library to load into the program, with a variable of its environment that says what
    /// it is to do.
    pub library: Option<(PathBuf, (&'static str, String))>,
    /// The number of rows after which the recording and the program are ended.
    pub limit: Option<u64>,
    /// The memory that the emulator and the processes in it may take; the recording and the program
    /// are ended beyond it.
    pub memory_limit: Bytes,
    /// The user whom the program runs as; none: the user of this process.
    pub user: Option<User>,
}

impl Request {
    /// Asks for every access of the program that `words` name, which is found in `PATH`, with half
    /// of the memory that is available.
    ///
    /// # Errors
    /// Returns a usage error if there is no such program.
    pub fn new(words: &[OsString], user: Option<User>) -> Result<Self> {
        Ok(Self {
            program: program::find(words)?,
            arguments: words.to_vec(),
            settings: RecordSettings::default(),
            allocations: None,
            library: None,
            limit: None,
            memory_limit: memory::default_limit(),
            user,
        })
    }

    /// Checks that the emulator can run the program, and that the settings go together.
    ///
    /// # Errors
    /// A usage error that says why it cannot, or names those that do not.
    pub fn check(&self) -> Result<()> {
        let program = self.executed()?;
        if let Some(sanitizer) = sanitizer::of(&program.file) {
            return Err(Error::usage(format!(
                "{} is built with {sanitizer}, whose shadow memory spans more addresses than the emulator can keep \
                 account of; record a build without it (without -fsanitize)",
                self.program.display()
            )));
        }
        let settings = self.settings;
        if settings.least_mapping.is_some() && settings.filtered {
            return Err(Error::usage(
                "‘extended’ leaves accesses out that private caches would see, so ‘filter’ l1l2 would be wrong; give \
                 only one of them",
            ));
        }
        if settings.depends && (settings.level != Level::Accesses || settings.filtered) {
            return Err(Error::usage(
                "‘dependences’ says from which load each address comes, so it needs all accesses; leave ‘level’, \
                 ‘filter’ and ‘contents’ away",
            ));
        }
        if !settings.contents {
            return Ok(());
        }
        if self.allocations.is_some() {
            return Err(Error::usage(
                "‘allocations’ and ‘contents’ cannot be recorded together; record twice, with one of them each",
            ));
        }
        if settings.level != Level::Pages {
            return Err(Error::usage(format!(
                "‘contents’ says what pages hold, and ‘level’ {} records no runs of pages; give ‘level’ pages",
                settings.level.name()
            )));
        }
        match settings.filtered {
            true => Err(Error::usage(
                "‘contents’ needs every access, and ‘filter’ l1l2 leaves most of them out; give only one of them",
            )),
            false => Ok(()),
        }
    }

    /// Returns what the emulator executes: the program, or the interpreter of a script.
    ///
    /// # Errors
    /// A usage error if the emulator cannot run it.
    pub(super) fn executed(&self) -> Result<Program> {
        Program::of(&self.program, &self.arguments).map_err(Error::usage)
    }

    /// Returns the command line: the words, with spaces between them.
    pub fn command(&self) -> String {
        command(&self.arguments)
    }

    /// Returns what a trace says of the recording before it begins.
    pub fn about(&self) -> Vec<(String, String)> {
        let filter = match self.settings.filtered {
            true => PRIVATE_CACHES,
            false => "none",
        };
        let contents = self.settings.contents.then(|| (CONTENTS, "yes".to_owned()));
        let depends = self
            .settings
            .depends
            .then(|| (DEPENDENCES, "yes".to_owned()));
        let about = [
            (COMMAND, self.command()),
            (LEVEL, self.settings.level.name().to_owned()),
            (FILTER, filter.to_owned()),
            (
                "recorded.by",
                format!("terrace {}", env!("CARGO_PKG_VERSION")),
            ),
        ];
        let least = self.settings.least_mapping;
        let least = least.map(|bytes| (LEAST_MAPPING, bytes.to_string()));
        let objects = self.allocations;
        let objects = objects.map(|least| (ALLOCATIONS, least.to_string()));
        let about = about
            .into_iter()
            .chain(contents)
            .chain(depends)
            .chain(least)
            .chain(objects);
        about.map(|(key, value)| (key.to_owned(), value)).collect()
    }
}

/// Returns the command line of a program, as a trace keeps it under [`COMMAND`].
pub fn command(words: &[OsString]) -> String {
    let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    words.join(" ")
}
