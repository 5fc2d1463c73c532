//! Strides of the whole history, counted anew at every fault.

use terrace_policy::prefetch::{Params, Prediction, Predictor};
use terrace_policy::{Fault, Memory, Space};

use super::{Event, History, answer, distance, go};

pub struct Stride {
    misses: usize,
    strides: usize,
    occurrences: usize,
    depth: i64,
    degree: usize,
    history: History,
}

impl Stride {
    pub fn new(params: &mut Params) -> Self {
        Self {
            misses: params.take("history", "", 1, 1..=16).unwrap(),
            strides: params.take("strides", "", 4, 1..=64).unwrap(),
            occurrences: params.take("occurrences", "", 1, 1..=1 << 20).unwrap(),
            depth: params.take("depth", "", 1, 1..=64).unwrap(),
            degree: params.take("degree", "", 16, 1..=512).unwrap(),
            history: History::default(),
        }
    }

    /// All strides of an address space in the order in which they were seen.
    fn seen(&self, space: Space) -> Vec<i64> {
        let mut seen = Vec::new();
        for (place, event) in self.history.0.iter().enumerate() {
            match event {
                Event::Fault(fault) if fault.at.space == space => {
                    let (earlier, page) = (&self.history.0[..place], fault.at.page.0);
                    let before = pages_before(earlier, fault).first().copied();
                    seen.extend(before.map(|before| distance(before, page)));
                }
                Event::Forget(gone) if *gone == space => seen.clear(),
                Event::Fault(_) | Event::Forget(_) => {}
            }
        }
        seen.retain(|stride| *stride != 0);
        seen
    }

    /// The strides that are kept and how often each was seen since it was, the latest first.
    fn kept(&self, space: Space) -> Vec<(i64, usize)> {
        let mut kept: Vec<(i64, usize)> = Vec::new();
        for stride in self.seen(space) {
            let times = kept.iter().find(|(known, _)| *known == stride);
            let times = times.map_or(0, |(_, times)| *times);
            kept.retain(|(known, _)| *known != stride);
            kept.insert(0, (stride, times + 1));
            kept.truncate(self.strides);
        }
        kept
    }
}

fn pages_before(events: &[Event], fault: &Fault) -> Vec<u64> {
    let copy = events.iter().map(|event| match event {
        Event::Fault(fault) => Event::Fault(*fault),
        Event::Forget(space) => Event::Forget(*space),
    });
    History(copy.collect()).pages_before(fault)
}

impl Predictor for Stride {
    fn fault(&mut self, fault: &Fault, _: &mut dyn Memory, predictions: &mut Vec<Prediction>) {
        self.history.0.push(Event::Fault(*fault));
        let misses = self.history.pages_before(fault);
        let kept = self.kept(fault.at.space);
        let mut pages = Vec::new();
        for times in 1..=self.depth {
            for miss in misses.iter().take(self.misses) {
                for (stride, seen) in &kept {
                    if *seen >= self.occurrences {
                        pages.push(go(*miss, *stride, times));
                    }
                }
            }
        }
        answer(fault, pages, self.degree, 0, predictions);
    }

    fn forget(&mut self, space: Space) {
        self.history.0.push(Event::Forget(space));
    }
}
