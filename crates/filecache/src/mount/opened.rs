//! A file as the source has it open: one descriptor for all handles of a node, so that a lease
//! tells of everybody else.
//!
//! A lease for reading is granted if nobody has the file open for writing, which a mapping that may
//! be stored to counts as until it is gone; one for writing, if nobody else has it open at all.
//! Whoever opens the file against a lease waits until it is given back, and it says that this has
//! happened. Leases are held for the time of a check, or of a single change.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::{Arc, Mutex, RwLock, RwLockReadGuard};

use rustix::fs::OFlags;
use terrace_base::lock;

use crate::file::Version;

/// The file of a node, as the source has it open.
#[derive(Default)]
pub(super) struct Opened {
    state: Mutex<State>,
    /// Held with a lease: to open the file then would be to wait for ourselves.
    gate: RwLock<()>,
}

#[derive(Default)]
struct State {
    /// The descriptor of all handles, while there are any.
    file: Option<Arc<File>>,
    is_writable: bool,
    handles: usize,
    writers: usize,
    /// Handles that write by a descriptor of their own, because the file may not be read.
    blind: usize,
    leases: usize,
    /// Whether somebody has opened the file since the first of the leases.
    is_lost: bool,
    /// The version at which the file was written back.
    written_back: Option<Version>,
}

/// How a handle was opened.
pub(super) enum Access {
    /// By the common descriptor.
    Read,
    /// By the common descriptor.
    Write,
    /// By a descriptor of its own, which may write.
    Own(File, bool),
}

/// Whether nobody else can change the file.
pub(super) enum Hold<'a> {
    /// Nobody can, for as long as the lease says so.
    Alone(Lease<'a>),
    /// Somebody may.
    Shared,
    /// The file system has no leases, or not for us.
    Unknown,
}

/// A file that can be opened once more.
pub(super) trait Reopen {
    /// Opens it.
    ///
    /// # Errors
    /// The error of the source.
    fn open(&self, flags: OFlags) -> io::Result<File>;
}

/// A lease, until it is dropped.
pub(super) struct Lease<'a> {
    opened: &'a Opened,
    file: Arc<File>,
    kind: libc::c_int,
    /// Whether the descriptor is that of all handles.
    is_common: bool,
    _gate: RwLockReadGuard<'a, ()>,
}

impl Opened {
    /// Opens the file of `node` once more.
    pub fn open(&self, node: &impl Reopen, flags: OFlags) -> io::Result<Access> {
        let _gate = self.gate.write().unwrap_or_else(|e| e.into_inner());
        let is_read = flags & OFlags::RWMODE == OFlags::RDONLY;
        let others = flags - (OFlags::RWMODE | OFlags::APPEND | OFlags::SYNC | OFlags::DSYNC);
        // Always by the source, which checks permissions, and has what it knows of the file
        // renewed.
        let file = match is_read {
            true => node.open(others | OFlags::RDONLY),
            false => node.open(others | OFlags::RDWR),
        };
        let mut state = lock(&self.state);
        let is_blind = matches!(&file, Err(e) if e.kind() == io::ErrorKind::PermissionDenied);
        if is_blind && flags & OFlags::RWMODE == OFlags::WRONLY {
            let file = node.open(others | OFlags::WRONLY)?;
            state.blind += 1;
            return Ok(Access::Own(file, true));
        }
        let file = file?;
        if flags.contains(OFlags::NOATIME) && is_read {
            return Ok(Access::Own(file, false));
        }
        state.handles += 1;
        state.writers += usize::from(!is_read);
        if state.file.is_none() || !is_read && !state.is_writable {
            state.file = Some(Arc::new(file));
            state.is_writable = !is_read;
        }
        Ok(match is_read {
            true => Access::Read,
            false => Access::Write,
        })
    }

    /// Takes a file that was made, and is open for reading and writing as `flags` say.
    pub fn adopt(&self, node: &impl Reopen, file: File, flags: OFlags) -> io::Result<Access> {
        match flags & OFlags::RWMODE {
            OFlags::RDWR => {
                let _gate = self.gate.write().unwrap_or_else(|e| e.into_inner());
                let mut state = lock(&self.state);
                state.handles += 1;
                state.writers += 1;
                if !state.is_writable {
                    state.file = Some(Arc::new(file));
                    state.is_writable = true;
                }
                Ok(Access::Write)
            }
            // A file that its maker may not open again stays as it was opened.
            _ => match self.open(node, flags) {
                Err(_) => {
                    let writes = flags & OFlags::RWMODE == OFlags::WRONLY;
                    lock(&self.state).blind += usize::from(writes);
                    Ok(Access::Own(file, writes))
                }
                opened => opened,
            },
        }
    }

