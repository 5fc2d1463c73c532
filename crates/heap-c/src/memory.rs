//! Objects that stay, and memory that does not.

use std::cell::Cell;
use std::ffi::{c_char, c_int, c_void};
use std::ptr::NonNull;
use std::sync::Arc;

use terrace_heap::{Error, Mapped, Place, Ptr, Result, Transaction};

use crate::error::{number, pointer, status};
use crate::handle::Handle;
use crate::registry::{find, on};
use crate::stack::{in_transaction, within};
use crate::text;
use crate::transaction::word;

/// The kind of a root that is a C program's: "C".
const ROOT_KIND: u16 = 0x43;

thread_local! {
    /// Whether the object of the last `nvm_persist_alloc` by root existed before.
    static FOUND: Cell<bool> = const { Cell::new(false) };
}

/// Returns the word of a C program's root. Its object may have any size, which may change.
fn place(handle: &Handle, name: &str) -> Result<Place<u8>> {
    let place = handle.heap.root::<[u8; 0]>(name, ROOT_KIND);
    place.map(Place::cast)
}

/// Returns the names and the words of the roots of C programs.
fn roots(handle: &Handle) -> Result<impl Iterator<Item = (String, Place<u8>)>> {
    let roots = handle.heap.roots()?.into_iter();
    let roots = roots.filter(|root| root.kind == ROOT_KIND);
    Ok(roots.map(|root| (root.name, root.place.cast())))
}

/// Makes an object and stores its pointer at `place`.
fn make(tx: &Transaction<Mapped>, place: Place<u8>, size: u64) -> Result<Ptr<u8>> {
    let made = tx.alloc_zeros(size)?;
    if let Err(error) = tx.write(place, &made) {
        // The transaction may go on without the object.
        tx.free(made)?;
        return Err(error);
    }
    Ok(made)
}

/// Returns the object of a root, and whether it existed before; makes it otherwise.
fn named(handle: &Arc<Handle>, size: u64, name: &str) -> Result<(Ptr<u8>, bool)> {
    let _naming = handle.naming.lock();
    let place = place(handle, name)?;
    within(handle, |tx| {
        let found: Ptr<u8> = tx.read(place)?;
        if found.is_null() {
            return Ok((make(tx, place, size)?, false));
        }
        let bytes = tx.bytes_of(found)?;
        if bytes < size {
            return Err(Error::usage(format!(
                "the object of the root {name:?} has {bytes} bytes, not {size}; nvm_realloc makes \
                 it larger"
            )));
        }
        Ok((found, true))
    })
}

/// # Safety
///
/// `root` is null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvm_persist_alloc(
    heap: *mut Handle,
    size: usize,
    root: *const c_char,
) -> *mut c_void {
    pointer(on(heap, |handle| {
        let (object, found) = match root.is_null() {
            // SAFETY: promised by the caller.
            false => named(&handle, size as u64, unsafe { text::name(root)? })?,
            true if handle.heap.in_transaction() => {
                (within(&handle, |tx| tx.alloc_zeros(size as u64))?, false)
            }
            true => {
                return Err(Error::usage(
                    "outside of a transaction an object needs a root, or a word that holds its \
                     offset (nvm_persist_alloc_at): a crash would lose it",
                ));
            }
        };
        FOUND.set(found);
        handle.address(object.offset())
    }))
}

#[unsafe(no_mangle)]
pub extern "C" fn nvm_found() -> c_int {
    FOUND.get().into()
}

#[unsafe(no_mangle)]
pub extern "C" fn nvm_persist_alloc_at(
    heap: *mut Handle,
    size: usize,
    at: *mut u64,
) -> *mut c_void {
    pointer(in_transaction(heap, |handle, tx| {
        let place: Place<u8> = word(handle, at)?;
        if !tx.read(place)?.is_null() {
            return Err(Error::usage(format!("the word at {at:?} is not 0")));
        }
        handle.address(make(tx, place, size as u64)?.offset())
    }))
}

/// # Safety
///
/// `root` is null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvm_root(heap: *mut Handle, root: *const c_char) -> *mut c_void {
    pointer(on(heap, |handle| {
        // SAFETY: promised by the caller.
        let name = unsafe { text::name(root)? };
        for (_, place) in roots(&handle)?.filter(|(found, _)| found == name) {
            let object = within(&handle, |tx| tx.read(place))?;
            if !object.is_null() {
                return handle.address(object.offset());
            }
        }
        Err(Error::usage(format!("no object has the root {name:?}")))
    }))
}

