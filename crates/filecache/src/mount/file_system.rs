//! What the kernel asks for, passed through to the source.
//! Long, because it is one implementation of one trait: a method for each request.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use fuser::{
    CopyFileRangeFlags, Errno, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo,
    InitFlags, KernelConfig, LockOwner, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData,
    ReplyDirectory, ReplyDirectoryPlus, ReplyEmpty, ReplyEntry, ReplyLseek, ReplyOpen, ReplyStatfs,
    ReplyWrite, ReplyXattr, Request, TimeOrNow, WriteFlags,
};
use rustix::fs::{AtFlags, Mode, OFlags, Stat, XattrFlags};
use rustix::process::geteuid;
use terrace_base::lock;

use super::Beside;
use super::attributes::{attributes, kind, nothing, stat, version};
use super::caller::{Caller, KillsIdBits};
use super::handles::{Handle, Handles};
use super::nodes::{Node, Nodes};
use super::opened::Reopen;
use super::place::Named;
use crate::cache::{Cache, Source};
use crate::file::Version;

/// How long the kernel takes names and attributes for right where nothing else is said.
const FRESH: Duration = Duration::from_secs(1);

/// Bytes of the largest file that the kernel reads as a whole, by the default of its readahead.
const SMALL: u64 = 128 << 10;

/// A directory, passed through, with the reads of its files cached.
pub(super) struct PassThrough {
    pub(super) nodes: Nodes,
    handles: Handles,
    pub(super) cache: Option<Arc<Cache>>,
    pub(super) beside: Beside,
    /// Whether the kernel's page cache is left out (exact mode).
    direct: bool,
    /// How long the kernel takes names and attributes for right.
    pub(super) fresh: Duration,
    /// Whether it keeps directories as well, and names that are not there.
    keeps_names: bool,
    /// Whether it reads and writes files of the source itself (Linux 6.9).
    passes: bool,
}

/// Replies with an error if there is one.
macro_rules! or_reply {
    ($result:expr, $reply:expr) => {
        match $result {
            Ok(value) => value,
            Err(error) => return $reply.error(Errno::from(io::Error::from(error))),
        }
    };
}

impl PassThrough {
    pub fn new(
        nodes: Nodes,
        cache: Option<Arc<Cache>>,
        beside: Beside,
        direct: bool,
        attributes: Duration,
    ) -> Self {
        Self {
            nodes,
            handles: Handles::default(),
            cache,
            beside,
            direct,
            fresh: match attributes.is_zero() {
                true => FRESH,
                false => attributes,
            },
            keeps_names: !attributes.is_zero(),
            passes: false,
        }
    }

    pub(super) fn forget_node(&self, number: INodeNo, times: u64) {
        let node = self.nodes.forget(number, times);
        if let (Some(node), Some(cache)) = (node, &self.cache)
            && cache.store().stamp(node.identity).is_some()
        {
            match node.path().and_then(stat) {
                Ok(about) if about.st_nlink > 0 => cache.store().forget_if_empty(node.identity),
                _ => cache.forget(node.identity),
            }
        }
    }

    fn entry(&self, parent: &Node, name: &OsStr, reply: ReplyEntry) {
        let (node, about) = or_reply!(self.nodes.look_up(parent, name), reply);
        reply.entry(&self.fresh, &attributes(&about, node.number), Generation(0));
    }

    /// Returns the answer to the kernel for a file that is opened: what becomes of its pages in the
    /// kernel's cache, and that a file that was only read has no errors to report at its end.
    fn flags_of(&self, handle: &Handle, now: Option<Version>, flags: OFlags) -> FopenFlags {
        let close = closing(flags);
        if self.direct {
            return close | FopenFlags::FOPEN_DIRECT_IO;
        }
        match lock(&handle.node.kernel_cache).is_of(now) {
            true => close | FopenFlags::FOPEN_KEEP_CACHE,
            false => close,
        }
    }

