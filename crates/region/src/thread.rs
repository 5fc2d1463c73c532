//! The thread that serves the faults of a process, and requests to it.
//!
//! Other threads wait for it whenever they touch what is not in DRAM. So it touches no such memory
//! itself, runs no signal handler of the program, and ends the process if it cannot go on.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::{Arc, Condvar, Mutex, PoisonError, RwLock, RwLockWriteGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, eventfd};
use terrace_base::{Context, Result, lock};
use terrace_policy::page::Page;

use crate::descriptor::Kept;
use crate::end::{give_up, say};
use crate::pager::Pager;
use crate::side::Side;
use crate::signals::spawn;
use crate::slow::Wait;

/// The time after anything happened for which the thread looks again and again before it sleeps. To
/// be woken takes some microseconds, which a faulting thread would wait for.
const SPIN: Duration = Duration::from_micros(50);

/// What other threads ask for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Request {
    /// Take memory over, from the first page to before the second.
    Adopt(Page, Page),
    /// Take memory over as far as it is not known yet.
    Grow(Page, Page),
    /// Forget memory that is about to be unmapped.
    Release(Page, Page),
    /// Begin no evictions.
    Suspend,
    /// Begin evictions again.
    Resume,
    /// Have all evictions so far judged.
    Finish,
    /// Say by an error that a page is not of the memory.
    Find(Page),
    /// Rest and end: the process forks.
    Rest,
    /// End.
    End,
}

impl Request {
    /// Whether it takes memory over or forgets it.
    fn changes_memory(self) -> bool {
        matches!(self, Self::Adopt(..) | Self::Grow(..) | Self::Release(..))
    }
}

/// A request, and the place of its answer.
struct Asked {
    request: Request,
    answer: Arc<Answer>,
}

/// The place of an answer.
#[derive(Default)]
struct Answer {
    result: Mutex<Option<io::Result<()>>>,
    given: Condvar,
}

/// Requests that wait.
struct Inbox {
    asked: Mutex<VecDeque<Asked>>,
    /// Can be read when there is a request.
    bell: Kept<OwnedFd>,
}

/// The thread, if there is one, and the way to ask it.
pub(crate) struct Server {
    /// A thread that asks reads it, and one that forks writes it: no child is forked while a thread
    /// that it does not have waits for an answer.
    running: RwLock<Running>,
    /// Held while a mapping moves, and while memory is taken over or forgotten: what has come to
    /// the old address must not be taken for the mapping before the kernel's event has told of the
    /// move, for the contents of what was there are dropped.
    moves: Mutex<()>,
}

/// The thread while it runs.
struct Running {
    inbox: Arc<Inbox>,
    /// It hands its pager over when it ends. `None` while the process forks, and in a child that
    /// was left without the memory.
    thread: Option<JoinHandle<Box<Pager>>>,
}

/// A server whose thread rests while the process forks.
pub(crate) struct Resting<'a> {
    running: RwLockWriteGuard<'a, Running>,
    pager: Option<Box<Pager>>,
}

impl Server {
    /// Starts the thread.
    ///
    /// # Errors
    /// Returns a failure if it cannot be started.
    pub fn start(pager: Pager) -> Result<Self> {
        let running = Running {
            inbox: Arc::new(Inbox::new()?),
            thread: None,
        };
        let server = Self {
            running: RwLock::new(running),
            moves: Mutex::default(),
        };
        let started = server.write().start(Box::new(pager), None);
        started.or_fail(|| "cannot start the thread that serves faults".into())?;
        Ok(server)
    }

    /// Asks the thread for something, and waits until it is done.
    ///
    /// # Errors
    /// Returns those of the request.
    pub fn ask(&self, request: Request) -> io::Result<()> {
        let running = self.running.read().unwrap_or_else(PoisonError::into_inner);
        let _still = request.changes_memory().then(|| lock(&self.moves));
        running.ask(request)
    }

    /// Whether there is a thread.
    pub fn is_running(&self) -> bool {
        let running = self.running.read();
        running
            .unwrap_or_else(PoisonError::into_inner)
            .thread
            .is_some()
    }

