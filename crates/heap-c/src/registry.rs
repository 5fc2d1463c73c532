//! What is open. Programs are handed numbers instead of addresses, and no number twice: so a handle
//! that was closed is known to be, whatever was opened since.

use std::any::Any;
use std::collections::BTreeMap;
use std::mem;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use terrace_heap::{Error, Result};

use crate::handle::Handle;

/// Something that a program opens and closes.
pub trait Opened: Any + Send + Sync {
    /// Its name in sentences.
    const WHAT: &'static str;
}

struct Entry {
    /// The number of its heap, or its own if it is one.
    heap: usize,
    what: Arc<dyn Any + Send + Sync>,
}

type Entries = BTreeMap<usize, Entry>;

static OPEN: RwLock<Entries> = RwLock::new(BTreeMap::new());

fn read() -> RwLockReadGuard<'static, Entries> {
    OPEN.read().unwrap_or_else(PoisonError::into_inner)
}

fn write() -> RwLockWriteGuard<'static, Entries> {
    OPEN.write().unwrap_or_else(PoisonError::into_inner)
}

/// A number that nothing has had.
pub fn number() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Adds a heap, which knows its number.
pub fn add_heap(heap: Handle) -> *mut Handle {
    let number = heap.number;
    let what = Arc::new(heap);
    let heap = number;
    write().insert(number, Entry { heap, what });
    ptr::without_provenance_mut(number)
}

/// Adds something that lies in a heap.
///
/// # Errors
///
/// The heap was closed meanwhile.
pub fn add<T: Opened>(heap: &Handle, new: T) -> Result<*mut T> {
    let (number, what) = (number(), Arc::new(new));
    let heap = heap.number;
    let mut open = write();
    if !open.contains_key(&heap) {
        return Err(closed::<Handle>());
    }
    open.insert(number, Entry { heap, what });
    Ok(ptr::without_provenance_mut(number))
}

/// What a handle stands for.
///
/// # Errors
///
/// It is null, or stands for nothing of this kind that is open.
pub fn find<T: Opened>(at: *const T) -> Result<Arc<T>> {
    if at.is_null() {
        return Err(Error::usage(format!("the {} is NULL", T::WHAT)));
    }
    let what = read().get(&at.addr()).map(|entry| Arc::clone(&entry.what));
    what.and_then(|what| what.downcast().ok())
        .ok_or_else(closed::<T>)
}

/// Removes what a handle stands for.
///
/// # Errors
///
/// As [`find`].
pub fn remove<T: Opened>(at: *const T) -> Result<()> {
    find(at)?;
    let removed = write().remove(&at.addr());
    removed.map(drop).ok_or_else(closed::<T>)
}

/// Removes a heap and all that lies in it.
pub fn remove_heap(heap: &Handle) {
    let mut open = write();
    let of_it = |(_, entry): &(usize, Entry)| entry.heap == heap.number;
    let (gone, kept): (Entries, Entries) = mem::take(&mut *open).into_iter().partition(of_it);
    *open = kept;
    drop(open);
    drop(gone);
}

fn closed<T: Opened>() -> Error {
    let what = T::WHAT;
    Error::usage(format!("that is no {what}, or one that was closed"))
}