    /// Whether the kernel's pages of a file serve better than the file below them: after a read of
    /// that file itself the kernel asks for attributes again. It gets all pages at once.
    fn keeps_contents(&self, handle: &Handle, now: Option<Version>) -> bool {
        self.keeps_names && !handle.writes() && now.is_some_and(|now| now.size <= SMALL)
    }

    fn about(&self, node: &Node, handle: Option<FileHandle>) -> io::Result<Stat> {
        match handle.and_then(|handle| self.handles.get(handle).ok()) {
            Some(handle) => handle.with(|file| stat(file)),
            None => stat(node.path()?),
        }
    }

    fn log_read(&self, handle: &Handle, offset: u64, bytes: usize) {
        let identity = handle.node.identity;
        self.beside
            .log
            .note(identity, offset..offset + bytes as u64, false);
    }
}

/// Returns the answer to the kernel for the end of an open file: one that was only read has
/// no errors to tell of then.
fn closing(flags: OFlags) -> FopenFlags {
    match flags & OFlags::RWMODE == OFlags::RDONLY {
        true => FopenFlags::FOPEN_NOFLUSH,
        false => FopenFlags::empty(),
    }
}

impl Filesystem for PassThrough {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        let wanted = InitFlags::FUSE_ASYNC_READ
            | InitFlags::FUSE_PARALLEL_DIROPS
            | InitFlags::FUSE_AUTO_INVAL_DATA
            | InitFlags::FUSE_ASYNC_DIO
            | InitFlags::FUSE_DIRECT_IO_ALLOW_MMAP;
        let wanted = match self.keeps_names {
            true => wanted | InitFlags::FUSE_DO_READDIRPLUS | InitFlags::FUSE_READDIRPLUS_AUTO,
            false => wanted,
        };
        let passes = self.cache.is_none() && !self.beside.log.is_open() && geteuid().is_root();
        // Above a directory of this depth another file system can lie still.
        self.passes = passes
            && config.add_capabilities(InitFlags::FUSE_PASSTHROUGH).is_ok()
            && config.set_max_stack_depth(1).is_ok();
        let _ = config.add_capabilities(wanted & config.capabilities());
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let parent = or_reply!(self.nodes.get(parent), reply);
        match self.nodes.look_up(&parent, name) {
            Err(e) if self.keeps_names && e.raw_os_error() == Some(libc::ENOENT) => {
                reply.entry(&self.fresh, &nothing(), Generation(0));
            }
            found => {
                let (node, about) = or_reply!(found, reply);
                reply.entry(&self.fresh, &attributes(&about, node.number), Generation(0));
            }
        }
    }

    fn forget(&self, _: &Request, number: INodeNo, times: u64) {
        self.forget_node(number, times);
    }

    fn getattr(&self, _: &Request, number: INodeNo, handle: Option<FileHandle>, reply: ReplyAttr) {
        let node = or_reply!(self.nodes.get(number), reply);
        let about = or_reply!(self.about(&node, handle), reply);
        reply.attr(&self.fresh, &attributes(&about, number));
    }

    fn setattr(
        &self,
        _: &Request,
        number: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        atime: Option<TimeOrNow>,
        mtime: Option<TimeOrNow>,
        _: Option<SystemTime>,
        handle: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<fuser::BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let node = or_reply!(self.nodes.get(number), reply);
        if let Some(size) = size {
            let handle = handle.and_then(|handle| self.handles.get(handle).ok());
            or_reply!(self.set_size(&node, size, handle), reply);
        }
        if mode.is_some() || uid.or(gid).is_some() || atime.or(mtime).is_some() {
            let set = || self.set(&node, mode, (uid, gid), (atime, mtime));
            or_reply!(self.change_attributes(&node, set), reply);
        }
        let about = or_reply!(self.about(&node, handle), reply);
        reply.attr(&self.fresh, &attributes(&about, number));
    }

    fn readlink(&self, _: &Request, number: INodeNo, reply: ReplyData) {
        let node = or_reply!(self.nodes.get(number), reply);
        let path = or_reply!(node.path(), reply);
        let target = or_reply!(rustix::fs::readlinkat(path, c"", Vec::new()), reply);
        reply.data(target.as_bytes());
    }

    fn mknod(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _: u32,
        device: u32,
        reply: ReplyEntry,
    ) {
        let parent = or_reply!(self.nodes.get(parent), reply);
        let directory = or_reply!(parent.path(), reply);
        let made = {
            let _caller = Caller::become_it(request);
            let kind = rustix::fs::FileType::from_raw_mode(mode);
            let mode = Mode::from_raw_mode(mode & 0o7777);
            rustix::fs::mknodat(&directory, name, kind, mode, device.into())
        };
        or_reply!(made, reply);
        self.entry(&parent, name, reply);
    }

    fn mkdir(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _: u32,
        reply: ReplyEntry,
    ) {
        let parent = or_reply!(self.nodes.get(parent), reply);
        let directory = or_reply!(parent.path(), reply);
        let made = {
            let _caller = Caller::become_it(request);
            rustix::fs::mkdirat(&directory, name, Mode::from_raw_mode(mode & 0o7777))
        };
        or_reply!(made, reply);
        self.entry(&parent, name, reply);
    }

    fn unlink(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let parent = or_reply!(self.nodes.get(parent), reply);
        let directory = or_reply!(parent.path(), reply);
        let unlink = || rustix::fs::unlinkat(&directory, name, AtFlags::empty());
        let named = self.named(&directory, name);
        or_reply!(self.take_name(named, unlink), reply);
        reply.ok();
    }

    fn rmdir(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let parent = or_reply!(self.nodes.get(parent), reply);
        let directory = or_reply!(parent.path(), reply);
        let remove = || rustix::fs::unlinkat(&directory, name, AtFlags::REMOVEDIR);
        let named = self.named(&directory, name);
        or_reply!(self.take_name(named, remove), reply);
        reply.ok();
    }

    fn symlink(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        target: &Path,
        reply: ReplyEntry,
    ) {
        let parent = or_reply!(self.nodes.get(parent), reply);
        let directory = or_reply!(parent.path(), reply);
        let made = {
            let _caller = Caller::become_it(request);
            rustix::fs::symlinkat(target, &directory, name)
        };
        or_reply!(made, reply);
        self.entry(&parent, name, reply);
    }

    fn rename(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        new_parent: INodeNo,
        new_name: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let parent = or_reply!(self.nodes.get(parent), reply);
        let directory = or_reply!(parent.path(), reply);
        let new_parent = or_reply!(self.nodes.get(new_parent), reply);
        let new_directory = or_reply!(new_parent.path(), reply);
        let flags = rustix::fs::RenameFlags::from_bits_retain(flags.bits());
        let rename =
            || rustix::fs::renameat_with(&directory, name, &new_directory, new_name, flags);
        let (from, to) = (
            self.named(&directory, name),
            self.named(&new_directory, new_name),
        );
        let rename = || match &from {
            Some((node, about)) if kind(about.st_mode) == FileType::RegularFile => {
                self.change_attributes(node, rename)
            }
            _ => rename(),
        };
        let is_exchange = flags.contains(rustix::fs::RenameFlags::EXCHANGE);
        let renamed = match is_exchange {
            true => rename(),
            false => self.take_name(to.clone(), rename),
        };
        or_reply!(renamed, reply);
        if let Some((node, _)) = &from {
            node.place.rename(Named::new(&new_parent.place, new_name));
        }
        if let Some((node, _)) = to.filter(|_| is_exchange) {
            node.place.rename(Named::new(&parent.place, name));
        }
        reply.ok();
    }

    fn link(
        &self,
        _: &Request,
        number: INodeNo,
        new_parent: INodeNo,
        new_name: &OsStr,
        reply: ReplyEntry,
    ) {
        let node = or_reply!(self.nodes.get(number), reply);
        let parent = or_reply!(self.nodes.get(new_parent), reply);
        let directory = or_reply!(parent.path(), reply);
        let magic = or_reply!(node.magic(), reply);
        let linked = self.change_attributes(&node, || {
            rustix::fs::linkat(
                rustix::fs::CWD,
                &*magic,
                &directory,
                new_name,
                AtFlags::SYMLINK_FOLLOW,
            )
        });
        or_reply!(linked, reply);
        self.entry(&parent, new_name, reply);
    }

    fn open(&self, _: &Request, number: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        let node = or_reply!(self.nodes.get(number), reply);
        let flags = OFlags::from_bits_retain(flags.0 as u32);
        // Names were followed by the kernel; what is read past its cache here would have to be
        // aligned.
        let left_out = OFlags::NOFOLLOW | OFlags::DIRECT | OFlags::CREATE | OFlags::EXCL;
        self.beside.ruled.forget_judgement(&node);
        let handle = or_reply!(Handle::open(node, flags - left_out), reply);
        let now = handle.version().ok();
        let may = self.passes && !self.keeps_contents(&handle, now);
        if let Some(backing) = handle.pass(may, |file| reply.open_backing(file)) {
            let number = self.handles.insert(handle);
            return reply.opened_passthrough(number, closing(flags), &backing);
        }
        let flags = self.flags_of(&handle, now, flags);
        reply.opened(self.handles.insert(handle), flags);
    }

    fn create(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _: u32,
        flags: i32,
        reply: ReplyCreate,
    ) {
        let parent = or_reply!(self.nodes.get(parent), reply);
        let directory = or_reply!(parent.path(), reply);
        let flags = OFlags::from_bits_retain(flags as u32);
        let opened = {
            let _caller = Caller::become_it(request);
            let flags =
                (flags - OFlags::DIRECT) | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            rustix::fs::openat(&directory, name, flags, Mode::from_raw_mode(mode & 0o7777))
        };
        let file = File::from(or_reply!(opened, reply));
        let (node, about) = or_reply!(self.nodes.of(&file, &parent, name), reply);
        let attributes = attributes(&about, node.number);
        let left_out = OFlags::NOFOLLOW | OFlags::DIRECT | OFlags::CREATE | OFlags::EXCL;
        self.beside.ruled.forget_judgement(&node);
        let handle = or_reply!(Handle::made(node, file, flags - left_out), reply);
        if let Some(backing) = handle.pass(self.passes, |file| reply.open_backing(file)) {
            let (number, flags) = (self.handles.insert(handle), closing(flags));
            let generation = Generation(0);
            return reply.created_passthrough(
                &self.fresh,
                &attributes,
                generation,
                number,
                flags,
                &backing,
            );
        }
        let opened = self.flags_of(&handle, Some(version(&about)), flags);
        reply.created(
            &self.fresh,
            &attributes,
            Generation(0),
            self.handles.insert(handle),
            opened,
        );
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let handle = or_reply!(self.handles.get(handle), reply);
        let Some(cache) = &self.cache else {
            let at_rest = || lock(&handle.node.kernel_cache).at_rest();
            let (before, version) = (at_rest(), handle.version().ok());
            let version = version.filter(|version| handle.is_settled(version));
            let mut into = vec![0; size as usize];
            let read = or_reply!(Source::read(&*handle, offset, &mut into), reply);
            let version = version.filter(|_| before.is_some() && at_rest() == before);
            self.beside.uncertain.given(&handle.node, version);
            self.log_read(&handle, offset, read);
            return reply.data(&into[..read]);
        };
        self.beside.ruled.judge(&handle.node);
        let mut reply = Some(reply);
        let read = cache.read(
            handle.node.identity,
            &*handle,
            offset,
            size as usize,
            |bytes, version| {
                self.beside.uncertain.given(&handle.node, version);
                if let Some(reply) = reply.take() {
                    self.log_read(&handle, offset, bytes.len());
                    reply.data(bytes);
                }
            },
        );
        if let (Err(error), Some(reply)) = (read, reply) {
            reply.error(Errno::from(error));
        }
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        offset: u64,
        data: &[u8],
        flags: WriteFlags,
        of_file: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let handle = or_reply!(self.handles.get(handle), reply);
        // Past its page cache, the kernel leaves this to the file system.
        let _kills = flags
            .contains(WriteFlags::FUSE_WRITE_KILL_SUIDGID)
            .then(KillsIdBits::begin);
        let written = or_reply!(self.write_at(&handle, offset, data), reply);
        if OFlags::from_bits_retain(of_file.0 as u32).contains(OFlags::DIRECT) {
            // A page that was read meanwhile may be an older one, and Linux drops pages itself only
            // where the writer waits for such a write.
            self.beside.uncertain.given(&handle.node, None);
        }
        reply.written(written as u32);
    }

    fn flush(&self, _: &Request, _: INodeNo, handle: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        let handle = or_reply!(self.handles.get(handle), reply);
        // Closing a duplicate tells the file system below that one has closed, and reports its
        // errors.
        let duplicate = or_reply!(handle.with(|file| Ok(rustix::io::dup(file)?)), reply);
        or_reply!(close(duplicate), reply);
        reply.ok();
    }

    fn release(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        drop(self.handles.remove(handle));
        reply.ok();
    }

    fn fsync(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        data_only: bool,
        reply: ReplyEmpty,
    ) {
        let handle = or_reply!(self.handles.get(handle), reply);
        let synced = handle.with(|file| match data_only {
            true => file.sync_data(),
            false => file.sync_all(),
        });
        or_reply!(synced, reply);
        reply.ok();
    }

    fn opendir(&self, _: &Request, number: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        let node = or_reply!(self.nodes.get(number), reply);
        let file = or_reply!(node.open(OFlags::RDONLY | OFlags::DIRECTORY), reply);
        let about = or_reply!(stat(&file), reply);
        // The kernel drops what it has of a directory when its times have changed.
        let flags = match self.keeps_names && node.tells_apart(&version(&about)) {
            true => FopenFlags::FOPEN_CACHE_DIR | FopenFlags::FOPEN_KEEP_CACHE,
            false => FopenFlags::empty(),
        };
        let handle = Handle::directory(node, file);
        reply.opened(self.handles.insert(handle), flags);
    }

    fn readdir(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let handle = or_reply!(self.handles.get(handle), reply);
        or_reply!(self.list(&handle, offset, &mut reply), reply);
        reply.ok();
    }

    fn readdirplus(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        offset: u64,
        mut reply: ReplyDirectoryPlus,
    ) {
        let handle = or_reply!(self.handles.get(handle), reply);
        or_reply!(
            self.list_with_attributes(&handle, offset, &mut reply),
            reply
        );
        reply.ok();
    }

    fn releasedir(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        _: OpenFlags,
        reply: ReplyEmpty,
    ) {
        drop(self.handles.remove(handle));
        reply.ok();
    }

    fn fsyncdir(
        &self,
        request: &Request,
        number: INodeNo,
        handle: FileHandle,
        data_only: bool,
        reply: ReplyEmpty,
    ) {
        self.fsync(request, number, handle, data_only, reply);
    }

    fn statfs(&self, _: &Request, number: INodeNo, reply: ReplyStatfs) {
        let node = or_reply!(self.nodes.get(number), reply);
        let path = or_reply!(node.path(), reply);
        let about = or_reply!(rustix::fs::fstatvfs(path), reply);
        reply.statfs(
            about.f_blocks,
            about.f_bfree,
            about.f_bavail,
            about.f_files,
            about.f_ffree,
            about.f_bsize as u32,
            about.f_namemax as u32,
            about.f_frsize as u32,
        );
    }

    fn setxattr(
        &self,
        request: &Request,
        number: INodeNo,
        name: &OsStr,
        value: &[u8],
        flags: i32,
        _: u32,
        reply: ReplyEmpty,
    ) {
        let node = or_reply!(self.nodes.get(number), reply);
        if let Some(done) = self.command(request, &node, name, value) {
            or_reply!(done, reply);
            return reply.ok();
        }
        let magic = or_reply!(node.magic(), reply);
        let flags = XattrFlags::from_bits_retain(flags as u32);
        let set =
            self.change_attributes(&node, || rustix::fs::setxattr(&*magic, name, value, flags));
        or_reply!(set, reply);
        reply.ok();
    }

    fn getxattr(
        &self,
        request: &Request,
        number: INodeNo,
        name: &OsStr,
        size: u32,
        reply: ReplyXattr,
    ) {
        let node = or_reply!(self.nodes.get(number), reply);
        if let Some(answer) = self.answer(request, &node, name) {
            return text(&or_reply!(answer, reply), size, reply);
        }
        let magic = or_reply!(node.magic(), reply);
        let mut value = vec![0; size as usize];
        let bytes = or_reply!(rustix::fs::getxattr(&*magic, name, &mut value), reply);
        match size {
            0 => reply.size(bytes as u32),
            _ => reply.data(&value[..bytes]),
        }
    }

    fn listxattr(&self, _: &Request, number: INodeNo, size: u32, reply: ReplyXattr) {
        let node = or_reply!(self.nodes.get(number), reply);
        let magic = or_reply!(node.magic(), reply);
        let mut names = vec![0; size as usize];
        let bytes = or_reply!(rustix::fs::listxattr(&*magic, &mut names), reply);
        match size {
            0 => reply.size(bytes as u32),
            _ => reply.data(&names[..bytes]),
        }
    }

    fn removexattr(&self, _: &Request, number: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let node = or_reply!(self.nodes.get(number), reply);
        let magic = or_reply!(node.magic(), reply);
        let removed = self.change_attributes(&node, || rustix::fs::removexattr(&*magic, name));
        or_reply!(removed, reply);
        reply.ok();
    }

    fn fallocate(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let handle = or_reply!(self.handles.get(handle), reply);
        let done = self.change_long(&handle.node, || {
            let flags = rustix::fs::FallocateFlags::from_bits_retain(mode as u32);
            handle.with(|file| Ok(rustix::fs::fallocate(file, flags, offset, length)?))
        });
        or_reply!(done, reply);
        reply.ok();
    }

    fn lseek(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        offset: i64,
        whence: i32,
        reply: ReplyLseek,
    ) {
        let handle = or_reply!(self.handles.get(handle), reply);
        let found = handle.with(|file| {
            // SAFETY: the file is open; its own offset is used by directories alone, which are not
            // asked.
            match unsafe { libc::lseek(file.as_raw_fd(), offset, whence) } {
                found @ 0.. => Ok(found),
                _ => Err(io::Error::last_os_error()),
            }
        });
        let found = or_reply!(found, reply);
        reply.offset(found);
    }

    fn copy_file_range(
        &self,
        _: &Request,
        _: INodeNo,
        from: FileHandle,
        from_offset: u64,
        _: INodeNo,
        to: FileHandle,
        to_offset: u64,
        bytes: u64,
        flags: CopyFileRangeFlags,
        reply: ReplyWrite,
    ) {
        let from = or_reply!(self.handles.get(from), reply);
        let to = or_reply!(self.handles.get(to), reply);
        let copied = self.data_copied((&from, from_offset), (&to, to_offset), bytes, flags.bits());
        let copied = or_reply!(copied, reply);
        reply.written(copied as u32);
    }
}

/// Replies with the value of an attribute as FUSE does: its size if nothing else is asked for.
fn text(value: &[u8], size: u32, reply: ReplyXattr) {
    match size as usize {
        0 => reply.size(value.len() as u32),
        size if size < value.len() => reply.error(Errno::ERANGE),
        _ => reply.data(value),
    }
}

fn close(file: OwnedFd) -> io::Result<()> {
    use std::os::fd::IntoRawFd;
    // SAFETY: nothing else has the descriptor.
    match unsafe { libc::close(file.into_raw_fd()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
