//! Open files and directories, by number.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, RwLock};

use fuser::{BackingId, FileHandle};
use rustc_hash::FxHashMap;

use rustix::fs::OFlags;
use rustix::io::ReadWriteFlags;
use terrace_base::lock;
use terrace_policy::admission::rules::Rule;

use super::attributes::{stat, version};
use super::nodes::Node;
use super::opened::Access;
use super::passing::Way;
use crate::cache::{Hold, Source};
use crate::file::Version;

/// An open file or directory.
pub(super) struct Handle {
    pub node: Arc<Node>,
    access: Access,
    /// What is asked of each write: that it goes to the end of the file, wherever that is, or to
    /// the disk.
    writes: ReadWriteFlags,
    way: Cell,
}

/// The way that the kernel was told, once it was.
type Cell = std::sync::OnceLock<Way>;

impl Handle {
    /// Opens a file.
    pub fn open(node: Arc<Node>, flags: OFlags) -> io::Result<Self> {
        let access = node.opened.open(&*node, flags)?;
        Ok(Self::of(node, access, flags))
    }

    /// Takes a file that was made with these flags.
    pub fn made(node: Arc<Node>, file: File, flags: OFlags) -> io::Result<Self> {
        let access = node.opened.adopt(&*node, file, flags)?;
        Ok(Self::of(node, access, flags))
    }

    /// Takes an open directory.
    pub fn directory(node: Arc<Node>, file: File) -> Self {
        Self::of(node, Access::Own(file, false), OFlags::RDONLY)
    }

    fn of(node: Arc<Node>, access: Access, flags: OFlags) -> Self {
        let mut writes = ReadWriteFlags::empty();
        writes.set(ReadWriteFlags::APPEND, flags.contains(OFlags::APPEND));
        writes.set(ReadWriteFlags::DSYNC, flags.contains(OFlags::DSYNC));
        writes.set(ReadWriteFlags::SYNC, flags.contains(OFlags::SYNC));
        Self {
            node,
            access,
            writes,
            way: Cell::new(),
        }
    }

    /// Returns what the kernel reads and writes by itself, if it `may`, or does so for other
    /// handles of the file already. `register` tells it of the file.
    pub fn pass(
        &self,
        may: bool,
        register: impl FnOnce(&File) -> io::Result<BackingId>,
    ) -> Option<Arc<BackingId>> {
        let (way, backing) = lock(&self.node.passing).begin(may, || self.with(register));
        let _ = self.way.set(way);
        backing
    }

    /// Whether it is written at its end, wherever that is.
    pub fn appends(&self) -> bool {
        self.writes.contains(ReadWriteFlags::APPEND)
    }

    /// Whether it was opened for writing.
    pub fn writes(&self) -> bool {
        matches!(self.access, Access::Write | Access::Own(_, true))
    }

    /// Calls `act` with the file, as the source has it open.
    pub fn with<T>(&self, act: impl FnOnce(&File) -> io::Result<T>) -> io::Result<T> {
        match &self.access {
            Access::Own(file, _) => act(file),
            Access::Read | Access::Write => act(&*self.node.opened.file()?),
        }
    }

    /// Writes all of `data`.
    pub fn write(&self, mut data: &[u8], mut offset: u64) -> io::Result<()> {
        self.with(|file| {
            while !data.is_empty() {
                let from = [io::IoSlice::new(data)];
                match rustix::io::pwritev2(file, &from, offset, self.writes) {
                    Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                    Ok(written) => {
                        data = &data[written..];
                        offset += written as u64;
                    }
                    Err(rustix::io::Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            Ok(())
        })
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if let Some(way) = self.way.get() {
            lock(&self.node.passing).end(way);
        }
        self.node.opened.close(&*self.node, &self.access);
    }
}

impl Source for Handle {
    fn version(&self) -> io::Result<Version> {
        self.with(|file| Ok(version(&stat(file)?)))
    }

    fn read(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        self.with(|file| {
            let mut done = 0;
            while done < into.len() {
                match file.read_at(&mut into[done..], offset + done as u64) {
                    Ok(0) => break,
                    Ok(read) => done += read,
                    Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                    Err(e) => return Err(e),
                }
            }
            Ok(done)
        })
    }

    fn rule(&self, bytes: u64) -> Rule {
        let judged = *self.node.judged();
        judged.rule.of_size(judged.largest, bytes)
    }

    fn is_settled(&self, of: &Version) -> bool {
        self.node.is_settled(of, || self.version())
    }

    fn hold(&self) -> Hold<'_> {
        self.node.hold()
    }
}

/// What is open.
#[derive(Default)]
pub(super) struct Handles {
    table: RwLock<(u64, FxHashMap<u64, Arc<Handle>>)>,
}

impl Handles {
    pub fn insert(&self, handle: Handle) -> FileHandle {
        let mut table = self.table.write().unwrap_or_else(|e| e.into_inner());
        table.0 += 1;
        let number = table.0;
        table.1.insert(number, Arc::new(handle));
        FileHandle(number)
    }

    pub fn get(&self, number: FileHandle) -> io::Result<Arc<Handle>> {
        let table = self.table.read().unwrap_or_else(|e| e.into_inner());
        let handle = table.1.get(&number.0).map(Arc::clone);
        handle.ok_or_else(|| io::Error::from_raw_os_error(libc::EBADF))
    }

    pub fn remove(&self, number: FileHandle) -> Option<Arc<Handle>> {
        let mut table = self.table.write().unwrap_or_else(|e| e.into_inner());
        table.1.remove(&number.0)
    }
}
