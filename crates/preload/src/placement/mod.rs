//! The placement in force, as the command answers (`questions`): which objects belong in fast
//! memory (`answers`), and which are there (`residents`).
//!
//! A placement file names the calls that lead to an allocation, by function and line. The library
//! in the program knows return addresses. It asks `terrace`, which started the program and reads
//! the symbols of its files: once for each different stack, over a socket, so that nothing is
//! parsed, kept open or allocated in the program. Answers are kept in a table of fixed size, and so
//! are the objects in fast memory. For their bytes it asks as well, so that all processes of a run
//! together never exceed those of the placement; what a process was given it has until it ends.
//!
//! Each function may be called from within `malloc`, by any thread: nothing here allocates, locks,
//! or changes `errno`.

mod answers;
mod questions;
mod residents;

use std::ffi::{CStr, c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, AtomicUsize, Ordering};

use terrace_preload_protocol::placement::{FRAMES, LEAST, VARIABLE_NAME, parse};

/// Whether objects are placed in this process, and the C library can find stacks without
/// allocating.
static READY: AtomicBool = AtomicBool::new(false);

/// The memory node that is the fast memory; negative if all DRAM is.
static NODE: AtomicI32 = AtomicI32::new(-1);

/// A number that no other program of this process has.
static PROGRAM: AtomicU64 = AtomicU64::new(0);

/// The bytes that there were not, at the last question for more, and its time in nanoseconds.
static REFUSED: AtomicUsize = AtomicUsize::new(usize::MAX);
static REFUSED_AT: AtomicU64 = AtomicU64::new(0);

/// How long as many bytes are not asked for again, in nanoseconds.
const PAUSE: u64 = 10_000_000;

/// Returns the memory node that is the fast memory; none if all DRAM is.
pub fn node() -> Option<u32> {
    u32::try_from(NODE.load(Ordering::Relaxed)).ok()
}

/// Reads the task, before the program begins, and returns whether there is one.
pub fn begin() -> bool {
    // SAFETY: a name that ends in zero; what is returned is null or ends in zero, and no thread
    // changes the environment before the program runs.
    let text = unsafe {
        let value = libc::getenv(VARIABLE_NAME.as_ptr());
        if value.is_null() {
            return false;
        }
        CStr::from_ptr(value).to_bytes()
    };
    let (node, socket) = parse(text);
    if !questions::use_socket(socket) {
        return false;
    }
    let node = node.and_then(|node| i32::try_from(node).ok());
    NODE.store(node.unwrap_or(-1), Ordering::Relaxed);
    PROGRAM.store(now(libc::CLOCK_MONOTONIC), Ordering::Relaxed);
    let mut frames = [std::ptr::null_mut::<c_void>(); 4];
    // The first stack has the C library load what finds stacks.
    // SAFETY: room for as many addresses.
    unsafe { libc::backtrace(frames.as_mut_ptr(), frames.len() as c_int) };
    READY.store(true, Ordering::Relaxed);
    true
}

/// Whether the object that is being allocated belongs in fast memory, and has room there; then it
/// is noted.
pub fn take(object: usize, bytes: usize) -> bool {
    bytes >= LEAST
        && READY.load(Ordering::Relaxed)
        && is_chosen()
        && residents::add(object, bytes, more)
}

/// Forgets all objects in a child of the process that was forked: they are its parent's.
pub fn forked() {
    residents::forget();
}

/// Returns by how many bytes this process may have more in fast memory: at least as many as this,
/// or 0.
fn more(bytes: usize) -> usize {
    let time = now(libc::CLOCK_MONOTONIC_COARSE);
    let since = time.saturating_sub(REFUSED_AT.load(Ordering::Relaxed));
    if since < PAUSE && bytes >= REFUSED.load(Ordering::Relaxed) {
        return 0;
    }
    let given = questions::more(PROGRAM.load(Ordering::Relaxed), bytes as u64);
    if given == 0 {
        REFUSED.store(bytes, Ordering::Relaxed);
        REFUSED_AT.store(time, Ordering::Relaxed);
    }
    given as usize
}

/// Returns the time of a clock in nanoseconds.
fn now(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: room for a time.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Calls `act` with each object in fast memory, its address and bytes.
pub fn each(act: impl FnMut(usize, usize)) {
    residents::each(act);
}

/// Forgets an object that is being freed, and returns its bytes; none if it is not in fast memory.
pub fn give_back(object: usize) -> Option<usize> {
    residents::remove(object)
}

/// Whether the calls that led here are those of a site in fast memory.
#[cold]
#[inline(never)]
fn is_chosen() -> bool {
    let mut frames = [std::ptr::null_mut::<c_void>(); FRAMES];
    // SAFETY: room for as many addresses.
    let count = unsafe { libc::backtrace(frames.as_mut_ptr(), FRAMES as c_int) };
    let addresses = frames.map(|frame| frame as u64);
    let addresses = &addresses[..usize::try_from(count).unwrap_or(0)];
    let hash = answers::hash(addresses);
    answers::answer(hash).unwrap_or_else(|| {
        // Where nobody answers the object stays where it is, and the question is asked again.
        let answer = questions::is_placed(addresses);
        if let Some(chosen) = answer {
            answers::keep(hash, chosen);
        }
        answer == Some(true)
    })
}
