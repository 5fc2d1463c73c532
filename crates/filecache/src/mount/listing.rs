//! Entries of directories.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;

use fuser::{FileAttr, FileType, Generation, INodeNo, ReplyDirectory, ReplyDirectoryPlus};

use super::attributes::{attributes, nothing};
use super::file_system::PassThrough;
use super::handles::Handle;

/// Bytes of directory entries that are read at once.
const ENTRIES: usize = 32 << 10;

/// The same where their attributes are told with them, which take more room in a reply.
const ENTRIES_WITH_ATTRIBUTES: usize = 8 << 10;

impl PassThrough {
    /// Adds the entries of a directory from `offset` on with their attributes, which the kernel
    /// keeps.
    pub(super) fn list_with_attributes(
        &self,
        handle: &Handle,
        offset: u64,
        reply: &mut ReplyDirectoryPlus,
    ) -> io::Result<()> {
        let add = |entry: &rustix::fs::RawDirEntry<'_>, name: &OsStr| {
            let cookie = entry.next_entry_cookie();
            if name == "." || name == ".." {
                // The kernel knows these.
                let about = FileAttr {
                    ino: INodeNo(entry.ino()),
                    kind: FileType::Directory,
                    ..nothing()
                };
                let number = INodeNo(entry.ino());
                return reply.add(number, cookie, name, &self.fresh, &about, Generation(0));
            }
            // A name that is gone by now is left out.
            let Ok((node, about)) = self.nodes.look_up(&handle.node, name) else {
                return false;
            };
            let (number, about) = (node.number, attributes(&about, node.number));
            let is_full = reply.add(number, cookie, name, &self.fresh, &about, Generation(0));
            if is_full {
                self.forget_node(number, 1);
            }
            is_full
        };
        handle.with(|directory| entries(directory, offset, ENTRIES_WITH_ATTRIBUTES, add))
    }

    /// Adds the entries of a directory from `offset` on.
    pub(super) fn list(
        &self,
        handle: &Handle,
        offset: u64,
        reply: &mut ReplyDirectory,
    ) -> io::Result<()> {
        let add = |entry: &rustix::fs::RawDirEntry<'_>, name: &OsStr| {
            let cookie = entry.next_entry_cookie();
            reply.add(
                INodeNo(entry.ino()),
                cookie,
                kind_of(entry.file_type()),
                name,
            )
        };
        handle.with(|directory| entries(directory, offset, ENTRIES, add))
    }
}

/// Calls `add` with the entries of a directory from `offset` on, until it says that there is no
/// room for one.
fn entries(
    directory: &File,
    offset: u64,
    at_once: usize,
    mut add: impl FnMut(&rustix::fs::RawDirEntry<'_>, &OsStr) -> bool,
) -> io::Result<()> {
    rustix::fs::seek(directory, rustix::fs::SeekFrom::Start(offset))?;
    let mut buffer = Vec::with_capacity(at_once);
    let mut entries = rustix::fs::RawDir::new(directory, buffer.spare_capacity_mut());
    while let Some(entry) = entries.next() {
        let entry = entry?;
        if add(&entry, OsStr::from_bytes(entry.file_name().to_bytes())) {
            break;
        }
    }
    Ok(())
}

fn kind_of(kind: rustix::fs::FileType) -> FileType {
    match kind {
        rustix::fs::FileType::Directory => FileType::Directory,
        rustix::fs::FileType::Symlink => FileType::Symlink,
        rustix::fs::FileType::Fifo => FileType::NamedPipe,
        rustix::fs::FileType::Socket => FileType::Socket,
        rustix::fs::FileType::CharacterDevice => FileType::CharDevice,
        rustix::fs::FileType::BlockDevice => FileType::BlockDevice,
        _ => FileType::RegularFile,
    }
}
