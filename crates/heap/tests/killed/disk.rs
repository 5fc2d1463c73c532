//! A file system of its own for a test, which it can take away at any moment.
//!
//! It lies in a file without a name, behind a loop device that goes with its last descriptor, and
//! is mounted in a mount namespace of one thread. So nothing is left of it, however that thread or
//! all of the program ends.

use std::ffi::{CStr, CString, c_ulong};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::ptr;
use std::thread;

use crate::process::say;

/// From linux/loop.h.
const LOOP_CTL_GET_FREE: c_ulong = 0x4c82;
const LOOP_CONFIGURE: c_ulong = 0x4c0a;
const LO_FLAGS_AUTOCLEAR: u32 = 4;
/// `EXT4_IOC_SHUTDOWN` and `XFS_IOC_GOINGDOWN`.
const SHUTDOWN: c_ulong = 0x8004_587d;
/// Sparse; XFS wants 300 MB at least.
const BYTES: u64 = 320 << 20;
/// Where it is mounted, for the test alone: no program lies there.
const FOLDER: &CStr = c"/boot";

/// What is lost besides what was not synced.
#[derive(Clone, Copy, Debug)]
pub enum Cut {
    /// Nothing: the file system writes its log.
    LogFlushed = 1,
    /// What is in the log and not yet written.
    LogLost = 2,
}

/// A mounted file system.
pub struct Disk {
    system: &'static str,
    device: Device,
}

/// A loop device, held so that it stays when nothing on it is mounted.
struct Device {
    path: PathBuf,
    _held: File,
}

/// What a loop device is to be: `struct loop_config`.
#[repr(C)]
struct Config {
    fd: u32,
    block_bytes: u32,
    sizes: [u64; 5],
    numbers: [u32; 3],
    flags: u32,
    names: [u8; 160],
    init: [u64; 2],
    reserved: [u64; 8],
}

/// Has `work` done on a new file system of each of these kinds. Kinds that this machine cannot make
/// are left out, and named; there must be one that it can.
pub fn with(systems: &[&'static str], work: impl Fn(&Disk) + Sync) {
    let made = systems.iter().filter(|system| with_one(system, &work));
    assert!(
        made.count() > 0,
        "this test needs root, loop devices and mkfs of one of {systems:?}"
    );
}

fn with_one(system: &'static str, work: impl Fn(&Disk) + Sync) -> bool {
    let done = thread::scope(|scope| {
        let alone = scope.spawn(|| match Disk::new(system) {
            Ok(disk) => {
                work(&disk);
                true
            }
            Err(reason) => {
                say(&format!(
                    "LEFT OUT: a file system of its own, {system}: {reason}"
                ));
                false
            }
        });
        alone.join()
    });
    done.unwrap_or_else(|panic| resume_unwind(panic))
}

impl Disk {
    /// Makes and mounts it, for this thread and processes that it starts.
    fn new(system: &'static str) -> io::Result<Self> {
        let device = Device::new()?;
        let mut make = Command::new(format!("mkfs.{system}"));
        make.arg("-q").arg(&device.path);
        make.stdout(Stdio::null()).stderr(Stdio::null());
        let made = make
            .status()
            .map_err(|e| io::Error::other(format!("mkfs.{system}: {e}")))?;
        if !made.success() {
            return Err(io::Error::other(format!("mkfs.{system} failed")));
        }
        // SAFETY: only this thread has another namespace from now on.
        check(unsafe { libc::unshare(libc::CLONE_NEWNS) })?;
        mount(None, c"/", None, libc::MS_REC | libc::MS_PRIVATE)?;
        let disk = Self { system, device };
        disk.mount()?;
        Ok(disk)
    }

    fn mount(&self) -> io::Result<()> {
        let device = CString::new(self.device.path.to_str().unwrap())?;
        let system = CString::new(self.system)?;
        mount(Some(&device), FOLDER, Some(&system), 0)
    }

    /// Where it is mounted.
    /// The kind of its file system.
    pub fn system(&self) -> &'static str {
        self.system
    }

    pub fn folder(&self) -> &Path {
        Path::new(FOLDER.to_str().unwrap())
    }

    /// Takes it away from all that use it, as if the machine had lost its power.
    pub fn cut(&self, cut: Cut) {
        let (root, flags) = (File::open(self.folder()).unwrap(), cut as u32);
        // SAFETY: an open folder, and a number that is read.
        check(unsafe { libc::ioctl(root.as_raw_fd(), SHUTDOWN, &raw const flags) }).unwrap();
    }

    /// Brings it back as it is on its device. It is not in use, but a process that another thread
    /// has just started may have its files open for a moment.
    pub fn come_back(&self) {
        // SAFETY: a string that ends with a zero.
        while let Err(error) = check(unsafe { libc::umount(FOLDER.as_ptr()) }) {
            assert_eq!(error.kind(), io::ErrorKind::ResourceBusy, "{error}");
            thread::yield_now();
        }
        self.mount().unwrap();
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // SAFETY: as above. If it fails, it goes with the namespace.
        unsafe { libc::umount2(FOLDER.as_ptr(), libc::MNT_DETACH) };
    }
}

impl Device {
    fn new() -> io::Result<Self> {
        let file = tempfile::tempfile()?;
        file.set_len(BYTES)?;
        let control = OpenOptions::new()
            .read(true)
            .write(true)
            .open("/dev/loop-control")?;
        loop {
            // SAFETY: an open device.
            let number = check(unsafe { libc::ioctl(control.as_raw_fd(), LOOP_CTL_GET_FREE) })?;
            let path = PathBuf::from(format!("/dev/loop{number}"));
            let held = OpenOptions::new().read(true).write(true).open(&path)?;
            match configure(&held, &file) {
                Ok(()) => return Ok(Self { path, _held: held }),
                // Another program was faster.
                Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {}
                Err(error) => return Err(error),
            }
        }
    }
}

fn configure(device: &File, file: &File) -> io::Result<()> {
    let config = Config {
        fd: file.as_raw_fd() as u32,
        block_bytes: 0,
        sizes: [0; 5],
        numbers: [0; 3],
        flags: LO_FLAGS_AUTOCLEAR,
        names: [0; 160],
        init: [0; 2],
        reserved: [0; 8],
    };
    // SAFETY: an open device, and what it is to be.
    check(unsafe { libc::ioctl(device.as_raw_fd(), LOOP_CONFIGURE, &raw const config) }).map(drop)
}

fn mount(what: Option<&CStr>, at: &CStr, system: Option<&CStr>, flags: c_ulong) -> io::Result<()> {
    let pointer = |text: Option<&CStr>| text.map_or(ptr::null(), CStr::as_ptr);
    // SAFETY: strings that end with a zero, or none.
    check(unsafe {
        libc::mount(
            pointer(what),
            at.as_ptr(),
            pointer(system),
            flags,
            ptr::null(),
        )
    })
    .map(drop)
}

fn check(returned: libc::c_int) -> io::Result<libc::c_int> {
    match returned {
        -1 => Err(io::Error::last_os_error()),
        number => Ok(number),
    }
}
