#![doc = include_str!("../README.md")]

mod ask;
mod kept;
mod known;

use std::ffi::{CStr, c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

/// The variable that holds a [`task`]: in the program's environment.
pub const VARIABLE: &str = "TERRACE_PLACEMENT";
const VARIABLE_TEXT: &CStr = c"TERRACE_PLACEMENT";

/// The most return addresses of a stack. A question is their number and these, in 64 bits each; its answer a byte, 1
/// where the object belongs in fast memory.
pub const FRAMES: usize = 24;

/// The least size of an object that is placed, in bytes (Oskin & Loh 2015, III).
pub const LEAST: usize = 32 << 10;

/// Whether objects are placed in this process, and the C library can find stacks without allocating.
static READY: AtomicBool = AtomicBool::new(false);

/// The memory node that is the fast memory; negative if all DRAM is.
static NODE: AtomicI32 = AtomicI32::new(-1);

/// Returns the text of the variable: the most bytes in fast memory, the memory node that is the fast memory (`-` if it is
/// all DRAM), and the path of the socket that answers.
pub fn task(bytes: u64, node: Option<u32>, socket: &str) -> String {
    let node = node.map_or("-".to_owned(), |node| node.to_string());
    format!("{bytes} {node} {socket}")
}

/// Returns the memory node that is the fast memory; none if all DRAM is.
pub fn node() -> Option<u32> {
    u32::try_from(NODE.load(Ordering::Relaxed)).ok()
}

/// Reads the task, before the program begins, and returns whether there is one.
pub fn begin() -> bool {
    // SAFETY: a name that ends in zero; what is returned is null or ends in zero, and no thread changes the environment
    // before the program runs.
    let text = unsafe {
        let value = libc::getenv(VARIABLE_TEXT.as_ptr());
        if value.is_null() {
            return false;
        }
        CStr::from_ptr(value).to_bytes()
    };
    let mut words = text.splitn(3, |byte| *byte == b' ');
    let mut word = || words.next().and_then(|word| std::str::from_utf8(word).ok());
    let bytes = word().and_then(|text| text.parse().ok());
    let node = word().and_then(|text| text.parse().ok());
    let (Some(bytes), true) = (bytes, ask::use_socket(words.next().unwrap_or_default())) else {
        return false;
    };
    NODE.store(node.unwrap_or(-1), Ordering::Relaxed);
    kept::allow(bytes);
    let mut frames = [std::ptr::null_mut::<c_void>(); 4];
    // The first stack has the C library load what finds stacks.
    // SAFETY: room for as many addresses.
    unsafe { libc::backtrace(frames.as_mut_ptr(), frames.len() as c_int) };
    READY.store(true, Ordering::Relaxed);
    true
}

/// Whether the object that is being allocated belongs in fast memory, and has room there; then it is noted.
pub fn take(object: usize, bytes: usize) -> bool {
    bytes >= LEAST && READY.load(Ordering::Relaxed) && is_chosen() && kept::add(object, bytes)
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
        let answer = ask::ask(addresses);
        if let Some(chosen) = answer {
            known::keep(hash, chosen);
        }
        answer == Some(true)
    })
}
