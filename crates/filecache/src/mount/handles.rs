//! Open files and directories, by number.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, RwLock};

use fuser::FileHandle;
use rustc_hash::FxHashMap;

use super::attributes::{stat, version};
use super::nodes::Node;
use crate::cache::Source;
use crate::file::Version;

/// An open file or directory.
pub(super) struct Handle {
    pub file: File,
    pub node: Arc<Node>,
    /// Whether it is written at its end, wherever that is.
    pub appends: bool,
}

impl Source for Handle {
    fn version(&self) -> io::Result<Version> {
        Ok(version(&stat(&self.file)?))
    }

    fn read(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let mut done = 0;
        while done < into.len() {
            match self.file.read_at(&mut into[done..], offset + done as u64) {
                Ok(0) => break,
                Ok(read) => done += read,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(done)
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
