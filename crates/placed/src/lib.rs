#![doc = include_str!("../README.md")]

mod ask;
mod kept;
mod known;

use std::ffi::{CStr, c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, AtomicUsize, Ordering};

/// The variable that holds a [`task`]: in the program's environment.
pub const VARIABLE: &str = "TERRACE_PLACEMENT";
const VARIABLE_TEXT: &CStr = c"TERRACE_PLACEMENT";

/// What the question begins with whether an object belongs in fast memory. Then come the number of
/// return addresses of the calls that allocate it, and these. The answer is 1 where it does, and 0
/// where it does not. All are words of 64 bits.
pub const PLACED: u64 = 0;

/// What the question begins with for more bytes in fast memory. Then come a number of the program
/// that the process runs, and the bytes. The answer is how many more the process may have: as many,
/// or more, or 0.
pub const MORE: u64 = 1;

/// The most return addresses of a stack.
pub const FRAMES: usize = 24;

/// The least size of an object that is placed, in bytes (Oskin & Loh 2015, III).
pub const LEAST: usize = 32 << 10;

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

/// Returns the text of the variable: the memory node that is the fast memory (`-` if it is all
/// DRAM), and the path of the socket that answers.
pub fn task(node: Option<u32>, socket: &str) -> String {
    let node = node.map_or("-".to_owned(), |node| node.to_string());
    format!("{node} {socket}")
}

/// Returns the memory node that is the fast memory; none if all DRAM is.
pub fn node() -> Option<u32> {
    u32::try_from(NODE.load(Ordering::Relaxed)).ok()
}

/// Reads the task, before the program begins, and returns whether there is one.
pub fn begin() -> bool {
    // SAFETY: a name that ends in zero; what is returned is null or ends in zero, and no thread
    // changes the environment before the program runs.
    let text = unsafe {
        let value = libc::getenv(VARIABLE_TEXT.as_ptr());
        if value.is_null() {
            return false;
        }
        CStr::from_ptr(value).to_bytes()
    };
    let mut words = text.splitn(2, |byte| *byte == b' ');
    let node = words.next().and_then(|word| std::str::from_utf8(word).ok());
    let node = node.and_then(|text| text.parse().ok());
    if !ask::use_socket(words.next().unwrap_or_default()) {
        return false;
    }
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
    bytes >= LEAST && READY.load(Ordering::Relaxed) && is_chosen() && kept::add(object, bytes, more)
}

/// Forgets all objects in a child of the process that was forked: they are its parent's.
pub fn forked() {
    kept::forget();
}

/// Returns by how many bytes this process may have more in fast memory: at least as many as this,
/// or 0.
fn more(bytes: usize) -> usize {
    let time = now(libc::CLOCK_MONOTONIC_COARSE);
    let since = time.saturating_sub(REFUSED_AT.load(Ordering::Relaxed));
    if since < PAUSE && bytes >= REFUSED.load(Ordering::Relaxed) {
        return 0;
    }
    let given = ask::more(PROGRAM.load(Ordering::Relaxed), bytes as u64);
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
    kept::each(act);
}

/// Forgets an object that is being freed, and returns its bytes; none if it is not in fast memory.
pub fn give_back(object: usize) -> Option<usize> {
    kept::remove(object)
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
    let hash = known::hash(addresses);
    known::answer(hash).unwrap_or_else(|| {
        // Where nobody answers the object stays where it is, and the question is asked again.
        let answer = ask::is_placed(addresses);
        if let Some(chosen) = answer {
            known::keep(hash, chosen);
        }
        answer == Some(true)
    })
}
