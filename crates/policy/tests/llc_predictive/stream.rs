//! Streams of requests that teach predictors something: loops and scans, each with its instruction,
//! and requests without a pattern.

use proptest::prelude::*;
use terrace_policy::llc::{Geometry, Kind, Request};

/// A few requests. Tags tell the lines of a set apart.
#[derive(Clone, Debug)]
pub enum Step {
    /// One.
    One {
        tag: u64,
        ip: u64,
        core: u8,
        kind: Kind,
    },
    /// Loads of the same lines each time.
    Loop { tags: u64, ip: u64 },
    /// Loads of one line after another.
    Scan { first: u64, tags: u64, ip: u64 },
}

/// Few instructions, whose signatures differ: twins do not hash.
const IPS: [u64; 4] = [0x40_1000, 0x40_2344, 0x7F00_0000_1238, 0x55_5555_0ABC];

fn kind() -> impl Strategy<Value = Kind> {
    let kinds = [
        Kind::Load,
        Kind::Load,
        Kind::Store,
        Kind::WriteBack,
        Kind::Prefetch,
    ];
    prop::sample::select(kinds.to_vec())
}

fn step() -> impl Strategy<Value = Step> {
    let one = (0..40u64, 0..4u64, 0..2u8, kind());
    let ones = prop_oneof![
        6 => one.prop_map(|(tag, ip, core, kind)| Step::One { tag, ip, core, kind }),
        1 => (1..20u64, 0..4u64).prop_map(|(tags, ip)| Step::Loop { tags, ip }),
        1 => (40..200u64, 1..40u64, 0..4u64)
            .prop_map(|(first, tags, ip)| Step::Scan { first, tags, ip }),
    ];
    ones
}

/// Many steps, each of one set of the first few.
pub fn steps() -> impl Strategy<Value = Vec<(u8, Step)>> {
    prop::collection::vec((0..4u8, step()), 1..200)
}

/// Returns the requests of steps. Sets 0 and 3 of 64 are sampled by every policy that samples more
/// than one.
pub fn requests(geometry: Geometry, steps: &[(u8, Step)]) -> Vec<Request> {
    let of = |(set, step): &(u8, Step)| one_set(geometry, usize::from(*set), step);
    steps.iter().flat_map(of).collect()
}

/// Returns the requests of steps, each step for one set after the other.
pub fn over_all_sets(geometry: Geometry, steps: &[Step]) -> Vec<Request> {
    let of = |step| (0..geometry.sets).flat_map(move |set| one_set(geometry, set, step));
    steps.iter().flat_map(of).collect()
}

fn one_set(geometry: Geometry, set: usize, step: &Step) -> Vec<Request> {
    let request = |tag: u64, ip: u64, core, kind| Request {
        line: tag * geometry.sets as u64 + (set % geometry.sets) as u64,
        ip: if kind == Kind::WriteBack {
            0
        } else {
            IPS[ip as usize]
        },
        core,
        kind,
    };
    match *step {
        Step::One {
            tag,
            ip,
            core,
            kind,
        } => vec![request(tag, ip, core, kind)],
        Step::Loop { tags, ip } => (0..tags)
            .map(|tag| request(tag, ip, 0, Kind::Load))
            .collect(),
        Step::Scan { first, tags, ip } => {
            let tags = first..first + tags;
            tags.map(|tag| request(tag, ip, 0, Kind::Load)).collect()
        }
    }
}

/// Returns what an exclusive cache is asked for, and given, by a level of so many lines above that
/// makes these requests.
pub fn above(lines: usize, requests: &[Request]) -> Vec<Request> {
    // The lines of that level, the oldest first, and whether they were written.
    let mut held: Vec<(Request, bool)> = Vec::new();
    let mut asked = Vec::new();
    for request in requests {
        let known = held.iter_mut().find(|held| held.0.line == request.line);
        match known {
            Some((_, written)) => *written |= request.kind == Kind::WriteBack,
            None if request.kind == Kind::WriteBack => {}
            None => {
                asked.push(*request);
                held.push((*request, false));
            }
        }
        if held.len() > lines {
            let (gone, written) = held.remove(0);
            let kind = match written {
                true => Kind::WriteBack,
                false => Kind::CleanVictim,
            };
            let ip = 0;
            asked.push(Request { ip, kind, ..gone });
        }
    }
    asked
}
