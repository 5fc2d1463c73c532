//! The units in which a file or device is written past the page cache.

use std::fs::File;
use std::os::fd::AsRawFd;

use terrace_policy::page::PAGE_BYTES;
use terrace_policy::write::{LINE_BYTES, SECTOR_BYTES};

pub(super) const PAGE_SIZE: usize = PAGE_BYTES as usize;

/// Returns the unit in which a file is written past the page cache: sectors, or pages if it does
/// not say.
pub(super) fn block(file: &File) -> usize {
    const DIRECT_IO: u32 = 0x2000;
    // SAFETY: an all-zero statx is a valid value of it, which the call fills; the path is empty,
    // and the descriptor is open.
    let (asked, about) = unsafe {
        let mut about: libc::statx = std::mem::zeroed();
        let empty = c"".as_ptr();
        let flags = libc::AT_EMPTY_PATH;
        let asked = libc::statx(file.as_raw_fd(), empty, flags, DIRECT_IO, &raw mut about);
        (asked, about)
    };
    let known = asked == 0 && about.stx_mask & DIRECT_IO != 0;
    match about.stx_dio_offset_align as usize {
        block @ SECTOR_BYTES..PAGE_SIZE if known && PAGE_SIZE.is_multiple_of(block) => block,
        _ => PAGE_SIZE,
    }
}

/// Returns the blocks of a page in which lines are written, a bit each for lines and for blocks.
pub(super) fn blocks(lines: u64, block: usize) -> u64 {
    let lines_of_block = block / LINE_BYTES;
    let all = u64::MAX >> (64 - lines_of_block);
    let written = |at: &usize| lines >> (at * lines_of_block) & all != 0;
    (0..PAGE_SIZE / block)
        .filter(written)
        .fold(0, |bits, at| bits | 1 << at)
}

/// Returns the first byte and the number of bytes of blocks in a row.
pub(super) fn runs(blocks: u64, block: usize) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for at in (0..PAGE_SIZE / block).filter(|at| blocks >> at & 1 == 1) {
        match runs.last_mut() {
            Some((start, bytes)) if *start + *bytes == at * block => *bytes += block,
            _ => runs.push((at * block, block)),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_written_in_whole_blocks_in_rows() {
        assert_eq!(blocks(1 << 63 | 0b11, 512), 1 << 7 | 1);
        assert_eq!(blocks(1 << 63, 4096), 1);
        assert_eq!(
            runs(0b1011_0011, 512),
            [(0, 1024), (2048, 1024), (3584, 512)]
        );
        assert_eq!(runs(0, 512), []);
    }
}
