//! Pressure on a program whose memory the kernel's reclaim does not get hold of.
//!
//! Reclaim passes over pages that were touched since its last look. A program that touches all of
//! its memory within a millisecond has no others, and fetches what was written before it is let go.
//! Advice (`MADV_PAGEOUT`) pages out what it names, whether it was touched or not.

use std::fs::File;

use terrace_policy::{Page, Space};

use crate::fetch::advice::Advisor;
use crate::watch::pagemap::{is_own_alone, pages, private};

/// Pages of each process that are paged out at once.
const PAGES: usize = 256;

/// Pages out a little of a program again and again: what is written the first time is let go at a
/// later one.
#[derive(Default)]
pub(super) struct Pressure {
    advisor: Advisor,
}

impl Pressure {
    /// Pages out the first pages in memory of these processes.
    pub fn apply(&mut self, processes: &[u32]) {
        for space in processes.iter().copied().map(Space) {
            // A process that has ended has none.
            let _ = self.advisor.page_out(space, &mut first_pages(space));
        }
    }
}

/// Returns the first pages of a process that are in memory and its own alone.
fn first_pages(space: Space) -> Vec<Page> {
    let Ok(tables) = File::open(format!("/proc/{}/pagemap", space.0)) else {
        return Vec::new();
    };
    let all = private(space).into_iter();
    let all = all.flat_map(|range| pages(&tables, range));
    let own = all.filter_map(|(page, entry)| is_own_alone(entry).then_some(page));
    own.take(PAGES).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_pages_in_memory_are_named() {
        let touched = vec![1_u8; 4 << 20];
        let pages = first_pages(Space(std::process::id()));
        assert_eq!(pages.len(), PAGES);
        assert!(pages.is_sorted());
        drop(touched);
        assert_eq!(first_pages(Space(u32::MAX)), []);
    }
}
