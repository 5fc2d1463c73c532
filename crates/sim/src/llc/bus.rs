//! The data bus of a memory: one line at a time, in either direction.

use std::collections::VecDeque;

/// Transfers that are known. Those before them are over.
const KNOWN: usize = 32;

/// A line on the bus.
#[derive(Clone, Copy, Debug)]
struct Slot {
    begin: u64,
    end: u64,
    write: bool,
}

/// The bus, by the transfers that it has to make; times are in picoseconds.
///
/// A transfer that waits for its bank leaves the bus to others until then.
#[derive(Clone, Debug)]
pub struct Bus {
    /// The time of a line.
    transfer: u64,
    /// The time between the data of a write and of a read after it, and the other way round.
    turns: [u64; 2],
    /// In the order of time.
    slots: VecDeque<Slot>,
    /// Before this no transfer is known any more, and none begins.
    floor: u64,
}

impl Bus {
    /// Returns an idle bus on which a line takes the time `transfer`, and a read `write_to_read`
    /// after a write, a write `read_to_write` after a read.
    pub fn new(transfer: u64, write_to_read: u64, read_to_write: u64) -> Self {
        Self {
            transfer,
            turns: [write_to_read, read_to_write],
            slots: VecDeque::with_capacity(KNOWN + 1),
            floor: 0,
        }
    }

    /// Returns the time between the data of two transfers; each writes or reads.
    fn turn(&self, first: bool, second: bool) -> u64 {
        match (first, second) {
            (true, false) => self.turns[0],
            (false, true) => self.turns[1],
            _ => 0,
        }
    }

    /// Returns the end of the last transfer.
    pub fn end(&self) -> u64 {
        self.slots.back().map_or(self.floor, |slot| slot.end)
    }

    /// Transfers a line as soon after `earliest` as the others leave room, and returns the end.
    pub fn transfer(&mut self, earliest: u64, write: bool) -> u64 {
        let mut begin = earliest.max(self.floor);
        // Those before are too far back to matter. Most transfers come after nearly all others.
        let longest = self.turns[0].max(self.turns[1]);
        let far = |slot: &Slot| slot.end + longest <= begin;
        let near = self.slots.iter().rposition(far).map_or(0, |far| far + 1);
        let mut place = self.slots.len();
        for index in near..place {
            let slot = self.slots[index];
            if begin + self.transfer + self.turn(write, slot.write) <= slot.begin {
                place = index;
                break;
            }
            begin = begin.max(slot.end + self.turn(slot.write, write));
        }
        let end = begin + self.transfer;
        self.slots.insert(place, Slot { begin, end, write });
        if self.slots.len() > KNOWN
            && let Some(first) = self.slots.pop_front()
        {
            self.floor = first.end;
        }
        end
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_transfer_leaves_the_time_before_it_to_others() {
        let mut bus = Bus::new(6, 20, 3);
        assert_eq!(bus.transfer(100, false), 106);
        assert_eq!(bus.transfer(10, false), 16);
        assert_eq!(bus.transfer(96, false), 112, "it does not fit before");
        assert_eq!(bus.transfer(112, true), 121, "it turns");
        assert_eq!(bus.transfer(112, false), 147);
        assert_eq!(bus.end(), 147);
    }

    proptest! {
        #[test]
        fn transfers_keep_their_distance(asked in prop::collection::vec((0..400_u64, any::<bool>()), 1..KNOWN)) {
            let mut bus = Bus::new(6, 20, 3);
            let mut slots = Vec::new();
            for (earliest, write) in asked {
                let end = bus.transfer(earliest, write);
                prop_assert!(end >= earliest + 6);
                slots.push((end - 6, end, write));
            }
            slots.sort_unstable();
            for pair in slots.windows(2) {
                let turn = match (pair[0].2, pair[1].2) {
                    (true, false) => 20,
                    (false, true) => 3,
                    _ => 0,
                };
                prop_assert!(pair[0].1 + turn <= pair[1].0, "{:?}", pair);
            }
        }
    }
}
