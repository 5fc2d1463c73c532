//! Objects that were fetched whole, in a directory of bounded size.

use std::env;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Seek, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::{FlockOperation, flock};
use tempfile::NamedTempFile;
use terrace_base::{Bytes, Context, Error, Result};

use super::Stored;
use super::uri::Uri;
use crate::caches;
use crate::digest::Digest;

/// What names in the directory begin with; other files there are somebody else's.
const PREFIX: &str = "terrace-";
/// What the names of objects end with.
const WHOLE: &str = ".object";
/// What the names of objects end with while they are fetched.
const PARTIAL: &str = ".partial";
/// Bytes that are fetched at once.
const PIECE: u64 = 8 << 20;
/// The size that all objects together have at most, where nothing else is said.
const MOST: Bytes = Bytes(16 << 30);

/// A directory with objects, each in a file that is named by a digest of its URI, version and
/// length. Who reads a file has a shared lock of it, so that nobody removes it; who writes one has
/// an exclusive lock; who makes room has one of the directory.
pub(super) struct Cache {
    directory: PathBuf,
    most: Bytes,
}

/// An object in the directory, or a part of one.
struct Entry {
    path: PathBuf,
    bytes: u64,
    used: SystemTime,
}

impl Cache {
    /// Returns the cache that the environment names: `TERRACE_CACHE`, or else a directory `terrace`
    /// among the user's caches, of the size `TERRACE_CACHE_SIZE`.
    pub(super) fn of_environment() -> Result<Self> {
        let directory = caches::directory().ok_or_else(|| {
            Error::usage("there is no directory for what is fetched from stores; set TERRACE_CACHE")
        })?;
        let most = match env::var("TERRACE_CACHE_SIZE") {
            Ok(text) => Bytes::parse(&text)
                .map_err(|e| Error::usage(format!("TERRACE_CACHE_SIZE is wrong: {e}")))?,
            Err(_) => MOST,
        };
        Ok(Self { directory, most })
    }

    /// Returns the file with an object, at its beginning; fetches the object if it is not there.
    pub(super) fn file(&self, uri: &Uri, object: &Stored) -> Result<File> {
        let cannot = || {
            let directory = self.directory.display();
            format!("cannot keep the trace `{uri}` in {directory}, which TERRACE_CACHE names")
        };
        let length = object.ranges.length().or_fail(cannot)?;
        let identity = format!("{uri}\0{}\0{length}", object.version);
        let name = format!("{PREFIX}{}{WHOLE}", Digest::of(identity.as_bytes()));
        let path = self.directory.join(name);
        if let Some(file) = used(&path, length) {
            return Ok(file);
        }
        let mut partial = self.reserve(uri, length).or_fail(cannot)??;
        self.fetch(uri, object, length, partial.as_file_mut())?;
        let keep = || {
            partial.as_file().sync_data()?;
            flock(partial.as_file(), FlockOperation::LockShared)?;
            let mut file = partial.persist(&path).map_err(|e| e.error)?;
            file.rewind()?;
            Ok(file)
        };
        keep().or_fail(cannot)
    }

    /// Copies an object into a file.
    fn fetch(&self, uri: &Uri, object: &Stored, length: u64, into: &mut File) -> Result<()> {
        let mut piece = vec![0; PIECE.min(length) as usize];
        let mut offset = 0;
        while offset < length {
            let bytes = PIECE.min(length - offset);
            let piece = &mut piece[..bytes as usize];
            let read = object.ranges.read_at(piece, offset);
            read.or_fail(|| format!("cannot read the trace `{uri}` at offset {offset}"))?;
            into.write_all(piece).or_fail(|| {
                let directory = self.directory.display();
                format!("cannot keep the trace `{uri}` in {directory}, which TERRACE_CACHE names")
            })?;
            offset += bytes;
        }
        Ok(())
    }

    /// Makes room for an object, and returns a file that takes it up.
    fn reserve(&self, uri: &Uri, length: u64) -> io::Result<Result<NamedTempFile>> {
        let mut made = DirBuilder::new();
        made.recursive(true).mode(0o700).create(&self.directory)?;
        let directory = File::open(&self.directory)?;
        flock(&directory, FlockOperation::LockExclusive)?;
        let left = self.make_room(length)?;
        if left.saturating_add(length) > self.most.0 {
            return Ok(Err(Error::failure(format!(
                "the trace `{uri}` has {}, and does not fit into the cache in {} beside the {} \
                 that are read just now: it may have {}; set TERRACE_CACHE_SIZE to more",
                Bytes(length),
                self.directory.display(),
                Bytes(left),
                self.most
            ))));
        }
        let partial = tempfile::Builder::new()
            .prefix(PREFIX)
            .suffix(PARTIAL)
            .tempfile_in(&self.directory)?;
        flock(partial.as_file(), FlockOperation::LockExclusive)?;
        partial.as_file().set_len(length)?;
        Ok(Ok(partial))
    }

