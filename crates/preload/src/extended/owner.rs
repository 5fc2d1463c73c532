//! Which process has extended memory: this one, or its parent alone.

use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use super::adopted;

/// What a child says that touches extended memory which it does not have.
const SENTENCE: &str = "terrace: this forked process has touched extended memory, which only the process that forked \
                        it has; it ends, rather than see zeros\n";

/// Whether this process is a forked child without the extended memory of its parent.
static LEFT_BEHIND: AtomicBool = AtomicBool::new(false);

/// The process that has extended memory, as far as this one knows: any child that does not have it
/// is another one.
static OWNER: AtomicI32 = AtomicI32::new(0);

/// Whether this process is a forked child without the extended memory of its parent.
pub fn is_left_behind() -> bool {
    LEFT_BEHIND.load(Ordering::Relaxed)
}

/// Notes that this process is such a child.
pub fn leave_behind() {
    LEFT_BEHIND.store(true, Ordering::Relaxed);
}

/// Notes that this process has extended memory.
pub fn own() {
    OWNER.store(id(), Ordering::Relaxed);
}

/// Notes that this process has extended memory, and has a touch of it in a child that does not have
/// it say why it ends the process, unless the program handles the signal itself.
pub fn explain_faults() {
    own();
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

/// Says why, and returns: the thread touches the same again, or has the signal again, and the
/// process ends.
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
    } else if id() != OWNER.load(Ordering::Relaxed) && is_known_to_hold(address) {
        // SAFETY: bytes of a static text.
        unsafe { libc::write(2, SENTENCE.as_ptr().cast(), SENTENCE.len()) };
    }
}

/// Whether an address is in extended memory, by a signal handler, which waits for no lock.
fn is_known_to_hold(address: usize) -> bool {
    adopted::at_once().is_some_and(|adopted| adopted.touches(address, address + 1))
}

/// Returns the number of this process.
fn id() -> libc::pid_t {
    // SAFETY: the call takes nothing.
    unsafe { libc::getpid() }
}
