//! Programs that are run for the user: how they are found, and how they end.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use crate::{Error, Result};

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
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
                // SAFETY: all of these take integers, or a limit that lives across the call. The
                // limit keeps this process from leaving a core file beside the program's.
                unsafe {
                    let none = libc::rlimit {
                        rlim_cur: 0,
                        rlim_max: 0,
                    };
                    libc::setrlimit(libc::RLIMIT_CORE, &raw const none);
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
    let candidates: Vec<PathBuf> = if is_path(name) {
        vec![name.into()]
    } else {
        let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into());
        std::env::split_paths(&path)
            .map(|directory| directory.join(name))
            .collect()
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
