//! Discards and orders that wait for a row.

use crate::access::Block;
use crate::discard::{ALL, Discard};
use crate::order::Order;

/// What came behind the last row of a chunk.
#[derive(Debug, Default)]
pub(super) struct Pending {
    /// Discards, each with its thread.
    discards: Vec<(u32, Discard)>,
    orders: Vec<Order>,
}

impl Pending {
    /// Puts before the first row of `block`, which this thread made, what waits for a row of the
    /// thread or for any row, and takes out what is behind its last row. Orders name their thread,
    /// so any row may follow.
    pub(super) fn place(&mut self, thread: u32, block: &mut Block) {
        let late = block.take_late_discards();
        let late_orders = block.take_late_orders();
        if !block.is_empty() {
            block.orders.splice(0..0, self.orders.drain(..));
        }
        self.orders.extend(late_orders);
        if !block.is_empty() && !self.discards.is_empty() {
            let due = |(of, discard): &mut (u32, Discard)| *of == thread || is_whole(discard);
            let due = self
                .discards
                .extract_if(.., due)
                .map(|(_, discard)| discard);
            block.discards.splice(0..0, due);
        }
        self.discards
            .extend(late.into_iter().map(|one| (thread, one)));
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
    use crate::order::{Event, Point};

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

    /// An order keeps its place among the rows that were recorded, whatever thread makes the next.
    #[test]
    fn an_order_comes_before_the_next_row_of_any_thread() {
        let order = |row, point| Order {
            row,
            process: 0,
            thread: 1,
            event: Event::Release(Point(point)),
        };
        let mut pending = Pending::default();
        let mut placed = |rows, orders: &[Order]| {
            let mut block = block(rows, &[]);
            block.orders = orders.to_vec();
            pending.place(1, &mut block);
            block.orders
        };
        assert_eq!(placed(2, &[order(1, 1), order(2, 2)]), [order(1, 1)]);
        assert_eq!(placed(0, &[order(0, 3)]), []);
        let all = [order(0, 2), order(0, 3), order(0, 4)];
        assert_eq!(placed(1, &all[2..]), all);
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
