//! A simple model of a core's time.
//!
//! Hits in the private levels are part of the core's pace of [`ISSUE`] instructions a cycle. A load
//! beyond them stalls the core when [`WINDOW`] instructions have followed it and it has not completed,
//! as in a reorder buffer; until then it overlaps with those instructions. A store does not stall, but
//! at most [`OUTSTANDING`] loads and stores are in flight: one more waits for the oldest. The core waits
//! for write-backs only if the memory's write buffer is full.
//!
//! The figures are assumed, for a small core as in Fedorov 2016, 2.4.1 (dual issue, out of order). A
//! trace does not hold the dependences between loads, so no load waits for another.

/// Picoseconds of a cycle: 2 GHz.
pub const CYCLE: u64 = 500;
/// Instructions a cycle.
pub const ISSUE: u64 = 2;
/// Instructions that may follow a load that has not completed.
pub const WINDOW: u64 = 32;
/// Loads and stores that may be in flight beyond the private levels.
pub const OUTSTANDING: usize = 8;
/// Cycles of a look-up in the last level.
pub const LOOKUP: u64 = 20;

/// A load or store in flight.
#[derive(Clone, Copy, Debug, Default)]
struct Wait {
    instruction: u64,
    done: u64,
    load: bool,
}

/// The clock of a core; times are in picoseconds.
#[derive(Clone, Debug, Default)]
pub struct Core {
    now: u64,
    instruction: u64,
    /// Loads and stores in flight, the oldest first.
    waits: [Wait; OUTSTANDING],
    under_way: usize,
}

impl Core {
    /// Returns the core's time.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Returns the instructions executed.
    pub fn instruction(&self) -> u64 {
        self.instruction
    }

    /// Advances to an instruction; loads whose window ends before it stall the core.
    pub fn advance(&mut self, instruction: u64) {
        let mut index = 0;
        while index < self.under_way {
            let wait = self.waits[index];
            let due = wait.instruction + WINDOW;
            if wait.load && due <= instruction {
                self.step(due);
                self.now = self.now.max(wait.done);
            }
            index += 1;
        }
        self.step(instruction);
        self.forget();
    }

    /// Advances to an instruction without stalls.
    fn step(&mut self, instruction: u64) {
        let instructions = instruction.saturating_sub(self.instruction);
        self.now += instructions * CYCLE / ISSUE;
        self.instruction += instructions;
    }

    /// Removes completed loads and stores.
    fn forget(&mut self) {
        let mut kept = 0;
        for index in 0..self.under_way {
            if self.waits[index].done > self.now {
                self.waits[kept] = self.waits[index];
                kept += 1;
            }
        }
        self.under_way = kept;
    }

    /// Waits until one more may be in flight.
    pub fn make_room(&mut self) {
        if self.under_way == OUTSTANDING {
            self.wait_until(self.waits[0].done);
        }
    }

    /// Stalls until a moment.
    pub fn wait_until(&mut self, moment: u64) {
        self.now = self.now.max(moment);
        self.forget();
    }

    /// Adds a load or store in flight; there must be room.
    pub fn start(&mut self, done: u64, load: bool) {
        self.waits[self.under_way] = Wait {
            instruction: self.instruction,
            done,
            load,
        };
        self.under_way += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INSTRUCTION: u64 = CYCLE / ISSUE;

    #[test]
    fn a_load_holds_up_what_follows_beyond_the_window() {
        let mut core = Core::default();
        core.advance(100);
        assert_eq!(core.now(), 100 * INSTRUCTION);
        core.start(core.now() + 1_000_000, true);
        core.advance(100 + WINDOW - 1);
        assert_eq!(core.now(), (100 + WINDOW - 1) * INSTRUCTION, "not yet");
        core.advance(100 + WINDOW + 10);
        assert_eq!(core.now(), 100 * INSTRUCTION + 1_000_000 + 10 * INSTRUCTION);
    }

    #[test]
    fn loads_within_the_window_overlap_and_a_store_holds_nobody_up() {
        let mut core = Core::default();
        core.start(1_000_000, true);
        core.advance(10);
        core.start(1_000_100, true);
        core.start(9_000_000, false);
        core.advance(1000);
        let after = 1000 - WINDOW - 10;
        assert!(core.now() >= 1_000_100 && core.now() <= 1_000_100 + (after + 10) * INSTRUCTION);
    }

    #[test]
    fn no_more_than_so_many_are_under_way() {
        let mut core = Core::default();
        for index in 0..OUTSTANDING as u64 {
            core.make_room();
            assert_eq!(core.now(), 0);
            core.start(1000 * (index + 1), false);
        }
        core.make_room();
        assert_eq!(core.now(), 1000);
    }
}
