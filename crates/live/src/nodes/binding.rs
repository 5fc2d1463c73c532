//! The kernel's interface to nodes: where memory comes from, where pages lie, and moving them.
//!
//! set_mempolicy(2), mbind(2), move_pages(2), numa_maps(5).

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;

use terrace_base::{Context, Result, answered};
use terrace_policy::{PAGE_BYTES, Page, Space};

use crate::system::cpus::Cpus;
use crate::system::memory::Mapping;
use crate::watch::pagemap::{is_anonymous, read_entries};

/// Memory comes from these nodes alone (linux/mempolicy.h).
const MPOL_BIND: libc::c_int = 2;
/// Memory comes from the node of the processor, and hint faults move nothing.
const MPOL_LOCAL: libc::c_int = 4;
/// The kernel makes hint faults all the same (Linux 5.12); it moves pages among the bound nodes
/// alone, here one.
const MPOL_F_NUMA_BALANCING: libc::c_int = 1 << 13;
/// Pages that several processes map are moved as well.
const MPOL_MF_MOVE_ALL: libc::c_int = 1 << 2;

/// Nodes that a set of them can name.
const MOST_NODES: usize = 1024;

/// How often marked pages are read before they count as not found.
const READINGS: usize = 3;

/// A set with one node.
#[derive(Clone, Copy)]
struct Mask([u64; MOST_NODES / 64]);

impl Mask {
    fn of(node: u32) -> Self {
        let mut words = [0; MOST_NODES / 64];
        words[node as usize / 64 % words.len()] |= 1 << (node % 64);
        Self(words)
    }
}

/// Has memory of the calling thread, and of its children and the programs that they become, come
/// from `node` alone. Allocates nothing, so that it may be called between fork and exec.
///
/// # Errors
/// The kernel's.
pub(crate) fn bind(node: u32) -> io::Result<()> {
    let mask = Mask::of(node);
    let mode = MPOL_BIND | MPOL_F_NUMA_BALANCING;
    // SAFETY: the mask lives through the call and has as many bits as it is said to have; the
    // kernel counts one less.
    let done = unsafe {
        libc::syscall(
            libc::SYS_set_mempolicy,
            mode,
            mask.0.as_ptr(),
            MOST_NODES + 1,
        )
    };
    answered(done).map(drop)
}

/// Checks that memory can be bound to a node, on a thread that ends.
///
/// # Errors
/// A failure if it cannot.
pub(crate) fn check(node: u32) -> Result<()> {
    let tried = std::thread::spawn(move || bind(node)).join();
    let bound = tried.unwrap_or_else(|_| Err(io::ErrorKind::Other.into()));
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    bound.or_fail(|| match allowed(&status) {
        Some(nodes) if !is_among(node, nodes) => format!(
            "this process may have memory of node {nodes} alone, not of node {node}; add it to cpuset.mems of its group"
        ),
        _ => format!(
            "cannot bind memory to node {node} (this needs Linux 5.12 with CONFIG_NUMA_BALANCING)"
        ),
    })
}

/// Returns the nodes that a process may have memory on, as its status lists them.
fn allowed(status: &str) -> Option<&str> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("Mems_allowed_list:"));
    line.map(str::trim)
}

/// Whether a node is in a list such as `0-1,3`.
fn is_among(node: u32, list: &str) -> bool {
    Cpus::parse(list).is_some_and(|nodes| nodes.iter().any(|id| id as u32 == node))
}

/// Has the memory of a mapping come from `node` alone.
///
/// # Errors
/// The kernel's.
pub(super) fn bind_mapping(mapping: &Mapping, node: u32) -> io::Result<()> {
    let mask = Mask::of(node);
    let start = mapping.start().as_ptr();
    // SAFETY: concerns a mapping of ours, and changes where its pages come from, not what they
    // hold.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mbind,
            start,
            mapping.bytes(),
            MPOL_BIND,
            mask.0.as_ptr(),
            MOST_NODES + 1,
            0,
        )
    };
    answered(done).map(drop)
}

/// Returns the first pages of the mappings of a process whose memory it has come from `node`, if
/// there is room.
pub(super) fn bound_to(space: Space, node: u32) -> BTreeSet<u64> {
    let maps = fs::read_to_string(format!("/proc/{}/numa_maps", space.0)).unwrap_or_default();
    let preferred = format!("prefer:{node}");
    let starts = maps.lines().filter_map(|line| bound(line, &preferred));
    starts.collect()
}

/// Parses a line of numa_maps: `start policy ...`; returns the first page of a mapping with this
/// policy.
fn bound(line: &str, policy: &str) -> Option<u64> {
    let mut fields = line.split_whitespace();
    let start = u64::from_str_radix(fields.next()?, 16).ok()?;
    (fields.next()? == policy).then_some(Page::of(start).0)
}

/// Moves pages of a process to `node`, or only looks where they lie if that is `None`. Writes for
/// each page the node where it lies then, or a negative error number.
///
/// # Errors
/// The kernel's if no page was looked at, as `ESRCH` if the process has ended.
pub(crate) fn move_pages(
    space: Space,
    pages: &[u64],
    node: Option<u32>,
    status: &mut Vec<i32>,
) -> io::Result<()> {
    let addresses: Vec<u64> = pages.iter().map(|page| page * PAGE_BYTES).collect();
    let nodes = node.map(|node| vec![node as i32; pages.len()]);
    let nodes = nodes
        .as_ref()
        .map_or(std::ptr::null(), |nodes| nodes.as_ptr());
    status.clear();
    // A page without an answer, as the kernel stopped before it, is not moved.
    status.resize(pages.len(), -libc::EAGAIN);
    // SAFETY: the three arrays have as many entries as the kernel is told, and live through the
    // call; addresses are those of another process, which nothing here follows.
    let done = unsafe {
        libc::syscall(
            libc::SYS_move_pages,
            space.0,
            pages.len(),
            addresses.as_ptr(),
            nodes,
            status.as_mut_ptr(),
            MPOL_MF_MOVE_ALL,
        )
    };
    // A positive number is that of the pages that were not moved.
    answered(done).map(drop)
}

