//! Lines that a program flushes.

use super::{Cache, NONE};

impl Cache {
    /// Makes a line clean that a program flushes; with `invalidates` it leaves, and its way is free.
    /// Answers whether it was dirty, and so has to be written to memory. The policy is not asked.
    pub fn flush(&mut self, line: u64, invalidates: bool) -> bool {
        let set = self.geometry.set_of(line);
        let Some(way) = self.find(set, line) else {
            return false;
        };
        let bit = 1 << way;
        let dirty = self.dirty[set] & bit != 0;
        self.dirty[set] &= !bit;
        if invalidates {
            self.lines[set * self.geometry.ways + way] = NONE;
            self.filled[set] -= 1;
            self.held -= 1;
        }
        dirty
    }
}

#[cfg(test)]
mod tests {
    use crate::llc::{Cache, Geometry, Kind, Outcome, Request, Spec};

    fn cache() -> Cache {
        let geometry = Geometry { sets: 1, ways: 2 };
        let policy = Spec::parse("lru").unwrap().policy(geometry, 1).unwrap();
        Cache::new(geometry, policy)
    }

    fn ask(cache: &mut Cache, line: u64, kind: Kind) -> Outcome {
        let request = Request {
            line,
            ip: 0,
            core: 0,
            kind,
        };
        cache.access(&request)
    }

    #[test]
    fn what_is_written_back_stays_and_is_clean() {
        let mut cache = cache();
        ask(&mut cache, 1, Kind::WriteBack);
        assert!(cache.flush(1, false));
        assert!(!cache.flush(1, false), "it is clean");
        assert!(!cache.flush(2, false), "it is not there");
        assert_eq!((cache.dirty_lines(), cache.filled()), (0, 1));
        assert!(matches!(
            ask(&mut cache, 1, Kind::Load),
            Outcome::Hit { .. }
        ));
    }

    #[test]
    fn what_is_invalidated_leaves_room_for_the_next() {
        let mut cache = cache();
        ask(&mut cache, 1, Kind::WriteBack);
        ask(&mut cache, 2, Kind::Load);
        assert!(cache.flush(1, true));
        assert_eq!(cache.filled(), 1);
        let evicts_nobody = Outcome::Miss { evicted: None };
        assert_eq!(ask(&mut cache, 3, Kind::Load), evicts_nobody);
        assert!(matches!(
            ask(&mut cache, 2, Kind::Load),
            Outcome::Hit { .. }
        ));
        assert_eq!(cache.filled(), 2);
    }
}
