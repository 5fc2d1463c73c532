//! Files that a command writes, and standard output.
//!
//! A regular file has no name until it is whole ([`crate::unnamed`]); a file that has its name
//! already stays until then. Devices, pipes and descriptors are written as they are.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tempfile::TempPath;

use crate::error::{Error, Result};
use crate::{unnamed, user};

/// A file that takes its name when it is complete; dropped before that, it is gone.
#[derive(Debug)]
pub struct Output {
    /// The path as the caller named it.
    path: PathBuf,
    file: File,
    place: Place,
}

/// Destination of the bytes.
#[derive(Debug)]
enum Place {
    /// An existing device, pipe or descriptor. True once its reader is gone.
    There(bool),
    /// A new file with its final name, and the temporary name that it has until then, if any.
    New(PathBuf, Option<TempPath>),
}

impl Output {
    /// Begins a file that gets the name `path` when it is complete; an existing file stays until
    /// then. A
    /// symbolic link stays, and its target is replaced.
    ///
    /// # Errors
    /// Returns a usage error that says why the file cannot be written.
    pub fn create(path: &Path) -> Result<Self> {
        if let Some(file) = descriptor(path) {
            let file = file.map_err(|e| refused(path, &e))?;
            return Ok(Self::new(path, file, Place::There(false)));
        }
        let target = resolve(path).map_err(|e| refused(path, &e))?;
        let found = match fs::metadata(&target) {
            Ok(found) => Some(found),
            Err(e) if e.kind() == ErrorKind::NotFound => None,
            Err(e) => return Err(refused(path, &e)),
        };
        let Some(name) = target.file_name().filter(|_| !ends_in_slash(path)) else {
            return Err(not_a_file(path));
        };
        if let Some(found) = &found {
            let kind = found.file_type();
            if kind.is_dir() || kind.is_block_device() {
                return Err(not_a_file(path));
            }
            let open = open_there(&target).map_err(|e| refused(path, &e))?;
            if !kind.is_file() {
                return Ok(Self::new(path, open, Place::There(false)));
            }
        }
        let directory = parent(&target);
        let target = directory.join(name);
        let (file, temporary) = begin(directory).map_err(|e| refused(path, &e))?;
        match found {
            Some(found) => inherit(&file, &found),
            None => user::give_to_caller(&file),
        }
        Ok(Self::new(path, file, Place::New(target, temporary)))
    }

    fn new(path: &Path, file: File, place: Place) -> Self {
        Self {
            path: path.to_owned(),
            file,
            place,
        }
    }

    /// Writes a whole file.
    ///
    /// # Errors
    /// Returns the errors of [`Output::create`] and [`Output::finish`].
    pub fn save(path: &Path, bytes: &[u8]) -> Result<()> {
        Self::create(path)?.finish(bytes)
    }

    /// Writes `bytes` and gives the file its name.
    ///
    /// # Errors
    /// Returns a failure that names the file.
    pub fn finish(mut self, bytes: &[u8]) -> Result<()> {
        self.write_all(bytes).map_err(|e| self.failed(&e))?;
        self.complete()
    }

    /// Returns the path as the caller named it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the file its name after all of it is on disk. Nothing may be written after that.
    ///
    /// # Errors
    /// Returns a failure that names the file.
    pub fn complete(&mut self) -> Result<()> {
        let place = std::mem::replace(&mut self.place, Place::There(true));
        let Place::New(target, temporary) = place else {
            return Ok(());
        };
        self.settle(&target, temporary).map_err(|e| self.failed(&e))
    }

    fn settle(&self, target: &Path, temporary: Option<TempPath>) -> io::Result<()> {
        // Some file systems report a lack of space only here.
        self.file.sync_all()?;
        let temporary = match temporary {
            Some(temporary) => temporary,
            None => unnamed::name(&self.file, parent(target))?,
        };
        temporary.persist(target).map_err(|e| e.error)
    }

