//! Keeps the objects of a placement in DRAM, under `terrace run --place`: locked there, or on a
//! memory node.
//!
//! A locked page is not locked in a child of the process, and a page on the node is on the node of
//! the others there as soon as the child writes it: what the placement keeps is that of one
//! process.

use std::ffi::c_void;

use libc::c_long;

use crate::mappings::PAGE;
use crate::placement;

/// Locks pages when they are touched, and not before.
const ON_FAULT: c_long = libc::MLOCK_ONFAULT as c_long;

/// Keeps an object that was allocated in DRAM, if the placement says so.
pub fn allocated(object: usize, bytes: usize) {
    if !placement::take(object, bytes) {
        return;
    }
    let Some((start, length)) = pages(object, bytes) else {
        return;
    };
    let kept = match placement::node() {
        Some(node) => prefer(start, length, node),
        None => lock(start, length),
    };
    if !kept {
        placement::give_back(object);
    }
}

/// Lets the pages of an object go, which is about to be freed.
pub fn freed(object: usize) {
    let bytes = placement::give_back(object);
    if let Some((start, length)) = bytes.and_then(|bytes| pages(object, bytes)) {
        match placement::node() {
            Some(_) => prefer_none(start, length),
            None => unlock(start, length),
        }
    }
}

/// Has what a child of this process writes come from where its other memory does. Called in the
/// child by the C library.
pub extern "C" fn forked() {
    if placement::node().is_some() {
        placement::each(|object, bytes| {
            if let Some((start, length)) = pages(object, bytes) {
                prefer_none(start, length);
            }
        });
    }
    placement::forked();
}

/// Returns the whole pages of an object, if it has any.
fn pages(object: usize, bytes: usize) -> Option<(usize, usize)> {
    let start = object.next_multiple_of(PAGE);
    let end = (object + bytes) / PAGE * PAGE;
    (start < end).then(|| (start, end - start))
}

fn lock(start: usize, length: usize) -> bool {
    // SAFETY: the call changes no contents of memory.
    quietly(|| unsafe { libc::syscall(libc::SYS_mlock2, start, length, ON_FAULT) }) == 0
}

fn unlock(start: usize, length: usize) {
    // SAFETY: the call changes no contents of memory.
    quietly(|| unsafe { c_long::from(libc::munlock(start as *const c_void, length)) });
}

/// The preferred node of memory: others only give what that has no room for (linux/mempolicy.h).
const MPOL_PREFERRED: c_long = 1;
const MPOL_DEFAULT: c_long = 0;
/// What is there already is moved.
const MPOL_MF_MOVE: c_long = 1 << 1;
/// Nodes that a set of them can name.
const MOST_NODES: usize = 1024;

/// Has memory come from a node, if that has room, and moves there what there is.
fn prefer(start: usize, length: usize, node: u32) -> bool {
    let mut nodes = [0_u64; MOST_NODES / 64];
    let Some(word) = nodes.get_mut(node as usize / 64) else {
        return false;
    };
    *word = 1 << (node % 64);
    bind(start, length, MPOL_PREFERRED, &nodes) == 0
}

/// Has memory come from where that of the process does, and moves there what there is.
fn prefer_none(start: usize, length: usize) {
    bind(start, length, MPOL_DEFAULT, &[]);
}

/// mbind(2).
fn bind(start: usize, length: usize, mode: c_long, nodes: &[u64]) -> c_long {
    // The kernel counts one bit less than it is told.
    let bits = nodes.len() * 64 + usize::from(!nodes.is_empty());
    let nodes = match nodes {
        [] => std::ptr::null(),
        nodes => nodes.as_ptr(),
    };
    // SAFETY: the call changes no contents of memory; the set has the bits that it is said to have,
    // or is null.
    quietly(|| unsafe {
        libc::syscall(
            libc::SYS_mbind,
            start,
            length,
            mode,
            nodes,
            bits,
            MPOL_MF_MOVE,
        )
    })
}

/// Makes a call, and leaves errno alone.
fn quietly(call: impl FnOnce() -> c_long) -> c_long {
    // SAFETY: the thread's own number.
    unsafe {
        let before = *libc::__errno_location();
        let result = call();
        *libc::__errno_location() = before;
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_whole() {
        assert_eq!(pages(4096, 8192), Some((4096, 8192)));
        assert_eq!(pages(4097, 8192), Some((8192, 4096)));
        assert_eq!(pages(4112, 3 * 4096 - 16), Some((8192, 2 * 4096)));
        assert_eq!(pages(4097, 4096), None);
    }
}
