//! Extensions that are open. Programs get numbers instead of addresses, and no number twice, so
//! that a handle which was stopped is recognized, whatever was started since.

use std::collections::BTreeMap;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use terrace_base::{Error, Result, lock};
use terrace_region::{Extension, Region};

/// An open extension.
pub struct Open {
    pub extension: Extension,
    /// By the address of the first byte.
    pub regions: Mutex<BTreeMap<usize, Region>>,
}

/// `terrace_extension`; programs have a pointer to it and no more.
pub struct Handle(());

/// By number, and the number of the next one.
static OPEN: Mutex<(BTreeMap<usize, Arc<Open>>, usize)> = Mutex::new((BTreeMap::new(), 1));

/// The process that has extensions; 0 if there was none yet.
static OWNER: AtomicU32 = AtomicU32::new(0);

/// Checks that this is not a child of a process that has extensions: it has their regions, but
/// locks of calls may be held in it for ever.
///
/// # Errors
/// Returns a usage error if it is.
pub fn check_process() -> Result<()> {
    let (none, us) = (0, std::process::id());
    let owner = OWNER.compare_exchange(none, us, Ordering::Relaxed, Ordering::Relaxed);
    match owner {
        Ok(_) => Ok(()),
        Err(owner) if owner == us => Ok(()),
        Err(_) => Err(Error::usage(
            "a forked child uses the regions that it has, and makes no calls; execute a program that starts its own extension",
        )),
    }
}

/// Adds an extension.
pub fn add(extension: Extension) -> *mut Handle {
    let regions = Mutex::default();
    let mut open = lock(&OPEN);
    let number = open.1;
    open.1 += 1;
    open.0.insert(number, Arc::new(Open { extension, regions }));
    ptr::without_provenance_mut(number)
}

/// Returns the extension of a handle.
///
/// # Errors
/// Returns a usage error if there is none, or this is a forked child.
pub fn find(handle: *mut Handle) -> Result<Arc<Open>> {
    check_process()?;
    lock(&OPEN)
        .0
        .get(&handle.addr())
        .cloned()
        .ok_or_else(closed)
}

/// Takes the extension of a handle away.
///
/// # Errors
/// Returns those of [`find`].
pub fn remove(handle: *mut Handle) -> Result<Arc<Open>> {
    check_process()?;
    lock(&OPEN).0.remove(&handle.addr()).ok_or_else(closed)
}

fn closed() -> Error {
    Error::usage("there is no such extension: it was not started, or is stopped already")
}
