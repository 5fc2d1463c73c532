//! Dirty lines that are written to memory before they are evicted.

use super::{Cache, Place};

impl Cache {
    /// Whether the line in a place may be written early: it is dirty, and in the low-hit part.
    fn may_be_written(&self, place: Place) -> bool {
        self.tags().is_dirty(place) && self.policy().low_hit(place) == Some(true)
    }

    /// Returns the place of a line that may be written early; `None` if it may not.
    pub fn low_hit_dirty(&self, line: u64) -> Option<Place> {
        let place = self.tags().place(line)?;
        self.may_be_written(place).then_some(place)
    }

    /// Returns the place of the line of a set, of those that may be written early and are
    /// `wanted`, that was used least recently.
    pub fn least_recent_low_hit_dirty(
        &self,
        set: usize,
        wanted: impl Fn(Place) -> bool,
    ) -> Option<Place> {
        let places = (0..self.geometry().ways).map(|way| Place { set, way });
        let low = places.filter(|place| self.may_be_written(*place) && wanted(*place));
        low.max_by_key(|place| self.policy().position(*place))
    }

    /// Writes the dirty line in a place to memory, where it stays clean, and returns it. The policy
    /// is not told.
    pub fn write_early(&mut self, place: Place) -> u64 {
        self.tags.write_early(place);
        self.tags.line(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llc::testing::request;
    use crate::llc::{Evicted, Geometry, Kind, Outcome, Spec};

    /// One set of eight ways, of whose lines 0 to 7 the even ones are dirty; 0 is the least recent.
    fn cache(policy: &str) -> Cache {
        let geometry = Geometry { sets: 1, ways: 8 };
        let policy = Spec::parse(policy).unwrap().policy(geometry, 1).unwrap();
        let mut cache = Cache::new(geometry, policy);
        for line in 0..8 {
            let kind = match line % 2 {
                0 => Kind::WriteBack,
                _ => Kind::Load,
            };
            cache.access(&request(line, kind));
        }
        cache
    }

    fn next(cache: &Cache) -> Option<u64> {
        let place = cache.least_recent_low_hit_dirty(0, |_| true);
        place.map(|place| cache.tags().line(place))
    }

    #[test]
    fn the_low_hit_lines_are_written_from_the_least_recent_on() {
        for (policy, lines) in [
            ("lru", &[0][..]),
            ("nhm:n=8", &[]),
            ("nhm:n=3", &[0, 2, 4]),
            ("ari", &[]),
            ("nru", &[]),
            ("ari:order=rrip", &[]),
        ] {
            let mut cache = cache(policy);
            for line in lines {
                assert_eq!(next(&cache), Some(*line), "{policy}");
                let place = cache.low_hit_dirty(*line).unwrap();
                assert_eq!(cache.write_early(place), *line);
                assert_eq!(cache.low_hit_dirty(*line), None, "it is clean");
            }
            assert_eq!(next(&cache), None, "{policy}");
            assert_eq!(cache.dirty_lines(), 4 - lines.len() as u64);
            assert_eq!(cache.tags().counts().writebacks(), lines.len() as u64);
        }
    }

    #[test]
    fn what_was_written_early_is_evicted_clean() {
        let mut cache = cache("nhm:n=4");
        cache.write_early(cache.low_hit_dirty(2).unwrap());
        let line = |line, dirty| Outcome::Miss {
            evicted: Some(Evicted { line, dirty }),
        };
        let outcomes = (8..11).map(|new| cache.access(&request(new, Kind::Load)));
        let outcomes: Vec<Outcome> = outcomes.collect();
        assert_eq!(outcomes, [line(1, false), line(2, false), line(3, false)]);
        assert_eq!(cache.tags().counts().early_writes, 1);
    }

    #[test]
    fn those_that_are_not_wanted_wait() {
        let cache = cache("nhm:n=0");
        let not_the_first = |place: Place| place.way != 0;
        let place = cache.least_recent_low_hit_dirty(0, not_the_first);
        assert_eq!(place, Some(Place { set: 0, way: 2 }));
    }
}
