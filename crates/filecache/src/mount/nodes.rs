//! Files that the kernel knows, by number.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, RwLock};

use fuser::INodeNo;
use rustc_hash::FxHashMap;
use rustix::fs::{Mode, OFlags, Stat};
use terrace_base::lock;
use terrace_policy::admission::rules::Rule;

use super::attributes::{file_system, stat, version};
use super::kernel_cache::KernelCache;
use super::opened::{self, Opened, Reopen};
use super::passing::Passing;
use super::place::{Descriptors, Magic, Named, Place};
use super::promise::Promise;
use crate::cache::{Hold, Source};
use crate::file::{self, Identity, Version};

/// A file that the kernel knows. It stays the same however it is renamed.
pub(super) struct Node {
    pub number: INodeNo,
    /// Where it is.
    pub place: Arc<Place>,
    pub identity: Identity,
    /// What its file system promises.
    promise: Promise,
    /// As the source has it open.
    pub opened: Opened,
    /// Whether the kernel reads and writes it by itself.
    pub passing: Mutex<Passing>,
    /// What the rules of people say of it.
    judged: Mutex<Judged>,
    /// What the kernel's page cache has of it.
    pub kernel_cache: Mutex<KernelCache>,
    key: (u64, u64),
}

/// What the rules say of a file, as of when they were asked.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Judged {
    /// Which rules these were.
    pub generation: u64,
    /// What those of paths say.
    pub rule: Rule,
    /// Bytes of the largest file that is not excluded.
    pub largest: Option<u64>,
}

impl Node {
    /// Returns what the rules say of it.
    pub fn judged(&self) -> MutexGuard<'_, Judged> {
        lock(&self.judged)
    }

    /// Returns it as a mere path (`O_PATH`).
    ///
    /// # Errors
    /// Returns ESTALE if it is not found any more, and the error of the system.
    pub fn path(&self) -> io::Result<Arc<OwnedFd>> {
        self.place.path().or_else(|error| match self.opened.file() {
            Ok(open) => Ok(self.place.reopened(path_of(&open)?)),
            Err(_) => Err(error),
        })
    }

    /// Returns a path by which it can be opened, whatever its name is.
    ///
    /// # Errors
    /// Returns those of [`Node::path`].
    pub fn magic(&self) -> io::Result<Magic> {
        self.path().map(Magic::of)
    }

    /// Whether the file is of this version, which `now` tells, with nothing being changed, and
    /// every change from now on makes another one.
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

impl Reopen for Node {
    /// Opens it.
    ///
    /// # Errors
    /// Returns those of [`Node::path`], and the error of the system.
    fn open(&self, flags: OFlags) -> io::Result<File> {
        let flags = flags | OFlags::CLOEXEC;
        if let Some(open) = self.place.open(flags) {
            return Ok(open);
        }
        Ok(rustix::fs::open(&*self.magic()?, flags, Mode::empty())?.into())
    }
}

/// Returns an open file as a mere path.
fn path_of(file: &File) -> io::Result<OwnedFd> {
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}

