//! The batches that the kernel itself gives since Linux 6.8: folios of several pages at a fault
//! (Documentation/admin-guide/mm/transhuge.rst, "multi-size THP"). Allocates nothing.

use std::ffi::CStr;

use super::available::read_file;

/// Returns whether memory that requests huge pages gets folios of `pages` pages, which the
/// administrator decides.
pub(super) fn enabled(pages: u32) -> bool {
    let mut text = [0; 64];
    let setting = path(pages).and_then(|path| read_file(path, &mut text));
    setting.is_some_and(allows)
}

fn path(pages: u32) -> Option<&'static CStr> {
    Some(match pages {
        4 => c"/sys/kernel/mm/transparent_hugepage/hugepages-16kB/enabled",
        8 => c"/sys/kernel/mm/transparent_hugepage/hugepages-32kB/enabled",
        16 => c"/sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled",
        32 => c"/sys/kernel/mm/transparent_hugepage/hugepages-128kB/enabled",
        64 => c"/sys/kernel/mm/transparent_hugepage/hugepages-256kB/enabled",
        128 => c"/sys/kernel/mm/transparent_hugepage/hugepages-512kB/enabled",
        256 => c"/sys/kernel/mm/transparent_hugepage/hugepages-1024kB/enabled",
        _ => return None,
    })
}

/// Returns the active setting, which stands in brackets.
fn allows(setting: &[u8]) -> bool {
    let has = |choice: &[u8]| setting.windows(choice.len()).any(|part| part == choice);
    has(b"[always]") || has(b"[madvise]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_setting_in_brackets_holds() {
        assert!(allows(b"always inherit [madvise] never\n"));
        assert!(allows(b"[always] inherit madvise never\n"));
        assert!(!allows(b"always inherit madvise [never]\n"));
        assert!(!allows(b"always [inherit] madvise never\n"));
        assert!(!enabled(5) && !allows(b""));
    }
}
