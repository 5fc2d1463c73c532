//! A simple model of a core's time.
//!
//! Hits in the private levels are part of the core's pace of [`ISSUE`] instructions a cycle. A load
//! beyond them stalls the core when [`WINDOW`] instructions have followed it and it has not
//! completed, as in a reorder buffer; until then it overlaps with those instructions. A store does
//! not stall, but at most [`OUTSTANDING`] loads and stores are in flight: one more waits for the
//! oldest. The core waits for write-backs only if the memory's write buffer is full.
//!
//! Where a trace says where addresses come from, an access begins when the load has completed from
//! which its address comes, and a load that the second level serves takes [`NEAR`] cycles; by
//! itself it is over before its window is. Without that no load waits for another.
//!
//! The figures are assumed, for a small core as in Fedorov 2016, 2.4.1 (dual issue, out of order).

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
/// Cycles of a load from the second level.
pub const NEAR: u64 = 12;

/// Instructions after which the clock of a core stands still: the time of many more has no room.
pub const TIMED: u64 = 1 << 50;

/// A load or store in flight.
#[derive(Clone, Copy, Debug, Default)]
struct Wait {
    instruction: u64,
    done: u64,
    load: bool,
    /// Whether it is from the second level.
    near: bool,
}

/// The clock of a core; times are in picoseconds.
#[derive(Clone, Debug, Default)]
pub struct Core {
    now: u64,
    instruction: u64,
    /// Loads and stores in flight, the oldest first.
    waits: Vec<Wait>,
    /// Those of them that are beyond the private levels.
    outstanding: usize,
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

    /// Returns the time at an instruction, if nothing else is requested before; loads whose window
    /// ends before it stall the core.
    pub fn time_at(&self, instruction: u64) -> u64 {
        let timed = |instruction: u64| instruction.min(TIMED);
        let spent = |from: u64, to: u64| timed(to).saturating_sub(timed(from)) * CYCLE / ISSUE;
        let (mut now, mut at) = (self.now, self.instruction);
        for wait in &self.waits {
            let due = wait.instruction.saturating_add(WINDOW);
            if due > instruction {
                break;
            }
            if wait.load {
                now = wait.done.max(now + spent(at, due));
                at = at.max(due);
            }
        }
        now + spent(at, instruction)
    }

    /// Advances to an instruction.
    pub fn advance(&mut self, instruction: u64) {
        self.now = self.time_at(instruction);
        self.instruction = self.instruction.max(instruction);
        self.forget();
    }

    /// Removes completed loads and stores.
    fn forget(&mut self) {
        let (now, outstanding) = (self.now, &mut self.outstanding);
        self.waits.retain(|wait| {
            let stays = wait.done > now;
            *outstanding -= usize::from(!stays && !wait.near);
            stays
        });
    }

    /// Waits until one more may be in flight.
    pub fn make_room(&mut self) {
        if self.outstanding == OUTSTANDING {
            let oldest = self.waits.iter().find(|wait| !wait.near);
            let done = oldest.map_or(0, |oldest| oldest.done);
            self.wait_until(done);
        }
    }

    /// Stalls until a moment.
    pub fn wait_until(&mut self, moment: u64) {
        self.now = self.now.max(moment);
        self.forget();
    }

    /// Returns the time from which an access can begin whose address comes from a load `after`
    /// instructions before; 0 is none.
    pub fn begin(&self, after: u8) -> u64 {
        if after == 0 {
            return self.now;
        }
        let from = self.instruction.saturating_sub(after.into());
        let loads = self
            .waits
            .iter()
            .filter(|wait| wait.load && wait.instruction == from);
        let done = loads.map(|wait| wait.done).max();
        self.now.max(done.unwrap_or(0))
    }

    /// Adds a load or store in flight beyond the private levels; there must be room.
    pub fn start(&mut self, done: u64, load: bool) {
        self.outstanding += 1;
        self.waits.push(Wait {
            instruction: self.instruction,
            done,
            load,
            near: false,
        });
    }

    /// Advances to a load from the second level, whose address comes from a load `after`
    /// instructions before.
    pub fn load_near(&mut self, instruction: u64, after: u8) {
        self.advance(instruction);
        let done = self.begin(after) + NEAR * CYCLE;
        self.waits.push(Wait {
            instruction: self.instruction,
            done,
            load: true,
            near: true,
        });
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

    #[test]
    fn an_address_from_a_load_waits_for_it() {
        let mut core = Core::default();
        core.start(1_000_000, true);
        core.advance(3);
        assert_eq!(core.begin(3), 1_000_000);
        assert_eq!(core.begin(2), core.now(), "no load");
        assert_eq!(core.begin(0), core.now());
        core.start(1_000_000 + 5, true);
        core.advance(6);
        assert_eq!(core.begin(3), 1_000_005);
    }

    #[test]
    fn loads_from_the_second_level_hold_up_only_a_chain_of_them() {
        let chain = |after: u8| {
            let mut core = Core::default();
            (1..=1000).for_each(|index| core.load_near(3 * index, after));
            core.now()
        };
        assert_eq!(chain(0), 3000 * INSTRUCTION);
        let close = chain(3).abs_diff(1000 * NEAR * CYCLE);
        assert!(close <= WINDOW * NEAR * CYCLE, "{close}");
    }
}
