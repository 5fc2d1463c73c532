//! Files that the kernel knows, by number.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, RwLock};

use fuser::{FileType, INodeNo};
use rustc_hash::FxHashMap;
use rustix::fs::{Mode, OFlags, Stat};

use super::attributes::{file_system, kind, stat, version};
use super::opened::{self, Opened};
use super::passing::Passing;
use super::promise::Promise;
use super::uncertain::Kept;
use crate::cache::{Hold, Source};
use crate::file::{self, Identity, Version};

/// A file that the kernel knows. It stays the same however it is renamed.
pub(super) struct Node {
    pub number: INodeNo,
    /// Opened as a mere path (`O_PATH`).
    pub path: OwnedFd,
    pub identity: Identity,
    /// What its file system promises.
    promise: Promise,
    /// As the source has it open.
    pub opened: Opened,
    /// Whether the kernel reads and writes it by itself.
    pub passing: Mutex<Passing>,
    /// What the kernel's page cache has of it.
    pub kept: Mutex<Kept>,
    key: (u64, u64),
}

impl Node {
    /// Returns a path by which it can be opened, whatever its name is.
    pub fn magic(&self) -> PathBuf {
        magic(&self.path)
    }

    /// Opens it.
    pub fn open(&self, flags: OFlags) -> io::Result<File> {
        let opened = rustix::fs::open(self.magic(), flags | OFlags::CLOEXEC, Mode::empty())?;
        Ok(File::from(opened))
    }

    /// Whether the file is of this version, which `now` tells, with nothing being changed, and every change from now on makes
    /// another one.
    pub fn is_settled(&self, version: &Version, now: impl FnOnce() -> io::Result<Version>) -> bool {
        let moment = file::now();
        let promise = match self.promise {
            // Whoever opens it from here on changes it later than `moment`.
            Promise::Lease { .. } => match self.opened.hold(self) {
                opened::Hold::Alone(_) => self.promise,
                opened::Hold::Shared => return false,
                opened::Hold::Unknown => Promise::WriteBack,
            },
            promise => promise,
        };
        if !promise.tells_apart(version, moment) {
            return false;
        }
        if promise == Promise::WriteBack && self.opened.write_back(version).is_err() {
            return false;
        }
        now().is_ok_and(|now| now == *version)
    }

    /// Whether a later change than now makes another version than this.
    pub fn tells_apart(&self, version: &Version) -> bool {
        self.promise.tells_apart(version, file::now())
    }

    /// Looks out for changes of others.
    pub fn hold(&self) -> Hold<'_> {
        match self.promise {
            Promise::Lease { .. } => match self.opened.hold(self) {
                opened::Hold::Alone(lease) => Box::new(move || lease.is_intact()),
                opened::Hold::Shared => Box::new(|| false),
                opened::Hold::Unknown => Box::new(|| true),
            },
            Promise::Server | Promise::WriteBack => Box::new(|| true),
            Promise::Nothing => Box::new(|| false),
        }
    }
}

fn magic(file: &OwnedFd) -> PathBuf {
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}

/// A node is a source of versions alone.
impl Source for Node {
    fn version(&self) -> io::Result<Version> {
        Ok(version(&stat(&self.path)?))
    }

    fn read(&self, _: u64, _: &mut [u8]) -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn is_settled(&self, version: &Version) -> bool {
        self.is_settled(version, || self.version())
    }

    fn hold(&self) -> Hold<'_> {
        self.hold()
    }
}

/// The files that the kernel knows.
pub(super) struct Nodes {
    table: RwLock<Table>,
    root_device: u64,
    /// Ids of file systems and what they promise, by the numbers of their devices.
    file_systems: Mutex<FxHashMap<u64, (u64, Promise)>>,
}

#[derive(Default)]
struct Table {
    nodes: FxHashMap<u64, (Arc<Node>, u64)>,
    /// Numbers by device and inode.
    numbers: FxHashMap<(u64, u64), u64>,
    /// Numbers that were given to inodes whose own could be another's.
    given: u64,
}

/// Numbers from here on are given, and are no inode's own.
const GIVEN: u64 = 1 << 63;

