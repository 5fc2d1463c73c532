//! The paper's experiment on stock Linux: programs that touch new pages in turn (figures 7 to 10).

use terrace_heap::contiguity::{Backing, Purpose};
use terrace_heap::{Mapped, Medium, Result};

use crate::frames::PAGE_BYTES;
use crate::report::Contiguity;

/// Touches `programs` mappings of `bytes` each page by page, in turn, like programs that allocate
/// at the same rate, and reports on each. By the paper's model frames then never follow each other
/// with [`Backing::OnTouch`], and (n - 1) of n times in batches of n pages.
///
/// # Errors
///
/// There is not as much memory, or the kernel hides frame numbers from this program.
pub fn trial(backing: Backing, programs: usize, bytes: u64) -> Result<Vec<Contiguity>> {
    let mapping = |_| Mapped::anonymous(bytes)?.with_backing(backing);
    let mappings: Vec<Mapped> = (0..programs).map(mapping).collect::<Result<_>>()?;
    for page in 0..bytes.div_ceil(PAGE_BYTES) {
        for mapping in &mappings {
            let at = page * PAGE_BYTES;
            mapping.prepare(at, PAGE_BYTES, Purpose::Capacity);
            mapping.store_word(at, 1);
        }
    }
    let report = |mapping: &Mapped| Contiguity::of(mapping.base(), mapping.len());
    mappings.iter().map(report).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[ignore = "needs root, for frame numbers"]
    fn every_page_of_every_program_is_there() {
        for backing in [Backing::OnTouch, Backing::batches(4), Backing::Huge] {
            let all = trial(backing, 3, 4 << 20).unwrap();
            assert_eq!(all.len(), 3);
            assert!(all.iter().all(|one| one.present == 1024), "{backing:?}");
        }
    }
}
