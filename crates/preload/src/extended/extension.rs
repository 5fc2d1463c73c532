//! The extended memory of this process: started with the first mapping that goes into it.

use std::fs::File;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use terrace_extend::task::{self, Task};
use terrace_region::{Board, Extension};

use super::adopted::adopted;
use super::{callers, owner};
use crate::placement;

/// The least size of a mapping that is extended: more than there is until [`begin`], and where
/// nothing is extended any more.
static LEAST: AtomicUsize = AtomicUsize::new(usize::MAX);

static TASK: OnceLock<Task> = OnceLock::new();
static EXTENSION: OnceLock<Extension> = OnceLock::new();

/// Whether a thread starts the extension. Mappings that others make meanwhile are not extended.
static STARTING: AtomicBool = AtomicBool::new(false);

/// Held while a mapping moves, and while another is handed over, which may have come to the old
/// address: it must not be taken out of the table with the one that was there.
static MOVES: Mutex<()> = Mutex::new(());

/// Waits until no mapping moves, and keeps others from it.
pub fn keep_still() -> MutexGuard<'static, ()> {
    MOVES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the task asks of other parts.
pub struct Begun {
    /// Whether small blocks lie in extended memory.
    pub small: bool,
}

/// Reads the task, before the program begins, and returns it as far as other parts need it.
pub fn begin() -> Option<Begun> {
    let (least, small) = match (Task::given(), task::least_of_recorded()) {
        (Some(task), _) => {
            let given = (task.least, task.small);
            let _ = TASK.set(task);
            given
        }
        (None, Some(least)) => (least, true),
        (None, None) => return None,
    };
    // Blocks from this size on have a mapping of their own, whatever was freed before.
    // SAFETY: the call takes integers.
    unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, least.0 as libc::c_int) };
    LEAST.store(least.0 as usize, Ordering::Relaxed);
    callers::begin();
    placement::begin();
    Some(Begun { small })
}

/// Whether a mapping of this size is extended.
pub fn is_large(bytes: usize) -> bool {
    bytes >= LEAST.load(Ordering::Relaxed)
}

/// Extends nothing from now on.
pub fn stop() {
    LEAST.store(usize::MAX, Ordering::Relaxed);
}

/// Puts the new mapping of an object of `object` bytes into extended memory, as [`adopt`] does,
/// unless a placement has the object stay in DRAM.
///
/// # Safety
/// As that of [`adopt`].
pub unsafe fn adopt_object(start: usize, bytes: usize, object: usize) {
    if !placement::take(start, object) {
        // SAFETY: the caller's promise.
        unsafe { adopt(start, bytes) };
    }
}

/// Puts a new private anonymous mapping of whole pages into extended memory, if that is possible.
///
/// # Safety
/// The mapping is new, and this library is told of its end.
pub unsafe fn adopt(start: usize, bytes: usize) {
    let Some(extension) = extension() else {
        return;
    };
    let _still = keep_still();
    // SAFETY: the caller's promise.
    if unsafe { extension.adopt(start as *mut u8, bytes) }.is_ok() {
        adopted().add(start, start + bytes);
    }
}

/// Takes a range out of extended memory that is about to be unmapped.
pub fn forget(start: usize, bytes: usize) {
    placement::give_back(start);
    let Some(extension) = EXTENSION.get() else {
        return;
    };
    // The table's lock is not held while the extension is asked, which may take the time of a
    // transfer.
    let any = adopted().remove(start, start.saturating_add(bytes));
    if any && !owner::is_left_behind() {
        extension.release(start as *mut u8, bytes);
    }
}

/// Whether the faults of this process are served, if it has extended memory.
pub fn is_served() -> bool {
    EXTENSION.get().is_none_or(Extension::is_served)
}

/// Whether a part of a range is in extended memory.
pub fn holds(start: usize, bytes: usize) -> bool {
    EXTENSION.get().is_some() && adopted().touches(start, start.saturating_add(bytes))
}

/// Has `change` move a range that is in extended memory; it returns where the range is now and its
/// size, or `None` if it was not moved or is no longer to be extended.
pub fn relocate<T>(
    start: usize,
    bytes: usize,
    change: impl FnOnce() -> (T, Option<(usize, usize)>),
) -> T {
    let Some(extension) = EXTENSION.get().filter(|_| !owner::is_left_behind()) else {
        return change().0;
    };
    let _still = keep_still();
    let (result, moved) = extension.while_suspended(change);
    if let Some((to, size)) = moved {
        adopted().remove(start, start + bytes);
        // SAFETY: the range is where the program has moved it, and this library is told of its end.
        if unsafe { extension.grow(to as *mut u8, size) }.is_ok() {
            adopted().add(to, to + size);
        }
    }
    result
}

/// Returns the extension, and starts it if need be.
fn extension() -> Option<&'static Extension> {
    if let Some(extension) = EXTENSION.get() {
        return (!owner::is_left_behind()).then_some(extension);
    }
    // A program that is recorded has no task, and is extended by nothing.
    let task = TASK.get()?;
    if STARTING.swap(true, Ordering::Relaxed) {
        return None;
    }
    match start(task) {
        Some(extension) => {
            let _ = EXTENSION.set(extension);
            // SAFETY: a function that may be called at the end of the process.
            unsafe { libc::atexit(finish) };
            owner::explain_faults();
            EXTENSION.get()
        }
        None => {
            stop();
            None
        }
    }
}

/// Starts the extension, unless another process of the program has one.
fn start(task: &Task) -> Option<Extension> {
    let file = File::options()
        .read(true)
        .write(true)
        .open(&task.board)
        .ok()?;
    let board = Board::open(&file).ok()?;
    if !board.claim(std::process::id()) {
        return None;
    }
    let extension = task
        .settings()
        .and_then(|settings| Extension::start_with(settings, Arc::new(board)));
    extension
        .inspect_err(|error| eprintln!("terrace: {error}; the program runs in DRAM alone"))
        .ok()
}

/// Has the last evictions judged before the process ends.
extern "C" fn finish() {
    if let Some(extension) = EXTENSION.get() {
        extension.finish();
    }
}