impl Nodes {
    /// Begins with the root of the source.
    pub fn new(root: OwnedFd) -> io::Result<Self> {
        let about = stat(&root)?;
        let nodes = Self {
            table: RwLock::default(),
            root_device: about.st_dev,
            file_systems: Mutex::default(),
        };
        nodes.insert(root, &about, Some(INodeNo::ROOT.0));
        Ok(nodes)
    }

    /// Returns a node.
    pub fn get(&self, number: INodeNo) -> io::Result<Arc<Node>> {
        let table = self.table.read().unwrap_or_else(|e| e.into_inner());
        let node = table.nodes.get(&number.0).map(|(node, _)| Arc::clone(node));
        node.ok_or_else(|| io::Error::from_raw_os_error(libc::ESTALE))
    }

    /// Looks a name up, and counts that the kernel knows the node once more.
    pub fn look_up(&self, parent: &Node, name: &OsStr) -> io::Result<(Arc<Node>, Stat)> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        self.met(rustix::fs::openat(
            &parent.path,
            name,
            flags,
            Mode::empty(),
        )?)
    }

    /// Counts that the kernel knows an open file once more.
    pub fn of(&self, file: &File) -> io::Result<(Arc<Node>, Stat)> {
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        self.met(rustix::fs::open(
            path,
            OFlags::PATH | OFlags::CLOEXEC,
            Mode::empty(),
        )?)
    }

    fn met(&self, path: OwnedFd) -> io::Result<(Arc<Node>, Stat)> {
        let about = stat(&path)?;
        Ok((self.insert(path, &about, None), about))
    }

    fn insert(&self, path: OwnedFd, about: &Stat, number: Option<u64>) -> Arc<Node> {
        let key = (about.st_dev, about.st_ino);
        let (identity, promise) = self.identity(&path, about);
        let mut table = self.table.write().unwrap_or_else(|e| e.into_inner());
        if let Some(number) = table.numbers.get(&key).copied()
            && let Some((node, known)) = table.nodes.get_mut(&number)
        {
            *known += 1;
            return Arc::clone(node);
        }
        let is_own = about.st_dev == self.root_device && (2..GIVEN).contains(&about.st_ino);
        let number = number.unwrap_or_else(|| match is_own {
            true => about.st_ino,
            false => {
                table.given += 1;
                GIVEN + table.given
            }
        });
        let node = Arc::new(Node {
            number: INodeNo(number),
            path,
            identity,
            promise,
            opened: Opened::default(),
            passing: Mutex::default(),
            kept: Mutex::default(),
            key,
        });
        table.numbers.insert(key, number);
        table.nodes.insert(number, (Arc::clone(&node), 1));
        node
    }

    fn identity(&self, path: &OwnedFd, about: &Stat) -> (Identity, Promise) {
        let mut known = self.file_systems.lock().unwrap_or_else(|e| e.into_inner());
        let device = about.st_dev;
        let (file_system, promise) = *known
            .entry(device)
            .or_insert_with(|| (file_system(path.as_fd(), device), Promise::of(path)));
        let identity = Identity {
            file_system,
            inode: about.st_ino,
        };
        (identity, promise)
    }

    /// Returns the node of a regular file with these attributes, if the kernel knows it.
    pub fn known(&self, about: &Stat) -> Option<Arc<Node>> {
        if kind(about.st_mode) != FileType::RegularFile {
            return None;
        }
        let table = self.table.read().unwrap_or_else(|e| e.into_inner());
        let number = table.numbers.get(&(about.st_dev, about.st_ino))?;
        table.nodes.get(number).map(|(node, _)| Arc::clone(node))
    }

    /// Counts that the kernel has forgotten a node so many times; returns it if it does not know it any more.
    pub fn forget(&self, number: INodeNo, times: u64) -> Option<Arc<Node>> {
        let mut table = self.table.write().unwrap_or_else(|e| e.into_inner());
        let (_, known) = table.nodes.get_mut(&number.0)?;
        *known = known.saturating_sub(times);
        if *known > 0 || number == INodeNo::ROOT {
            return None;
        }
        let (node, _) = table.nodes.remove(&number.0)?;
        table.numbers.remove(&node.key);
        Some(node)
    }
}
