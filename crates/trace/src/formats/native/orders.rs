//! What orders the threads of a trace, as a table.

use super::table;
use crate::order::{Event, Order, Point};

impl table::Event for Order {
    const KEY: &str = "terrace.orders";
    const CHECKSUM_KEY: &str = "terrace.orders.xxh3";
    const HEADER: &str = "row,process,thread,acquires,point\n";

    fn row(&self) -> u64 {
        self.row
    }

    fn numbers(&self) -> impl IntoIterator<Item = u64> {
        let (acquires, Point(point)) = match self.event {
            Event::Release(point) => (0, point),
            Event::Acquire(point) => (1, point),
        };
        [self.process.into(), self.thread.into(), acquires, point]
    }

    fn read(row: u64, mut next: impl FnMut() -> Option<u64>) -> Option<Self> {
        let (process, thread) = (next()?, next()?);
        let (acquires, point) = (next()?, Point(next()?));
        let event = match acquires {
            0 => Event::Release(point),
            1 => Event::Acquire(point),
            _ => return None,
        };
        Some(Self {
            row,
            process: u16::try_from(process).ok()?,
            thread: u16::try_from(thread).ok()?,
            event,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use terrace_recorder::page::checksum;

    use super::*;
    use crate::formats::native::table::{Writer, parse};

    proptest! {
        #[test]
        fn what_is_written_is_read(
            events in prop::collection::vec((0..9_u64, any::<(u16, u16, bool, u64)>()), 1..20),
        ) {
            let mut row = 0;
            let orders: Vec<_> = events.into_iter().map(|(step, (process, thread, acquires, point))| {
                row += step;
                let event = match acquires {
                    true => Event::Acquire(Point(point)),
                    false => Event::Release(Point(point)),
                };
                Order { row, process, thread, event }
            }).collect();
            let mut writer = Writer::default();
            orders.iter().for_each(|order| writer.push(order.row, order));
            let [(_, text), (_, sum)] = writer.metadata().unwrap();
            prop_assert_eq!(parse::<Order>(&text, &sum, row), None, "the last is behind the rows");
            prop_assert_eq!(parse(&text, &sum, row + 1), Some(orders));
        }

        #[test]
        fn any_text_has_an_answer(
            text in "(row,process,thread,acquires,point\n)?[0-9,\n-]{0,40}", sum in "[0-9a-f]{0,17}",
        ) {
            let right = format!("{:x}", checksum(text.as_bytes()));
            prop_assert!(parse::<Order>(&text, &sum, 5).is_none() || sum.trim_start_matches('0') == right);
            let _ = parse::<Order>(&text, &right, 5);
        }
    }
}
