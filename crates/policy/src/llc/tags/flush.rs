//! Flushes of lines by programs.

use super::{Place, Tags};

impl Tags {
    /// Makes a line clean that a program flushes; if it `invalidates` the line, the way becomes
    /// free. `dirty_above` says that the line was dirty in a level above. Returns whether the line
    /// was dirty here or above, and so has to be written to memory.
    pub fn flush(&mut self, line: u64, dirty_above: bool, invalidates: bool) -> bool {
        let dirty = self.clean(line, invalidates);
        let written = dirty || dirty_above;
        self.counts.flushes += 1;
        self.counts.flush_writes += u64::from(written);
        self.counts.dirtied += u64::from(dirty_above && !dirty);
        written
    }

    /// Cleans a line, and returns whether it was dirty here.
    fn clean(&mut self, line: u64, invalidates: bool) -> bool {
        let set = self.geometry.set_of(line);
        let Some(way) = self.find(set, line) else {
            return false;
        };
        if invalidates {
            return self.free(Place { set, way });
        }
        let bit = 1 << way;
        let dirty = self.dirty[set] & bit != 0;
        self.dirty[set] &= !bit;
        dirty
    }
}

#[cfg(test)]
mod tests {
    use crate::llc::testing::request;
    use crate::llc::{Cache, Geometry, Kind, Outcome, Spec};

    fn cache() -> Cache {
        let geometry = Geometry { sets: 1, ways: 2 };
        let policy = Spec::parse("lru").unwrap().policy(geometry, 1).unwrap();
        Cache::new(geometry, policy)
    }

    fn ask(cache: &mut Cache, line: u64, kind: Kind) -> Outcome {
        cache.access(&request(line, kind))
    }

    #[test]
    fn what_is_written_back_stays_and_is_clean() {
        let mut cache = cache();
        ask(&mut cache, 1, Kind::WriteBack);
        assert!(cache.flush(1, false, false));
        assert!(!cache.flush(1, false, false), "it is clean");
        assert!(!cache.flush(2, false, false), "it is not there");
        assert!(cache.flush(2, true, false), "it was dirty above");
        assert_eq!((cache.dirty_lines(), cache.tags().filled()), (0, 1));
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
        assert!(cache.flush(1, false, true));
        assert_eq!(cache.tags().filled(), 1);
        let evicts_nothing = Outcome::Miss { evicted: None };
        assert_eq!(ask(&mut cache, 3, Kind::Load), evicts_nothing);
        assert!(matches!(
            ask(&mut cache, 2, Kind::Load),
            Outcome::Hit { .. }
        ));
        assert_eq!(cache.tags().filled(), 2);
    }
}
