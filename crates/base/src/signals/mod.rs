//! Signals sent to this process: passed on to the program that it runs, or noted while none runs.
//!
//! A signal is passed on unless the program has had it as a member of our process group, which a
//! `Witness` tells.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{WaitId, WaitIdOptions, waitid};
use signal_hook::flag::register_conditional_default;
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::iterator::{Handle, SignalsInfo};
use signal_hook::low_level::siginfo::Origin;

use crate::inherited::{Inherited, unblock};
use crate::witness::{Newborn, Witness};
use crate::{Context, Exit, Result, lock, process};

/// Signals that are passed on: all that a process can handle and others send it. Those by which a
/// process tells itself of an error of its own are left out, and those of its children and pipes.
const FORWARDED: [i32; 18] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGABRT,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGALRM,
    libc::SIGTERM,
    libc::SIGSTKFLT,
    libc::SIGCONT,
    libc::SIGTSTP,
    libc::SIGTTIN,
    libc::SIGTTOU,
    libc::SIGURG,
    libc::SIGWINCH,
    libc::SIGIO,
    libc::SIGPWR,
    libc::SIGVTALRM,
];
/// Signals that ask this process to end.
const ENDING: [i32; 5] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGABRT,
    libc::SIGTERM,
];
/// Signals that stop a process that does not handle them.
const STOPPING: [i32; 3] = [libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU];

/// How often is looked whether the program has stopped, after a signal that asks it to.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// How long a program has to stop: one that goes on after that has handled the signal in another
/// way.
const STOPS_WITHIN: Duration = Duration::from_secs(1);

/// Signals that ask this process to end within this time are one request.
const AT_ONCE: Duration = Duration::from_millis(300);

/// Lists process ids.
pub type Processes = Arc<dyn Fn() -> Vec<u32> + Send + Sync>;

/// Where the signals sent to this process go.
#[derive(Clone)]
pub enum Target {
    /// No program runs.
    Nobody,
    /// A program is being started: what is sent meanwhile is kept for it, but for what it has as a
    /// member of our group ([`Signals::newborn`]).
    Starting,
    /// The program, by its pidfd: once it was waited for, its number may name another process.
    Program(Arc<OwnedFd>),
    /// Several programs that run at once, by their pidfds.
    Programs(Vec<Arc<OwnedFd>>),
    /// The processes that the program left running.
    Left(Processes),
    /// Another receiver of this process has the program: signals that ask for the end are noted,
    /// and no more.
    Elsewhere,
}

/// How many receivers there are in this process.
static RECEIVERS: AtomicUsize = AtomicUsize::new(0);

/// Whether there is none. Signals act then as if they were not handled, although the handlers stay.
static UNHEARD: LazyLock<Arc<AtomicBool>> = LazyLock::new(|| {
    let unheard = Arc::new(AtomicBool::new(false));
    let found = Inherited::found();
    for signal in FORWARDED.into_iter().filter(|it| !found.has_ignored(*it)) {
        // One that has no default to be had is of no use to end this process either.
        let _ = register_conditional_default(signal, Arc::clone(&unheard));
    }
    unheard
});

/// Receives signals until dropped.
pub struct Signals {
    shared: Arc<Shared>,
    handle: Handle,
    thread: Option<JoinHandle<()>>,
}

/// What the receiving thread shares with others.
struct Shared {
    aim: Mutex<Aim>,
    /// The last signal that asked this process to end; 0 if none did.
    received: AtomicI32,
    /// How many such signals came.
    requests: AtomicI32,
    /// Whether the last of them has reached a program that ran.
    has_reached: AtomicBool,
    /// Whether the kernel sent the last of them: SIGHUP is the loss of the terminal then.
    is_of_kernel: AtomicBool,
}

/// Where signals go.
struct Aim {
    target: Target,
    /// Started with the first program.
    witness: Option<Witness>,
    /// What came while the program was being started.
    kept: Vec<i32>,
    /// Whether the program, once it is there, sees to it that it has what our group is sent.
    is_born: bool,
    /// When this process was last asked to end.
    asked: Option<Instant>,
}

impl Signals {
    /// Begins to receive. Signals that were ignored when this process started (as by `nohup`) do
    /// not ask this process to end; they are passed on, as the program may handle them.
    ///
    /// # Errors
    /// Returns a failure if handlers cannot be installed.
    pub fn receive() -> Result<Self> {
        RECEIVERS.fetch_add(1, Ordering::SeqCst);
        UNHEARD.store(false, Ordering::SeqCst);
        Self::begin().inspect_err(|_| leave())
    }

