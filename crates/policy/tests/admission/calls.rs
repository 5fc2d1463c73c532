//! What drivers report to admission policies, drawn at random.

use std::time::Duration;

use proptest::prelude::*;
use terrace_policy::admission::{Admission, Answer, Request};

/// Pages that are drawn.
pub const PAGES: u64 = 24;

/// A call of a driver.
#[derive(Clone, Copy, Debug)]
pub enum Call {
    Missed(Request),
    Hit(Request),
    Admitted(Request),
    Wrote(u64, Duration),
}

impl Call {
    /// Makes the call.
    pub fn tell(&self, policy: &mut dyn Admission) {
        match self {
            Self::Missed(request) => policy.missed(request),
            Self::Hit(request) => policy.hit(request),
            Self::Admitted(request) => policy.admitted(request),
            Self::Wrote(bytes, time) => policy.wrote(*bytes, *time),
        }
    }
}

/// Returns the answers for all pages at a time, small files and large ones in turn: whether each is
/// wanted, and whether it may move up.
pub fn answers(policy: &dyn Admission, time: Duration) -> Vec<(Answer, bool)> {
    let request = |page| Request {
        page,
        size: 1 << (page % 3 * 12),
        time,
    };
    (0..PAGES)
        .map(|page| (policy.wants(&request(page)), policy.affords(&request(page))))
        .collect()
}

/// Calls in any order. Pages often follow each other, and time goes back now and then.
pub fn calls() -> impl Strategy<Value = Vec<Call>> {
    let page = prop_oneof![1 => (0..PAGES).prop_map(Some), 2 => Just(None)];
    let step = (page, 0..40_u64, 0..1_u64 << 30, 0..8_u8, any::<u16>());
    prop::collection::vec(step, 0..300).prop_map(|steps| {
        let (mut next, mut seconds) = (0, 0_u64);
        let calls = steps.into_iter().map(|(page, wait, size, kind, bytes)| {
            let page = page.unwrap_or(next);
            next = (page + 1) % PAGES;
            seconds = match wait {
                0 => seconds / 2,
                wait => seconds + wait,
            };
            let time = Duration::from_secs(seconds);
            let request = Request { page, size, time };
            match kind {
                0..=3 => Call::Missed(request),
                4 | 5 => Call::Hit(request),
                6 => Call::Admitted(request),
                _ => Call::Wrote(bytes.into(), time),
            }
        });
        calls.collect()
    })
}

/// The time of a call, if it has one.
pub fn time(call: &Call) -> Duration {
    match call {
        Call::Missed(request) | Call::Hit(request) | Call::Admitted(request) => request.time,
        Call::Wrote(_, time) => *time,
    }
}
