//! Random calls of a policy by a driver.

use proptest::prelude::*;
use terrace_policy::params::Params;
use terrace_policy::replacement::{Answer, Make, PageId, Replacement, Touch};

/// Pages of a random run are below this, so that a set of them is a u64.
pub const PAGES: u32 = 60;

/// One call of a policy.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    Touch(Touch),
    Prefetch(PageId),
    Cleaned(PageId),
    Remove(PageId),
    Evict,
}

impl Step {
    /// Carries the step out; returns the answer of a touch, and the evicted page.
    pub fn apply(self, policy: &mut dyn Replacement) -> (Option<Answer>, Option<PageId>) {
        match self {
            Step::Touch(touch) => match policy.touch(touch) {
                Answer::Hit => (Some(Answer::Hit), None),
                Answer::Miss { evicted } => (Some(Answer::Miss { evicted }), evicted),
            },
            Step::Prefetch(page) => (None, policy.prefetch(page)),
            Step::Cleaned(page) => {
                policy.cleaned(page);
                (None, None)
            }
            Step::Remove(page) => {
                policy.remove(page);
                (None, None)
            }
            Step::Evict => (None, policy.evict()),
        }
    }

    /// Returns the page that comes in, if it is not resident.
    pub fn brings(self) -> Option<PageId> {
        match self {
            Step::Touch(Touch { page, .. }) | Step::Prefetch(page) => Some(page),
            Step::Cleaned(_) | Step::Remove(_) | Step::Evict => None,
        }
    }
}

/// Returns the touches among `steps`, in order.
pub fn touches(steps: &[Step]) -> Vec<Touch> {
    let touch = |step: &Step| match *step {
        Step::Touch(touch) => Some(touch),
        _ => None,
    };
    steps.iter().filter_map(touch).collect()
}

/// Makes a policy with its default settings for a run of `steps`.
pub fn make(make: Make, capacity: usize, seed: u64, steps: &[Step]) -> Box<dyn Replacement> {
    make_with(make, capacity, "", seed, steps)
}

/// Makes a policy with these settings for a run of `steps`.
pub fn make_with(
    make: Make,
    capacity: usize,
    settings: &str,
    seed: u64,
    steps: &[Step],
) -> Box<dyn Replacement> {
    let params = &mut Params::parse(settings).unwrap();
    let made = match make {
        Make::Online(make) => make(capacity, params, seed),
        Make::Offline(make) => {
            let future = touches(steps);
            let pages: Vec<_> = future.iter().map(|touch| touch.page).collect();
            make(capacity, params, &pages)
        }
    };
    made.unwrap()
}

/// Draws some pages more often than others, so that there are hits at every capacity.
fn page() -> impl Strategy<Value = PageId> {
    prop_oneof![2 => 0..6u32, 2 => 0..20u32, 1 => 0..PAGES].prop_map(PageId)
}

fn touch() -> impl Strategy<Value = Step> {
    (page(), any::<bool>()).prop_map(|(page, write)| Step::Touch(Touch { page, write }))
}

/// Draws a run of steps, most of them touches.
pub fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        12 => touch(),
        3 => page().prop_map(Step::Prefetch),
        2 => page().prop_map(Step::Cleaned),
        1 => page().prop_map(Step::Remove),
        2 => Just(Step::Evict),
    ];
    prop::collection::vec(step, 1..300)
}