    /// Keeps evictions from beginning, and the process from being forked, during `change`, which
    /// asks this for nothing.
    pub fn while_suspended<T>(&self, change: impl FnOnce() -> T) -> T {
        let running = self.running.read().unwrap_or_else(PoisonError::into_inner);
        let _still = lock(&self.moves);
        let _ = running.ask(Request::Suspend);
        let changed = change();
        let _ = running.ask(Request::Resume);
        changed
    }

    /// Has the thread rest and end, so that this thread can fork the process.
    pub fn rest(&self) -> Resting<'_> {
        let mut running = self.write();
        let frame = 0_u8;
        let stack = Page::of((&raw const frame).addr() as u64);
        if running.ask(Request::Find(stack)).is_ok() {
            // This thread needs its stack, which is not served until after the fork.
            let _ = running.ask(Request::Suspend);
            touch_stack();
        }
        let _ = running.ask(Request::Rest);
        let pager = running.end();
        Resting { running, pager }
    }

    fn write(&self) -> RwLockWriteGuard<'_, Running> {
        let running = self.running.write();
        running.unwrap_or_else(PoisonError::into_inner)
    }
}

impl Resting<'_> {
    /// Goes on after a fork.
    pub fn go_on(mut self, side: Side) {
        let Some(pager) = self.pager.take() else {
            return;
        };
        let went_on = match side {
            Side::Parent => self.running.start(pager, Some(side)),
            Side::Child if !pager.is_shared() => return std::mem::forget(pager),
            // The bell is the parent's as well.
            Side::Child => Inbox::new().map_err(io::Error::other).and_then(|inbox| {
                self.running.inbox = Arc::new(inbox);
                self.running.start(pager, Some(side))
            }),
        };
        match (went_on, side) {
            (Ok(()), _) => {}
            (Err(error), Side::Child) if self.running.withdraw() => say(&format!(
                "a forked child does not have its parent's extended memory, and ends if it \
                 touches it: {error}"
            )),
            (Err(error), _) => {
                give_up(&format!(
                    "extended memory cannot go on after a fork: {error}"
                ));
            }
        }
    }
}

impl Running {
    /// Starts the thread, after a fork if there was one.
    ///
    /// # Errors
    /// Returns the system's, or that of [`Pager::forked`].
    fn start(&mut self, mut pager: Box<Pager>, forked: Option<Side>) -> io::Result<()> {
        let (inbox, ready) = (Arc::clone(&self.inbox), Arc::new(Answer::default()));
        let told = Arc::clone(&ready);
        let thread = spawn("terrace-pager", move || {
            let begun = forked.map_or(Ok(()), |side| pager.forked(side));
            let goes_on = begun.is_ok();
            told.give(begun);
            if goes_on {
                serve(&mut pager, &inbox);
            }
            pager
        });
        self.thread = Some(thread?);
        ready.wait()
    }

    /// Leaves a child without its memory, which cannot be served, and returns whether it is so. The
    /// pager is kept: what it holds is also its parent's.
    fn withdraw(&mut self) -> bool {
        let pager = self.end();
        let withdrawn = pager.as_ref().is_some_and(|pager| pager.withdraw());
        std::mem::forget(pager);
        withdrawn
    }

    fn ask(&self, request: Request) -> io::Result<()> {
        if self.thread.is_none() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let answer = Arc::new(Answer::default());
        let asked = Asked {
            request,
            answer: Arc::clone(&answer),
        };
        lock(&self.inbox.asked).push_back(asked);
        ring(&self.inbox.bell);
        answer.wait()
    }

    /// Waits for the end of the thread, and returns its pager.
    fn end(&mut self) -> Option<Box<Pager>> {
        // A thread that fails ends the process.
        self.thread.take()?.join().ok()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.ask(Request::End);
        drop(self.write().end());
    }
}

impl Inbox {
    fn new() -> Result<Self> {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        let bell = eventfd(0, flags).map_err(io::Error::from);
        Ok(Self {
            asked: Mutex::default(),
            bell: Kept::new(bell.or_fail(|| "cannot make an eventfd".into())?),
        })
    }
}