#[unsafe(no_mangle)]
pub extern "C" fn nvm_size(heap: *mut Handle, at: *const c_void) -> u64 {
    number(in_transaction(heap, |handle, tx| {
        tx.bytes_of(handle.object(at)?)
    }))
}

#[unsafe(no_mangle)]
pub extern "C" fn nvm_cap_alloc(heap: *mut Handle, size: usize) -> *mut c_void {
    pointer(|| {
        let memory = find(heap)?.heap.capacity_alloc(size);
        memory.map(|memory| memory.cast().as_ptr())
    })
}

/// Returns the name and the word of the root that points to an object, as this thread sees it.
fn root_of(
    handle: &Handle,
    tx: &Transaction<Mapped>,
    object: Ptr<u8>,
) -> Result<Option<(String, Place<u8>)>> {
    for (name, place) in roots(handle)? {
        if tx.read(place)? == object {
            return Ok(Some((name, place)));
        }
    }
    Ok(None)
}

/// # Safety
///
/// Nothing uses what lies at `at` any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvm_free(heap: *mut Handle, at: *mut c_void) -> c_int {
    status(on(heap, |handle| {
        let object = handle.object(at)?;
        let memory = NonNull::new(at.cast()).expect("what lies in the heap is not null");
        // SAFETY: promised by the caller.
        if unsafe { handle.heap.capacity_free(memory) }.is_ok() {
            return Ok(());
        }
        let root = within(&handle, |tx| {
            tx.free(object)?;
            let root = root_of(&handle, tx, object)?;
            if let Some((_, place)) = &root {
                tx.write(*place, &Ptr::NULL)?;
            }
            Ok(root)
        })?;
        match root {
            Some((name, _)) if !handle.heap.in_transaction() => {
                handle.heap.remove_root(&name).map(drop)
            }
            _ => Ok(()),
        }
    }))
}

#[unsafe(no_mangle)]
pub extern "C" fn nvm_free_at(heap: *mut Handle, at: *mut u64) -> c_int {
    status(in_transaction(heap, |handle, tx| {
        let place: Place<u8> = word(handle, at)?;
        let object = tx.read(place)?;
        if object.is_null() {
            return Ok(());
        }
        tx.free(object)?;
        tx.write(place, &Ptr::NULL)
    }))
}

/// Moves the object at `place` to one of another size.
fn resize(tx: &Transaction<Mapped>, place: Place<u8>, size: u64) -> Result<Ptr<u8>> {
    tx.change_directly()?;
    tx.resize(place, size)
}

/// # Safety
///
/// No other thread uses what lies at `at`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvm_realloc(
    heap: *mut Handle,
    at: *mut c_void,
    size: usize,
) -> *mut c_void {
    pointer(on(heap, |handle| {
        let object = handle.object(at)?;
        let memory = NonNull::new(at.cast()).expect("what lies in the heap is not null");
        if within(&handle, |tx| tx.bytes_of(object)).is_err() {
            // SAFETY: promised by the caller.
            let moved = unsafe { handle.heap.capacity_resize(memory, size)? };
            return Ok(moved.cast().as_ptr());
        }
        let moved = within(&handle, |tx| match root_of(&handle, tx, object)? {
            Some((_, place)) => resize(tx, place, size as u64),
            None => Err(Error::usage(
                "the object has no root, so that the word that holds its offset must be named: \
                 nvm_realloc_at",
            )),
        });
        handle.address(moved?.offset())
    }))
}

#[unsafe(no_mangle)]
pub extern "C" fn nvm_realloc_at(heap: *mut Handle, at: *mut u64, size: usize) -> *mut c_void {
    pointer(in_transaction(heap, |handle, tx| {
        handle.address(resize(tx, word(handle, at)?, size as u64)?.offset())
    }))
}

/// # Safety
///
/// `root` is null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvm_remove_root(heap: *mut Handle, root: *const c_char) -> c_int {
    status(on(heap, |handle| {
        // SAFETY: promised by the caller.
        let name = unsafe { text::name(root)? };
        let none = || Error::usage(format!("there is no root {name:?}"));
        let removed = handle.heap.remove_root(name)?;
        removed.then_some(()).ok_or_else(none)
    }))
}
