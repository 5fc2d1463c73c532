//! Reports objects to the plug-in, or has those of a placement kept in DRAM.

use std::ffi::{c_int, c_long, c_void};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use terrace_preload_protocol::placement::LEAST as LEAST_PLACED;
use terrace_preload_protocol::report::{FRAMES, LEAST_NAME, NUMBER, Report};

use super::dram;
use crate::placement;

/// Smallest object size reported, in bytes; `usize::MAX` until it is read.
static LEAST: AtomicUsize = AtomicUsize::new(usize::MAX);
/// Whether a placement says where objects are kept; none is reported then.
static KEEPS: AtomicBool = AtomicBool::new(false);
/// Whether the C library can find stacks without allocating.
static READY: AtomicBool = AtomicBool::new(false);

/// A function of the emulator, which loads this library with the program's environment, too.
const OF_THE_EMULATOR: &std::ffi::CStr = c"qemu_plugin_register_vcpu_init_cb";

/// Begins to report, unless this is the emulator itself.
pub fn begin() {
    // SAFETY: a name that ends in zero.
    if !unsafe { libc::dlsym(libc::RTLD_DEFAULT, OF_THE_EMULATOR.as_ptr()) }.is_null() {
        return;
    }
    if placement::begin() {
        KEEPS.store(true, Ordering::Relaxed);
        LEAST.store(LEAST_PLACED, Ordering::Relaxed);
        // SAFETY: a function that is there as long as the library, which is never unloaded. Without
        // room for it children have what they write of these objects on the node, and as many bytes
        // for others as their parent.
        unsafe { libc::pthread_atfork(None, None, Some(dram::forked)) };
        return;
    }
    let mut frames = [std::ptr::null_mut::<c_void>(); 4];
    // The first stack has the C library load what finds stacks.
    // SAFETY: room for as many addresses.
    unsafe { libc::backtrace(frames.as_mut_ptr(), frames.len() as c_int) };
    READY.store(true, Ordering::Relaxed);
    // SAFETY: a name that ends in zero; what is returned is null or ends in zero, and no thread
    // changes the environment before the program runs.
    let least = unsafe {
        let value = libc::getenv(LEAST_NAME.as_ptr());
        if value.is_null() {
            0
        } else {
            libc::strtoull(value, std::ptr::null_mut(), 10)
        }
    };
    if let Ok(least) = usize::try_from(least)
        && least > 0
    {
        LEAST.store(least, Ordering::Relaxed);
    }
}

/// Whether any object is reported.
pub fn is_reporting() -> bool {
    LEAST.load(Ordering::Relaxed) < usize::MAX
}

/// Whether objects of this size are reported.
#[inline]
pub fn is_large(bytes: usize) -> bool {
    bytes >= LEAST.load(Ordering::Relaxed)
}

/// Makes the system call, and leaves errno alone.
fn call(report: Report, arguments: [usize; 4]) {
    let [a, b, c, d] = arguments;
    // SAFETY: the thread's own number; a system call that Linux does not have.
    unsafe {
        let before = *libc::__errno_location();
        libc::syscall(NUMBER as c_long, report as c_long, a, b, c, d);
        *libc::__errno_location() = before;
    }
}

/// Reports an allocation, if it is large.
#[inline]
pub fn allocated(object: *mut c_void, bytes: usize) {
    if is_large(bytes) && !object.is_null() {
        report(object as usize, bytes);
    }
}

#[cold]
#[inline(never)]
fn report(object: usize, bytes: usize) {
    if KEEPS.load(Ordering::Relaxed) {
        return dram::allocated(object, bytes);
    }
    call(Report::Begin, [0; 4]);
    let mut frames = [std::ptr::null_mut::<c_void>(); FRAMES];
    let mut count = 0;
    if READY.load(Ordering::Relaxed) {
        // SAFETY: room for as many addresses.
        count = unsafe { libc::backtrace(frames.as_mut_ptr(), FRAMES as c_int) };
    }
    let count = usize::try_from(count).unwrap_or(0);
    call(
        Report::Allocated,
        [object, bytes, frames.as_ptr() as usize, count],
    );
}

/// Lets an object go that is about to be freed or moved, if it is kept.
pub fn ending(object: *mut c_void) {
    if KEEPS.load(Ordering::Relaxed) {
        dram::freed(object as usize);
    }
}

/// Reports a free. The allocation may not have been reported.
#[cold]
#[inline(never)]
pub fn freed(object: *mut c_void) {
    if KEEPS.load(Ordering::Relaxed) {
        return;
    }
    call(Report::Freed, [object as usize, 0, 0, 0]);
}
