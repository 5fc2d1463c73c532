//! Programs that are run for the user: how they are found, and how they end.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use rustix::process::{Resource, Rlimit, setrlimit};

use crate::{Error, Result};

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

/// A program that ended well.
impl Default for Exit {
    fn default() -> Self {
        Self::Code(0)
    }
}

impl From<ExitStatus> for Exit {
    fn from(status: ExitStatus) -> Self {
        match status.signal() {
            Some(signal) => Self::Signal(signal),
            None => Self::Code(status.code().unwrap_or_default()),
        }
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "ended with code {code}"),
            Self::Signal(signal) => write!(f, "was ended by signal {signal}"),
        }
    }
}

impl Exit {
    /// Whether the program succeeded.
    pub fn success(self) -> bool {
        self == Self::Code(0)
    }

    /// Ends this process in the same way: with the code, or by the signal.
    pub fn end_like(self) -> ! {
        match self {
            Self::Code(code) => std::process::exit(code),
            Self::Signal(signal) => {
                // This process leaves no core file beside the program's.
                let (current, maximum) = (Some(0), Some(0));
                let _ = setrlimit(Resource::Core, Rlimit { current, maximum });
                // SAFETY: both take integers.
                unsafe {
                    libc::signal(signal, libc::SIG_DFL);
                    libc::raise(signal);
                }
                std::process::exit(128 + signal)
            }
        }
    }
}

/// Returns the file of the program that `command` begins with, found in `PATH` as a shell does.
///
/// # Errors
/// Returns a usage error if there is no such file, or it may not be run.
pub fn find(command: &[OsString]) -> Result<PathBuf> {
    let Some(name) = command.first().filter(|name| !name.is_empty()) else {
        return Err(Error::usage(
            "no program was given; write it behind --, as in: terrace run --dram 4G -- ./program",
        ));
    };
    let candidates = match is_path(name) {
        true => vec![name.into()],
        false => in_path(name),
    };
    if let Some(found) = candidates.iter().find(|path| is_executable(path)) {
        return Ok(found.clone());
    }
    let shown = name.display();
    Err(match candidates.iter().find(|path| path.exists()) {
        Some(path) if path.is_dir() => Error::usage(format!(
            "{shown} is a directory; name the program in it that shall run"
        )),
        Some(_) => Error::usage(format!(
            "the program {shown} may not be run; make it executable (chmod +x)"
        )),
        None => Error::usage(format!(
            "the program {shown} does not exist; check its name, or give its path"
        )),
    })
}

/// Returns where a program called `name` may be: in each directory of `PATH`.
pub fn in_path(name: impl AsRef<Path>) -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into());
    let directories = std::env::split_paths(&path);
    directories.map(|each| each.join(&name)).collect()
}

/// Whether a program's name is a path, which is not looked up in `PATH`.
pub fn is_path(name: &OsStr) -> bool {
    name.as_encoded_bytes().contains(&b'/')
}

fn is_executable(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_in_words() {
        assert_eq!(Exit::Code(3).to_string(), "ended with code 3");
        assert_eq!(Exit::Signal(9).to_string(), "was ended by signal 9");
        assert_eq!(Exit::from(ExitStatus::from_raw(3 << 8)), Exit::Code(3));
        assert_eq!(Exit::from(ExitStatus::from_raw(9)), Exit::Signal(9));
    }
}