    fn begin() -> Result<Self> {
        let signals = SignalsInfo::<WithOrigin>::new(FORWARDED)
            .or_fail(|| "cannot install signal handlers".into())?;
        let handle = signals.handle();
        let shared = Arc::new(Shared {
            aim: Mutex::new(Aim {
                target: Target::Nobody,
                witness: None,
                kept: Vec::new(),
                is_born: false,
                asked: None,
            }),
            received: AtomicI32::new(0),
            requests: AtomicI32::new(0),
            has_reached: AtomicBool::new(false),
            is_of_kernel: AtomicBool::new(false),
        });
        let thread = std::thread::Builder::new()
            .name("terrace-signals".into())
            .spawn({
                let shared = Arc::clone(&shared);
                move || receive(signals, &shared)
            })
            .or_fail(|| "cannot start the signal thread".into())?;
        Ok(Self {
            shared,
            handle,
            thread: Some(thread),
        })
    }

    /// Sends signals to `target` from now on.
    pub fn aim(&self, target: Target) {
        let mut aim = lock(&self.shared.aim);
        if aim.witness.is_none() && matches!(target, Target::Starting) {
            // Without one, it is guessed which signals the program has had.
            aim.witness = Witness::start(&FORWARDED).ok();
        }
        if !matches!(target, Target::Starting) {
            for signal in std::mem::take(&mut aim.kept) {
                target.send(signal);
            }
            aim.is_born = false;
        }
        aim.target = target;
    }

    /// Aims at a program that is about to be started; returns what it does between fork and exec.
    pub fn newborn(&self) -> Newborn {
        self.aim(Target::Starting);
        let mut aim = lock(&self.shared.aim);
        let is_first = !std::mem::replace(&mut aim.is_born, true);
        let Some(witness) = aim.witness.as_mut() else {
            return Newborn::ALONE;
        };
        // Several programs that are started one after the other are signalled as one.
        if is_first {
            witness.begin_births();
        }
        witness.newborn()
    }

    /// Sends the target the last signal that asked this process to end, if there was one that has
    /// reached no program.
    pub fn pass_on(&self) {
        let aim = lock(&self.shared.aim);
        if let Some(signal) = self.asked_to_end()
            && !self.shared.has_reached.load(Ordering::Relaxed)
        {
            let reaches = aim.target.is_running();
            self.shared.has_reached.store(reaches, Ordering::Relaxed);
            aim.target.send(signal);
        }
    }

    /// Forgets the last signal that asked this process to end if the programs that it has reached
    /// survived it, and ended like this: it is not for those that they left. A SIGHUP of a process
    /// has asked for nothing then, as it has a program read its settings again; the others, and the
    /// loss of the terminal, still ask this process to run nothing more.
    pub fn forget_survived(&self, ends: &[Exit]) {
        let Some(signal) = self.asked_to_end() else {
            return;
        };
        let by_it = [Exit::Signal(signal), Exit::Code(128 + signal)];
        if ends.iter().any(|end| by_it.contains(end)) {
            self.shared.has_reached.store(false, Ordering::Relaxed);
            return;
        }
        let is_reload = signal == libc::SIGHUP && !self.shared.is_of_kernel.load(Ordering::Relaxed);
        if is_reload && self.shared.has_reached.load(Ordering::Relaxed) {
            self.shared.received.store(0, Ordering::Relaxed);
        }
    }

    /// Returns the last signal that asked this process to end, if there was one.
    pub fn asked_to_end(&self) -> Option<i32> {
        let signal = self.shared.received.load(Ordering::Relaxed);
        (signal != 0).then_some(signal)
    }

    /// Returns how often this process was asked to end, other than by SIGHUP. Signals that come at
    /// once, as from `timeout`, which signals its child and then the group, are one request.
    pub fn requests(&self) -> i32 {
        self.shared.requests.load(Ordering::Relaxed)
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        self.handle.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        leave();
    }
}

/// Counts a receiver less.
fn leave() {
    if RECEIVERS.fetch_sub(1, Ordering::SeqCst) == 1 {
        UNHEARD.store(true, Ordering::SeqCst);
    }
}

/// Passes signals on until `signals` are closed.
fn receive(mut signals: SignalsInfo<WithOrigin>, shared: &Shared) {
    // They may have been blocked when this process was started, and the program has them so.
    unblock(&FORWARDED);
    let handle = signals.handle();
    let mut stop: Option<Stop> = None;
    while !handle.is_closed() {
        let came: Vec<Origin> = match &stop {
            None => signals.wait().collect(),
            Some(_) => {
                std::thread::sleep(LOOK_EVERY);
                signals.pending().collect()
            }
        };
        for origin in came {
            shared.receive(&origin);
            if STOPPING.contains(&origin.signal) {
                stop = Stop::by(origin.signal, &lock(&shared.aim).target);
            } else if origin.signal == libc::SIGCONT {
                stop = None;
            }
        }
        stop = stop.filter(|stop| !stop.is_done(&lock(&shared.aim).target));
    }
}

