//! Whether pages that were taken out of a page table are still in DRAM.

use std::fs::File;
use std::os::unix::fs::FileExt;

use super::set::Set;
use crate::watch::pagemap::frame_of;

/// Bits of /proc/kpageflags (Linux, admin-guide/mm/pagemap.rst): mapped, and in the swap cache.
const MAPPED: u64 = 1 << 11;
const SWAP_CACHE: u64 = 1 << 13;
/// The frames of the machine's memory.
pub(super) struct Frames(Option<File>);

impl Frames {
    /// Opens them. A kernel without CONFIG_PROC_PAGE_MONITOR shows none.
    pub fn open() -> Self {
        Self(File::open("/proc/kpageflags").ok())
    }

    /// Returns those of the `taken` pages whose frames hold them no more: the kernel had a copy in
    /// the tier, so nothing had to be written. `before` are their entries while they were in
    /// memory. What the kernel does not tell is taken to be in its frame.
    pub fn left(&self, before: &[u64], taken: &Set) -> Set {
        let Some(flags) = &self.0 else {
            return Set::default();
        };
        let pages = taken.pages().filter(|page| {
            let Some(frame) = before.get(*page).copied().and_then(frame_of) else {
                return false;
            };
            let mut bytes = [0; 8];
            let read = flags.read_exact_at(&mut bytes, frame * 8);
            let flags = u64::from_ne_bytes(bytes);
            read.is_ok() && flags & (SWAP_CACHE | MAPPED) != SWAP_CACHE
        });
        pages.collect()
    }
}
