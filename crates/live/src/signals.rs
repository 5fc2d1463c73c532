//! Signals that are sent to us: passed on to the program, or noted where none runs.

use std::path::PathBuf;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use signal_hook::consts::signal::{
    SIGALRM, SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2,
};
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::iterator::{Handle, SignalsInfo};

use crate::budget;
use terrace_base::{Context, Result};

const FORWARDED: [libc::c_int; 8] = [
    SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGCONT,
];
/// Those that ask us to end.
const ENDING: [libc::c_int; 4] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM];

/// Who gets what is sent to us.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Nobody: no program runs.
    Nobody,
    /// The program.
    Program(u32),
    /// What the program left running: all processes of this cgroup.
    Group(PathBuf),
}

/// Receives signals until dropped.
pub struct Signals {
    target: Arc<Mutex<Target>>,
    received: Arc<AtomicI32>,
    handle: Handle,
    thread: Option<JoinHandle<()>>,
}

impl Signals {
    /// Begins to receive. Signals that were ignored when we were started (as by `nohup`) stay
    /// so, for us and for the program, which inherits that.
    ///
    /// # Errors
    /// A failure where handlers cannot be installed.
    pub fn receive() -> Result<Self> {
        let wanted = FORWARDED.iter().filter(|&&signal| !is_ignored(signal));
        let mut signals = SignalsInfo::<WithOrigin>::new(wanted)
            .or_fail(|| "cannot install signal handlers".into())?;
        let handle = signals.handle();
        let target = Arc::new(Mutex::new(Target::Nobody));
        let received = Arc::new(AtomicI32::new(0));
        let thread = std::thread::Builder::new()
            .name("terrace-signals".into())
            .spawn({
                let (target, received) = (Arc::clone(&target), Arc::clone(&received));
                move || {
                    for origin in &mut signals {
                        if ENDING.contains(&origin.signal) {
                            received.store(origin.signal, Ordering::Relaxed);
                        }
                        // Ctrl-C comes from the kernel, to the program as well as to us: it has
                        // our terminal and process group. What a process sent, only we have got.
                        // What a program left running may have another terminal, or none.
                        let target = target.lock().unwrap_or_else(|e| e.into_inner());
                        if origin.process.is_some() || matches!(*target, Target::Group(_)) {
                            target.send(origin.signal);
                        }
                    }
                }
            })
            .or_fail(|| "cannot start the signal thread".into())?;
        Ok(Self {
            target,
            received,
            handle,
            thread: Some(thread),
        })
    }

    /// From now on, signals go to `target`.
    pub fn aim(&self, target: Target) {
        *self.target.lock().unwrap_or_else(|e| e.into_inner()) = target;
    }

    /// Sends the target the last signal that asked us to end, if there was one.
    pub fn pass_on(&self) {
        if let Some(signal) = self.asked_to_end() {
            let target = self.target.lock().unwrap_or_else(|e| e.into_inner());
            target.send(signal);
        }
    }

    /// The last signal that asked us to end, if there was one.
    pub fn asked_to_end(&self) -> Option<i32> {
        let signal = self.received.load(Ordering::Relaxed);
        (signal != 0).then_some(signal)
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        self.handle.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Target {
    fn send(&self, signal: i32) {
        let processes = match self {
            Self::Nobody => Vec::new(),
            Self::Program(pid) => vec![*pid],
            Self::Group(directory) => budget::processes_in(directory),
        };
        for pid in processes {
            // SAFETY: kill takes two integers. A process that has ended is no error here.
            unsafe { libc::kill(pid as libc::pid_t, signal) };
        }
    }
}

fn is_ignored(signal: libc::c_int) -> bool {
    // SAFETY: an all-zero sigaction is a valid value of it; the call only reads into it.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut action) == 0
            && action.sa_sigaction == libc::SIG_IGN
    }
}
