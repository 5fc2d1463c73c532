//! A small process that restores `vm.page-cluster` while the owner of the knob is stopped (`SIGSTOP`,
//! Ctrl-Z), sets it again when the owner goes on, and restores it for good when the owner is killed. A value that
//! neither of both has written is another program's, and is left.
//!
//! A stopped process runs no code, and only its parent learns of the stop. So the guardian polls the
//! owner's state, which costs one system call, and learns of its end by a pidfd. It is a fork that
//! closes all descriptors but the four it needs, so that it keeps no pipe of the owner open, and has a
//! session of its own, so that the terminal's job control does not stop it too. It shares the owner's
//! lock of the knob, so that no other run takes the knob between the ends of owner and guardian.

use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicU8, Ordering};

use rustix::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, pidfd_open};
use rustix::process::{pidfd_send_signal, waitid};

use terrace_base::Blocked;

use crate::memory::Mapping;

/// Interval at which the owner's state is polled.
const LOOK_EVERY_MS: libc::c_int = 50;
/// Value of the knob for single pages.
const SINGLE: &[u8] = b"0";
/// Bytes that include a value of the knob.
const VALUE_BYTES: usize = 32;
/// Bytes that include the state in `/proc/PID/stat`.
const STAT_BYTES: usize = 128;

/// A running guardian; ends when dropped.
#[derive(Debug)]
pub struct Guardian {
    process: OwnedFd,
    wanted: Shared,
}

/// The value that the guardian shall write.
struct Orders<'a> {
    found: &'a [u8],
    wanted: &'a AtomicU8,
}

/// What the knob shall be while the owner runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Wanted {
    /// The value found.
    Found,
    /// Single pages.
    Single,
    /// The owner is about to write one of them.
    Changing,
    /// What another program has written.
    Foreign,
}

impl Wanted {
    fn read(from: &AtomicU8) -> Self {
        match from.load(Ordering::SeqCst) {
            0 => Self::Found,
            1 => Self::Single,
            2 => Self::Changing,
            _ => Self::Foreign,
        }
    }
}

/// The descriptors that the guardian needs.
struct Descriptors {
    /// A pidfd of the owner.
    owner: RawFd,
    /// `/proc/PID/stat` of the owner.
    stat: RawFd,
    knob: RawFd,
    /// Empty when nothing is to be restored.
    lock: RawFd,
}

impl Guardian {
    /// Starts a guardian of this process, which restores `knob` to `found` and shares `lock`.
    ///
    /// # Errors
    /// The kernel's.
    pub fn start(knob: &Path, found: &str, lock: &File) -> io::Result<Self> {
        let wanted = Shared::new()?;
        let owner = pidfd_open(rustix::process::getpid(), PidfdFlags::empty())?;
        let stat = File::open("/proc/self/stat")?;
        let knob = File::options().read(true).write(true).open(knob)?;
        let descriptors = Descriptors {
            owner: owner.as_raw_fd(),
            stat: stat.as_raw_fd(),
            knob: knob.as_raw_fd(),
            lock: lock.as_raw_fd(),
        };
        let orders = Orders {
            found: std::ffi::OsStr::new(found).as_bytes(),
            wanted: wanted.value(),
        };
        // The child inherits our handlers and the pipe that they write to.
        let blocked = Blocked::all();
        // SAFETY: what the child does until it exits is system calls on values made before, and
        // allocates nothing; no destructor runs in it.
        let child = match unsafe { libc::fork() } {
            0 => guard(&descriptors, &orders),
            child => child,
        };
        let error = io::Error::last_os_error();
        drop(blocked);
        let Some(child) = Pid::from_raw(child).filter(|_| child > 0) else {
            return Err(error);
        };
        let process = pidfd_open(child, PidfdFlags::empty())?;
        wait_for_session(child);
        Ok(Self { process, wanted })
    }

    /// Sets what the knob shall be while the owner runs: [`Wanted::Changing`] before the owner writes the knob, and
    /// what it has written afterwards.
    pub fn want(&self, wanted: Wanted) {
        self.wanted.value().store(wanted as u8, Ordering::SeqCst);
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        let _ = pidfd_send_signal(&self.process, Signal::KILL);
        let _ = waitid(WaitId::PidFd(self.process.as_fd()), WaitIdOptions::EXITED);
    }
}

/// Waits until `child` leads a session of its own: until then, a stop of our process group would stop
/// it, too.
///
/// Asks the C library, as our own session is numbered 0 in a PID namespace that its leader is not in
/// (a container entered from outside), which `rustix` takes for impossible.
fn wait_for_session(child: Pid) {
    let child = child.as_raw_nonzero().get();
    // SAFETY: takes and returns integers.
    let session = || unsafe { libc::getsid(child) };
    while ![child, -1].contains(&session()) {
        std::thread::yield_now();
    }
}

