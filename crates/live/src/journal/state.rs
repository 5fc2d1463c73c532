//! The state directory, where journals are kept: opened once, then read and changed through that
//! descriptor only.
//!
//! A journal tells `terrace doctor --clean`, which runs as root, what to remove. So it is trusted
//! only if nobody else could have written it: the directory and the journal belong to root or to
//! the caller, and are closed to others. The owner of a directory above can replace the state
//! directory, but not by one that passes these checks with a journal that root did not write;
//! directories above only have to be closed to everybody else.

use std::ffi::{OsStr, OsString};
use std::fs::{DirBuilder, File, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, UNIX_EPOCH};

use rustix::fd::OwnedFd;
use rustix::fs::{Access, AtFlags, CWD, FileType, Mode, OFlags};

use crate::system::lock::{Say, wait};
use crate::system::trust::distrust;
use terrace_base::{Context, Error, Result};

/// Upper limit of a journal's bytes.
const LARGEST: u64 = 1 << 20;
/// Pause between two looks at a lock, and the time after which a wait for it is reported.
const LOOK_EVERY: Duration = Duration::from_millis(20);
const QUIET: Duration = Duration::from_secs(1);

/// The state directory.
#[derive(Debug)]
pub struct State {
    path: PathBuf,
    directory: OwnedFd,
}

/// Reason why a file is not read as a journal.
#[derive(Debug, PartialEq, Eq)]
pub enum Unread {
    /// The file has been removed.
    Gone,
    /// The text cannot be trusted, for this reason.
    Untrusted(String),
}

/// Returns `$TERRACE_STATE_DIR`, or the system's directory for state.
pub fn state_directory() -> PathBuf {
    std::env::var_os("TERRACE_STATE_DIR").map_or("/var/lib/terrace".into(), PathBuf::from)
}

