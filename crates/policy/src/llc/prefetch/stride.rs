//! The steps in which instructions go through memory.

/// Sets of trackers, by the lowest bits of the instruction, and trackers a set: 1024 in all, as in
/// `ip_stride` of `ChampSim`.
const SETS: usize = 256;
const WAYS: usize = 4;
/// Lines that are read ahead.
pub const LINES: i64 = 3;

/// The last steps of the instructions that were seen last.
#[derive(Clone, Debug)]
pub struct Trackers {
    /// The trackers of one set after those of another.
    trackers: Vec<Tracker>,
    now: u64,
}

/// The last step of an instruction.
#[derive(Clone, Copy, Debug, Default)]
struct Tracker {
    ip: u64,
    line: u64,
    stride: i64,
    /// When it was used last, by the count of uses; 0 where it is free.
    used: u64,
}

impl Trackers {
    /// Makes trackers that have seen nothing.
    pub fn new() -> Self {
        Self {
            trackers: vec![Tracker::default(); SETS * WAYS],
            now: 0,
        }
    }

    /// Learns that an instruction asks for a line. Returns its stride in lines, if its step before
    /// was the same; the same line again is no step.
    pub fn stride(&mut self, line: u64, ip: u64) -> Option<i64> {
        if ip == 0 {
            return None;
        }
        self.now += 1;
        let mut seen = Tracker {
            ip,
            line,
            stride: 0,
            used: self.now,
        };
        let set = &mut self.trackers[ip as usize % SETS * WAYS..][..WAYS];
        let Some(tracker) = set.iter_mut().find(|tracker| tracker.ip == ip) else {
            let oldest = set.iter_mut().min_by_key(|tracker| tracker.used)?;
            *oldest = seen;
            return None;
        };
        seen.stride = line.wrapping_sub(tracker.line).cast_signed();
        if seen.stride == 0 {
            return None;
        }
        let again = seen.stride == tracker.stride;
        *tracker = seen;
        again.then_some(seen.stride)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_instruction_that_was_seen_longest_ago_is_forgotten() {
        let mut trackers = Trackers::new();
        let ip = |number: u64| 7 + SETS as u64 * number;
        for step in 0..2 {
            for number in 0..4 {
                assert_eq!(trackers.stride(10 * number + step, ip(number)), None);
            }
        }
        assert_eq!(trackers.stride(2, ip(0)), Some(1));
        assert_eq!(trackers.stride(5, ip(4)), None, "in place of the second");
        assert_eq!(trackers.stride(12, ip(1)), None, "in place of the third");
        assert_eq!(trackers.stride(3, ip(0)), Some(1));
        assert_eq!(trackers.stride(32, ip(3)), Some(1));
        assert_eq!(trackers.stride(5, 0), None, "no instruction");
    }
}
