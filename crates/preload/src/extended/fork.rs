//! Forked children, which have extended memory if it can be shared with them.

use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::sync::MutexGuard;
use std::sync::atomic::{AtomicBool, Ordering};

use terrace_region::streams;

use super::adopted::{self, Adopted};
use super::small::{self, Small};
use super::{extension, owner};
use crate::placement;
use crate::symbol::Symbol;

/// Whether forks are watched.
static WATCHED: AtomicBool = AtomicBool::new(false);

/// Locks that are held from before a fork to after it: a child must not be forked while a thread
/// that it does not have changes what they guard.
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
pub type Handler = Option<unsafe extern "C" fn()>;

/// Follows forks from now on.
pub fn watch() {
    if !WATCHED.swap(true, Ordering::Relaxed) {
        terrace_region::follow_forks();
        // SAFETY: functions that only lock, unlock, and store.
        unsafe { libc::pthread_atfork(Some(before), Some(after_in_parent), Some(after_in_child)) };
    }
}

/// Registers handlers of forks, ours before all others: so the others run while extended memory is
/// served.
///
/// # Safety
/// As that of the C library.
pub unsafe extern "C" fn register_atfork(
    before: Handler,
    in_parent: Handler,
    in_child: Handler,
    library: *mut c_void,
) -> c_int {
    static NEXT: Symbol = Symbol::named(c"__register_atfork");
    type Register = unsafe extern "C" fn(Handler, Handler, Handler, *mut c_void) -> c_int;
    watch();
    // SAFETY: the C library has a function of this name and type.
    unsafe {
        let register: Option<Register> = std::mem::transmute(NEXT.address());
        register.map_or(libc::ENOMEM, |register| {
            register(before, in_parent, in_child, library)
        })
    }
}

unsafe extern "C" fn before() {
    // A thread that goes through the streams may allocate.
    streams::lock();
    // In the order in which a new part of the heap takes them.
    let locks = (small::small(), extension::keep_still(), adopted::adopted());
    // SAFETY: this thread holds the locks.
    unsafe { *LOCKS.0.get() = Some(locks) };
}

unsafe extern "C" fn after_in_parent() {
    // SAFETY: `before` has taken the locks on this thread.
    drop(unsafe { (*LOCKS.0.get()).take() });
    streams::unlock();
}

unsafe extern "C" fn after_in_child() {
    // SAFETY: `before` has taken the locks on the thread that forked this process, the only one
    // that is left.
    drop(unsafe { (*LOCKS.0.get()).take() });
    streams::make_free();
    placement::forked();
    match extension::is_served() {
        true => owner::own(),
        false => {
            owner::leave_behind();
            extension::stop();
        }
    }
}