impl State {
    /// Opens the directory at `path`, which is made if it is missing.
    ///
    /// # Errors
    /// A failure if it cannot be made or used, or others may write to it.
    pub fn make(path: &Path) -> Result<Self> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o755)
            .create(path)
            .or_fail(|| {
                format!(
                    "cannot make the state directory {} (set TERRACE_STATE_DIR to another)",
                    path.display()
                )
            })?;
        Self::open(path)?.ok_or_else(|| {
            Error::failure(format!(
                "the state directory {} has just been removed; try again",
                path.display()
            ))
        })
    }

    /// Opens the directory at `path`; `None` if it does not exist.
    ///
    /// # Errors
    /// A failure if it cannot be opened, or others may write to it.
    pub fn open(path: &Path) -> Result<Option<Self>> {
        let cannot = || format!("cannot read the state directory {}", path.display());
        let path = match path.canonicalize() {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            found => found.or_fail(cannot)?,
        };
        let directory = descend(&path)?;
        let found = rustix::fs::fstat(&directory).map_err(io::Error::from);
        let found = found.or_fail(cannot)?;
        if let Some(why) = distrust(&found) {
            return Err(untrusted(
                &path,
                &format!("it {why}"),
                "make it root's (chown root, chmod go-w)",
            ));
        }
        Ok(Some(Self { path, directory }))
    }

    /// Has this process alone put changes back, until the result is dropped: of two at once, one
    /// would write a journal that the other has just removed. Goes on without if the kernel has no
    /// such locks here.
    pub(crate) fn take_turn(&self, say: Say) -> Option<File> {
        let directory = File::open(&self.path).ok()?;
        let mut told = Instant::now().checked_add(QUIET);
        let waits = |why| {
            if told.take_if(|at| Instant::now() >= *at).is_some() {
                say("waits for another process of terrace that puts changes of the machine back");
            }
            matches!(why, TryLockError::WouldBlock)
        };
        wait(LOOK_EVERY, || directory.try_lock(), waits)?;
        Some(directory)
    }

    /// Same as [`State::take_turn`], unless another process has the turn: then it is `None`.
    pub(crate) fn try_turn(&self) -> Option<File> {
        let directory = File::open(&self.path).ok()?;
        directory.try_lock().is_ok().then_some(directory)
    }

    /// Returns the path without links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the names in the directory.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        let entries = rustix::fs::Dir::read_from(&self.directory)?;
        entries
            .map(|entry| Ok(OsStr::from_bytes(entry?.file_name().to_bytes()).to_owned()))
            .collect()
    }

    /// Whether the directory has this name.
    pub fn has(&self, name: &OsStr) -> bool {
        rustix::fs::statat(&self.directory, name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }

    /// Returns the text of a file, if only root or the caller can have written it.
    ///
    /// # Errors
    /// The reason why the file is not read.
    pub fn read(&self, name: &OsStr) -> std::result::Result<String, Unread> {
        // Opening a FIFO would wait for a writer.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let cannot = |e: io::Error| match e.kind() {
            io::ErrorKind::NotFound => Unread::Gone,
            _ if e.raw_os_error() == Some(libc::ELOOP) => {
                Unread::Untrusted("is a symbolic link".to_owned())
            }
            _ => Unread::Untrusted(format!("cannot be read ({e})")),
        };
        let file = rustix::fs::openat(&self.directory, name, flags, Mode::empty())
            .map_err(|e| cannot(e.into()))?;
        let found = rustix::fs::fstat(&file).map_err(|e| cannot(e.into()))?;
        if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
            return Err(Unread::Untrusted("is no regular file".to_owned()));
        }
        if let Some(why) = distrust(&found) {
            return Err(Unread::Untrusted(why));
        }
        // A second name may be in a directory of another user.
        if found.st_nlink != 1 {
            return Err(Unread::Untrusted("has more than one name".to_owned()));
        }
        let mut text = String::new();
        let mut file = File::from(file).take(LARGEST + 1);
        match file.read_to_string(&mut text) {
            Ok(read) if read as u64 <= LARGEST => Ok(text),
            Ok(_) => Err(Unread::Untrusted("is too large".to_owned())),
            Err(e) if e.kind() == io::ErrorKind::InvalidData => {
                Err(Unread::Untrusted("is no text".to_owned()))
            }
            Err(e) => Err(cannot(e)),
        }
    }

    /// Returns how long ago a file was written that is closed to this user, and not to another;
    /// `None` for any other file.
    pub fn age_of_closed(&self, name: &OsStr) -> Option<Duration> {
        let opened = rustix::fs::accessat(&self.directory, name, Access::READ_OK, AtFlags::EACCESS);
        if opened != Err(rustix::io::Errno::ACCESS) {
            return None;
        }
        let found = rustix::fs::statat(&self.directory, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let written = UNIX_EPOCH + Duration::from_secs(u64::try_from(found.st_mtime).ok()?);
        let is_anothers = found.st_uid != rustix::process::geteuid().as_raw();
        is_anothers.then(|| written.elapsed().unwrap_or_default())
    }

    /// Replaces a file atomically.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn write(&self, name: &OsStr, text: &str) -> io::Result<()> {
        let new = unfinished(name);
        let _ = self.remove(&new);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        let mut file = File::from(rustix::fs::openat(&self.directory, &new, flags, mode)?);
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        rustix::fs::renameat(&self.directory, &new, &self.directory, name)?;
        // The name must be as durable as the file.
        Ok(rustix::fs::fsync(&self.directory)?)
    }

    /// Removes a file, and the temporary file that writing it may have left.
    ///
    /// # Errors
    /// The kernel's error; a missing file is none.
    pub fn remove(&self, name: &OsStr) -> io::Result<()> {
        for name in [unfinished(name), name.to_owned()] {
            match rustix::fs::unlinkat(&self.directory, &name, AtFlags::empty()) {
                Ok(()) | Err(rustix::io::Errno::NOENT) => {}
                Err(e) => return Err(e.into()),
            }
        }
        Ok(())
    }
}

/// Returns the temporary name under which a file is written.
fn unfinished(name: &OsStr) -> OsString {
    let mut new = name.to_owned();
    new.push(".new");
    new
}

/// Opens a directory component by component from the root, without following links.
fn descend(path: &Path) -> Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut so_far = PathBuf::new();
    let mut directory: Option<OwnedFd> = None;
    for component in path.components() {
        if let Some(parent) = &directory {
            let found = rustix::fs::fstat(parent).map_err(io::Error::from);
            let found = found.or_fail(|| format!("cannot look at {}", so_far.display()))?;
            let mode = Mode::from_raw_mode(found.st_mode);
            if mode.contains(Mode::WOTH) && !mode.contains(Mode::SVTX) {
                let why = format!("everybody may replace it ({} is open)", so_far.display());
                let advice = format!("chmod o-w {}", so_far.display());
                return Err(untrusted(path, &why, &advice));
            }
        }
        so_far.push(component);
        let name: &Path = component.as_ref();
        let opened = match &directory {
            Some(parent) => rustix::fs::openat(parent, name, flags, Mode::empty()),
            None => rustix::fs::openat(CWD, name, flags, Mode::empty()),
        };
        let opened = opened.map_err(io::Error::from);
        let what = || format!("cannot open the state directory {}", path.display());
        directory = Some(opened.or_fail(what)?);
    }
    directory.ok_or_else(|| Error::failure("the state directory has no path"))
}

fn untrusted(path: &Path, why: &str, advice: &str) -> Error {
    Error::failure(format!(
        "the state directory {} is not to be trusted: {why}; {advice}, or set TERRACE_STATE_DIR \
         to another",
        path.display()
    ))
}
