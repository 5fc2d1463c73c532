//! Pages in memory.

use bytemuck::{Pod, Zeroable};
use terrace_base::bytes::PAGE_BYTES;

/// Bytes of a page.
pub const PAGE_SIZE: usize = PAGE_BYTES as usize;

/// A page, aligned for transfers past the page cache.
#[repr(C, align(4096))]
#[derive(Clone, Copy, Pod, Zeroable)]
pub struct Page(pub [u8; PAGE_SIZE]);

/// Returns pages of zeros.
pub fn zeroed(pages: usize) -> Vec<Page> {
    bytemuck::allocation::zeroed_vec(pages)
}
