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

/// Gives a file owner and permissions of the file that it replaces, as far as we may. Nobody but its owner may change it.
fn inherit(file: &File, found: &fs::Metadata) {
    let _ = std::os::unix::fs::fchown(file, Some(found.uid()), Some(found.gid()));
    let _ = file.set_permissions(fs::Permissions::from_mode(found.mode() & 0o755));
}

/// Returns the descriptor of this process that `path` names, if it names one. A file that the shell opened
/// is written from its current position, as by any program. `-` is standard output.
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
mod tests {
    use std::os::unix::fs::symlink;
    use std::process::Command;

    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_appears_when_it_is_complete() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.csv");
        for text in ["whole", "again"] {
            let mut output = Output::create(&path).unwrap();
            output.write_all(text.as_bytes()).unwrap();
            assert!(fs::read_to_string(&path).map_or(true, |old| old != text));
            output.complete().unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
            assert_eq!(names(directory.path()), ["a.csv"]);
        }
    }

    #[test]
    fn what_is_not_completed_leaves_the_old_file_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.csv");
        fs::write(&path, "old").unwrap();
        let mut output = Output::create(&path).unwrap();
        output.write_all(b"half").unwrap();
        drop(output);
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(names(directory.path()), ["a.csv"]);
    }

    /// As on file systems that have no files without a name.
    #[test]
    fn a_file_with_a_name_of_its_own_is_as_good() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.csv");
        let begin = || {
            let (file, temporary) = unnamed::named(directory.path()).unwrap();
            Output::new(&path, file, Place::New(path.clone(), Some(temporary)))
        };
        let output = begin();
        assert_eq!(names(directory.path()).len(), 1);
        drop(output);
        assert!(names(directory.path()).is_empty());
        begin().finish(b"whole").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        assert_eq!(names(directory.path()), ["a.csv"]);
    }

    #[test]
    fn a_link_stays_and_leads_to_the_new_file() {
        let directory = tempfile::tempdir().unwrap();
        let (link, file) = (directory.path().join("link"), directory.path().join("file"));
        symlink("file", &link).unwrap();
        for text in ["first", "second"] {
            Output::save(&link, text.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&file).unwrap(), text);
            assert!(link.symlink_metadata().unwrap().is_symlink());
        }
    }

    #[test]
    fn what_others_may_do_stays() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a");
        fs::write(&path, "").unwrap();
        for (before, after) in [(0o640, 0o640), (0o600, 0o600), (0o666, 0o644)] {
            fs::set_permissions(&path, fs::Permissions::from_mode(before)).unwrap();
            Output::save(&path, b"new").unwrap();
            assert_eq!(path.metadata().unwrap().mode() & 0o777, after);
        }
    }

    /// In a process of its own, for the umask is one of processes.
    #[test]
    fn nobody_else_may_change_a_new_file() {
        const NAME: &str = "output::tests::nobody_else_may_change_a_new_file";
        const FILE: &str = "TERRACE_TEST_OUTPUT_MODE";
        if let Some(file) = std::env::var_os(FILE) {
            Output::save(Path::new(&file), b"new").unwrap();
            let (_, named) = unnamed::named(parent(Path::new(&file))).unwrap();
            let mode = |path: &Path| path.metadata().unwrap().mode() & 0o777;
            assert_eq!(mode(&named), mode(Path::new(&file)));
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("a.csv");
        for (umask, mode) in [("000", 0o644), ("022", 0o644), ("077", 0o600)] {
            let ended = Command::new("sh")
                .args(["-c", "umask \"$2\"; exec \"$0\" --exact \"$1\""])
                .arg(std::env::current_exe().unwrap())
                .args([NAME, umask])
                .env(FILE, &file)
                .output()
                .unwrap();
            assert!(ended.status.success(), "{ended:?}");
            assert_eq!(file.metadata().unwrap().mode() & 0o777, mode, "{umask}");
            fs::remove_file(&file).unwrap();
        }
    }

    #[test]
    fn a_pipe_is_written_only_if_somebody_reads_it() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("pipe");
        let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        let errors = [
            Output::create(&pipe).unwrap_err(),
            open_now(&pipe).unwrap_err(),
        ];
        for error in errors {
            assert!(error.to_string().contains("nobody reads"), "{error}");
            assert_eq!(error.kind, crate::error::Kind::Usage);
        }
        // More than a pipe holds: its writer waits for the reader.
        let bytes = vec![7; 1 << 20];
        let there = OpenOptions::new()
            .read(true)
            .write(true)
            .open(&pipe)
            .unwrap();
        let mut output = Output::create(&pipe).unwrap();
        let reader = pipe.clone();
        let reader = std::thread::spawn(move || fs::read(reader).unwrap());
        output.write_all(&bytes[..1000]).unwrap();
        output.write_all(&bytes[1000..]).unwrap();
        drop((output, there));
        assert_eq!(reader.join().unwrap(), bytes);
    }

    #[test]
    fn a_file_that_is_read_meanwhile_has_its_name_at_once() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lines");
        for _ in 0..2 {
            let mut file = open_now(&path).unwrap();
            assert_eq!(fs::read(&path).unwrap(), b"");
            file.write_all(b"line").unwrap();
            assert_eq!(fs::read(&path).unwrap(), b"line");
        }
        for wrong in [directory.path(), Path::new(""), Path::new("/no/such/file")] {
            let error = open_now(wrong).unwrap_err();
            assert_eq!(error.kind, crate::error::Kind::Usage, "{error}");
        }
    }

    #[test]
    fn what_cannot_be_written_is_refused_at_once() {
        let directory = tempfile::tempdir().unwrap();
        let circle = directory.path().join("circle");
        symlink("circle", &circle).unwrap();
        let slash = directory.path().join("none/");
        for (path, why) in [
            (directory.path(), "is not a regular file"),
            (Path::new(".."), "is not a regular file"),
            (Path::new("/"), "is not a regular file"),
            (&slash, "is not a regular file"),
            (Path::new("/no/such/file"), "there is no directory for it"),
            (Path::new("/etc/hostname/file"), "cannot write"),
            (Path::new(""), "is not a regular file"),
            (&circle, "cannot write"),
        ] {
            let error = Output::create(path).expect_err(&path.display().to_string());
            assert_eq!(error.kind, crate::error::Kind::Usage);
            assert!(error.to_string().contains(why), "{error}");
        }
    }

    #[test]
    fn devices_are_written_as_they_are() {
        Output::save(Path::new("/dev/null"), b"text").unwrap();
        let error = Output::save(Path::new("/dev/full"), b"text").unwrap_err();
        assert_eq!(error.kind, crate::error::Kind::Failure);
        let expected = "cannot write `/dev/full`: there is no room left on its file system";
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn a_pipe_without_a_reader_is_no_failure() {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let file = File::from(std::os::fd::OwnedFd::from(writer));
        let mut output = Output::new(Path::new("pipe"), file, Place::There(false));
        output.write_all(&[0; 1 << 20]).unwrap();
        output.complete().unwrap();
    }

    /// In a process of its own, for the limit is one of processes.
    #[test]
    fn beyond_the_limit_of_file_sizes_is_an_error() {
        const NAME: &str = "output::tests::beyond_the_limit_of_file_sizes_is_an_error";
        const FILE: &str = "TERRACE_TEST_OUTPUT";
        if let Some(file) = std::env::var_os(FILE) {
            survive_size_limit();
            let error = Output::save(Path::new(&file), &[0; 1 << 16]).unwrap_err();
            assert!(error.to_string().contains("ulimit -f"), "{error}");
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("large");
        let test = std::env::current_exe().unwrap();
        let ended = Command::new("sh")
            .args(["-c", "ulimit -f 16; exec \"$0\" --exact \"$1\" --nocapture"])
            .arg(test)
            .arg(NAME)
            .env(FILE, &file)
            .output()
            .unwrap();
        assert!(ended.status.success(), "{ended:?}");
        assert!(names(directory.path()).is_empty());
    }
}
