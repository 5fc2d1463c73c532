//! A trace at a moment, and the digest of a file, which a cache keeps by that.
//!
//! The digest of a file that holds none is that of its bytes. It is computed once: a cache keeps it
//! under the file's device, inode, size and times of modification and change.

use std::fs::{self, File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use terrace_base::{Context, Error, Output, Result};

use crate::digest::Digest;
use crate::spooled::place;
use crate::store::Stored;

/// A trace at a moment: where its content changes, its stamp does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    bytes: u64,
    of: Of,
}

/// What tells a trace from others, and from what it was before.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Of {
    File {
        device: u64,
        inode: u64,
        /// When its content changed, in seconds and nanoseconds since 1970.
        modified: (i64, i64),
        /// When anything of it changed. A program can set the other time back, and not this one.
        changed: (i64, i64),
    },
    /// An object in a store.
    Object { name: PathBuf, version: String },
}

impl Stamp {
    /// Returns the stamp of a trace as it is now.
    ///
    /// # Errors
    /// A failure where it does not exist; a usage error where it is a file that is not a regular
    /// one, whose content is read once and gone.
    pub fn of(path: &Path) -> Result<Self> {
        if let Some((bytes, version)) = Stored::identity(path)? {
            let name = path.to_owned();
            let of = Of::Object { name, version };
            return Ok(Self { bytes, of });
        }
        let metadata = place(path).metadata().or_fail(|| cannot(path))?;
        if !metadata.is_file() {
            return Err(Error::usage(format!(
                "`{}` is not a regular file; a sweep reads its traces several times, and finds \
                 them again when it goes on: write what comes through a pipe to a file",
                path.display()
            )));
        }
        Ok(Self::new(&metadata))
    }

    fn new(metadata: &Metadata) -> Self {
        Self {
            bytes: metadata.len(),
            of: Of::File {
                device: metadata.dev(),
                inode: metadata.ino(),
                modified: (metadata.mtime(), metadata.mtime_nsec()),
                changed: (metadata.ctime(), metadata.ctime_nsec()),
            },
        }
    }

    /// Returns the length.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether a later change shows in another time: clocks of file systems stand still for some
    /// milliseconds, and in some for a second or two.
    fn is_settled(&self) -> bool {
        const COARSEST: Duration = Duration::from_secs(3);
        let Of::File {
            modified, changed, ..
        } = self.of
        else {
            return true;
        };
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let latest = modified.0.max(changed.0);
        now.is_ok_and(|now| latest.saturating_add(COARSEST.as_secs() as i64) < now.as_secs() as i64)
    }

    /// Returns the name of its entry in a cache, and what stands there before the digest.
    fn entry(&self) -> (String, String) {
        let bytes = self.bytes;
        match &self.of {
            Of::File {
                device,
                inode,
                modified,
                changed,
            } => (
                format!("{device:x}-{inode:x}"),
                format!(
                    "{bytes} {}.{:09} {}.{:09} ",
                    modified.0, modified.1, changed.0, changed.1
                ),
            ),
            Of::Object { name, version } => {
                let name = format!("{} {version}", name.display());
                (Digest::of(name.as_bytes()).to_string(), format!("{bytes} "))
            }
        }
    }
}

/// Returns the digest of the bytes of a file. `progress` is called now and then with the number of
/// bytes read, and not at all where the directory `cache` has the digest. Without a cache, or where
/// it cannot be written, each call reads the file.
///
/// # Errors
/// A failure where the file cannot be read, or changes while it is read; the errors of
/// [`Stamp::of`].
pub fn digest_of(
    path: &Path,
    cache: Option<&Path>,
    mut progress: impl FnMut(u64),
) -> Result<Digest> {
    let stamp = Stamp::of(path)?;
    let (name, head) = stamp.entry();
    let entry = cache.map(|cache| cache.join("digests").join(name));
    if let Some(digest) = entry.as_ref().and_then(|entry| known(entry, &head)) {
        return Ok(digest);
    }
    let digest = Digest::of_reader(&mut opened(path)?, &mut progress).or_fail(|| cannot(path))?;
    if Stamp::of(path)? != stamp {
        return Err(changes(path));
    }
    if let Some(entry) = entry.filter(|_| stamp.is_settled()) {
        // A cache that cannot be written costs time alone.
        let made = entry.parent().map(fs::create_dir_all);
        if let Some(Ok(())) = made {
            let _ = Output::save(&entry, format!("{head}{digest}\n").as_bytes());
        }
    }
    Ok(digest)
}