/// Brings the pages in that the frames of a fork lie in.
#[inline(never)]
fn touch_stack() {
    let mut below = [0_u8; 8192];
    std::hint::black_box(&mut below);
}

/// Ends the process if the thread panics.
struct Watch;

impl Drop for Watch {
    fn drop(&mut self) {
        if std::thread::panicking() {
            give_up("the thread that serves faults has failed");
        }
    }
}

fn serve(pager: &mut Pager, inbox: &Inbox) {
    let _watch = Watch;
    let mut events = Vec::new();
    let mut last = Instant::now();
    loop {
        let mut happened = match pager.take_events(&mut events) {
            Ok(any) => any,
            Err(error) => give_up(&format!("cannot read the events of userfaultfd: {error}")),
        };
        // Events come before requests: an adopted range may have been another one before.
        while let Some(asked) = next(inbox) {
            happened = true;
            let ends = matches!(asked.request, Request::End | Request::Rest);
            let result = carry_out(pager, asked.request);
            pager.show();
            asked.answer.give(result);
            if ends {
                return;
            }
        }
        happened |= pager.step();
        let now = Instant::now();
        if happened {
            last = now;
            pager.show();
        } else if now - last > SPIN {
            sleep(pager, inbox, now);
        } else {
            std::hint::spin_loop();
        }
    }
}

fn carry_out(pager: &mut Pager, request: Request) -> io::Result<()> {
    match request {
        Request::Adopt(start, end) => return pager.adopt(start, end),
        Request::Grow(start, end) => return pager.grow_to(start, end),
        Request::Release(start, end) => pager.release(start, end),
        Request::Suspend => pager.suspend(),
        Request::Resume => pager.resume(),
        Request::Finish => pager.finish(),
        Request::Find(page) => return pager.find(page),
        Request::Rest => return pager.rest(),
        Request::End => {}
    }
    Ok(())
}

fn next(inbox: &Inbox) -> Option<Asked> {
    lock(&inbox.asked).pop_front()
}

/// Sleeps until there is an event, a request, or the end of a transfer.
fn sleep(pager: &Pager, inbox: &Inbox, now: Instant) {
    let (mut device, mut timeout) = (-1, None);
    match pager.wait() {
        Wait::Idle => {}
        Wait::Until(at) => match at.checked_duration_since(now) {
            Some(wait) if wait > SPIN => timeout = Some(wait - SPIN),
            _ => return,
        },
        Wait::Descriptor(descriptor) => device = descriptor,
    }
    wait_for(
        &[pager.uffd().as_raw_fd(), inbox.bell.as_raw_fd(), device],
        timeout,
    );
    silence(&inbox.bell);
}

/// Waits until one of the descriptors can be read; negative ones are none.
fn wait_for(descriptors: &[RawFd; 3], timeout: Option<Duration>) {
    let mut polled = descriptors.map(|fd| libc::pollfd {
        fd,
        events: libc::POLLIN,
        revents: 0,
    });
    let timeout = timeout.map(|wait| libc::timespec {
        tv_sec: wait.as_secs() as libc::time_t,
        tv_nsec: wait.subsec_nanos().into(),
    });
    let timeout = timeout.as_ref().map_or(std::ptr::null(), |t| &raw const *t);
    // SAFETY: an array of this length, and a time or none, all of which live until the end of the
    // call.
    unsafe { libc::ppoll(polled.as_mut_ptr(), 3, timeout, std::ptr::null()) };
}

fn ring(bell: &OwnedFd) {
    // It fails if it was rung often enough already.
    let _ = rustix::io::write(bell, &1_u64.to_ne_bytes());
}

fn silence(bell: &OwnedFd) {
    // It fails if it was not rung.
    let _ = rustix::io::read(bell, &mut [0_u8; 8]);
}

impl Answer {
    fn give(&self, result: io::Result<()>) {
        *lock(&self.result) = Some(result);
        self.given.notify_all();
    }

    fn wait(&self) -> io::Result<()> {
        let mut result = lock(&self.result);
        loop {
            if let Some(result) = result.take() {
                return result;
            }
            let woken = self.given.wait(result);
            result = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }
}
