//! The thread that serves the faults of a process, and requests to it.
//!
//! Other threads wait for it whenever they touch what is not in DRAM. So it touches no such memory itself, runs
//! no signal handler of the program, and ends the process if it cannot go on.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, eventfd};
use terrace_base::{Context, Result, lock};
use terrace_policy::page::Page;

use crate::pager::Pager;
use crate::slow::Wait;

/// The time after anything happened for which the thread looks again and again before it sleeps. To be woken
/// takes some microseconds, which a faulting thread would wait for.
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
    /// End.
    End,
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
    bell: OwnedFd,
}

/// The thread.
pub(crate) struct Server {
    inbox: Arc<Inbox>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Starts the thread.
    ///
    /// # Errors
    /// Returns a failure if it cannot be started.
    pub fn start(pager: Pager) -> Result<Self> {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        let inbox = Arc::new(Inbox {
            asked: Mutex::default(),
            bell: eventfd(0, flags)
                .map_err(io::Error::from)
                .or_fail(|| "cannot make an eventfd".into())?,
        });
        let theirs = Arc::clone(&inbox);
        let thread = spawn("terrace-pager", move || serve(pager, &theirs));
        let thread = thread.or_fail(|| "cannot start the thread that serves faults".into())?;
        Ok(Self {
            inbox,
            thread: Some(thread),
        })
    }

    /// Asks the thread for something, and waits until it is done.
    ///
    /// # Errors
    /// Returns those of the request.
    pub fn ask(&self, request: Request) -> io::Result<()> {
        let answer = Arc::new(Answer::default());
        let asked = Asked {
            request,
            answer: Arc::clone(&answer),
        };
        lock(&self.inbox.asked).push_back(asked);
        ring(&self.inbox.bell);
        let mut result = lock(&answer.result);
        loop {
            if let Some(result) = result.take() {
                return result;
            }
            let woken = answer.given.wait(result);
            result = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.ask(Request::End);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Starts a thread that runs no signal handler of the program: it would touch memory that waits for this thread.
///
/// # Errors
/// Returns the system's.
pub(crate) fn spawn(name: &str, act: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    let before = block_signals();
    let thread = std::thread::Builder::new().name(name.into()).spawn(act);
    restore_signals(&before);
    thread
}

/// Says why the process ends, and ends it: its threads wait for pages that will not come.
pub(crate) fn give_up(why: &str) -> ! {
    eprintln!("terrace: {why}; the program is ended, because it would wait for ever");
    std::process::abort();
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

fn serve(mut pager: Pager, inbox: &Inbox) {
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
            let ends = matches!(asked.request, Request::End);
            let result = carry_out(&mut pager, asked.request);
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
            sleep(&pager, inbox, now);
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
    // SAFETY: an array of this length, and a time or none, all of which live until the end of the call.
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
}

/// Blocks all signals for this thread and those that it starts, and returns those that were blocked.
fn block_signals() -> libc::sigset_t {
    // SAFETY: both sets are ours; an all-zero one is a valid value, and is filled first.
    unsafe {
        let (mut all, mut before) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        before
    }
}

fn restore_signals(before: &libc::sigset_t) {
    // SAFETY: the set is one that the call returned before.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before, std::ptr::null_mut()) };
}