/// A node is a source of versions alone.
impl Source for Node {
    fn version(&self) -> io::Result<Version> {
        Ok(version(&stat(self.path()?)?))
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

/// A file that was found by a name.
struct Found {
    path: OwnedFd,
    key: (u64, u64),
    identity: Identity,
    promise: Promise,
}

/// The files that the kernel knows.
pub(super) struct Nodes {
    table: RwLock<Table>,
    descriptors: Arc<Descriptors>,
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
    /// Begins with the root of the source, and keeps so many descriptors of files that the kernel
    /// knows.
    pub fn new(root: OwnedFd, descriptors: usize) -> io::Result<Self> {
        let about = stat(&root)?;
        let nodes = Self {
            table: RwLock::default(),
            descriptors: Arc::new(Descriptors::new(descriptors, &root)),
            root_device: about.st_dev,
            file_systems: Mutex::default(),
        };
        let (root, found) = (nodes.found(root, &about), Some(INodeNo::ROOT.0));
        nodes.insert(root, None, found);
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
        let path = rustix::fs::openat(parent.path()?, name, flags, Mode::empty())?;
        self.met(path, Named::new(&parent.place, name))
    }

    /// Counts that the kernel knows an open file once more, which has this name.
    pub fn of(&self, file: &File, parent: &Node, name: &OsStr) -> io::Result<(Arc<Node>, Stat)> {
        self.met(path_of(file)?, Named::new(&parent.place, name))
    }

    fn met(&self, path: OwnedFd, named: Named) -> io::Result<(Arc<Node>, Stat)> {
        let about = stat(&path)?;
        let found = self.found(path, &about);
        // A file that is known, unless it is another one with its inode, or is forgotten at this
        // moment.
        while let Some(known) = self.of_key(found.key) {
            if !known.place.is(&found.path) {
                break;
            }
            if self.count(&known) {
                known.place.reopened(found.path);
                known.place.rename(named);
                return Ok((known, about));
            }
        }
        Ok((self.insert(found, Some(named), None), about))
    }

    fn found(&self, path: OwnedFd, about: &Stat) -> Found {
        let (identity, promise) = self.identity(&path, about);
        Found {
            path,
            key: (about.st_dev, about.st_ino),
            identity,
            promise,
        }
    }

    fn of_key(&self, key: (u64, u64)) -> Option<Arc<Node>> {
        let table = self.table.read().unwrap_or_else(|e| e.into_inner());
        let number = table.numbers.get(&key)?;
        table.nodes.get(number).map(|(node, _)| Arc::clone(node))
    }

    /// Counts that the kernel knows a node once more, if it knows it still.
    fn count(&self, node: &Arc<Node>) -> bool {
        let mut table = self.table.write().unwrap_or_else(|e| e.into_inner());
        match table.nodes.get_mut(&node.number.0) {
            Some((there, known)) if Arc::ptr_eq(there, node) => {
                *known += 1;
                true
            }
            _ => false,
        }
    }

    /// Begins to know a file.
    fn insert(&self, found: Found, named: Option<Named>, number: Option<u64>) -> Arc<Node> {
        let place = Place::new(found.path, named, &self.descriptors);
        let (device, inode) = found.key;
        let mut table = self.table.write().unwrap_or_else(|e| e.into_inner());
        let is_own = device == self.root_device
            && (2..GIVEN).contains(&inode)
            && !table.nodes.contains_key(&inode);
        let number = number.unwrap_or_else(|| match is_own {
            true => inode,
            false => {
                table.given += 1;
                GIVEN + table.given
            }
        });
        let node = Arc::new(Node {
            number: INodeNo(number),
            place,
            identity: found.identity,
            promise: found.promise,
            opened: Opened::default(),
            passing: Mutex::default(),
            judged: Mutex::default(),
            kernel_cache: Mutex::default(),
            key: found.key,
        });
        table.numbers.insert(found.key, number);
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

    /// Returns the node with these attributes, if the kernel knows it.
    pub fn known(&self, about: &Stat) -> Option<Arc<Node>> {
        self.of_key((about.st_dev, about.st_ino))
    }

    /// Counts that the kernel has forgotten a node so many times; returns it if it does not know it
    /// any more.
    pub fn forget(&self, number: INodeNo, times: u64) -> Option<Arc<Node>> {
        let mut table = self.table.write().unwrap_or_else(|e| e.into_inner());
        let (_, known) = table.nodes.get_mut(&number.0)?;
        *known = known.saturating_sub(times);
        if *known > 0 || number == INodeNo::ROOT {
            return None;
        }
        let (node, _) = table.nodes.remove(&number.0)?;
        // Another file may have got its inode.
        if table.numbers.get(&node.key) == Some(&number.0) {
            table.numbers.remove(&node.key);
        }
        Some(node)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_new_file_with_a_known_inode_is_a_new_node() {
        let directory = tempfile::tempdir().unwrap();
        let root = rustix::fs::open(directory.path(), OFlags::PATH, Mode::empty()).unwrap();
        let nodes = Nodes::new(root, 1).unwrap();
        let root = nodes.get(INodeNo::ROOT).unwrap();
        let path = |name: &str| directory.path().join(name);
        for name in ["file", "other"] {
            fs::write(path(name), name).unwrap();
        }
        std::thread::sleep(Duration::from_millis(30));
        let (file, _) = nodes.look_up(&root, "file".as_ref()).unwrap();
        let (again, _) = nodes.look_up(&root, "file".as_ref()).unwrap();
        assert!(Arc::ptr_eq(&file, &again));
        // Another file takes its descriptor.
        nodes.look_up(&root, "other".as_ref()).unwrap();
        nodes
            .look_up(&root, "other".as_ref())
            .unwrap()
            .0
            .path()
            .unwrap();
        fs::remove_file(path("file")).unwrap();
        fs::write(path("new"), b"new").unwrap();
        let (new, _) = nodes.look_up(&root, "new".as_ref()).unwrap();
        assert_ne!(new.number, file.number);
        assert!(file.path().is_err());
        // Forgetting the one leaves the other, whose inode may be the same.
        assert!(nodes.forget(file.number, 2).is_some());
        let (found, _) = nodes.look_up(&root, "new".as_ref()).unwrap();
        assert!(Arc::ptr_eq(&new, &found));
    }
}
