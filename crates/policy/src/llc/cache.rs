//! The lines of a cache, under a policy.

mod flush;

use super::geometry::{Geometry, Place};
use super::{Choice, LlcPolicy, Request};

/// No line: the highest addresses are the kernel's.
const NONE: u64 = u64::MAX;

/// A set-associative, write-back, write-allocate cache.
pub struct Cache {
    geometry: Geometry,
    /// Which line is in each place.
    lines: Vec<u64>,
    /// The dirty ways of each set, as bits.
    dirty: Vec<u64>,
    /// How many ways of each set are filled: the first ones, unless lines were flushed away.
    filled: Vec<u8>,
    /// How many of all.
    held: usize,
    /// How often a line became dirty.
    dirtied: u64,
    policy: Box<dyn LlcPolicy>,
}

/// A line that had to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evicted {
    /// The line.
    pub line: u64,
    /// Whether it has to be written to memory.
    pub dirty: bool,
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The line was there, behind so many others of its set, if the policy keeps an order.
    Hit {
        /// [`LlcPolicy::position`] before the hit.
        position: Option<usize>,
    },
    /// It was not, and is now.
    Miss {
        /// Who had to go; none while there is room.
        evicted: Option<Evicted>,
    },
    /// It was not, and is not now. What was to be written goes to memory.
    Bypassed,
}

impl Cache {
    /// An empty one.
    pub fn new(geometry: Geometry, policy: Box<dyn LlcPolicy>) -> Self {
        Self {
            geometry,
            lines: vec![NONE; geometry.lines()],
            dirty: vec![0; geometry.sets],
            filled: vec![0; geometry.sets],
            held: 0,
            dirtied: 0,
            policy,
        }
    }

    /// Serves a request.
    pub fn access(&mut self, request: &Request) -> Outcome {
        let set = self.geometry.set_of(request.line);
        self.policy.request(set, request);
        match self.find(set, request.line) {
            Some(way) => self.hit(Place { set, way }, request),
            None => self.miss(set, request),
        }
    }

    fn hit(&mut self, place: Place, request: &Request) -> Outcome {
        let position = self.policy.position(place);
        self.policy.hit(place, request);
        self.write(place, request);
        Outcome::Hit { position }
    }

    fn miss(&mut self, set: usize, request: &Request) -> Outcome {
        let filled = usize::from(self.filled[set]);
        let (way, evicted) = if filled < self.geometry.ways {
            self.filled[set] += 1;
            self.held += 1;
            (self.find(set, NONE).unwrap_or(filled), None)
        } else {
            match self.policy.choose(set, self.dirty[set], request) {
                Choice::Bypass => return Outcome::Bypassed,
                Choice::Evict(way) => (way, Some(self.evict(Place { set, way }))),
            }
        };
        let place = Place { set, way };
        self.lines[place.index(self.geometry)] = request.line;
        self.write(place, request);
        self.policy.fill(place, request);
        Outcome::Miss { evicted }
    }

    /// Makes a line dirty if the request writes it.
    fn write(&mut self, place: Place, request: &Request) {
        let bit = u64::from(request.kind.writes()) << place.way;
        let dirty = &mut self.dirty[place.set];
        self.dirtied += u64::from(*dirty | bit != *dirty);
        *dirty |= bit;
    }

    fn evict(&mut self, place: Place) -> Evicted {
        let bit = 1 << place.way;
        let dirty = self.dirty[place.set] & bit != 0;
        self.dirty[place.set] &= !bit;
        let line = self.lines[place.index(self.geometry)];
        Evicted { line, dirty }
    }

    #[inline]
    fn find(&self, set: usize, line: u64) -> Option<usize> {
        let ways = self.geometry.ways;
        self.lines[set * ways..][..ways]
            .iter()
            .position(|&other| other == line)
    }

    /// Its shape.
    pub fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// Its policy.
    pub fn policy(&self) -> &dyn LlcPolicy {
        &*self.policy
    }

    /// How many lines it holds now.
    pub fn filled(&self) -> usize {
        self.held
    }

    /// How often a line became dirty that was not.
    pub fn dirtied(&self) -> u64 {
        self.dirtied
    }

    /// How many of its lines are dirty now.
    pub fn dirty_lines(&self) -> u64 {
        self.dirty
            .iter()
            .map(|set| u64::from(set.count_ones()))
            .sum()
    }
}
