//! Files that are cut while they are mapped, or whose device fails: an error, and not the end of
//! the program.
//!
//! A load or a store behind the end of a file, or of a page that the device cannot read, raises
//! SIGBUS. The handler of this module notes that for the pool and puts memory without a file there,
//! so that the load or the store goes on; the heap asks for the note before it says that anything
//! has succeeded. SIGBUS at other addresses goes to the handler that was there before. A handler
//! that a program sets later replaces this one.

use std::io;
use std::mem;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};

use super::super::reservation::{PAGE_BYTES, Reservation};
use crate::lock::lock;

/// Address space that is watched. Never freed, as the handler may look at it at any time; used
/// again.
struct Range {
    /// 0 if it is not in use.
    base: AtomicUsize,
    len: AtomicUsize,
    cut: AtomicBool,
    next: AtomicPtr<Range>,
}

/// The first of all ranges.
static RANGES: AtomicPtr<Range> = AtomicPtr::new(ptr::null_mut());
/// Held while ranges are taken and given back.
static TAKING: Mutex<()> = Mutex::new(());
/// What SIGBUS did before.
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

/// The address space of a mapped file, watched as long as this lives.
pub(super) struct Watched(&'static Range);

impl Watched {
    /// Watches the address space of a mapping.
    ///
    /// # Errors
    ///
    /// The kernel refuses the handler.
    pub fn new(space: &Reservation) -> io::Result<Self> {
        let _alone = lock(&TAKING);
        install()?;
        let free = ranges().find(|range| range.base.load(Ordering::Acquire) == 0);
        let range = free.unwrap_or_else(add);
        range.cut.store(false, Ordering::Relaxed);
        range.len.store(space.len() as usize, Ordering::Relaxed);
        range.base.store(space.base().addr(), Ordering::Release);
        Ok(Self(range))
    }

    /// Returns whether a page was missing.
    #[inline]
    pub fn is_cut(&self) -> bool {
        self.0.cut.load(Ordering::Acquire)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let _alone = lock(&TAKING);
        self.0.base.store(0, Ordering::Release);
    }
}

fn ranges() -> impl Iterator<Item = &'static Range> {
    let of = |at: &AtomicPtr<Range>| {
        // SAFETY: a range is never freed.
        unsafe { at.load(Ordering::Acquire).as_ref() }
    };
    std::iter::successors(of(&RANGES), move |range| of(&range.next))
}

fn add() -> &'static Range {
    let range: &'static Range = Box::leak(Box::new(Range {
        base: AtomicUsize::new(0),
        len: AtomicUsize::new(0),
        cut: AtomicBool::new(false),
        next: AtomicPtr::new(RANGES.load(Ordering::Acquire)),
    }));
    RANGES.store(ptr::from_ref(range).cast_mut(), Ordering::Release);
    range
}

/// Sets the handler, once.
fn install() -> io::Result<()> {
    if BEFORE.get().is_some() {
        return Ok(());
    }
    // SAFETY: zeros are a valid action, and both are there during the call.
    let before = unsafe {
        let mut before: libc::sigaction = mem::zeroed();
        if libc::sigaction(libc::SIGBUS, ptr::null(), &raw mut before) != 0 {
            return Err(io::Error::last_os_error());
        }
        before
    };
    let _ = BEFORE.set(before);
    // SAFETY: as above; the handler calls only what a handler may call.
    let set = unsafe {
        let mut action: libc::sigaction = mem::zeroed();
        action.sa_sigaction = handle as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
        libc::sigaction(libc::SIGBUS, &raw const action, ptr::null_mut())
    };
    match set {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

extern "C" fn handle(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel passes what the signal is about.
    let at = unsafe { (*info).si_addr() }.addr();
    let holds = |range: &&Range| {
        let base = range.base.load(Ordering::Acquire);
        base != 0 && at.wrapping_sub(base) < range.len.load(Ordering::Relaxed)
    };
    if let Some(range) = ranges().find(holds)
        && replace(at)
    {
        range.cut.store(true, Ordering::Release);
        return;
    }
    pass_on(signal, info, context);
}

/// Puts memory without a file where a page is missing; returns whether that was possible.
fn replace(at: usize) -> bool {
    let page = at / PAGE_BYTES as usize * PAGE_BYTES as usize;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
    // SAFETY: the page belongs to a pool's reservation, and nothing can be read there. `errno` is
    // kept for the code that the signal has interrupted.
    unsafe {
        let errno = *libc::__errno_location();
        let place = ptr::without_provenance_mut(page);
        let got = libc::mmap(place, PAGE_BYTES as usize, protection, flags, -1, 0);
        *libc::__errno_location() = errno;
        got != libc::MAP_FAILED
    }
}

/// Does what SIGBUS did before.
fn pass_on(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    type Handler = extern "C" fn(libc::c_int);
    type Informed = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);
    let Some(before) = BEFORE.get() else {
        return;
    };
    match before.sa_sigaction {
        libc::SIG_DFL | libc::SIG_IGN => {
            // SAFETY: sets what was set before. The instruction raises the signal again, unless it
            // was sent by a program; then it is raised here.
            unsafe {
                libc::sigaction(signal, before, ptr::null_mut());
                if (*info).si_code <= 0 {
                    libc::raise(signal);
                }
            }
        }
        handler if before.sa_flags & libc::SA_SIGINFO != 0 => {
            // SAFETY: a program has set it with this flag, so it is such a function.
            let handler = unsafe { mem::transmute::<usize, Informed>(handler) };
            handler(signal, info, context);
        }
        handler => {
            // SAFETY: as above, without the flag.
            let handler = unsafe { mem::transmute::<usize, Handler>(handler) };
            handler(signal);
        }
    }
}
