//! Changes of files: each goes to the source, and the cache is told before and after.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;

use fuser::{FileType, TimeOrNow};
use rustix::fs::{AtFlags, Gid, Mode, OFlags, Stat, Timestamps, Uid};

use super::attributes::{kind, timespec};
use super::file_system::PassThrough;
use super::handles::Handle;
use super::kernel_cache::Changing;
use super::nodes::Node;
use crate::cache::Source;

impl PassThrough {
    /// Changes bytes of a file, and tells the cache so.
    pub(super) fn change<T>(
        &self,
        node: &Node,
        bytes: std::ops::Range<u64>,
        source: &dyn Source,
        act: impl FnOnce() -> T,
    ) -> T {
        match &self.cache {
            Some(cache) => cache.change(node.identity, bytes, source, act),
            None => {
                let _changing = Changing::begin(&node.kernel_cache);
                act()
            }
        }
    }

    /// Changes a file by what may take long, for which others are not kept waiting: all of its
    /// pages are dropped.
    pub(super) fn change_long<T>(&self, node: &Node, act: impl FnOnce() -> T) -> T {
        let _changing = Changing::begin(&node.kernel_cache);
        self.forget_file(node);
        let done = act();
        self.forget_file(node);
        done
    }

    /// Changes attributes of a file alone.
    pub(super) fn change_attributes<T>(&self, node: &Node, act: impl FnOnce() -> T) -> T {
        self.change(node, 0..0, node, act)
    }

    /// Returns what a name stands for, if the kernel has looked it up, and its attributes.
    pub(super) fn named(&self, parent: &OwnedFd, name: &OsStr) -> Option<(Arc<Node>, Stat)> {
        let about = rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        Some((self.nodes.known(&about)?, about))
    }

    /// Takes a name of a file away by `act`. What has no other name stays open, because nothing
    /// finds it again.
    pub(super) fn take_name<T>(
        &self,
        named: Option<(Arc<Node>, Stat)>,
        act: impl FnOnce() -> rustix::io::Result<T>,
    ) -> rustix::io::Result<T> {
        let Some((node, about)) = named else {
            return act();
        };
        let is_file = kind(about.st_mode) == FileType::RegularFile;
        if is_file && about.st_nlink > 1 {
            return self.change_attributes(&node, act);
        }
        node.place.stay();
        let done = act();
        match done.is_ok() {
            // Another file may get its inode.
            true if is_file => self.forget_file(&node),
            true => {}
            false => node.place.need_not_stay(),
        }
        done
    }

    pub(super) fn forget_file(&self, node: &Node) {
        if let Some(cache) = &self.cache {
            cache.forget(node.identity);
        }
    }

    /// Makes a file as long as is said, and tells the cache so.
    pub(super) fn set_size(
        &self,
        node: &Arc<Node>,
        size: u64,
        handle: Option<Arc<Handle>>,
    ) -> io::Result<()> {
        let handle = match handle.filter(|handle| handle.writes()) {
            Some(handle) => handle,
            // Before the file is held against others, among whom opening it would count.
            None => Arc::new(Handle::open(Arc::clone(node), OFlags::WRONLY)?),
        };
        let now = handle.version()?;
        let changed = size.min(now.size)..size.max(now.size);
        self.change(node, changed, &*handle, || {
            handle.with(|file| Ok(rustix::fs::ftruncate(file, size)?))
        })
    }

    pub(super) fn set(
        &self,
        node: &Arc<Node>,
        mode: Option<u32>,
        owner: (Option<u32>, Option<u32>),
        times: (Option<TimeOrNow>, Option<TimeOrNow>),
    ) -> io::Result<()> {
        if let Some(mode) = mode {
            rustix::fs::chmod(&*node.magic()?, Mode::from_raw_mode(mode & 0o7777))?;
        }
        if owner != (None, None) {
            let (user, group) = (owner.0.map(Uid::from_raw), owner.1.map(Gid::from_raw));
            rustix::fs::chownat(node.path()?, c"", user, group, AtFlags::EMPTY_PATH)?;
        }
        if times.0.is_some() || times.1.is_some() {
            let times = Timestamps {
                last_access: timespec(times.0),
                last_modification: timespec(times.1),
            };
            rustix::fs::utimensat(node.path()?, c"", &times, AtFlags::EMPTY_PATH)?;
        }
        Ok(())
    }

    /// Writes, and drops the pages that this changes.
    pub(super) fn write_at(&self, handle: &Handle, offset: u64, data: &[u8]) -> io::Result<usize> {
        let length = data.len() as u64;
        // The kernel knows the end as it was.
        let at = match handle.appends() {
            true => handle.version().map_or(offset, |now| now.size),
            false => offset,
        };
        let changed = offset.min(at)..offset.max(at) + length;
        self.change(&handle.node, changed, handle, || {
            handle.write(data, offset)?;
            self.beside
                .log
                .note(handle.node.identity, at..at + length, true);
            Ok(data.len())
        })
    }

    pub(super) fn data_copied(
        &self,
        from: (&Handle, u64),
        to: (&Handle, u64),
        bytes: u64,
        flags: u64,
    ) -> io::Result<usize> {
        let (mut read, mut written) = (from.1 as i64, to.1 as i64);
        self.change_long(&to.0.node, || {
            from.0.with(|source| {
                to.0.with(|target| {
                    // SAFETY: the files are open, and the kernel changes the two offsets alone.
                    let copied = unsafe {
                        libc::copy_file_range(
                            source.as_raw_fd(),
                            &raw mut read,
                            target.as_raw_fd(),
                            &raw mut written,
                            bytes.min(1 << 30) as usize,
                            flags as u32,
                        )
                    };
                    usize::try_from(copied).map_err(|_| io::Error::last_os_error())
                })
            })
        })
    }
}
