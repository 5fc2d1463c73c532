//! Standard input of a program that is run several times: each run gets all of it, from the present
//! offset on.

use std::fs::File;
use std::io::ErrorKind::{Interrupted, WouldBlock};
use std::io::{self, IsTerminal, Read, Seek, SeekFrom, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use terrace_base::{Context, Error, Result};

use crate::journal::state_directory;
use crate::tier::Spec;

/// Interval at which signals are checked while a pipe is silent.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Time that reading a pipe may take before a notice says so.
const PATIENCE: Duration = Duration::from_secs(1);

/// Standard input of one run.
#[derive(Clone, Debug, Default)]
pub enum Input {
    /// That of this process.
    #[default]
    Ours,
    /// Nothing.
    Empty,
    /// A file, from this offset on.
    File(Arc<File>, u64),
}

impl Input {
    /// Returns it as a child's standard input.
    ///
    /// # Errors
    /// The system's error if the file cannot be read from its offset on.
    pub fn open(&self) -> io::Result<Stdio> {
        Ok(match self {
            Self::Ours => Stdio::inherit(),
            Self::Empty => Stdio::null(),
            Self::File(file, offset) => {
                (&**file).seek(SeekFrom::Start(*offset))?;
                file.try_clone()?.into()
            }
        })
    }
}

/// Standard input of several runs, in their order.
#[derive(Debug)]
pub struct Inputs {
    each: Input,
    last: Input,
    left: usize,
}

impl Inputs {
    /// Prepares the input of `runs` runs. A pipe is read to its end into an unnamed file, in the
    /// tier's directory if it has one; `interrupted` stops the reading.
    ///
    /// # Errors
    /// A failure if the pipe cannot be read, or the file cannot be written.
    pub fn prepare(
        runs: usize,
        interrupted: &dyn Fn() -> bool,
        tier: Option<&Spec>,
        told: &mut dyn FnMut(&str),
    ) -> Result<Self> {
        let given = io::stdin();
        let unusable = || "cannot use standard input".into();
        let file = File::from(given.as_fd().try_clone_to_owned().or_fail(unusable)?);
        let found = file.metadata();
        let kind = found
            .or_fail(|| "cannot look at standard input".into())?
            .file_type();
        let each = if runs <= 1 {
            Input::Ours
        } else if kind.is_file() || kind.is_block_device() {
            let offset = (&file).stream_position().or_fail(unusable)?;
            // It shares its offset with ours: the next reader after Terrace goes on where the last
            // run stopped, as after any other program.
            Input::File(Arc::new(file), offset)
        } else if kind.is_fifo() || kind.is_socket() {
            let directory = directory(tier);
            Input::File(Arc::new(spool(file, &directory, interrupted, told)?), 0)
        } else if given.is_terminal() {
            told(
                "standard input is a terminal: the last run is given it, those before it are \
                 given an empty one",
            );
            Input::Empty
        } else {
            Input::Ours
        };
        let last = match &each {
            Input::Empty => Input::Ours,
            other => other.clone(),
        };
        Ok(Self {
            each,
            last,
            left: runs,
        })
    }

    /// Returns the input of the next run.
    pub fn next_run(&mut self) -> Input {
        self.left = self.left.saturating_sub(1);
        match self.left {
            0 => self.last.clone(),
            _ => self.each.clone(),
        }
    }
}

/// Returns a directory on a disk, for input that does not fit into memory.
fn directory(tier: Option<&Spec>) -> PathBuf {
    match tier.map(Spec::disk) {
        Some(Spec::Directory(directory)) => directory.clone(),
        _ => state_directory(),
    }
}

/// Copies everything that can be read from `pipe` into an unnamed file.
fn spool(
    mut pipe: File,
    directory: &Path,
    stop: &dyn Fn() -> bool,
    told: &mut dyn FnMut(&str),
) -> Result<File> {
    let cannot_write = |error: io::Error| {
        Error::failure(format!(
            "standard input cannot be kept in {} for several runs: {error}; name a directory \
             with room for it with ‘tier’, or give the input as a file",
            directory.display()
        ))
    };
    let mut file = tempfile::tempfile_in(directory).map_err(cannot_write)?;
    let mut buffer = vec![0; 1 << 16];
    let since = Instant::now();
    let mut silent = true;
    while !stop() {
        if silent && since.elapsed() > PATIENCE {
            silent = false;
            told(
                "reads standard input to its end, as each run is given all of it; where the \
                 program reads none, give it </dev/null",
            );
        }
        if !is_ready(&pipe) {
            continue;
        }
        match pipe.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) => file.write_all(&buffer[..length]).map_err(cannot_write)?,
            Err(error) if [Interrupted, WouldBlock].contains(&error.kind()) => {}
            Err(error) => return Err(error).or_fail(|| "cannot read standard input".into()),
        }
    }
    Ok(file)
}

/// Waits for a while until the pipe can be read; returns whether it can.
fn is_ready(pipe: &File) -> bool {
    let pause = Timespec::try_from(LOOK_EVERY).ok();
    poll(&mut [PollFd::new(pipe, PollFlags::IN)], pause.as_ref()).is_ok_and(|ready| ready > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(input: &Input) -> String {
        let Input::File(file, offset) = input else {
            panic!("{input:?} is no file");
        };
        let mut text = String::new();
        let mut file = &**file;
        file.seek(SeekFrom::Start(*offset)).unwrap();
        file.read_to_string(&mut text).unwrap();
        text
    }

    fn pipe(text: &str) -> File {
        let (reader, mut writer) = io::pipe().unwrap();
        writer.write_all(text.as_bytes()).unwrap();
        std::os::fd::OwnedFd::from(reader).into()
    }

    #[test]
    fn a_pipe_is_kept_without_a_name() {
        let directory = tempfile::tempdir().unwrap();
        let told = &mut |_: &str| panic!("nothing to tell");
        let file = spool(pipe("all of it"), directory.path(), &|| false, told).unwrap();
        let input = Input::File(Arc::new(file), 0);
        assert_eq!(read(&input), "all of it");
        assert_eq!(read(&input), "all of it");
        assert_eq!(directory.path().read_dir().unwrap().count(), 0);
    }

    #[test]
    fn a_signal_ends_the_reading() {
        let directory = tempfile::tempdir().unwrap();
        let (reader, _writer) = io::pipe().unwrap();
        let reader = std::os::fd::OwnedFd::from(reader).into();
        assert!(spool(reader, directory.path(), &|| true, &mut |_| ()).is_ok());
    }

    #[test]
    fn the_last_run_is_told_from_the_others() {
        let mut inputs = Inputs {
            each: Input::Empty,
            last: Input::Ours,
            left: 2,
        };
        assert!(matches!(inputs.next_run(), Input::Empty));
        assert!(matches!(inputs.next_run(), Input::Ours));
    }
}