/// Body of the guardian process.
fn guard(descriptors: &Descriptors, orders: &Orders) -> ! {
    // SAFETY: these take integers and static strings.
    unsafe {
        libc::setsid();
        libc::chdir(c"/".as_ptr());
        libc::prctl(libc::PR_SET_NAME, c"terrace-guard".as_ptr());
    }
    close_all_but(descriptors);
    let mut stopped = false;
    loop {
        if has_ended(descriptors.owner) {
            put_back(descriptors.knob, orders);
            // SAFETY: takes integers; _exit runs nothing of the process it was forked from.
            unsafe {
                libc::ftruncate(descriptors.lock, 0);
                libc::_exit(0);
            }
        }
        let now = is_stopped(descriptors.stat);
        match (stopped, now) {
            (false, true) => put_back(descriptors.knob, orders),
            (true, false) => carry_on(descriptors, orders),
            _ => {}
        }
        stopped = now;
    }
}

/// Restores the knob if it has single pages by the owner's hand.
fn put_back(knob: RawFd, orders: &Orders) {
    let wanted = Wanted::read(orders.wanted);
    if [Wanted::Single, Wanted::Changing].contains(&wanted) && has(knob, SINGLE) {
        write(knob, orders.found);
    }
}

/// Sets the knob as the owner wants it, if it has the value found. What the owner writes meanwhile holds in the end.
fn carry_on(descriptors: &Descriptors, orders: &Orders) {
    let knob = descriptors.knob;
    if Wanted::read(orders.wanted) != Wanted::Single || !has(knob, orders.found) {
        return;
    }
    write(knob, SINGLE);
    loop {
        match Wanted::read(orders.wanted) {
            Wanted::Single | Wanted::Foreign => return,
            Wanted::Found => return write(knob, orders.found),
            Wanted::Changing if has_ended(descriptors.owner) => return,
            Wanted::Changing => {}
        }
    }
}

/// Whether the knob has this value.
fn has(knob: RawFd, value: &[u8]) -> bool {
    let mut text = [0u8; VALUE_BYTES];
    // SAFETY: writes to `text`, at most its length.
    let read = unsafe { libc::pread(knob, text.as_mut_ptr().cast(), text.len(), 0) };
    text[..usize::try_from(read).unwrap_or(0)].trim_ascii() == value
}

fn write(knob: RawFd, text: &[u8]) {
    // SAFETY: reads `text`, of its length. An error cannot be reported to anybody.
    unsafe { libc::pwrite(knob, text.as_ptr().cast(), text.len(), 0) };
}

/// Waits for an interval, or until the owner's end.
fn has_ended(owner: RawFd) -> bool {
    let mut asked = libc::pollfd {
        fd: owner,
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: one entry, which is ours to write.
    unsafe { libc::poll(&raw mut asked, 1, LOOK_EVERY_MS) == 1 }
}

/// Whether the owner's state, after its name in brackets, is `T`.
fn is_stopped(stat: RawFd) -> bool {
    let mut text = [0u8; STAT_BYTES];
    // SAFETY: writes to `text`, at most its length.
    let read = unsafe { libc::pread(stat, text.as_mut_ptr().cast(), text.len(), 0) };
    let text = &text[..usize::try_from(read).unwrap_or(0)];
    let name_ends = text.iter().rposition(|&byte| byte == b')');
    name_ends.and_then(|end| text.get(end + 2)) == Some(&b'T')
}

fn close_all_but(descriptors: &Descriptors) {
    let it = descriptors;
    let mut kept = [it.owner, it.stat, it.knob, it.lock];
    kept.sort_unstable();
    let mut first = 0;
    for fd in kept {
        close_range(first, fd - 1);
        first = fd + 1;
    }
    close_range(first, RawFd::MAX);
}

fn close_range(first: RawFd, last: RawFd) {
    if first <= last {
        // SAFETY: takes integers; what is closed is of no use in this process.
        unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
    }
}

/// A value shared by two processes.
#[derive(Debug)]
struct Shared(Mapping);

impl Shared {
    fn new() -> io::Result<Self> {
        Mapping::new(size_of::<AtomicU8>(), libc::MAP_SHARED).map(Self)
    }

    fn value(&self) -> &AtomicU8 {
        // SAFETY: the mapping is zero at first, which is `Found`, holds nothing but this atomic, and
        // lives as long as we do.
        unsafe { self.0.start().cast().as_ref() }
    }
}
