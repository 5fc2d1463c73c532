//! `OPTgen`: Belady's optimum on the requests to one set.

/// The latest requests to one set, as OPT would have served them.
///
/// Time is counted in requests. The occupancy of each of the latest requests is the number of lines
/// that OPT holds across it. When a line is requested again, OPT has held it in between if there
/// was room all the time; in that case it takes that room.
pub struct OptGen {
    ways: u8,
    time: u64,
    /// Occupancy by time, modulo the length.
    occupancy: Vec<u8>,
    /// Most lines remembered.
    most: usize,
    /// Remembered lines, in no order.
    seen: Vec<Seen>,
}

/// Last request of a line.
#[derive(Clone, Copy)]
struct Seen {
    line: u64,
    at: u64,
    signature: u16,
}

/// Result for the previous request of a line that is requested again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Signature of the previous request.
    pub signature: u16,
    /// Whether OPT has kept the line since.
    pub kept: bool,
}

impl OptGen {
    /// Makes the state of a set without requests, which looks back over `history` requests and at
    /// `most` lines.
    pub fn new(ways: usize, history: usize, most: usize) -> Self {
        Self {
            ways: ways as u8,
            time: 0,
            occupancy: vec![0; history],
            most,
            seen: Vec::with_capacity(most),
        }
    }

    /// Records a request of a line by an instruction; returns the verdict on the previous one, if
    /// it is remembered.
    pub fn access(&mut self, line: u64, signature: u16) -> Option<Verdict> {
        let known = self.seen.iter().position(|seen| seen.line == line);
        let verdict = known.map(|at| {
            let seen = self.seen.swap_remove(at);
            Verdict {
                signature: seen.signature,
                kept: self.keep(seen.at),
            }
        });
        self.remember(line, signature);
        let slot = self.slot(self.time);
        self.occupancy[slot] = 0;
        self.time += 1;
        verdict
    }

    fn slot(&self, time: u64) -> usize {
        (time % self.occupancy.len() as u64) as usize
    }

    /// Takes room for a line from `since` on, and returns whether there was room.
    fn keep(&mut self, since: u64) -> bool {
        if self.time - since > self.occupancy.len() as u64 {
            return false;
        }
        let mut times = since..self.time;
        let room = times.all(|time| self.occupancy[self.slot(time)] < self.ways);
        if room {
            for time in since..self.time {
                let slot = self.slot(time);
                self.occupancy[slot] += 1;
            }
        }
        room
    }

    fn remember(&mut self, line: u64, signature: u16) {
        if self.seen.len() == self.most {
            let places = 0..self.most;
            let oldest = places.min_by_key(|at| self.seen[*at].at);
            self.seen.swap_remove(oldest.unwrap_or(0));
        }
        self.seen.push(Seen {
            line,
            at: self.time,
            signature,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether OPT has kept each line until it is asked for again.
    fn kept(ways: usize, history: usize, lines: &str) -> Vec<Option<bool>> {
        let mut optgen = OptGen::new(ways, history, history);
        let access = |line| {
            optgen
                .access(u64::from(line), 0)
                .map(|verdict| verdict.kept)
        };
        lines.bytes().map(access).collect()
    }

    /// Two ways. E would have been a third line beside A and D, and C beside all of them.
    #[test]
    fn lines_are_kept_while_there_is_room() {
        let kept = kept(2, 16, "ABBCDEAFDEFC");
        let again: Vec<bool> = kept.iter().flatten().copied().collect();
        //                 B     A     D      E     F      C
        assert_eq!(again, [true, true, true, false, true, false]);
    }

    #[test]
    fn what_is_further_back_than_the_history_was_not_kept() {
        assert_eq!(kept(4, 4, "ABCDA")[4], Some(true));
        assert_eq!(kept(4, 4, "ABBBBA")[5], Some(false));
    }

    #[test]
    fn the_oldest_lines_are_forgotten() {
        let mut optgen = OptGen::new(2, 16, 2);
        assert_eq!([1, 2, 3].map(|line| optgen.access(line, 5)), [None; 3]);
        let kept = Some(Verdict {
            signature: 5,
            kept: true,
        });
        assert_eq!(optgen.access(2, 6), kept);
        assert_eq!(optgen.access(1, 6), None);
    }
}
