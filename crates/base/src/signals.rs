//! Signals sent to this process: passed on to the program that it runs, or noted while none runs.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use signal_hook::consts::signal::{
    SIGALRM, SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2,
};
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::iterator::{Handle, SignalsInfo};

use crate::{Context, Result, process};

/// Signals that are passed on.
const FORWARDED: [libc::c_int; 8] = [
    SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGCONT,
];
/// Signals that ask this process to end.
const ENDING: [libc::c_int; 4] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM];

/// Lists process ids.
pub type Processes = Arc<dyn Fn() -> Vec<u32> + Send + Sync>;

/// The receiver of the signals sent to this process.
#[derive(Clone)]
pub enum Target {
    /// No program runs.
    Nobody,
    /// The program, by its pidfd: once it was waited for, its number may name another process.
    Program(Arc<OwnedFd>),
    /// Several programs that run at once, by their pidfds.
    Programs(Vec<Arc<OwnedFd>>),
    /// The processes that the program left running.
    Left(Processes),
}

/// Receives signals until dropped.
pub struct Signals {
    target: Arc<Mutex<Target>>,
    received: Arc<AtomicI32>,
    handle: Handle,
    thread: Option<JoinHandle<()>>,
}

impl Signals {
    /// Begins to receive. Signals that were ignored when this process started (as by `nohup`) stay
    /// ignored, here and in the program, which inherits that.
    ///
    /// # Errors
    /// Returns a failure if handlers cannot be installed.
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
                        // The kernel sends Ctrl-C to the program as well, which is in our
                        // terminal and process group; a signal of a process reaches us alone.
                        // Processes that a program left may have another terminal, or none.
                        let target = target.lock().unwrap_or_else(|e| e.into_inner());
                        if origin.process.is_some() || matches!(*target, Target::Left(_)) {
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

    /// Sends signals to `target` from now on.
    pub fn aim(&self, target: Target) {
        *self.target.lock().unwrap_or_else(|e| e.into_inner()) = target;
    }

    /// Sends the target the last signal that asked this process to end, if there was one.
    pub fn pass_on(&self) {
        if let Some(signal) = self.asked_to_end() {
            let target = self.target.lock().unwrap_or_else(|e| e.into_inner());
            target.send(signal);
        }
    }

    /// Returns the last signal that asked this process to end, if there was one.
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
    /// Targets the program with this process id, a child that was not waited for.
    pub fn program(pid: u32) -> Self {
        process::hold(pid).map_or(Self::Nobody, |process| Self::Program(Arc::new(process)))
    }

    /// Targets the programs with these process ids, children that were not waited for.
    pub fn programs(pids: impl IntoIterator<Item = u32>) -> Self {
        let held = pids.into_iter().filter_map(process::hold);
        Self::Programs(held.map(Arc::new).collect())
    }

    fn send(&self, signal: i32) {
        match self {
            Self::Nobody => {}
            Self::Program(process) => process::signal(process, signal),
            Self::Programs(processes) => {
                for process in processes {
                    process::signal(process, signal);
                }
            }
            Self::Left(processes) => process::signal_all(&**processes, signal),
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
