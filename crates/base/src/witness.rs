//! A process of our process group that tells which signals the group was sent. A signal that it was
//! not sent was for this process alone.
//!
//! The program is in our group, too. What the group is sent, by a key of the terminal (Ctrl-C), by
//! a shell (`kill %1`, `fg`) or when the leader of the session ends, has reached the program; what
//! this process is sent alone has not: a `kill`, the loss of the terminal whose session it leads,
//! an `alarm` that was set before it was started. A signal does not say which of both it
//! is, its sender neither.
//!
//! The kernel signals the members of a group from the youngest to the oldest, so the witness, which
//! this process forks, is sent a signal before this process is.

use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use crate::inherited::{Blocked, bit};

/// How long to wait for an answer. A witness that does not answer has been stopped or killed by
/// others.
const PATIENCE: Duration = Duration::from_millis(200);
/// Bytes of a question: a signal, and the process that has sent it.
const QUESTION: usize = 8;
/// The signal of a question that begins births.
const BIRTHS: i32 = 0;
/// One more than the highest signal.
const SIGNALS: usize = 65;

/// The process; it ends when this is dropped, or when this process ends in any way.
#[derive(Debug)]
pub(crate) struct Witness {
    pid: libc::pid_t,
    socket: UnixStream,
    /// What programs ask by, between fork and exec.
    births: UnixStream,
}

/// A program that is being started, which may have missed signals to our group.
#[derive(Clone, Copy, Debug)]
pub struct Newborn {
    /// What it asks the witness by, if there is one.
    births: Option<RawFd>,
}

impl Witness {
    /// Starts a witness of these signals.
    ///
    /// # Errors
    /// The kernel's.
    pub fn start(signals: &[i32]) -> io::Result<Self> {
        let wanted: u64 = signals.iter().map(|&signal| bit(signal)).sum();
        let (socket, questions) = UnixStream::pair()?;
        let (births, newborns) = UnixStream::pair()?;
        socket.set_read_timeout(Some(PATIENCE))?;
        births.set_read_timeout(Some(PATIENCE))?;
        // So that no handler of ours runs in the child.
        let _blocked = Blocked::all();
        // SAFETY: the child makes system calls alone, allocates nothing, and never returns.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => observe([questions.as_raw_fd(), newborns.as_raw_fd()], wanted),
            pid => Ok(Self {
                pid,
                socket,
                births,
            }),
        }
    }

    /// Whether the group was sent this signal by this process (0: the kernel), which it is asked
    /// once for each; `None` if the witness does not answer.
    pub fn has_seen(&mut self, signal: i32, sender: i32) -> Option<bool> {
        self.ask(signal, sender).map(|answer| answer == 1)
    }

    /// Has programs that are started from now on told what the group is sent from now on, and what
    /// was not asked about yet.
    pub fn begin_births(&mut self) {
        // A witness that does not answer tells programs nothing either.
        let _ = self.ask(BIRTHS, 0);
    }

    /// Returns what the programs ask that are started while this lives.
    pub fn newborn(&self) -> Newborn {
        Newborn {
            births: Some(self.births.as_raw_fd()),
        }
    }

    fn ask(&mut self, signal: i32, sender: i32) -> Option<u8> {
        let mut question = [0; QUESTION];
        question[..4].copy_from_slice(&signal.to_ne_bytes());
        question[4..].copy_from_slice(&sender.to_ne_bytes());
        self.socket.write_all(&question).ok()?;
        let mut answer = [0];
        self.socket.read_exact(&mut answer).ok()?;
        Some(answer[0])
    }
}

impl Newborn {
    /// A program without a witness.
    pub(crate) const ALONE: Self = Self { births: None };

    /// Sends the calling process the signals that our group was sent before it was there. For a
    /// process between fork and exec whose signals are blocked. Async-signal-safe.
    pub fn catch_up(self) {
        let Some(missed) = self.births.and_then(ask_of_births) else {
            return;
        };
        // After the question: what was sent to the group while this process was there is pending in
        // it by now.
        let missed = missed & !pending();
        for signal in (1..SIGNALS as i32).filter(|&signal| missed & bit(signal) != 0) {
            // SAFETY: takes integers.
            unsafe { libc::kill(libc::getpid(), signal) };
        }
    }
}

/// Asks the witness which signals the group was sent since births began. Async-signal-safe.
fn ask_of_births(births: RawFd) -> Option<u64> {
    let mut told = [0u8; size_of::<u64>()];
    // SAFETY: reads one byte of a string, and writes to `told`, at most its length.
    let read = unsafe {
        libc::write(births, c"?".as_ptr().cast(), 1);
        libc::read(births, told.as_mut_ptr().cast(), told.len())
    };
    (read == told.len() as isize).then(|| u64::from_ne_bytes(told))
}