    /// Removes what was used longest ago until there is room for `length` bytes, and what nobody
    /// goes on fetching; returns the bytes that stay.
    fn make_room(&self, length: u64) -> io::Result<u64> {
        let mut entries = entries(&self.directory)?;
        let is_partial = |entry: &Entry| entry.path.to_string_lossy().ends_with(PARTIAL);
        entries.sort_by_key(|entry| (!is_partial(entry), entry.used));
        let mut left = entries.iter().map(|entry| entry.bytes).sum::<u64>();
        for entry in &entries {
            let is_full = left.saturating_add(length) > self.most.0;
            if (is_full || is_partial(entry)) && remove(&entry.path)? {
                left -= entry.bytes;
            }
        }
        Ok(left)
    }
}

/// Opens an object that is there, which is used now.
fn used(path: &Path, length: u64) -> Option<File> {
    let file = File::open(path).ok()?;
    flock(&file, FlockOperation::LockShared).ok()?;
    if file.metadata().ok()?.len() != length {
        return None;
    }
    // A cache that is only read keeps its order.
    let _ = file.set_modified(SystemTime::now());
    Some(file)
}

/// Lists what is in the directory.
fn entries(directory: &Path) -> io::Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for file in fs::read_dir(directory)? {
        let file = file?;
        let name = file.file_name();
        let name = name.to_string_lossy();
        let is_own = name.starts_with(PREFIX) && (name.ends_with(WHOLE) || name.ends_with(PARTIAL));
        // It may be renamed or removed meanwhile.
        let Some(metadata) = file
            .metadata()
            .ok()
            .filter(|found| is_own && found.is_file())
        else {
            continue;
        };
        entries.push(Entry {
            path: file.path(),
            bytes: metadata.len(),
            used: metadata.modified()?,
        });
    }
    Ok(entries)
}

