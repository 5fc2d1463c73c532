//! Predictors once more, slow and obviously right: from their papers, with plain vectors that are
//! searched from end to end, and over the whole history.

mod leap;
mod markov;
mod stride;
mod vldp;

use terrace_policy::prefetch::{Params, Prediction, Predictor, Source};
use terrace_policy::{Fault, Location, Page, Space};

/// Constructor of a twin, which takes its settings.
type Make = fn(&mut Params) -> Box<dyn Predictor>;

/// The twins, by their names in the registry.
pub const TWINS: &[(&str, Make)] = &[
    ("leap", |params| Box::new(leap::Leap::new(params))),
    ("markov", |params| Box::new(markov::Markov::new(params))),
    ("stride", |params| Box::new(stride::Stride::new(params))),
    ("vldp", |params| Box::new(vldp::Vldp::new(params))),
];

/// All events so far.
#[derive(Default)]
struct History(Vec<Event>);

enum Event {
    Fault(Fault),
    Forget(Space),
}

impl History {
    /// The pages on which the thread of `fault` faulted before, the latest first, as far back as it
    /// was in that address space; of the same page several times in a row one is kept.
    fn pages_before(&self, fault: &Fault) -> Vec<u64> {
        let mut pages = Vec::new();
        for event in self.0.iter().rev() {
            match event {
                Event::Fault(other) if other.thread != fault.thread => {}
                Event::Fault(other) if other.at.space == fault.at.space => {
                    pages.push(other.at.page.0);
                }
                Event::Forget(space) if *space != fault.at.space => {}
                Event::Fault(_) | Event::Forget(_) => break,
            }
        }
        pages.dedup();
        pages
    }
}

/// Returns the distance from `from` to `to`.
fn distance(from: u64, to: u64) -> i64 {
    (i128::from(to) - i128::from(from)) as i64
}

/// The page `times` distances on, if that is less than 2^63 pages away.
fn go(page: u64, distance: i64, times: i64) -> Option<u64> {
    let by = i64::try_from(i128::from(distance) * i128::from(times));
    u64::try_from(i128::from(page) + i128::from(by.ok()?)).ok()
}

/// The first `most` of the pages, none twice and not that of the fault.
fn answer(
    fault: &Fault,
    pages: Vec<Option<u64>>,
    most: usize,
    source: u64,
    predictions: &mut Vec<Prediction>,
) {
    let mut chosen: Vec<u64> = Vec::new();
    for page in pages.into_iter().flatten() {
        if page != fault.at.page.0 && !chosen.contains(&page) {
            chosen.push(page);
        }
    }
    chosen.truncate(most);
    if !chosen.is_empty() {
        let at = |page| Location::new(fault.at.space, Page(page));
        predictions.push(Prediction {
            source: Source(source),
            pages: chosen.into_iter().map(at).collect(),
            goes_on: false,
        });
    }
}