/// Has the calling thread take memory from its own node, and the kernel move no page for it when it
/// meets a hint fault: [`find_marked`] would draw pages to the node of the processor otherwise.
///
/// # Errors
/// The kernel's.
pub(super) fn draw_nothing() -> io::Result<()> {
    // SAFETY: concerns where memory of this thread comes from, not what it holds; no set is read.
    answered(unsafe { libc::syscall(libc::SYS_set_mempolicy, MPOL_LOCAL, 0, 0) }).map(drop)
}

/// As [`move_pages`], but finds pages as well that are marked for a hint fault. Linux 6.1 to 6.4
/// say of these that they are not there (`gup_can_follow_protnone`; mended by
/// `FOLL_HONOR_NUMA_FAULT`), so that a page that is not used could neither come nor go. Such a page
/// is read, which takes its mark away; the kernel marks all of a process at once, so it may have
/// its mark again when it is asked for.
///
/// # Errors
/// See [`move_pages`].
pub(super) fn find_marked(
    space: Space,
    pages: &[u64],
    node: Option<u32>,
    status: &mut Vec<i32>,
) -> io::Result<()> {
    move_pages(space, pages, node, status)?;
    let mut missing: Vec<usize> = (0..pages.len()).collect();
    let mut found = Vec::new();
    for _ in 0..READINGS {
        missing.retain(|index| status[*index] == -libc::ENOENT);
        if missing.is_empty() {
            break;
        }
        let Ok(tables) = File::open(format!("/proc/{}/pagemap", space.0)) else {
            break;
        };
        missing.retain(|index| is_there(&tables, pages[*index]) && read(space, pages[*index]));
        let marked: Vec<u64> = missing.iter().map(|index| pages[*index]).collect();
        // If the process has ended since, the last answer holds.
        if move_pages(space, &marked, node, &mut found).is_err() {
            break;
        }
        for (index, node) in missing.iter().zip(&found) {
            status[*index] = *node;
        }
    }
    Ok(())
}

fn is_there(tables: &File, page: u64) -> bool {
    let mut entry = [0];
    read_entries(tables, page, &mut entry) == Some(1) && is_anonymous(entry[0])
}

/// Reads a byte of a page of a process; returns whether that could be done.
fn read(space: Space, page: u64) -> bool {
    let mut byte = 0_u8;
    let here = libc::iovec {
        iov_base: (&raw mut byte).cast(),
        iov_len: 1,
    };
    let there = libc::iovec {
        iov_base: (page * PAGE_BYTES) as *mut libc::c_void,
        iov_len: 1,
    };
    // SAFETY: the kernel writes one byte, to `byte`; the other address is of another process, and
    // nothing here follows it.
    unsafe { libc::process_vm_readv(space.0 as libc::pid_t, &here, 1, &there, 1, 0) == 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_are_found_by_their_policy() {
        let line = "7f0000001000 prefer:0 anon=2048 dirty=2048 N0=2048 kernelpagesize_kB=4";
        assert_eq!(bound(line, "prefer:0"), Some(0x7f0000001));
        for other in [
            "7f0000001000 prefer:01 anon=1",
            "7f0000001000 bind:0",
            "x prefer:0",
            "7f0000001000",
            "",
        ] {
            assert_eq!(bound(other, "prefer:0"), None, "{other}");
        }
    }

    #[test]
    fn the_nodes_that_a_process_may_use() {
        let status = "Name:\tcat\nMems_allowed:\t00000000,0000000b\nMems_allowed_list:\t0-1,3\nvoluntary_ctxt_switches:\t1";
        let nodes = allowed(status).unwrap();
        assert!(is_among(1, nodes) && is_among(3, nodes) && !is_among(2, nodes));
        assert_eq!(allowed("Name:\tcat"), None);
        let own = fs::read_to_string("/proc/self/status").unwrap();
        assert!(allowed(&own).is_none_or(|nodes| !nodes.is_empty()));
    }

    #[test]
    fn own_pages_are_found_on_a_node() {
        let here = vec![1_u8; 1 << 16];
        let page = Page::of(here.as_ptr() as u64 + (1 << 15)).0;
        let mut status = Vec::new();
        let own = Space(std::process::id());
        match move_pages(own, &[page, 1], None, &mut status) {
            Ok(()) => {
                assert!(status[0] >= 0, "{status:?}");
                assert!(status[1] < 0, "no page is at the bottom: {status:?}");
            }
            // A kernel without nodes.
            Err(e) => assert_eq!(e.raw_os_error(), Some(libc::ENOSYS)),
        }
        let tables = File::open("/proc/self/pagemap").unwrap();
        assert!(is_there(&tables, page) && read(own, page));
        assert!(!is_there(&tables, 1) && !read(own, 1));
        let nobody = move_pages(Space(u32::MAX >> 1), &[1], None, &mut status);
        assert!(nobody.is_err());
    }
}