impl Shared {
    fn receive(&self, origin: &Origin) {
        let sender = origin.process.as_ref().map_or(0, |process| process.pid);
        // One that this process sends itself, as `abort` does, is not the program's.
        if sender == std::process::id() as i32 {
            return;
        }
        let mut aim = lock(&self.aim);
        let is_for_all = aim.group_has(origin.signal, sender);
        let is_starting = matches!(aim.target, Target::Starting);
        if ENDING.contains(&origin.signal) && !Inherited::found().has_ignored(origin.signal) {
            self.note(origin.signal, &mut aim);
            self.is_of_kernel.store(sender == 0, Ordering::Relaxed);
            let reaches = aim.target.is_running() || is_starting && is_for_all && aim.is_born;
            self.has_reached.store(reaches, Ordering::Relaxed);
        } else if is_starting && !(is_for_all && aim.is_born) {
            aim.kept.push(origin.signal);
        }
        // Processes that a program left may be in another group.
        if !is_for_all || matches!(aim.target, Target::Left(_)) {
            aim.target.send(origin.signal);
        }
    }

    /// Notes a signal that asks this process to end.
    fn note(&self, signal: i32, aim: &mut Aim) {
        self.received.store(signal, Ordering::Relaxed);
        let now = Instant::now();
        let is_new = aim.asked.is_none_or(|last| now > last + AT_ONCE);
        if signal != libc::SIGHUP && is_new {
            aim.asked = Some(now);
            self.requests.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Aim {
    /// Whether our process group was sent a signal, by this process (0: the kernel).
    fn group_has(&mut self, signal: i32, sender: i32) -> bool {
        let witness = self.witness.as_mut();
        let seen = witness.and_then(|witness| witness.has_seen(signal, sender));
        // By default what processes send is for this process, and what the kernel sends for all,
        // but for what it never sends to all.
        seen.unwrap_or_else(|| sender == 0 && !is_for_one(signal))
    }
}

/// Whether the kernel sends a signal to this process alone: the end of a timer, or the loss of the
/// terminal to the leader of the session.
fn is_for_one(signal: i32) -> bool {
    // SAFETY: takes integers.
    let leads = unsafe { libc::getsid(0) == libc::getpid() };
    signal == libc::SIGALRM || signal == libc::SIGHUP && leads
}

/// A signal that asks the program to stop. This process stops as the program does, and when it
/// does.
struct Stop {
    signal: i32,
    since: Instant,
    /// Whether a program ran when it came.
    has_program: bool,
}

impl Stop {
    /// `None` if another receiver stops this process.
    fn by(signal: i32, target: &Target) -> Option<Self> {
        (!matches!(target, Target::Elsewhere)).then(|| Self {
            signal,
            since: Instant::now(),
            has_program: target.is_running(),
        })
    }

    /// Stops this process if the program has stopped; returns whether nothing more is to be waited
    /// for.
    fn is_done(&self, target: &Target) -> bool {
        if self.has_program && !target.is_stopped() {
            return !target.is_running() || self.since.elapsed() > STOPS_WITHIN;
        }
        stop(self.signal);
        true
    }
}

/// Stops this process as `signal` does that is not handled; returns when it goes on.
fn stop(signal: i32) {
    if Inherited::found().has_ignored(signal) {
        return;
    }
    // SAFETY: both actions are plain data that lives across the calls; the handler that is put back
    // is the one that was found.
    unsafe {
        let mut ours: libc::sigaction = std::mem::zeroed();
        let default: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, &raw const default, &raw mut ours);
        libc::kill(libc::getpid(), signal);
        libc::sigaction(signal, &raw const ours, std::ptr::null_mut());
    }
}

impl Target {
    /// Targets the program with this process id, a child that was not waited for.
    pub fn program(pid: u32) -> Self {
        process::hold(pid).map_or(Self::Nobody, |process| Self::Program(Arc::new(process)))
    }

    /// Targets the programs with these process ids, children that were not waited for.
    pub fn programs(pids: impl IntoIterator<Item = u32>) -> Self {
        let held = pids.into_iter().filter_map(|pid| process::hold(pid).ok());
        Self::Programs(held.map(Arc::new).collect())
    }

    /// Returns the programs that have not ended.
    fn running(&self) -> impl Iterator<Item = &OwnedFd> {
        let programs = match self {
            Self::Program(program) => std::slice::from_ref(program),
            Self::Programs(programs) => programs,
            Self::Nobody | Self::Starting | Self::Left(_) | Self::Elsewhere => &[],
        };
        let programs = programs.iter().map(AsRef::as_ref);
        programs.filter(|program| !process::has_ended(program))
    }

    fn is_running(&self) -> bool {
        self.running().next().is_some()
    }

    /// Whether all programs that have not ended are stopped, and there are some.
    fn is_stopped(&self) -> bool {
        self.is_running() && self.running().all(is_stopped)
    }

    fn send(&self, signal: i32) {
        match self {
            Self::Nobody | Self::Starting | Self::Elsewhere => {}
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

/// Whether a child of ours is stopped.
fn is_stopped(child: &OwnedFd) -> bool {
    let asked = WaitIdOptions::STOPPED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    matches!(
        waitid(WaitId::PidFd(rustix::fd::AsFd::as_fd(child)), asked),
        Ok(Some(_))
    )
}

#[cfg(test)]
mod tests;
