//! Loads for whose results a core waits before it knows later addresses.
//!
//! A trace says how many instructions before an access the load was from which its address comes
//! ([`terrace_trace::Block::depends`]). Whether that load is late is another question: one that the
//! first level serves is as late as the load from which its own address came, or as the line that
//! it uses if that is still on its way.

/// Instructions after which a load has completed in any case, as it holds up what follows it by
/// then ([`super::core::WINDOW`]).
const REACH: u64 = 64;
/// Lines on their way that are known.
const LINES: usize = 16;

/// A load, and the load beyond the first level for which its result waits.
#[derive(Clone, Copy, Debug)]
struct Load {
    instruction: u64,
    root: Option<u64>,
}

/// The loads of a core that have not completed, perhaps.
#[derive(Clone, Debug)]
pub struct Dependences {
    /// By the lower bits of the instruction.
    loads: [Load; REACH as usize],
    /// Lines that were requested, and the instructions, in a ring.
    lines: [(u64, u64); LINES],
    next: usize,
}

/// The instruction of no load.
const NONE: u64 = u64::MAX;

impl Default for Dependences {
    fn default() -> Self {
        Self {
            loads: [Load {
                instruction: NONE,
                root: None,
            }; REACH as usize],
            lines: [(NONE, NONE); LINES],
            next: 0,
        }
    }
}

impl Dependences {
    /// Returns the load beyond the first level for which an address at `instruction` waits, if it
    /// comes from a load `depends` instructions before; 0 is none.
    pub fn root(&self, instruction: u64, depends: u8) -> Option<u64> {
        let depends = u64::from(depends);
        let from = instruction.checked_sub(depends).filter(|_| depends > 0)?;
        let load = self.loads[(from % REACH) as usize];
        let known = load.instruction == from && depends < REACH;
        load.root.filter(|_| known)
    }

    /// Notes that the load at `instruction` waits for this load beyond the first level, which may
    /// be itself. An instruction that loads several times waits for the last.
    pub fn load(&mut self, instruction: u64, root: Option<u64>) {
        let load = &mut self.loads[(instruction % REACH) as usize];
        let others = match load.instruction == instruction {
            true => load.root,
            false => None,
        };
        *load = Load {
            instruction,
            root: root.max(others),
        };
    }

    /// Notes that a line was requested from beyond the first level.
    pub fn request(&mut self, line: u64, instruction: u64) {
        self.lines[self.next] = (line, instruction);
        self.next = (self.next + 1) % LINES;
    }

    /// Returns the access that has requested a line which may be on its way still.
    pub fn requested(&self, line: u64, instruction: u64) -> Option<u64> {
        let same = self.lines.iter().filter(|(known, _)| *known == line);
        let last = same.map(|(_, at)| *at).max()?;
        (instruction.wrapping_sub(last) < REACH).then_some(last)
    }
}

/// Returns how many instructions before `instruction` the load at `root` was; 0 if there is none
/// that matters.
pub fn distance(instruction: u64, root: Option<u64>) -> u8 {
    let distance = root.map_or(0, |root| instruction.saturating_sub(root));
    u8::try_from(distance).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hit_is_as_late_as_its_address_or_its_line() {
        let mut of = Dependences::default();
        of.request(7, 100);
        of.load(100, Some(100));
        assert_eq!(of.root(103, 3), Some(100), "the miss itself");
        assert_eq!(of.root(103, 2), None, "no load");
        assert_eq!(of.root(103, 0), None);
        of.load(103, of.root(103, 3));
        assert_eq!(of.root(104, 1), Some(100), "through a hit");
        assert_eq!(of.requested(7, 110), Some(100));
        assert_eq!(of.requested(8, 110), None);
        assert_eq!(of.requested(7, 100 + REACH), None, "it has arrived");
    }

    #[test]
    fn what_lies_far_back_is_forgotten() {
        let mut of = Dependences::default();
        of.load(1, Some(1));
        assert_eq!(of.root(1 + REACH - 1, REACH as u8 - 1), Some(1));
        assert_eq!(of.root(1 + REACH, REACH as u8), None);
        of.load(1 + REACH, None);
        assert_eq!(of.root(1 + REACH, REACH as u8), None);
        assert_eq!(distance(9, Some(4)), 5);
        assert_eq!(distance(900, Some(4)), 0);
        assert_eq!(distance(900, None), 0);
    }
}