/// Returns the signals that are pending in the calling process.
fn pending() -> u64 {
    let mut set = 0u64;
    // SAFETY: the kernel writes one set of this size.
    unsafe { libc::syscall(libc::SYS_rt_sigpending, &raw mut set, size_of::<u64>()) };
    set
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

/// What the group was sent.
struct Seen {
    /// For each signal the sender of the last that was not asked about; or nothing.
    last: [Option<i32>; SIGNALS],
    /// Signals since births began.
    since: u64,
}

/// Runs the child, all of whose signals are blocked: `sockets` are for questions of the parent and
/// of newborns.
fn observe(sockets: [RawFd; 2], wanted: u64) -> ! {
    // SAFETY: these take integers and static strings, and the set, which lives across the call.
    let signals = unsafe {
        libc::chdir(c"/".as_ptr());
        libc::prctl(libc::PR_SET_NAME, c"terrace-witness".as_ptr());
        let flags = libc::SFD_NONBLOCK | libc::SFD_CLOEXEC;
        let set = &raw const wanted;
        libc::syscall(libc::SYS_signalfd4, -1, set, size_of::<u64>(), flags) as RawFd
    };
    close_others([sockets[0], sockets[1], signals]);
    let mut seen = Seen {
        last: [None; SIGNALS],
        since: 0,
    };
    loop {
        let mut asked = [sockets[0], sockets[1], signals].map(|fd| libc::pollfd {
            fd,
            events: libc::POLLIN,
            revents: 0,
        });
        // SAFETY: three entries, which are ours to write.
        unsafe { libc::poll(asked.as_mut_ptr(), 3, -1) };
        seen.read(signals);
        if asked[1].revents != 0 {
            seen.answer_newborn(sockets[1], signals);
        }
        if asked[0].revents != 0 && !seen.answer(sockets[0], signals) {
            // SAFETY: takes an integer, and runs nothing of the process it was forked from.
            unsafe { libc::_exit(0) }
        }
    }
}

/// Closes all descriptors but these: readers of others would wait for their end.
fn close_others(mut kept: [RawFd; 3]) {
    kept.sort_unstable();
    let mut from = 0;
    for descriptor in kept {
        if descriptor > from {
            // SAFETY: takes integers, and closes nothing that this process uses.
            unsafe { libc::syscall(libc::SYS_close_range, from, descriptor - 1, 0) };
        }
        from = descriptor + 1;
    }
    // SAFETY: as above.
    unsafe { libc::syscall(libc::SYS_close_range, from, u32::MAX, 0) };
}

impl Seen {
    /// Answers a question of the parent; returns whether there was one.
    fn answer(&mut self, socket: RawFd, signals: RawFd) -> bool {
        let mut question = [0u8; QUESTION];
        // SAFETY: writes to `question`, at most its length.
        let read = unsafe { libc::read(socket, question.as_mut_ptr().cast(), QUESTION) };
        if read != QUESTION as isize {
            return false;
        }
        // What was sent before the question was.
        self.read(signals);
        let [a, b, c, d, e, f, g, h] = question;
        let (signal, sender) = (
            i32::from_ne_bytes([a, b, c, d]),
            i32::from_ne_bytes([e, f, g, h]),
        );
        let answer = match signal {
            BIRTHS => {
                let unasked = (1..SIGNALS).filter(|&signal| self.last[signal].is_some());
                self.since = unasked.map(|signal| bit(signal as i32)).sum();
                1
            }
            _ => {
                let last = self.last.get_mut(signal as usize).and_then(Option::take);
                u8::from(last == Some(sender))
            }
        };
        // SAFETY: reads one byte that lives across the call.
        unsafe { libc::write(socket, (&raw const answer).cast(), 1) == 1 }
    }

    /// Tells a newborn which signals the group was sent since births began.
    fn answer_newborn(&mut self, socket: RawFd, signals: RawFd) {
        let mut question = [0u8; 1];
        // SAFETY: writes to `question`, at most its length.
        if unsafe { libc::read(socket, question.as_mut_ptr().cast(), 1) } != 1 {
            return;
        }
        self.read(signals);
        let told = self.since.to_ne_bytes();
        // SAFETY: reads as many bytes as there are, which live across the call.
        unsafe { libc::write(socket, told.as_ptr().cast(), told.len()) };
    }

    /// Reads what came.
    fn read(&mut self, signals: RawFd) {
        loop {
            // SAFETY: an all-zero value is valid; the kernel writes one of this size.
            let info = unsafe {
                let mut info: libc::signalfd_siginfo = std::mem::zeroed();
                let size = size_of::<libc::signalfd_siginfo>();
                let read = libc::read(signals, (&raw mut info).cast(), size);
                (read == size as isize).then_some(info)
            };
            let Some(info) = info else { return };
            if let Some(last) = self.last.get_mut(info.ssi_signo as usize) {
                *last = Some(sender(info.ssi_code, info.ssi_pid));
                self.since |= bit(info.ssi_signo as i32);
            }
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
