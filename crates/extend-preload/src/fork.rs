//! Forked children, which have extended memory if it can be shared with them.

use std::cell::UnsafeCell;
use std::ffi::{CStr, c_int, c_void};
use std::sync::MutexGuard;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use crate::adopted::{self, Adopted};
use terrace_region::streams;

use crate::extended;
use crate::small::{self, Small};

/// What a child says that touches extended memory which it does not have.
const SENTENCE: &str = "terrace: this forked process has touched extended memory, which only the process that forked \
                        it has; it ends, rather than see zeros\n";

/// Whether forks are watched.
static WATCHED: AtomicBool = AtomicBool::new(false);

/// Whether this process is a forked child without the extended memory of its parent.
static LEFT_BEHIND: AtomicBool = AtomicBool::new(false);

/// The process that has extended memory, as far as this one knows: any child that does not have it is another one.
static OWNER: AtomicI32 = AtomicI32::new(0);

/// Locks that are held from before a fork to after it: a child must not be forked while a thread that it does
/// not have changes what they guard.
static LOCKS: Cell = Cell(UnsafeCell::new(None));

struct Cell(UnsafeCell<Option<Locks>>);

type Locks = (
    MutexGuard<'static, Small>,
    MutexGuard<'static, ()>,
    MutexGuard<'static, Adopted>,
);

// SAFETY: only the thread that holds the locks looks at it, from before a fork to after it.
unsafe impl Sync for Cell {}

/// A handler of forks.
type Handler = Option<unsafe extern "C" fn()>;

/// Whether this process is a forked child without the extended memory of its parent.
pub fn is_left_behind() -> bool {
    LEFT_BEHIND.load(Ordering::Relaxed)
}

/// Follows forks from now on.
pub fn watch() {
    if !WATCHED.swap(true, Ordering::Relaxed) {
        terrace_region::follow_forks();
        // SAFETY: functions that only lock, unlock, and store.
        unsafe { libc::pthread_atfork(Some(before), Some(after_in_parent), Some(after_in_child)) };
    }
}

/// Registers handlers of forks, ours before all others: so the others run while extended memory is served.
///
/// # Safety
/// As that of the C library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __register_atfork(
    before: Handler,
    in_parent: Handler,
    in_child: Handler,
    library: *mut c_void,
) -> c_int {
    type Register = unsafe extern "C" fn(Handler, Handler, Handler, *mut c_void) -> c_int;
    watch();
    let name: &CStr = c"__register_atfork";
    // SAFETY: the C library has a function of this name and type.
    unsafe {
        let next = libc::dlsym(libc::RTLD_NEXT, name.as_ptr());
        let register: Option<Register> = std::mem::transmute(next);
        register.map_or(libc::ENOMEM, |register| {
            register(before, in_parent, in_child, library)
        })
    }
}

unsafe extern "C" fn before() {
    // A thread that goes through the streams may allocate.
    streams::lock();
    // In the order in which a new part of the heap takes them.
    let locks = (small::small(), extended::keep_still(), adopted::adopted());
    // SAFETY: this thread holds the locks.
    unsafe { *LOCKS.0.get() = Some(locks) };
}

unsafe extern "C" fn after_in_parent() {
    // SAFETY: `before` has taken the locks on this thread.
    drop(unsafe { (*LOCKS.0.get()).take() });
    streams::unlock();
}

unsafe extern "C" fn after_in_child() {
    // SAFETY: `before` has taken the locks on the thread that forked this process, the only one that is left.
    drop(unsafe { (*LOCKS.0.get()).take() });
    streams::make_free();
    terrace_placed::forked();
    match extended::is_served() {
        true => OWNER.store(id(), Ordering::Relaxed),
        false => {
            LEFT_BEHIND.store(true, Ordering::Relaxed);
            extended::stop();
        }
    }
}

/// Notes that this process has extended memory, and has a touch of it in a child that does not have it say why it
/// ends the process, unless the program handles the signal itself.
pub fn explain_faults() {
    OWNER.store(id(), Ordering::Relaxed);
    // SAFETY: all-zero values of both are valid; the handler calls only what a handler may.
    unsafe {
        let mut before: libc::sigaction = std::mem::zeroed();
        let asked = libc::sigaction(libc::SIGSEGV, std::ptr::null(), &raw mut before);
        if asked != 0 || before.sa_sigaction != libc::SIG_DFL {
            return;
        }
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = explain as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESETHAND;
        libc::sigaction(libc::SIGSEGV, &raw const action, std::ptr::null_mut());
    }
}

/// Says why, and returns: the thread touches the same again, or has the signal again, and the process ends.
extern "C" fn explain(
    signal: libc::c_int,
    about: *mut libc::siginfo_t,
    _context: *mut libc::c_void,
) {
    // SAFETY: the kernel hands over a valid siginfo, which has an address if it is of a fault.
    let (by_fault, address) = unsafe { ((*about).si_code > 0, (*about).si_addr() as usize) };
    if !by_fault {
        // SAFETY: the signal is sent once more, and does what it did without this handler.
        unsafe { libc::raise(signal) };
    } else if id() != OWNER.load(Ordering::Relaxed) && extended::is_known_to_hold(address) {
        // SAFETY: bytes of a static text.
        unsafe { libc::write(2, SENTENCE.as_ptr().cast(), SENTENCE.len()) };
    }
}

/// Returns the number of this process.
fn id() -> libc::pid_t {
    // SAFETY: the call takes nothing.
    unsafe { libc::getpid() }
}
