//! One case: what is run, in which directory, as which user, under which limits, and what it must
//! answer.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;

use crate::common::install;

/// The user that owns nothing.
pub const NOBODY: u32 = 65534;

/// What the process finds as its standard input.
pub enum Input {
    /// `/dev/null`.
    Nothing,
    /// No descriptor 0 at all.
    Closed,
    /// A pipe with these bytes.
    Bytes(Vec<u8>),
}

/// Where the process's standard output goes.
pub enum Output {
    /// To the judgement.
    Read,
    /// No descriptor 1 at all.
    Closed,
    /// To `/dev/full`.
    Full,
    /// Into a pipe without a reader.
    Broken,
}

/// What is done in the directory before the process starts.
pub enum Step {
    /// A function of the directory.
    Prepare(Box<dyn FnOnce(&Path) + Send>),
    /// Terrace with these arguments, which must succeed.
    Run(String),
}

/// A command line and what must become of it; see [`case`].
pub struct Case {
    pub name: String,
    /// `{dir}` stands for the absolute path of the case's directory.
    pub arguments: Vec<OsString>,
    pub steps: Vec<Step>,
    pub input: Input,
    pub output: Output,
    pub environment: Vec<(String, String)>,
    pub as_nobody: bool,
    pub needs_root: bool,
    /// Changes the machine (groups, swap): one at a time, and named `live`.
    pub live: bool,
    /// Resources and their limits, as for `setrlimit`.
    pub limits: Vec<(libc::__rlimit_resource_t, u64)>,
    /// Bytes of the file system at `full/`, which is of this case alone.
    pub small_disk: Option<u64>,
    /// Any of these.
    pub codes: Vec<i32>,
    /// Whether it says why on standard error.
    pub speaks: bool,
    /// Whether it says nothing there.
    pub is_silent: bool,
    /// Words of the one sentence on standard error.
    pub says: Vec<String>,
    /// Words of standard output.
    pub prints: Vec<String>,
    /// Files that are new afterwards, and directories with what is in them.
    pub leaves: Vec<String>,
    /// Files that may be others afterwards.
    pub changes: Vec<String>,
}

/// A case that must succeed silently: `line` is split at spaces, `argument` adds what cannot be
/// split so. Its directory is empty but for what it is given, and its current one.
pub fn case(name: impl Into<String>, line: &str) -> Case {
    Case {
        name: name.into(),
        arguments: line.split_whitespace().map(OsString::from).collect(),
        steps: Vec::new(),
        input: Input::Nothing,
        output: Output::Read,
        environment: Vec::new(),
        as_nobody: false,
        needs_root: false,
        live: false,
        limits: Vec::new(),
        small_disk: None,
        codes: vec![0],
        speaks: false,
        is_silent: false,
        says: Vec::new(),
        prints: Vec::new(),
        leaves: Vec::new(),
        changes: Vec::new(),
    }
}

