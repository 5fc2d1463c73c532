//! Blocks as they are built: rows of ternary words and port words, all compared at once (Fedorov
//! 2016, 4.3.3).

use crate::length::Length;
use crate::port_word::PortWord;
use crate::prefix::Prefix;
use crate::route::{Port, Route};
use crate::word::{Key, Word};

/// A row: its match line reads out its port word. Whether it is valid is a flag in CMOS, written at
/// the speed of the clock.
#[derive(Clone, Copy, Debug)]
struct Row {
    word: Word,
    port: PortWord,
    valid: bool,
}

impl Row {
    fn erased(row: u32) -> Self {
        Self {
            word: Word::ERASED,
            port: PortWord::new(row, Port::default()),
            valid: false,
        }
    }
}

/// Rows on their match lines.
#[derive(Clone, Debug)]
struct Rows(Vec<Row>);

impl Rows {
    fn erased(rows: u32) -> Self {
        Self((0..rows).map(Row::erased).collect())
    }

    fn put(&mut self, row: u32, route: Route, valid: bool) {
        self.0[row as usize] = Row {
            word: Word::of(route.prefix),
            port: PortWord::new(row, route.port),
            valid,
        };
    }

    /// Returns the port words of the valid rows that match.
    fn matching(&self, key: &Key) -> impl Iterator<Item = PortWord> {
        let matching = self
            .0
            .iter()
            .filter(|row| row.valid && row.word.matches(key));
        matching.map(|row| row.port)
    }

    /// Returns the first row that is not valid.
    fn hole(&self) -> Option<u32> {
        let hole = self.0.iter().position(|row| !row.valid);
        hole.map(|row| row as u32)
    }
}

/// A block of flash cells, all rows of one prefix length.
#[derive(Clone, Debug)]
pub struct FlashBlock {
    rows: Rows,
    /// The length of the prefixes; `None` before anything was programmed.
    length: Option<Length>,
    is_online: bool,
}

impl FlashBlock {
    /// Makes an erased block, off-line.
    pub fn new(rows: u32) -> Self {
        Self {
            rows: Rows::erased(rows),
            length: None,
            is_online: false,
        }
    }

    /// Takes the block off-line, erases it and programs its first rows.
    pub fn program(&mut self, length: Length, routes: &[Route]) {
        *self = Self::new(self.rows.0.len() as u32);
        self.length = Some(length);
        for (row, route) in (0..).zip(routes) {
            assert_eq!(Length::of(route.prefix), length, "a block has one length");
            self.rows.put(row, *route, false);
        }
    }

    /// Brings the block on-line with these flags of its first rows.
    pub fn start(&mut self, valid: &[bool]) {
        self.is_online = true;
        for (row, valid) in self.rows.0.iter_mut().zip(valid) {
            row.valid = *valid;
        }
    }

    /// Takes the block off-line.
    pub fn stop(&mut self) {
        self.is_online = false;
    }

    /// Sets the flag of a row.
    pub fn set_valid(&mut self, row: u32, valid: bool) {
        self.rows.0[row as usize].valid = valid;
    }

    /// Returns the unused row at which the hole pointer points; `None` if all are used.
    pub fn hole(&self) -> Option<u32> {
        self.rows.hole()
    }

    /// Returns the length of the block's prefixes and the port word of the row that matches. There
    /// is one at most, since two prefixes of one length have no address in common.
    pub fn search(&self, key: &Key) -> Option<(Length, PortWord)> {
        let length = self.length.filter(|_| self.is_online)?;
        let mut matching = self.rows.matching(key);
        let found = matching.next()?;
        assert!(matching.next().is_none(), "two rows of one block match");
        Some((length, found))
    }
}

/// A block of CMOS cells, whose rows can have any prefix length; always on-line.
#[derive(Clone, Debug)]
pub struct ShadowBlock {
    rows: Rows,
    prefixes: Vec<Option<Prefix>>,
}

impl ShadowBlock {
    /// Makes an empty block.
    pub fn new(rows: u32) -> Self {
        Self {
            rows: Rows::erased(rows),
            prefixes: vec![None; rows as usize],
        }
    }

    /// Writes a row, which is valid at once.
    pub fn write(&mut self, row: u32, route: Route) {
        self.rows.put(row, route, true);
        self.prefixes[row as usize] = Some(route.prefix);
    }

    /// Makes a row invalid.
    pub fn invalidate(&mut self, row: u32) {
        self.rows.0[row as usize].valid = false;
    }

    /// Returns the rows that match, each with the length of its prefix, which is that of its mask.
    pub fn search(&self, key: &Key) -> impl Iterator<Item = (Length, PortWord)> {
        self.rows.matching(key).map(|port| {
            let prefix = self.prefixes[port.row() as usize];
            (Length::of(prefix.expect("a valid row was written")), port)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(text: &str, port: u32) -> Route {
        let prefix = text.parse().unwrap();
        Route {
            prefix,
            port: Port(port),
        }
    }

    fn key(address: &str) -> Key {
        Key::of(address.parse().unwrap())
    }

    #[test]
    fn a_block_answers_with_row_and_port_while_it_is_on_line() {
        let mut block = FlashBlock::new(4);
        let routes = [route("10.0.0.0/16", 7), route("10.1.0.0/16", 8)];
        let length = Length::of(routes[0].prefix);
        let at = |block: &FlashBlock| {
            block
                .search(&key("10.1.2.3"))
                .map(|(_, port)| (port.row(), port.port().0))
        };
        assert_eq!(block.hole(), Some(0));
        block.program(length, &routes);
        assert_eq!(at(&block), None, "off-line");
        block.start(&[true, true]);
        assert_eq!((at(&block), block.hole()), (Some((1, 8)), Some(2)));
        block.set_valid(1, false);
        assert_eq!((at(&block), block.hole()), (None, Some(1)), "a hole");
        block.set_valid(1, true);
        block.stop();
        assert_eq!(at(&block), None);
    }

    #[test]
    fn a_shadow_block_holds_any_length() {
        let mut block = ShadowBlock::new(3);
        block.write(0, route("10.0.0.0/8", 1));
        block.write(2, route("10.1.0.0/16", 2));
        let found = |block: &ShadowBlock| -> Vec<(u8, u32)> {
            let key = key("10.1.2.3");
            let found = block.search(&key);
            found
                .map(|(length, port)| (length.bits, port.port().0))
                .collect()
        };
        assert_eq!(found(&block), [(8, 1), (16, 2)]);
        block.invalidate(2);
        assert_eq!(found(&block), [(8, 1)]);
    }
}
