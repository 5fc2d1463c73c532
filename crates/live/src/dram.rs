//! The machine's DRAM.

use std::hint::black_box;

use terrace_base::Bytes;
use terrace_policy::PAGE_BYTES;

/// All of it.
pub fn total() -> Bytes {
    meminfo("MemTotal:").unwrap_or(Bytes(u64::MAX))
}

/// What programs can have without anything being swapped out, as the kernel estimates it.
pub fn available() -> Bytes {
    meminfo("MemAvailable:").unwrap_or_default()
}

/// Uses so much of it for a moment, or less where less is available.
///
/// The host of a virtual machine may take memory back that lies free for some seconds (free page
/// reporting), and its next user waits for the host: filling 610 MiB was measured to take 1.2 s in
/// place of 0.1. A program under a budget uses a little memory again and again and hardly meets
/// that, so with DRAM alone it would seem slower than it is.
pub fn warm(wanted: Bytes) {
    let bytes = wanted.0.min(available().0 / 10 * 9);
    let mut memory: Vec<u8> = Vec::new();
    if !usize::try_from(bytes).is_ok_and(|bytes| memory.try_reserve_exact(bytes).is_ok()) {
        return;
    }
    in_huge_pages(&mut memory);
    memory.resize(memory.capacity(), 1);
    black_box(&memory);
}

/// Asks for huge pages: what is given back in one piece is what the next who asks for much is
/// given. Where there are none it is as it is.
fn in_huge_pages(memory: &mut Vec<u8>) {
    let room = memory.spare_capacity_mut();
    let page = PAGE_BYTES as usize;
    let skipped = room.as_ptr().align_offset(page).min(room.len());
    let room = &mut room[skipped..];
    let whole = room.len() / page * page;
    // SAFETY: the whole pages of memory that is ours. Advice changes nothing that is in it.
    unsafe { libc::madvise(room.as_mut_ptr().cast(), whole, libc::MADV_HUGEPAGE) };
}

/// A value of `/proc/meminfo`, which has it in KiB.
fn meminfo(key: &str) -> Option<Bytes> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let rest = text.lines().find_map(|line| line.strip_prefix(key))?;
    let kilobytes: u64 = rest.split_whitespace().next()?.parse().ok()?;
    Some(Bytes(kilobytes * 1024))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_used_and_given_back() {
        assert!(available() > Bytes(1 << 20));
        assert!(available() < total());
        for bytes in [0, 1, 16 << 20] {
            warm(Bytes(bytes));
        }
        assert!(available() > Bytes(1 << 20));
    }
}
