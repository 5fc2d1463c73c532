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

/// Requests within which a prefetch of a line speaks for the request before.
const SOON: u64 = 5;

/// Last request of a line.
#[derive(Clone, Copy)]
struct Seen {
    line: u64,
    at: u64,
    signature: u32,
}

/// Result for the previous request of a line that is requested again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Signature of the previous request.
    pub signature: u32,
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
    pub fn access(&mut self, line: u64, signature: u32) -> Option<Verdict> {
        let seen = self.take(line);
        let verdict = seen.map(|seen| self.verdict(seen));
        self.remember(line, signature);
        verdict
    }

    /// Records a prefetch of a line by an instruction; returns the verdict on the previous request,
    /// if OPT has kept the line since, and that was less than [`SOON`] requests ago.
    pub fn prefetch(&mut self, line: u64, signature: u32) -> Option<Verdict> {
        let seen = self.take(line);
        let soon = seen.filter(|seen| self.time - seen.at < SOON);
        let verdict = soon.map(|seen| self.verdict(seen));
        self.remember(line, signature);
        verdict.filter(|verdict| verdict.kept)
    }

    /// Takes the last request of a line, if it is remembered.
    fn take(&mut self, line: u64) -> Option<Seen> {
        let known = self.seen.iter().position(|seen| seen.line == line);
        known.map(|at| self.seen.swap_remove(at))
    }

    fn verdict(&mut self, seen: Seen) -> Verdict {
        Verdict {
            signature: seen.signature,
            kept: self.keep(seen.at),
        }
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

    fn remember(&mut self, line: u64, signature: u32) {
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
        let slot = self.slot(self.time);
        self.occupancy[slot] = 0;
        self.time += 1;
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

    /// A prefetch soon after tells that a line was kept, never that it was not; a load tells both.
    #[test]
    fn a_prefetch_speaks_for_the_request_before_if_it_is_soon() {
        let mut optgen = OptGen::new(2, 16, 16);
        optgen.access(1, 5);
        assert_eq!(optgen.prefetch(2, 6), None);
        let kept = |signature| {
            Some(Verdict {
                signature,
                kept: true,
            })
        };
        assert_eq!(optgen.prefetch(1, 7), kept(5));
        let others = (3..7).map(|line| optgen.access(line, 8));
        assert_eq!(others.flatten().count(), 0);
        assert_eq!(optgen.prefetch(1, 9), None, "five requests ago");
        assert_eq!(optgen.access(1, 5), kept(9));
        let mut one = OptGen::new(1, 16, 16);
        assert_eq!(
            [1, 2, 2].map(|line| one.access(line, 5)),
            [None, None, kept(5)]
        );
        assert_eq!(one.prefetch(1, 5), None, "there was no room");
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
