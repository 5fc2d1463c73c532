//! Open containers of any kind.

use std::ffi::{c_char, c_int};
use std::sync::Arc;

use terrace_heap::containers::{BTreeMap, Container as Opening};
use terrace_heap::{Error, Heap, Mapped, Result};

use crate::error::{NONE, OK, outcome};
use crate::handle::Handle;
use crate::registry::{self, Opened, find};
use crate::text;

/// A container, and the heap in which it lies.
pub struct Container<C> {
    pub handle: Arc<Handle>,
    pub container: C,
}

/// `nvm_tree`.
pub type Tree = Container<BTreeMap<[u8], [u8]>>;

/// # Safety
///
/// `name` is null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvm_remove(heap: *mut Handle, name: *const c_char) -> c_int {
    outcome(|| {
        let handle = find(heap)?;
        // SAFETY: promised by the caller.
        let name = unsafe { text::name(name)? };
        Ok(if handle.heap.remove(name)? { OK } else { NONE })
    })
}

impl<C: Opening<Mapped>> Container<C>
where
    Self: Opened,
{
    /// Opens the container of a name.
    ///
    /// # Safety
    ///
    /// `name` is null or a string.
    ///
    /// # Errors
    ///
    /// This thread is within a transaction of the heap; what `open` returns.
    pub unsafe fn open(
        heap: *mut Handle,
        name: *const c_char,
        open: impl FnOnce(&Heap, &str) -> Result<C>,
    ) -> Result<*mut Self> {
        let handle = find(heap)?;
        // SAFETY: promised by the caller.
        let name = unsafe { text::name(name)? };
        if handle.heap.in_transaction() {
            return Err(Error::usage(format!(
                "this thread has a transaction of the heap under way; open the {} {name:?} before \
                 it begins",
                Self::WHAT
            )));
        }
        let (number, container) = (handle.number, open(&handle.heap, name)?);
        registry::add(number, Self { handle, container })
    }
}