// Not each of these is used at any time: they are the words that cases are written in.
#[allow(dead_code)]
impl Case {
    /// Adds an argument as it is.
    pub fn argument(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Adds arguments, split at spaces.
    pub fn and(mut self, line: &str) -> Self {
        self.arguments
            .extend(line.split_whitespace().map(OsString::from));
        self
    }

    /// Has the directory prepared by a function, after all that was said before.
    pub fn prepared(mut self, preparation: impl FnOnce(&Path) + Send + 'static) -> Self {
        self.steps.push(Step::Prepare(Box::new(preparation)));
        self
    }

    /// Makes a file.
    pub fn file(self, name: impl Into<OsString>, content: impl AsRef<[u8]>) -> Self {
        let (name, content) = (name.into(), content.as_ref().to_vec());
        self.prepared(move |place| fs::write(place.join(name), content).expect("a file"))
    }

    /// Makes a directory, and those above it.
    pub fn directory(self, name: &'static str) -> Self {
        self.prepared(move |place| fs::create_dir_all(place.join(name)).expect("a directory"))
    }

    /// Makes a symbolic link.
    pub fn link(self, name: &'static str, target: &'static str) -> Self {
        self.prepared(move |place| symlink(target, place.join(name)).expect("a link"))
    }

    /// Makes a FIFO, which has no other end.
    pub fn fifo(self, name: &'static str) -> Self {
        self.prepared(move |place| {
            let path = std::ffi::CString::new(place.join(name).as_os_str().as_bytes()).unwrap();
            // SAFETY: the path is a C string.
            assert_eq!(unsafe { libc::mkfifo(path.as_ptr(), 0o666) }, 0);
        })
    }

    /// Changes who may do what with a file that was made before.
    pub fn mode(self, name: &'static str, mode: u32) -> Self {
        self.prepared(move |place| {
            let path = place.join(name);
            if mode & 0o111 != 0 && path.is_file() {
                let source = place.join("source of a program");
                fs::rename(&path, &source).expect("the program");
                install(&source, &path);
                fs::remove_file(source).expect("its source");
            }
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("modes");
        })
    }

    /// Gives a file that was made before to `nobody`; needs root.
    pub fn nobody_s(mut self, name: &'static str) -> Self {
        self.needs_root = true;
        self.prepared(move |place| {
            chown(place.join(name), Some(NOBODY), Some(NOBODY)).expect("an owner");
        })
    }

    /// Makes a file that was made before root's alone; needs root.
    pub fn root_s(mut self, name: &'static str) -> Self {
        self.needs_root = true;
        self.mode(name, 0o600).prepared(move |place| {
            chown(place.join(name), Some(0), Some(0)).expect("an owner");
        })
    }

    /// Runs Terrace with these arguments, after all that was said before; it must succeed.
    pub fn after(mut self, line: impl Into<String>) -> Self {
        self.steps.push(Step::Run(line.into()));
        self
    }

    /// Gives it this standard input.
    pub fn input(mut self, input: Input) -> Self {
        self.input = input;
        self
    }

    /// Gives it this standard output.
    pub fn output(mut self, output: Output) -> Self {
        self.output = output;
        self
    }

    /// Sets a variable of its environment; `{dir}` as in arguments.
    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// Runs it as `nobody`, who owns the directory and may write there. Without root it is run as
    /// who runs the tests.
    pub fn nobody(mut self) -> Self {
        self.as_nobody = true;
        self
    }

    /// Needs root: ignored unless asked for.
    pub fn root(mut self) -> Self {
        self.needs_root = true;
        self
    }

    /// Runs a program under a budget, or changes the machine in another way: needs root.
    pub fn live(mut self) -> Self {
        self.live = true;
        self.root()
    }

    /// Sets a limit of `setrlimit`.
    pub fn limit(mut self, resource: libc::__rlimit_resource_t, value: u64) -> Self {
        self.limits.push((resource, value));
        self
    }

    /// Mounts a file system of this many bytes at `full/`: for outputs, never for a tier. Needs
    /// root.
    pub fn small_disk(mut self, bytes: u64) -> Self {
        self.small_disk = Some(bytes);
        self.root()
    }

    /// Must be refused as wrong usage, with these words.
    pub fn usage(self, says: &str) -> Self {
        self.code(2).says(says)
    }

    /// Must fail, with these words.
    pub fn failure(self, says: &str) -> Self {
        self.code(1).says(says)
    }

    /// Must fail with a sentence, with code 1 or 2.
    pub fn fails(mut self) -> Self {
        self.codes = vec![1, 2];
        self.speaks = true;
        self
    }

    /// Must end with this code.
    pub fn code(mut self, code: i32) -> Self {
        self.codes = vec![code];
        self
    }

    /// Must say this on standard error.
    pub fn says(mut self, words: &str) -> Self {
        self.says.push(words.into());
        self.speaks = true;
        self
    }

    /// Must say nothing on standard error.
    pub fn silent(mut self) -> Self {
        self.is_silent = true;
        self
    }

    /// Must say this on standard output.
    pub fn prints(mut self, words: &str) -> Self {
        self.prints.push(words.into());
        self
    }

    /// Must leave this file.
    pub fn leaves(mut self, name: &str) -> Self {
        self.leaves.push(name.into());
        self
    }

    /// May change this file.
    pub fn changes(mut self, name: &str) -> Self {
        self.changes.push(name.into());
        self
    }
}
