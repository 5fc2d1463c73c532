//! The private caches of a core: only what they miss and write back goes on.
//!
//! A first level of 32 KiB and a second of 256 KiB, both of 8 ways and 64-byte lines, least
//! recently used, write-back, write-allocate, neither inclusive nor exclusive: a line that misses
//! enters both, a dirty line that leaves the first enters the second. The sizes are those of a
//! core of the years of the papers (ARI: Fedorov 2016, ch. 2). What is dirty when the program
//! ends stays there.

/// The binary logarithm of the bytes of a line.
pub const LINE_SHIFT: u32 = 6;
const WAYS: usize = 8;
const FIRST_SETS: usize = (32 << 10) / (WAYS << LINE_SHIFT);
const SECOND_SETS: usize = (256 << 10) / (WAYS << LINE_SHIFT);

/// No line: a line number has fewer bits.
const EMPTY: u64 = u64::MAX;

/// Both levels of one core.
#[derive(Clone, Debug)]
pub struct Caches {
    first: Cache,
    second: Cache,
}

impl Default for Caches {
    fn default() -> Self {
        Self {
            first: Cache::new(FIRST_SETS),
            second: Cache::new(SECOND_SETS),
        }
    }
}

impl Caches {
    /// Touches a line. What the next level sees goes to `below`: the line and whether it is
    /// written, reads before what they displace.
    #[inline]
    pub fn touch(&mut self, line: u64, write: bool, mut below: impl FnMut(u64, bool)) {
        if self.first.hit(line, write) {
            return;
        }
        if !self.second.hit(line, false) {
            below(line, false);
            if let Some(victim) = self.second.fill(line, false) {
                below(victim, true);
            }
        }
        let Some(victim) = self.first.fill(line, write) else {
            return;
        };
        if !self.second.hit(victim, true)
            && let Some(victim) = self.second.fill(victim, true)
        {
            below(victim, true);
        }
    }
}

/// One level: of each set its ways, the most recently used first. A way is the line's number
/// doubled, plus 1 where it is dirty.
#[derive(Clone, Debug)]
struct Cache {
    sets: Vec<[u64; WAYS]>,
}

impl Cache {
    fn new(sets: usize) -> Self {
        Self {
            sets: vec![[EMPTY; WAYS]; sets],
        }
    }

    fn set(&mut self, line: u64) -> &mut [u64; WAYS] {
        let index = line as usize & (self.sets.len() - 1);
        &mut self.sets[index]
    }

    /// Whether the line is there; if so it is the most recently used, dirty if `write`.
    #[inline(always)]
    fn hit(&mut self, line: u64, write: bool) -> bool {
        let set = self.set(line);
        let Some(way) = set.iter().position(|&way| way >> 1 == line) else {
            return false;
        };
        let used = set[way] | u64::from(write);
        set.copy_within(..way, 1);
        set[0] = used;
        true
    }

    /// Puts a line in that is not there; the line that it displaces, if that is dirty.
    fn fill(&mut self, line: u64, write: bool) -> Option<u64> {
        let set = self.set(line);
        let victim = set[WAYS - 1];
        set.copy_within(..WAYS - 1, 1);
        set[0] = line << 1 | u64::from(write);
        (victim != EMPTY && victim & 1 == 1).then_some(victim >> 1)
    }
}