    fn failed(&self, error: &io::Error) -> Error {
        failed(&self.path.display().to_string(), error)
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.place {
            // A reader may stop at the beginning: that is no failure.
            Place::There(true) => Ok(bytes.len()),
            Place::There(closed) => match self.file.write(bytes) {
                Err(e) if e.kind() == ErrorKind::BrokenPipe => {
                    *closed = true;
                    Ok(bytes.len())
                }
                written => written,
            },
            Place::New(..) => self.file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Writes to standard output. That its reader has gone away is no failure: what was read was
/// enough.
///
/// # Errors
/// Returns a failure if it cannot be written.
pub fn print(text: impl AsRef<[u8]>) -> Result<()> {
    let mut out = io::stdout().lock();
    printed(out.write_all(text.as_ref()).and_then(|()| out.flush()))
}

/// What became of writing to standard output, for those who write piece by piece.
///
/// # Errors
/// Returns a failure if it could not be written, but for a pipe without a reader.
pub fn printed(written: io::Result<()>) -> Result<()> {
    match written {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => Err(failed("standard output", &e)),
        _ => Ok(()),
    }
}

/// That `name` could not be written, and why.
pub fn failed(name: &str, error: &io::Error) -> Error {
    let name = match name {
        "standard output" => name.to_owned(),
        name => format!("`{name}`"),
    };
    let why = match error.kind() {
        ErrorKind::StorageFull => "there is no room left on its file system".to_owned(),
        ErrorKind::QuotaExceeded => "the quota of its file system is used up".to_owned(),
        ErrorKind::FileTooLarge => {
            "it grows beyond the largest file that is allowed (ulimit -f)".to_owned()
        }
        _ => error.to_string(),
    };
    Error::failure(format!("cannot write {name}: {why}"))
}

/// Makes writing beyond the limit of file sizes (`RLIMIT_FSIZE`) an error as any other, where it
/// would end the process by SIGXFSZ without a word. A signal that is ignored stays so. Programs
/// that are started do not inherit this: exec gives signals with a handler back to the system.
pub fn survive_size_limit() {
    extern "C" fn nothing(_: libc::c_int) {}
    // SAFETY: both actions are plain data that lives until the calls are over; zeros are an action
    // with the default handler, no flags and no blocked signals; and the handler does nothing.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        let asked = libc::sigaction(libc::SIGXFSZ, std::ptr::null(), &mut action);
        if asked == 0 && action.sa_sigaction == libc::SIG_DFL {
            action.sa_sigaction = nothing as extern "C" fn(libc::c_int) as libc::sighandler_t;
            action.sa_flags = libc::SA_RESTART;
            libc::sigaction(libc::SIGXFSZ, &action, std::ptr::null_mut());
        }
    }
}

/// Opens a new file in `directory`, without a name if the system supports that.
fn begin(directory: &Path) -> io::Result<(File, Option<TempPath>)> {
    let nameable = Path::new("/proc/self/fd").is_dir();
    let file = match nameable {
        true => unnamed::unnamed(directory),
        false => Err(ErrorKind::Unsupported.into()),
    };
    match file {
        Err(e) if e.kind() == ErrorKind::Unsupported => {
            let (file, temporary) = unnamed::named(directory)?;
            Ok((file, Some(temporary)))
        }
        file => Ok((file?, None)),
    }
}

/// Opens a file that others may read while it is written: it has its name from the beginning, and
/// an existing one is emptied.
///
/// # Errors
/// Returns a usage error as [`Output::create`] does.
pub fn open_now(path: &Path) -> Result<File> {
    if let Some(file) = descriptor(path) {
        return file.map_err(|e| refused(path, &e));
    }
    if path.as_os_str().is_empty() || ends_in_slash(path) {
        return Err(not_a_file(path));
    }
    let opened = match fs::metadata(path) {
        Ok(found) if found.is_dir() || found.file_type().is_block_device() => {
            return Err(not_a_file(path));
        }
        Ok(found) if !found.is_file() => open_there(path),
        Ok(_) => File::create(path),
        Err(_) => File::create(path).inspect(user::give_to_caller),
    };
    opened.map_err(|e| refused(path, &e))
}

/// Opens an existing file to write to it, a pipe only if somebody reads it: without, that would
/// wait for a reader.
fn open_there(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new()
        .write(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(path)?;
    // What is written may have to wait for the reader all the same.
    let flags = rustix::fs::fcntl_getfl(&file)?;
    rustix::fs::fcntl_setfl(&file, flags - rustix::fs::OFlags::NONBLOCK)?;
    Ok(file)
}

/// Gives a file owner and permissions of the file that it replaces, as far as we may. Nobody but
/// its owner may change it.
fn inherit(file: &File, found: &fs::Metadata) {
    let _ = std::os::unix::fs::fchown(file, Some(found.uid()), Some(found.gid()));
    let _ = file.set_permissions(fs::Permissions::from_mode(found.mode() & 0o755));
}

/// Returns the descriptor of this process that `path` names, if it names one. A file that the shell
/// opened is written from its current position, as by any program. `-` is standard output.
fn descriptor(path: &Path) -> Option<io::Result<File>> {
    let number = ["/dev/fd", "/proc/self/fd"]
        .iter()
        .find_map(|directory| path.strip_prefix(directory).ok());
    let number = number.and_then(|number| number.to_str());
    let of = |fd: io::Result<std::os::fd::OwnedFd>| Some(fd.map(File::from));
    match (path.to_str(), number) {
        (Some("-" | "/dev/stdout"), _) | (_, Some("1")) => {
            of(io::stdout().as_fd().try_clone_to_owned())
        }
        (Some("/dev/stderr"), _) | (_, Some("2")) => of(io::stderr().as_fd().try_clone_to_owned()),
        (_, Some(_)) => Some(OpenOptions::new().append(true).open(path)),
        _ => None,
    }
}

/// Follows symbolic links; the target need not exist.
pub(crate) fn resolve(path: &Path) -> io::Result<PathBuf> {
    const MOST_LINKS: u32 = 40;
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&path) {
            Ok(target) => path = parent(&path).join(target),
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::from_raw_os_error(libc::ELOOP))
}

/// Returns the directory of a file.
pub(crate) fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

fn ends_in_slash(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().ends_with(b"/")
}

fn refused(path: &Path, error: &io::Error) -> Error {
    let name = path.display();
    Error::usage(match error.kind() {
        ErrorKind::NotFound => {
            format!(
                "cannot write `{name}`: there is no directory for it; make it, or name another file"
            )
        }
        _ if error.raw_os_error() == Some(libc::ENXIO) => {
            format!("nobody reads the pipe `{name}`; start its reader first, or name a file")
        }
        _ => format!("cannot write `{name}`: {error}; name another file"),
    })
}

fn not_a_file(path: &Path) -> Error {
    Error::usage(format!(
        "`{}` is not a regular file; name one that may be written",
        path.display()
    ))
}

#[cfg(test)]
mod tests;
