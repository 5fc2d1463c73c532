//! Discards that wait for a row.

use crate::access::Block;
use crate::discard::{ALL, Discard};

/// Discards that came behind the last row of a chunk, each with its thread.
#[derive(Debug, Default)]
pub(super) struct Pending(Vec<(u32, Discard)>);

impl Pending {
    /// Puts before the first row of `block`, which this thread made, what waits for a row of the thread or for any
    /// row, and takes out what is behind its last row.
    pub(super) fn place(&mut self, thread: u32, block: &mut Block) {
        let late = block.take_late_discards();
        if !block.is_empty() && !self.0.is_empty() {
            let due = |(of, discard): &mut (u32, Discard)| *of == thread || is_whole(discard);
            let due = self.0.extract_if(.., due).map(|(_, discard)| discard);
            block.discards.splice(0..0, due);
        }
        self.0.extend(late.into_iter().map(|one| (thread, one)));
    }
}

/// Whether the process has ended, whose thread has no further row.
fn is_whole(discard: &Discard) -> bool {
    (discard.page..discard.end()) == ALL
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Access;

    fn block(rows: usize, discards: &[(u64, u64, u64)]) -> Block {
        let mut block = Block::default();
        (0..rows).for_each(|_| block.push(Access::default()));
        let discards = discards.iter();
        block.discards = discards
            .map(|&(row, page, pages)| Discard {
                row,
                process: 0,
                page,
                pages,
            })
            .collect();
        block
    }

    fn placed(pending: &mut Pending, thread: u32, mut block: Block) -> Vec<(u64, u64)> {
        pending.place(thread, &mut block);
        let discards = block.discards.iter();
        discards
            .map(|discard| (discard.row, discard.page))
            .collect()
    }

    #[test]
    fn a_discard_comes_before_the_next_row_of_its_thread() {
        let mut pending = Pending::default();
        assert_eq!(
            placed(&mut pending, 1, block(2, &[(1, 5, 1), (2, 6, 1)])),
            [(1, 5)]
        );
        assert_eq!(placed(&mut pending, 1, block(0, &[(0, 7, 1)])), []);
        assert_eq!(placed(&mut pending, 2, block(1, &[])), []);
        assert_eq!(
            placed(&mut pending, 1, block(3, &[(0, 8, 1)])),
            [(0, 6), (0, 7), (0, 8)]
        );
    }

    #[test]
    fn the_end_of_a_process_comes_before_any_row() {
        let mut pending = Pending::default();
        assert_eq!(
            placed(&mut pending, 1, block(2, &[(2, ALL.start, ALL.end)])),
            []
        );
        assert_eq!(placed(&mut pending, 2, block(1, &[])), [(0, ALL.start)]);
        assert_eq!(placed(&mut pending, 2, block(1, &[])), []);
    }
}