/// Returns the failure of a trace that is no longer what it was.
pub fn changes(path: &Path) -> Error {
    Error::failure(format!(
        "the trace `{}` changes while it is read; begin again when it is complete",
        path.display()
    ))
}

/// Returns the digest that an entry has, if it is of a file in this state.
fn known(entry: &Path, head: &str) -> Option<Digest> {
    let text = fs::read_to_string(entry).ok()?;
    Digest::parse(text.strip_prefix(head)?.strip_suffix('\n')?)
}

/// Opens the file of a trace, or that in which an object is kept.
fn opened(path: &Path) -> Result<File> {
    match Stored::file(path)? {
        Some(file) => Ok(file),
        None => File::open(place(path)).or_fail(|| cannot(path)),
    }
}

fn cannot(path: &Path) -> String {
    format!("cannot read the trace `{}`", path.display())
}

#[cfg(test)]
mod tests {
    use std::fs::FileTimes;

    use terrace_base::error::Kind;

    use super::*;

    /// A time that no later change has.
    const LONG_AGO: u64 = 1_000_000_000;

    fn write(path: &Path, text: &str, seconds: u64) {
        fs::write(path, text).unwrap();
        let time = UNIX_EPOCH + Duration::from_secs(seconds);
        let file = File::options().append(true).open(path).unwrap();
        file.set_times(FileTimes::new().set_modified(time)).unwrap();
    }

    /// The digest, and whether the file was read for it.
    fn digest(path: &Path, cache: &Path) -> (Digest, bool) {
        let mut was_read = false;
        let digest = digest_of(path, Some(cache), |_| was_read = true).unwrap();
        (digest, was_read)
    }

    #[test]
    fn it_is_that_of_the_bytes_and_is_computed_once() {
        let directory = tempfile::tempdir().unwrap();
        let (path, cache) = (directory.path().join("a.csv"), directory.path().join("c"));
        write(&path, "address\n1\n", LONG_AGO);
        let expected = Digest::of(b"address\n1\n");
        assert_eq!(digest(&path, &cache), (expected, true));
        assert!(!cache.exists(), "the file may still change unseen");
        while !Stamp::of(&path).unwrap().is_settled() {
            std::thread::sleep(Duration::from_millis(100));
        }
        assert_eq!(digest(&path, &cache), (expected, true));
        assert_eq!(digest(&path, &cache), (expected, false));
        // As long, and with the same time of modification.
        write(&path, "address\n2\n", LONG_AGO);
        assert_eq!(digest(&path, &cache), (Digest::of(b"address\n2\n"), true));
        // What is no entry is passed over.
        let (name, _) = Stamp::of(&path).unwrap().entry();
        fs::write(cache.join("digests").join(name), "nothing").unwrap();
        assert!(digest(&path, &cache).1);
    }

    #[test]
    fn a_cache_that_cannot_be_written_is_no_error() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.csv");
        write(&path, "a", LONG_AGO);
        // Where the cache should be, there is a file.
        assert_eq!(digest(&path, &path), (Digest::of(b"a"), true));
        assert_eq!(digest_of(&path, None, |_| {}).unwrap(), Digest::of(b"a"));
    }

    #[test]
    fn what_is_no_regular_file_is_refused() {
        assert_eq!(
            Stamp::of(Path::new("/dev/null")).unwrap_err().kind,
            Kind::Usage
        );
        assert!(digest_of(Path::new("/no/such/trace"), None, |_| {}).is_err());
    }

    #[test]
    fn a_file_that_changes_while_it_is_read_has_no_digest() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.csv");
        write(&path, "a", LONG_AGO);
        let error = digest_of(&path, None, |_| write(&path, "ab", LONG_AGO)).unwrap_err();
        assert!(error.to_string().contains("changes while"), "{error}");
    }
}
