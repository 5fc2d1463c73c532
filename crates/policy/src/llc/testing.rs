//! Requests, and streams worked out by hand, for the tests of policies.

use super::{Cache, Evicted, Geometry, Kind, LlcPolicy, Outcome, Request};

/// Returns a request of core 0 without an instruction.
pub fn request(line: u64, kind: Kind) -> Request {
    let (ip, core) = (0, 0);
    Request {
        line,
        ip,
        core,
        kind,
    }
}

/// A request and its expected outcome.
pub struct Step {
    request: Request,
    expected: Expected,
}

/// An [`Outcome`] without the position.
#[derive(Debug, PartialEq, Eq)]
enum Expected {
    Hit,
    Miss(Option<Evicted>),
    Bypassed,
}

impl Step {
    fn of(line: u64, ip: u64, kind: Kind) -> Self {
        Self {
            request: Request {
                ip,
                ..request(line, kind)
            },
            expected: Expected::Miss(None),
        }
    }

    /// A load of a line by an instruction.
    pub fn load(line: u64, ip: u64) -> Self {
        Self::of(line, ip, Kind::Load)
    }

    /// A prefetch of a line that an instruction causes.
    pub fn prefetch(line: u64, ip: u64) -> Self {
        Self::of(line, ip, Kind::Prefetch)
    }

    /// A line that the level above writes back.
    pub fn write_back(line: u64) -> Self {
        Self::of(line, 0, Kind::WriteBack)
    }

    /// The line is in the cache.
    pub fn hits(mut self) -> Self {
        self.expected = Expected::Hit;
        self
    }

    /// The line goes to a free way.
    pub fn fills(mut self) -> Self {
        self.expected = Expected::Miss(None);
        self
    }

    /// A clean line is evicted.
    pub fn evicts(mut self, line: u64) -> Self {
        self.expected = Expected::Miss(Some(Evicted { line, dirty: false }));
        self
    }

    /// A dirty line is evicted.
    pub fn evicts_dirty(mut self, line: u64) -> Self {
        self.expected = Expected::Miss(Some(Evicted { line, dirty: true }));
        self
    }

    /// The line bypasses the cache.
    pub fn bypasses(mut self) -> Self {
        self.expected = Expected::Bypassed;
        self
    }
}

/// Serves all requests by a new cache under the policy, and compares each outcome with the expected
/// one.
pub fn run(geometry: Geometry, policy: Box<dyn LlcPolicy>, steps: &[Step]) {
    let mut cache = Cache::new(geometry, policy);
    for (at, step) in steps.iter().enumerate() {
        let outcome = match cache.access(&step.request) {
            Outcome::Hit { .. } => Expected::Hit,
            Outcome::Miss { evicted } => Expected::Miss(evicted),
            Outcome::Bypassed { .. } => Expected::Bypassed,
            Outcome::Passed => unreachable!("the cache is not exclusive"),
        };
        assert_eq!(outcome, step.expected, "step {at}: {:?}", step.request);
    }
}
