//! Whether pages that were taken out of a page table are still in DRAM.

use std::fs::File;
use std::os::unix::fs::FileExt;

use super::set::Set;

/// Bits of /proc/kpageflags (Linux, admin-guide/mm/pagemap.rst): mapped, and in the swap cache.
const MAPPED: u64 = 1 << 11;
const SWAP_CACHE: u64 = 1 << 13;
/// Bits of an entry of a page table: the page is in memory, and the number of its frame.
const PRESENT: u64 = 1 << 63;
const FRAME: u64 = (1 << 55) - 1;

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
            let Some(entry) = before.get(*page).filter(|entry| **entry & PRESENT != 0) else {
                return false;
            };
            let mut bytes = [0; 8];
            let read = flags.read_exact_at(&mut bytes, (entry & FRAME) * 8);
            let flags = u64::from_ne_bytes(bytes);
            read.is_ok() && flags & (SWAP_CACHE | MAPPED) != SWAP_CACHE
        });
        pages.collect()
    }
}
