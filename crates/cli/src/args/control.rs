//! Commands of `terrace mount --control`.

use std::path::{Component, Path, PathBuf};

use terrace_base::{Bytes, Error, Result};
use terrace_filecache::mount::control::Command;

/// A command for a mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Control {
    /// Put the pages of a file or a tree on flash.
    Warm(String),
    /// Forget the pages of a file or a tree.
    Flush(String),
    /// What the mount does by itself.
    Sent(Command),
    /// Show the rules.
    List,
}

const COMMANDS: &str = "warm, pin, unpin, exclude, include, size, flush and list";

/// How an exclusion by size begins.
const LARGER: &str = "larger-than=";

impl Control {
    /// Reads a command and its argument for the mount with this root.
    ///
    /// # Errors
    /// Returns a usage error for what is no command, or has a wrong argument.
    pub fn parse(root: &Path, command: &str, argument: Option<&str>) -> Result<Self> {
        let path = || below(root, needed(command, "PATH", argument)?);
        Ok(match command {
            "warm" => Self::Warm(path()?),
            "pin" => Self::Sent(Command::Pin(path()?)),
            "unpin" => Self::Sent(Command::Unpin(path()?)),
            "exclude" => Self::Sent(exclusion(needed(command, "PATTERN", argument)?)?),
            "include" => match needed(command, "PATTERN", argument)? {
                "larger-than" => Self::Sent(Command::Largest(None)),
                pattern => Self::Sent(Command::Include(pattern.to_owned())),
            },
            "size" => {
                let size = Bytes::parse(needed(command, "SIZE", argument)?)?;
                Self::Sent(Command::Size(size.0))
            }
            "flush" => match argument {
                Some(path) => Self::Flush(below(root, path)?),
                None => Self::Sent(Command::Flush),
            },
            "list" => match argument {
                None => Self::List,
                Some(more) => {
                    return Err(Error::usage(format!(
                        "`list` takes nothing more; leave `{more}` out"
                    )));
                }
            },
            other => {
                return Err(Error::usage(format!(
                    "`{other}` is no command of --control; these are: {COMMANDS}"
                )));
            }
        })
    }
}

fn needed<'a>(command: &str, what: &str, argument: Option<&'a str>) -> Result<&'a str> {
    argument.ok_or_else(|| {
        Error::usage(format!(
            "`{command}` needs something: terrace mount --control MOUNTPOINT {command} {what}"
        ))
    })
}

fn exclusion(pattern: &str) -> Result<Command> {
    match pattern.strip_prefix(LARGER) {
        Some(size) => Ok(Command::Largest(Some(Bytes::parse(size)?.0))),
        None => Ok(Command::Exclude(pattern.to_owned())),
    }
}

/// Returns a path as it is below the root, without a slash at the start; the root is empty.
fn below(root: &Path, path: &str) -> Result<String> {
    let given = Path::new(path);
    let outside = || {
        Error::usage(format!(
            "{path} is not below {}; name a path there, as it is called below the mountpoint",
            root.display()
        ))
    };
    let inside = match given.is_absolute() {
        true => given.strip_prefix(root).map_err(|_| outside())?,
        false => given,
    };
    let mut clean = PathBuf::new();
    for part in inside.components() {
        match part {
            Component::Normal(name) => clean.push(name),
            Component::CurDir => {}
            _ => return Err(outside()),
        }
    }
    Ok(clean.to_str().unwrap_or_default().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(command: &str, argument: Option<&str>) -> Result<Control> {
        Control::parse(Path::new("/mnt/fast"), command, argument)
    }

    #[test]
    fn paths_are_below_the_mountpoint() {
        for path in ["db/a", "/mnt/fast/db/a", "./db//a/"] {
            let warm = parsed("warm", Some(path)).unwrap();
            assert_eq!(warm, Control::Warm("db/a".to_owned()), "{path}");
        }
        for path in ["/mnt/fast", "."] {
            let flush = parsed("flush", Some(path)).unwrap();
            assert_eq!(flush, Control::Flush(String::new()));
        }
        for path in ["/mnt/other", "../x", "/mnt/faster/x"] {
            let error = parsed("pin", Some(path)).unwrap_err().to_string();
            assert!(error.contains("is not below /mnt/fast"), "{error}");
        }
    }

    #[test]
    fn commands_are_read_with_their_arguments() {
        for (command, argument, wanted) in [
            ("exclude", Some("*.iso"), Command::Exclude("*.iso".into())),
            (
                "exclude",
                Some("larger-than=1M"),
                Command::Largest(Some(1 << 20)),
            ),
            ("include", Some("larger-than"), Command::Largest(None)),
            ("size", Some("2G"), Command::Size(2 << 30)),
            ("flush", None, Command::Flush),
        ] {
            let found = parsed(command, argument).unwrap();
            assert_eq!(found, Control::Sent(wanted), "{command}");
        }
        for (command, argument, says) in [
            ("warm", None, "`warm` needs something"),
            ("warn", Some("x"), "`warn` is no command"),
            ("list", Some("x"), "`list` takes nothing more"),
            ("size", Some("x"), "x"),
        ] {
            let error = parsed(command, argument).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }
}
