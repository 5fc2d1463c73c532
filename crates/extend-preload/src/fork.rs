//! Forked children, which have no extended memory.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::{adopted, extended};

/// What a child says that touches extended memory.
const SENTENCE: &str = "terrace: this forked process has touched extended memory, which only the process that forked \
                        it has; it ends, rather than see zeros\n";

/// Whether this process is a forked child of the one that has the extension.
static CHILD: AtomicBool = AtomicBool::new(false);

/// Whether this process is a forked child of the one that has the extension.
pub fn is_child() -> bool {
    CHILD.load(Ordering::Relaxed)
}

/// Has children know that they are.
pub fn watch() {
    // SAFETY: functions that only lock, unlock, and store.
    unsafe { libc::pthread_atfork(Some(before), Some(after_in_parent), Some(after_in_child)) };
}

unsafe extern "C" fn before() {
    adopted::lock();
}

unsafe extern "C" fn after_in_parent() {
    // SAFETY: `before` has locked it on this thread.
    unsafe { adopted::unlock() };
}

unsafe extern "C" fn after_in_child() {
    CHILD.store(true, Ordering::Relaxed);
    extended::stop();
    // SAFETY: `before` has locked it on the thread that forked this process, the only one that is left.
    unsafe { adopted::unlock() };
    explain_faults();
}

/// Has a touch of extended memory say why it ends the process, unless the program handles the signal itself.
fn explain_faults() {
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

/// Says why, and returns: the thread touches the same again, and the process ends.
extern "C" fn explain(
    _signal: libc::c_int,
    about: *mut libc::siginfo_t,
    _context: *mut libc::c_void,
) {
    // SAFETY: the kernel hands over a valid siginfo of a fault.
    let address = unsafe { (*about).si_addr() } as usize;
    if extended::holds(address, 1) {
        // SAFETY: bytes of a static text.
        unsafe { libc::write(2, SENTENCE.as_ptr().cast(), SENTENCE.len()) };
    }
}
