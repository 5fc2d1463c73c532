//! An exclusive cache: a victim cache of the level above.

use rustc_hash::FxHashMap;

use super::{Kind, LlcPolicy, Outcome, Place, Request, Tags};
use crate::llc::Geometry;

/// What an exclusive cache knows of the level above.
///
/// No line is here and above. A load, store or prefetch that hits takes its line out of the cache,
/// and one that misses brings it to the level above alone; a line that the level above evicts,
/// clean or dirty, comes in here. A dirty line that is taken out stays dirty: it comes back dirty,
/// whether or not it is written meanwhile. The level above does not know that. So several exclusive
/// caches can serve the same requests.
///
/// Policies are told as follows. [`LlcPolicy::request`] is called for each request, and for a line
/// that comes in with the kind [`Kind::WriteBack`] if it is dirty, otherwise
/// [`Kind::CleanVictim`]. A hit is told by [`LlcPolicy::take`], a miss by [`LlcPolicy::pass`]. For
/// a line that comes in the policy is asked for a victim if the set is full, and told by
/// [`LlcPolicy::insert`]; the request of these is that which took the line to the level above, with
/// its instruction, because the line itself has none. Where nothing asked for the line it is a
/// write-back.
pub struct Above {
    /// What took each line to the level above.
    lines: FxHashMap<u64, Taken>,
    /// The most ways of each set that were filled at a time, and their sum.
    most: Vec<u8>,
    ever: usize,
}

/// How a line went to the level above.
#[derive(Clone, Copy)]
struct Taken {
    request: Request,
    /// Whether it was here.
    hit: bool,
    /// Whether it was dirty here, and has not been flushed since.
    dirty: bool,
}

/// A line that the level above has evicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Victim {
    /// Whether it is dirty.
    pub dirty: bool,
    /// Whether a hit in this cache took it to the level above.
    pub reused: bool,
}

impl Above {
    /// The empty level above an empty cache of this shape.
    pub fn new(geometry: Geometry) -> Self {
        Self {
            lines: FxHashMap::default(),
            most: vec![0; geometry.sets],
            ever: 0,
        }
    }

    /// Number of places that have been filled.
    pub fn ever_filled(&self) -> usize {
        self.ever
    }

    /// Flushes a line, which leaves the level above or is clean there. Returns whether it was dirty
    /// when it was taken there.
    pub fn flush(&mut self, line: u64, invalidates: bool) -> bool {
        if invalidates {
            return self.lines.remove(&line).is_some_and(|taken| taken.dirty);
        }
        let taken = self.lines.get_mut(&line);
        taken.is_some_and(|taken| std::mem::take(&mut taken.dirty))
    }

    /// Notes that the ways of a set that are `filled` have become more.
    fn note_filled(&mut self, set: usize, filled: u8) {
        if filled > self.most[set] {
            self.most[set] = filled;
            self.ever += 1;
        }
    }
}

impl Tags {
    /// Serves requests to an exclusive cache under a policy, and appends the outcome of each.
    pub fn serve_exclusive<P: LlcPolicy + ?Sized>(
        &mut self,
        policy: &mut P,
        above: &mut Above,
        requests: &[Request],
        outcomes: &mut Vec<Outcome>,
    ) {
        outcomes.extend(requests.iter().map(|request| match request.kind.reads() {
            true => self.give(policy, above, request),
            false => self.take_in(policy, above, request),
        }));
    }

    /// Gives a line to the level above.
    fn give<P: LlcPolicy + ?Sized>(
        &mut self,
        policy: &mut P,
        above: &mut Above,
        request: &Request,
    ) -> Outcome {
        let set = self.geometry.set_of(request.line);
        policy.request(set, request);
        let place = self.find(set, request.line).map(|way| Place { set, way });
        let mut taken = Taken {
            request: *request,
            hit: place.is_some(),
            dirty: false,
        };
        let outcome = match place {
            Some(place) => {
                let position = policy.position(place);
                if let Some(position) = position {
                    self.positions[position] += 1;
                }
                self.counts.of(request.kind).hits += 1;
                policy.take(place, request);
                taken.dirty = self.free(place);
                self.counts.taken_dirty += u64::from(taken.dirty);
                Outcome::Hit { position }
            }
            None => {
                self.counts.of(request.kind).fills += 1;
                policy.pass(set, request);
                Outcome::Passed
            }
        };
        above.lines.insert(request.line, taken);
        outcome
    }

