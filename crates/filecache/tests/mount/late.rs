//! A source whose version moves before its bytes do, for as long as a test wants.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use fuser::{
    BackgroundSession, Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags,
    Generation, INodeNo, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyEntry, ReplyOpen,
    ReplyWrite, Request, WriteFlags,
};
use io_uring::{IoUring, opcode, types};
use terrace_base::lock;
use terrace_filecache::mount::{Mount, Settings};

use super::{PATIENCE, Place, settle};

const PAGE: usize = 4096;
const FILE: INodeNo = INodeNo(2);

/// A page as O_DIRECT wants it.
#[repr(align(4096))]
struct Aligned([u8; PAGE]);

/// A write that has moved the version.
struct Write {
    bytes: Vec<u8>,
    reply: ReplyWrite,
}

struct State {
    bytes: Vec<u8>,
    changed: SystemTime,
    write: Option<Write>,
}

/// A directory with a file of one page, `a`.
struct Late(Arc<Mutex<State>>);

impl Late {
    fn attributes(&self, number: INodeNo) -> FileAttr {
        let state = lock(&self.0);
        let (kind, perm, size) = match number {
            FILE => (FileType::RegularFile, 0o666, PAGE as u64),
            _ => (FileType::Directory, 0o777, 0),
        };
        FileAttr {
            ino: number,
            size,
            blocks: 8,
            atime: state.changed,
            mtime: state.changed,
            ctime: state.changed,
            crtime: state.changed,
            kind,
            perm,
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: PAGE as u32,
            flags: 0,
        }
    }
}

impl Filesystem for Late {
    fn lookup(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match name == "a" {
            true => reply.entry(&Duration::ZERO, &self.attributes(FILE), Generation(0)),
            false => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, number: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&Duration::ZERO, &self.attributes(number));
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO);
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let bytes = &lock(&self.0).bytes;
        let from = bytes.len().min(offset as usize);
        reply.data(&bytes[from..bytes.len().min(from + size as usize)]);
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        _: u64,
        bytes: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let mut state = lock(&self.0);
        state.changed = SystemTime::now();
        let bytes = bytes.to_vec();
        state.write = Some(Write { bytes, reply });
    }
}

/// The file system at a directory.
struct Source {
    state: Arc<Mutex<State>>,
    _session: BackgroundSession,
}

impl Source {
    fn at(directory: &Path) -> Self {
        let state = Arc::new(Mutex::new(State {
            bytes: vec![b'A'; PAGE],
            changed: SystemTime::now(),
            write: None,
        }));
        let late = Late(Arc::clone(&state));
        let session = fuser::spawn_mount(late, directory, &Config::default()).unwrap();
        Self {
            state,
            _session: session,
        }
    }

    fn await_write(&self) {
        let begin = Instant::now();
        while lock(&self.state).write.is_none() {
            assert!(begin.elapsed() < PATIENCE, "no write");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Lets the bytes of the write come.
    fn end_write(&self) {
        let mut state = lock(&self.state);
        let Write { bytes, reply } = state.write.take().unwrap();
        state.bytes.copy_from_slice(&bytes);
        reply.written(bytes.len() as u32);
    }
}

/// Whoever waits for a write of a test that has failed gets an error.
struct Unanswered(Arc<Mutex<State>>);

impl Drop for Unanswered {
    fn drop(&mut self) {
        drop(lock(&self.0).write.take());
    }
}

/// Writes a page to the start of a file by calls that do not wait for it, then waits for it.
fn write_direct(path: &Path) {
    let page = Box::new(Aligned([b'B'; PAGE]));
    let mut options = File::options();
    let options = options.write(true).custom_flags(libc::O_DIRECT);
    let file = options.open(path).unwrap();
    let of_file = types::Fd(file.as_raw_fd());
    let write = opcode::Write::new(of_file, page.0.as_ptr(), PAGE as u32).build();
    let mut ring = IoUring::new(1).unwrap();
    // SAFETY: the page and the file live until the write has ended.
    unsafe { ring.submission().push(&write).unwrap() };
    ring.submit_and_wait(1).unwrap();
    let written = ring.completion().next().unwrap().result();
    assert_eq!(written, PAGE as i32);
}

#[test]
#[ignore = "needs /dev/fuse and root; run by make test-root"]
fn what_is_read_while_the_mount_writes_is_forgotten() {
    let place = Place::new();
    let source = Source::at(&place.source());
    let settings = Settings {
        flash: None,
        attributes: Duration::from_secs(1),
        ..place.settings()
    };
    let _mount = Mount::start(&settings).unwrap();
    let above = place.mounted().join("a");
    // While a file is open that way, the kernel does not write to the source by itself.
    let _reader = File::open(&above).unwrap();
    let _unanswered = Unanswered(Arc::clone(&source.state));
    let path = above.clone();
    let writer = std::thread::spawn(move || write_direct(&path));
    source.await_write();
    // Longer than times of files take to move.
    settle();
    assert_eq!(fs::read(&above).unwrap(), [b'A'; PAGE]);
    source.end_write();
    writer.join().unwrap();
    let begin = Instant::now();
    while fs::read(&above).unwrap() != [b'B'; PAGE] {
        assert!(begin.elapsed() < PATIENCE, "the page of before");
        std::thread::sleep(Duration::from_millis(50));
    }
}
