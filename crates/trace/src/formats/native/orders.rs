//! What orders the threads of a trace, in the metadata of the file: lines of comma-separated numbers.

use std::fmt::Write;

use terrace_recorder::page::checksum;

use crate::order::{Event, Order, Point};

/// The key of the events.
pub(super) const KEY: &str = "terrace.orders";
/// The key of their [checksum], in hexadecimal digits.
pub(super) const CHECKSUM_KEY: &str = "terrace.orders.xxh3";

/// The names of the numbers of a line.
const HEADER: &str = "row,process,thread,acquires,point\n";

/// Events that are written; their rows count from the beginning of the trace.
#[derive(Debug, Default)]
pub(super) struct Writer {
    lines: String,
}

impl Writer {
    /// Appends an event before a row of the trace.
    pub(super) fn push(&mut self, row: u64, order: &Order) {
        if self.lines.is_empty() {
            self.lines.push_str(HEADER);
        }
        let Order {
            process,
            thread,
            event,
            ..
        } = order;
        let (acquires, Point(point)) = match event {
            Event::Release(point) => (0, point),
            Event::Acquire(point) => (1, point),
        };
        // Writing to a text does not fail.
        let _ = writeln!(self.lines, "{row},{process},{thread},{acquires},{point}");
    }

    /// Returns the keys and values of the metadata, if there is an event.
    pub(super) fn metadata(self) -> Option<[(&'static str, String); 2]> {
        let sum = format!("{:016x}", checksum(self.lines.as_bytes()));
        (!self.lines.is_empty()).then_some([(KEY, self.lines), (CHECKSUM_KEY, sum)])
    }
}

/// Returns the events that a text says, in a trace of so many rows; none if it is not as it was written.
pub(super) fn parse(text: &str, sum: &str, rows: u64) -> Option<Vec<Order>> {
    if u64::from_str_radix(sum, 16) != Ok(checksum(text.as_bytes())) {
        return None;
    }
    let lines = text.strip_prefix(HEADER)?.lines();
    let orders: Option<Vec<Order>> = lines.map(line).collect();
    orders.filter(|all| {
        all.is_sorted_by_key(|order| order.row) && all.last().is_none_or(|last| last.row < rows)
    })
}

fn line(line: &str) -> Option<Order> {
    let mut numbers = line.split(',');
    let mut number = || numbers.next()?.parse::<u64>().ok();
    let (row, process, thread) = (number()?, number()?, number()?);
    let (acquires, point) = (number()?, Point(number()?));
    let event = match acquires {
        0 => Event::Release(point),
        1 => Event::Acquire(point),
        _ => return None,
    };
    let order = Order {
        row,
        process: u16::try_from(process).ok()?,
        thread: u16::try_from(thread).ok()?,
        event,
    };
    numbers.next().is_none().then_some(order)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
            prop_assert_eq!(parse(&text, &sum, row), None, "the last is behind the rows");
            prop_assert_eq!(parse(&text, &sum, row + 1), Some(orders));
        }

        #[test]
        fn any_text_has_an_answer(
            text in "(row,process,thread,acquires,point\n)?[0-9,\n-]{0,40}", sum in "[0-9a-f]{0,17}",
        ) {
            let right = format!("{:x}", checksum(text.as_bytes()));
            prop_assert!(parse(&text, &sum, 5).is_none() || sum.trim_start_matches('0') == right);
            let _ = parse(&text, &right, 5);
        }
    }
}