    /// Takes in a line that the level above evicts.
    fn take_in<P: LlcPolicy + ?Sized>(
        &mut self,
        policy: &mut P,
        above: &mut Above,
        request: &Request,
    ) -> Outcome {
        let set = self.geometry.set_of(request.line);
        let taken = above.lines.remove(&request.line);
        let victim = Victim {
            dirty: request.kind.writes() || taken.is_some_and(|taken| taken.dirty),
            reused: taken.is_some_and(|taken| taken.hit),
        };
        let told = |kind| Request { kind, ..*request };
        policy.request(
            set,
            &told(match victim.dirty {
                true => Kind::WriteBack,
                false => Kind::CleanVictim,
            }),
        );
        debug_assert_eq!(self.find(set, request.line), None, "it was above");
        let by = taken.map_or(told(Kind::WriteBack), |taken| taken.request);
        let Some((way, evicted)) = self.make_room(policy, set, &by) else {
            return self.bypass(request.kind, victim.dirty);
        };
        above.note_filled(set, self.filled[set]);
        self.counts.of(request.kind).fills += 1;
        let place = Place { set, way };
        self.put(place, request.line);
        self.dirty[set] |= u64::from(victim.dirty) << way;
        self.counts.dirtied += u64::from(victim.dirty);
        policy.insert(place, &by, victim);
        Outcome::Miss { evicted }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llc::testing::request;
    use crate::llc::{Cache, Evicted, Spec};

    const PASSED: Outcome = Outcome::Passed;
    const FILLED: Outcome = Outcome::Miss { evicted: None };

    fn cache(policy: &str) -> Cache {
        let geometry = Geometry { sets: 1, ways: 2 };
        let policy = Spec::parse(policy).unwrap().policy(geometry, 1).unwrap();
        Cache::new(geometry, policy).exclusive().unwrap()
    }

    fn ask(cache: &mut Cache, line: u64, kind: Kind) -> Outcome {
        let mut outcomes = Vec::new();
        cache.serve(&[request(line, kind)], &mut outcomes);
        outcomes[0]
    }

    fn evicted(line: u64, dirty: bool) -> Outcome {
        let evicted = Some(Evicted { line, dirty });
        Outcome::Miss { evicted }
    }

    #[test]
    fn a_line_is_here_or_above_and_stays_dirty() {
        let mut cache = cache("lru");
        assert_eq!(ask(&mut cache, 1, Kind::Store), PASSED);
        assert_eq!(ask(&mut cache, 1, Kind::WriteBack), FILLED);
        let hit = |position| Outcome::Hit {
            position: Some(position),
        };
        assert_eq!(ask(&mut cache, 1, Kind::Load), hit(0));
        assert_eq!((cache.tags().filled(), cache.dirty_lines()), (0, 0));
        // It is not written again, and dirty all the same.
        assert_eq!(ask(&mut cache, 1, Kind::CleanVictim), FILLED);
        for line in [2, 3] {
            assert_eq!(ask(&mut cache, line, Kind::Prefetch), PASSED);
        }
        assert_eq!(ask(&mut cache, 2, Kind::CleanVictim), FILLED);
        assert_eq!(cache.ever_filled(), 2);
        assert_eq!(ask(&mut cache, 3, Kind::CleanVictim), evicted(1, true));
        assert_eq!(ask(&mut cache, 2, Kind::Load), hit(1));
        let counts = cache.tags().counts();
        assert_eq!((counts.dirtied, counts.taken_dirty), (2, 1));
        assert_eq!((counts.writebacks(), counts.reads()), (1, 3));
        assert_eq!(cache.ever_filled(), 2, "though one is free");
    }

    /// Counters of one bit: lines of 0 are dead on arrival once one left the sampler.
    #[test]
    fn what_was_dirty_here_is_written_where_it_passes_by() {
        let mut cache = cache("dblk:entries=1,threshold=3");
        for line in [1, 2] {
            assert_eq!(ask(&mut cache, line, Kind::Load), PASSED);
            assert_eq!(ask(&mut cache, line, Kind::WriteBack), FILLED);
        }
        assert!(matches!(
            ask(&mut cache, 2, Kind::Load),
            Outcome::Hit { .. }
        ));
        for line in [3, 4] {
            assert_eq!(ask(&mut cache, line, Kind::Load), PASSED);
        }
        assert_eq!(ask(&mut cache, 3, Kind::CleanVictim), FILLED);
        let bypassed = |written| Outcome::Bypassed { written };
        assert_eq!(ask(&mut cache, 4, Kind::CleanVictim), bypassed(false));
        assert_eq!(ask(&mut cache, 2, Kind::CleanVictim), bypassed(true));
        let counts = cache.tags().counts();
        assert_eq!((counts.dirty_bypasses, counts.writebacks()), (1, 1));
        assert_eq!((counts.dirtied, counts.taken_dirty), (3, 1));
        assert_eq!(cache.dirty_lines(), 1, "line 1");
    }

    #[test]
    fn a_flush_finds_what_is_above() {
        for invalidates in [false, true] {
            let mut cache = cache("lru");
            ask(&mut cache, 1, Kind::Store);
            ask(&mut cache, 1, Kind::WriteBack);
            ask(&mut cache, 1, Kind::Load);
            assert!(cache.flush(1, false, invalidates), "it is dirty above");
            assert!(!cache.flush(1, false, invalidates), "and is not now");
            if !invalidates {
                assert_eq!(ask(&mut cache, 1, Kind::CleanVictim), FILLED);
            }
            assert_eq!(cache.dirty_lines(), 0);
            let counts = cache.tags().counts();
            assert_eq!((counts.dirtied, counts.writebacks()), (2, 1));
        }
    }

    #[test]
    fn a_policy_without_a_meaning_here_is_not_used() {
        let geometry = Geometry { sets: 4, ways: 2 };
        let policy = Spec::parse("density").unwrap().policy(geometry, 1).unwrap();
        assert!(Cache::new(geometry, policy).exclusive().is_none());
    }
}
