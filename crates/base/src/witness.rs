//! A process of our process group that tells which signals the group was sent. A signal that it was not
//! sent was for this process alone.
//!
//! The program is in our group, too. What the group is sent, by a key of the terminal (Ctrl-C), by a shell
//! (`kill %1`, `fg`) or when the leader of the session ends, has reached the program; what this process is sent
//! alone has not: a `kill`, the loss of the terminal of which it leads the session, an `alarm` that was set before it
//! was started. A signal does not say which of both it is, its sender neither.
//!
//! The kernel signals the members of a group from the youngest to the oldest, so the witness, which this
//! process forks, is sent a signal before this process is.

use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use crate::inherited::{Blocked, bit};

/// How long to wait for an answer. A witness that does not answer has been stopped or killed by others.
const PATIENCE: Duration = Duration::from_millis(200);
/// Bytes of a question: a signal, and the process that has sent it.
const QUESTION: usize = 8;
/// One more than the highest signal.
const SIGNALS: usize = 65;

/// The process; it ends when this is dropped, or when this process ends in any way.
#[derive(Debug)]
pub(crate) struct Witness {
    pid: libc::pid_t,
    socket: UnixStream,
}

impl Witness {
    /// Starts a witness of these signals.
    ///
    /// # Errors
    /// The kernel's.
    pub fn start(signals: &[i32]) -> io::Result<Self> {
        let wanted: u64 = signals.iter().map(|&signal| bit(signal)).sum();
        let (socket, other) = UnixStream::pair()?;
        socket.set_read_timeout(Some(PATIENCE))?;
        // So that no handler of ours runs in the child.
        let _blocked = Blocked::all();
        // SAFETY: the child makes system calls alone, allocates nothing, and never returns.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => observe(other.as_raw_fd(), wanted),
            pid => Ok(Self { pid, socket }),
        }
    }

    /// Whether the group was sent this signal by this process (0: the kernel), which it is asked once for each;
    /// `None` if the witness does not answer.
    pub fn has_seen(&mut self, signal: i32, sender: i32) -> Option<bool> {
        let mut question = [0; QUESTION];
        question[..4].copy_from_slice(&signal.to_ne_bytes());
        question[4..].copy_from_slice(&sender.to_ne_bytes());
        self.socket.write_all(&question).ok()?;
        let mut answer = [0];
        self.socket.read_exact(&mut answer).ok()?;
        Some(answer[0] == 1)
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        // SAFETY: a child that was not waited for, so the process id is its own.
        unsafe {
            libc::kill(self.pid, libc::SIGKILL);
            libc::waitpid(self.pid, std::ptr::null_mut(), 0);
        }
    }
}

/// What the group was sent last: for each signal its sender, or nothing.
type Seen = [Option<i32>; SIGNALS];

/// Runs the child, all of whose signals are blocked.
fn observe(socket: i32, wanted: u64) -> ! {
    // SAFETY: these take integers and static strings, and the set, which lives across the call.
    let signals = unsafe {
        libc::chdir(c"/".as_ptr());
        libc::prctl(libc::PR_SET_NAME, c"terrace-witness".as_ptr());
        // Readers of other files would wait for their end.
        if socket > 0 {
            libc::syscall(libc::SYS_close_range, 0, socket - 1, 0);
        }
        libc::syscall(libc::SYS_close_range, socket + 1, u32::MAX, 0);
        let flags = libc::SFD_NONBLOCK | libc::SFD_CLOEXEC;
        let set = &raw const wanted;
        libc::syscall(libc::SYS_signalfd4, -1, set, size_of::<u64>(), flags) as i32
    };
    let mut seen: Seen = [None; SIGNALS];
    loop {
        let mut asked = [socket, signals].map(|fd| libc::pollfd {
            fd,
            events: libc::POLLIN,
            revents: 0,
        });
        // SAFETY: two entries, which are ours to write.
        unsafe { libc::poll(asked.as_mut_ptr(), 2, -1) };
        read_signals(signals, &mut seen);
        if asked[0].revents != 0 && !answer(socket, signals, &mut seen) {
            // SAFETY: takes an integer, and runs nothing of the process it was forked from.
            unsafe { libc::_exit(0) }
        }
    }
}

/// Answers a question; returns whether there was one.
fn answer(socket: i32, signals: i32, seen: &mut Seen) -> bool {
    let mut question = [0u8; QUESTION];
    // SAFETY: writes to `question`, at most its length.
    let read = unsafe { libc::read(socket, question.as_mut_ptr().cast(), QUESTION) };
    if read != QUESTION as isize {
        return false;
    }
    // What was sent before the question was.
    read_signals(signals, seen);
    let [a, b, c, d, e, f, g, h] = question;
    let (signal, sender) = (
        i32::from_ne_bytes([a, b, c, d]),
        i32::from_ne_bytes([e, f, g, h]),
    );
    let last = seen.get_mut(signal as usize).and_then(Option::take);
    let answer = u8::from(last == Some(sender));
    // SAFETY: reads one byte that lives across the call.
    unsafe { libc::write(socket, (&raw const answer).cast(), 1) == 1 }
}

fn read_signals(signals: i32, seen: &mut Seen) {
    loop {
        // SAFETY: an all-zero value is valid; the kernel writes one of this size.
        let info = unsafe {
            let mut info: libc::signalfd_siginfo = std::mem::zeroed();
            let size = size_of::<libc::signalfd_siginfo>();
            let read = libc::read(signals, (&raw mut info).cast(), size);
            (read == size as isize).then_some(info)
        };
        let Some(info) = info else { return };
        if let Some(last) = seen.get_mut(info.ssi_signo as usize) {
            *last = Some(sender(info.ssi_code, info.ssi_pid));
        }
    }
}

/// Returns the process that has sent a signal; 0 is the kernel.
fn sender(code: i32, pid: u32) -> i32 {
    match code {
        libc::SI_KERNEL | libc::SI_TIMER => 0,
        _ => pid as i32,
    }
}