/// Removes a file that nobody has open; returns whether it did.
fn remove(path: &Path) -> io::Result<bool> {
    let Ok(file) = File::open(path) else {
        return Ok(false);
    };
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => fs::remove_file(path).map(|()| true),
        Err(_) => Ok(false),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;
    use crate::Ranges;

    /// An object of equal bytes that counts its reads, and fails after some.
    struct Object {
        byte: u8,
        length: u64,
        reads: AtomicUsize,
        most_reads: usize,
    }

    impl Ranges for Object {
        fn length(&self) -> io::Result<u64> {
            Ok(self.length)
        }

        fn read_at(&self, buffer: &mut [u8], _: u64) -> io::Result<()> {
            if self.reads.fetch_add(1, Relaxed) == self.most_reads {
                return Err(io::Error::other("the store has no such object"));
            }
            buffer.fill(self.byte);
            Ok(())
        }
    }

    fn cache(directory: &Path, most: u64) -> Cache {
        Cache {
            directory: directory.join("of/terrace"),
            most: Bytes(most),
        }
    }

    /// Object number `byte`, and how often it is read.
    fn object(byte: u8, length: u64, most_reads: usize) -> (Stored, Arc<Object>) {
        let object = Arc::new(Object {
            byte,
            length,
            reads: AtomicUsize::new(0),
            most_reads,
        });
        let stored = Stored {
            ranges: object.clone(),
            version: "1".into(),
        };
        (stored, object)
    }

    fn uri(byte: u8) -> Uri {
        let path = format!("s3://traces/{byte}");
        Uri::of(Path::new(&path)).unwrap().unwrap()
    }

    /// Reads an object through the cache; returns the open file, and whether it was fetched.
    fn read(cache: &Cache, byte: u8, length: u64) -> Result<(File, bool)> {
        let (stored, object) = object(byte, length, usize::MAX);
        let mut file = cache.file(&uri(byte), &stored)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).unwrap();
        assert!(bytes == vec![byte; length as usize]);
        Ok((file, object.reads.load(Relaxed) > 0))
    }

    fn kept(cache: &Cache) -> u64 {
        let entries = entries(&cache.directory).unwrap();
        entries.iter().map(|entry| entry.bytes).sum()
    }

    #[test]
    fn an_object_is_fetched_once_and_each_version_is_another() {
        let directory = tempfile::tempdir().unwrap();
        let cache = cache(directory.path(), 1 << 30);
        for length in [0, 1, PIECE, PIECE + 1] {
            assert_eq!(read(&cache, 7, length).unwrap().1, length > 0);
            assert!(!read(&cache, 7, length).unwrap().1);
        }
        let (mut stored, object) = object(7, 1, usize::MAX);
        stored.version = "2".into();
        cache.file(&uri(7), &stored).unwrap();
        assert_eq!(object.reads.load(Relaxed), 1);
    }

    #[test]
    fn a_file_of_another_length_is_fetched_again() {
        let directory = tempfile::tempdir().unwrap();
        let cache = cache(directory.path(), 1 << 30);
        drop(read(&cache, 1, 100).unwrap());
        let [entry] = &entries(&cache.directory).unwrap()[..] else {
            panic!("one object is kept");
        };
        fs::write(&entry.path, [1; 99]).unwrap();
        assert!(read(&cache, 1, 100).unwrap().1);
    }

    #[test]
    fn a_read_of_what_is_kept_is_a_use() {
        let directory = tempfile::tempdir().unwrap();
        let cache = cache(directory.path(), 100);
        for (byte, seconds) in [(1, 1), (2, 2)] {
            let (file, _) = read(&cache, byte, 50).unwrap();
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
            file.set_modified(time).unwrap();
        }
        drop(read(&cache, 1, 50).unwrap());
        drop(read(&cache, 3, 50).unwrap());
        assert!(!read(&cache, 1, 50).unwrap().1);
        assert!(read(&cache, 2, 50).unwrap().1);
    }

    #[test]
    fn what_is_read_or_larger_than_the_cache_is_told() {
        let directory = tempfile::tempdir().unwrap();
        let cache = cache(directory.path(), 100);
        let error = read(&cache, 1, 101).unwrap_err().to_string();
        assert!(error.contains("set TERRACE_CACHE_SIZE to more"), "{error}");
        let one = read(&cache, 1, 60).unwrap();
        assert!(read(&cache, 2, 41).is_err());
        assert!(!read(&cache, 1, 60).unwrap().1);
        drop(one);
        assert!(read(&cache, 2, 41).unwrap().1);
        assert_eq!(kept(&cache), 41);
    }

    #[test]
    fn a_fetch_that_fails_leaves_nothing_and_one_that_was_killed_goes_with_the_next() {
        let directory = tempfile::tempdir().unwrap();
        let cache = cache(directory.path(), 1 << 30);
        let (stored, _) = object(1, 2 * PIECE, 1);
        let error = cache.file(&uri(1), &stored).unwrap_err().to_string();
        let expected = "cannot read the trace `s3://traces/1` at offset 8388608: the store has no \
                        such object";
        assert_eq!(error, expected);
        assert_eq!(fs::read_dir(&cache.directory).unwrap().count(), 0);

        let left = cache.directory.join(format!("{PREFIX}abcdef{PARTIAL}"));
        fs::write(&left, [0; 99]).unwrap();
        let foreign = cache.directory.join("mine.object");
        fs::write(&foreign, [0; 99]).unwrap();
        // One that is still fetched stays.
        let going = cache.reserve(&uri(3), 50).unwrap().unwrap();
        drop(read(&cache, 2, 10).unwrap());
        assert!(!left.exists() && foreign.exists() && going.path().exists());
        assert_eq!(kept(&cache), 60);
    }

    proptest! {
        /// Beside a list with the object that was used last at its end.
        #[test]
        fn what_was_used_longest_ago_goes_first(
            lengths in prop::array::uniform5(0u64..60),
            uses in prop::collection::vec(0usize..5, 1..30),
        ) {
            let directory = tempfile::tempdir().unwrap();
            let cache = cache(directory.path(), 100);
            let mut list: Vec<usize> = Vec::new();
            for (time, used) in (1..).zip(uses) {
                let is_there = list.contains(&used);
                let length = lengths[used];
                list.retain(|other| *other != used);
                let sum = |list: &[usize]| list.iter().map(|other| lengths[*other]).sum::<u64>();
                while !is_there && sum(&list) + length > 100 {
                    list.remove(0);
                }
                list.push(used);
                let (file, fetched) = read(&cache, used as u8, length).unwrap();
                prop_assert_eq!(fetched, !is_there && length > 0);
                // The clock of files may be too coarse to tell two uses apart.
                file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(time)).unwrap();
                prop_assert_eq!(kept(&cache), sum(&list));
            }
        }
    }
}
