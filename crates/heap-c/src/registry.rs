//! What is open. Programs get numbers instead of addresses, and no number twice, so a handle that
//! was closed is recognized as closed whatever was opened since.

use std::any::Any;
use std::collections::BTreeMap;
use std::mem;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::RwLock;
use terrace_heap::{Error, Result};

/// A thing that a program opens and closes.
pub trait Opened: Any + Send + Sync {
    /// Its name in sentences.
    const WHAT: &'static str;
}

struct Entry {
    /// The number of its heap, or its own if it is a heap.
    heap: usize,
    what: Arc<dyn Any + Send + Sync>,
}

type Entries = BTreeMap<usize, Entry>;

static OPEN: RwLock<Entries> = RwLock::new(BTreeMap::new());

/// Returns a number that nothing has had.
pub fn number() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Adds a heap, which is made for its number.
pub fn add_heap<H: Opened>(heap: impl FnOnce(usize) -> H) -> *mut H {
    let number = number();
    let what = Arc::new(heap(number));
    OPEN.write().insert(number, Entry { heap: number, what });
    ptr::without_provenance_mut(number)
}

/// Adds a thing that lies in the heap of a number.
///
/// # Errors
///
/// The heap was closed meanwhile.
pub fn add<T: Opened>(heap: usize, new: T) -> Result<*mut T> {
    let (number, what) = (number(), Arc::new(new));
    let mut open = OPEN.write();
    if !open.contains_key(&heap) {
        return Err(closed("heap"));
    }
    open.insert(number, Entry { heap, what });
    Ok(ptr::without_provenance_mut(number))
}

/// Returns what a handle stands for.
///
/// # Errors
///
/// The handle is null, or stands for nothing of this kind that is open.
pub fn find<T: Opened>(at: *const T) -> Result<Arc<T>> {
    if at.is_null() {
        return Err(Error::usage(format!("the {} is NULL", T::WHAT)));
    }
    let what = OPEN
        .read()
        .get(&at.addr())
        .map(|entry| Arc::clone(&entry.what));
    what.and_then(|what| what.downcast().ok())
        .ok_or_else(|| closed(T::WHAT))
}

/// Returns a call of `work` with what a handle stands for, which fails as [`find`] does.
pub fn on<T: Opened, R>(
    at: *const T,
    work: impl FnOnce(Arc<T>) -> Result<R>,
) -> impl FnOnce() -> Result<R> {
    move || work(find(at)?)
}

/// Removes what a handle stands for.
///
/// # Errors
///
/// Same as [`find`].
pub fn remove<T: Opened>(at: *const T) -> Result<()> {
    find(at)?;
    let removed = OPEN.write().remove(&at.addr());
    removed.map(drop).ok_or_else(|| closed(T::WHAT))
}

/// Removes the heap of a number and everything that lies in it.
pub fn remove_heap(number: usize) {
    let mut open = OPEN.write();
    let of_it = |(_, entry): &(usize, Entry)| entry.heap == number;
    let (gone, kept): (Entries, Entries) = mem::take(&mut *open).into_iter().partition(of_it);
    *open = kept;
    drop(open);
    drop(gone);
}

fn closed(what: &str) -> Error {
    Error::usage(format!("that is no {what}, or one that was closed"))
}