    /// Takes back what `open` has given.
    pub fn close(&self, node: &impl Reopen, access: &Access) {
        let mut state = lock(&self.state);
        let writes = matches!(access, Access::Write);
        match access {
            Access::Own(_, writes) => {
                state.blind -= usize::from(*writes);
                return;
            }
            Access::Read | Access::Write => state.handles -= 1,
        }
        state.writers -= usize::from(writes);
        let is_last = state.handles == 0;
        if is_last {
            state.file = None;
            state.is_writable = false;
        }
        drop(state);
        if writes && !is_last {
            self.write_no_more(node);
        }
    }

    /// Opens the file for reading alone, if nothing writes any more.
    fn write_no_more(&self, node: &impl Reopen) {
        let _gate = self.gate.write().unwrap_or_else(|e| e.into_inner());
        let mut state = lock(&self.state);
        if state.writers > 0 || !state.is_writable || state.handles == 0 {
            return;
        }
        if let Ok(file) = node.open(OFlags::RDONLY) {
            state.file = Some(Arc::new(file));
            state.is_writable = false;
        }
    }

    /// Returns the descriptor of all handles.
    pub fn file(&self) -> io::Result<Arc<File>> {
        let file = lock(&self.state).file.clone();
        file.ok_or_else(|| io::Error::from_raw_os_error(libc::EBADF))
    }

    /// Takes a lease, if nobody else has the file open so that he can change it.
    pub fn hold(&self, node: &impl Reopen) -> Hold<'_> {
        let gate = self.gate.read().unwrap_or_else(|e| e.into_inner());
        let mut state = lock(&self.state);
        if state.blind > 0 {
            return Hold::Shared;
        }
        let (file, is_common) = match &state.file {
            Some(file) => (Arc::clone(file), true),
            None => match node.open(OFlags::RDONLY | OFlags::NONBLOCK) {
                Ok(file) => (Arc::new(file), false),
                Err(_) => return Hold::Shared,
            },
        };
        let kind = match is_common && state.is_writable {
            true => libc::F_WRLCK,
            false => libc::F_RDLCK,
        };
        if is_common && state.leases > 0 {
            state.is_lost |= !is_held(file.as_raw_fd(), kind);
            if state.is_lost {
                return Hold::Shared;
            }
        } else {
            match lease(file.as_raw_fd(), kind) {
                Ok(()) => state.is_lost &= !is_common,
                Err(e) if e.raw_os_error() == Some(libc::EAGAIN) => return Hold::Shared,
                Err(_) => return Hold::Unknown,
            }
        }
        state.leases += usize::from(is_common);
        Hold::Alone(Lease {
            opened: self,
            file,
            kind,
            is_common,
            _gate: gate,
        })
    }

    /// Has the source write back what it has of the file, unless it has done so at this version.
    pub fn write_back(&self, version: &Version) -> io::Result<()> {
        if lock(&self.state).written_back == Some(*version) {
            return Ok(());
        }
        self.file()?.sync_data()?;
        lock(&self.state).written_back = Some(*version);
        Ok(())
    }
}

impl Lease<'_> {
    /// Whether nobody has opened the file since the lease was taken.
    pub fn is_intact(&self) -> bool {
        let is_held = is_held(self.file.as_raw_fd(), self.kind);
        if !self.is_common {
            return is_held;
        }
        let mut state = lock(&self.opened.state);
        state.is_lost |= !is_held;
        !state.is_lost
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.opened.state);
        state.leases -= usize::from(self.is_common);
        if !self.is_common || state.leases == 0 {
            let _ = lease(self.file.as_raw_fd(), libc::F_UNLCK);
        }
    }
}

/// The number of a command that `libc` does not name.
const F_SETSIG: libc::c_int = 10;

/// Takes a lease, or gives it back. The kernel tells of somebody who waits for it by a signal that
/// nobody heeds; the default, to which it returns with each lease that ends, would end the process.
fn lease(fd: RawFd, kind: libc::c_int) -> io::Result<()> {
    // SAFETY: the descriptor is open, and the arguments are numbers.
    match unsafe {
        libc::fcntl(fd, F_SETSIG, libc::SIGURG);
        libc::fcntl(fd, libc::F_SETLEASE, kind)
    } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn is_held(fd: RawFd, kind: libc::c_int) -> bool {
    // SAFETY: the descriptor is open.
    unsafe { libc::fcntl(fd, libc::F_GETLEASE) == kind }
}
