//! `leap`: the distance that the majority of the latest faults keep, if there is one.
//!
//! Al Maruf & Chowdhury, "Effectively Prefetching Remote Memory with Leap", USENIX ATC 2020. Taken
//! from it: the trend is the distance that has the majority (Boyer & Moore's vote) of the newest
//! `history / split` distances, or of twice as many, and so on up to `history`: 32 and 4 in the
//! authors' own code (github.com/SymbioticLab/Leap: `mm/swap_state.c`, and the example that sets it
//! up). The window, which is how many pages are asked for, is the next power of two above the
//! number of fetched pages that were used since the last fault, at most `window`; it is never less
//! than half of the last one, and where nothing was used it is one page if the fault follows the
//! trend. With a majority the window lies ahead; without one it lies around the fault, along the
//! last trend there was.
//!
//! Different here: distances are between virtual pages instead of places in the swap area, a
//! history belongs to a thread instead of a process, and the window goes up to 16 pages, the most
//! that every predictor here asks for, instead of 8 (the kernel's `vm.page-cluster`). The paper's
//! history holds uses of fetched pages as well. A predictor here does not hear them one by one.
//! Instead, a fault right behind pages some of which were used counts as one step of their trend:
//! otherwise a longer window would be taken for a wider trend.

use std::collections::VecDeque;

use super::answer::Answer;
use super::threads::Threads;
use super::{Entry, Make, Outcome, Params, Prediction, Predictor, Source};
use crate::page::{Fault, Memory, Page, Space, Thread};
use crate::settings;

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "leap",
    summary: "the distance that most of a thread's latest faults keep (Al Maruf & Chowdhury, ATC 2020)",
    paper: "Al Maruf & Chowdhury, Effectively Prefetching Remote Memory with Leap, USENIX ATC 2020",
    when: "Programs with one stride at a time for each thread, with noise in between. Interleaved strides are better with `stream`.",
    evidence: crate::registry::Evidence {
        open: "Histories of threads, and uses of fetched pages: see the file.",
        compared: "no other program; a slow twin from the paper does the same, step by step",
    },
    make: Make::Online(&|params| Ok(Box::new(Leap::new(params)?))),
};

settings! {
    /// Settings of `leap`.
    pub struct LeapSettings {
        /// distances between faults that are remembered, for each thread
        history: usize = 32, 1..=1024;
        /// the trend is sought in this part of the history first
        split: usize = 4, 1..=1024;
        /// pages that are named at a fault, at most
        window: usize = 16, 1..=512;
    }
}

/// The `leap` predictor.
pub struct Leap {
    settings: LeapSettings,
    threads: Threads<State>,
}

/// State of one thread.
#[derive(Default)]
struct State {
    last: Option<Page>,
    /// Distances between faults, the latest first.
    distances: VecDeque<i64>,
    trend: Option<i64>,
    /// Page after the window that lay ahead of the last fault.
    behind_window: Option<Page>,
    /// Pages in the last window.
    window: usize,
    /// Fetched pages used since the last fault.
    used: usize,
}

impl Leap {
    /// Makes a predictor with the given settings.
    ///
    /// # Errors
    /// Returns a message if a setting has a wrong value.
    pub fn new(params: &mut Params) -> Result<Self, String> {
        Ok(Self {
            settings: LeapSettings::take(params)?,
            threads: Threads::new(),
        })
    }
}

impl State {
    /// Records a fault; returns its distance from the last fault, or 0 for the first.
    fn note(&mut self, page: Page, most: usize) -> i64 {
        let last = self.last.replace(page).unwrap_or(page);
        let distance = match self.trend {
            Some(trend) if self.used > 0 && self.behind_window == Some(page) => trend,
            _ => page.distance_from(last),
        };
        if distance != 0 {
            self.distances.truncate(most - 1);
            self.distances.push_front(distance);
        }
        distance
    }

    /// Returns the number of pages to predict.
    fn widen(&mut self, follows: bool, most: usize) -> usize {
        let used = std::mem::take(&mut self.used);
        let wanted = match used {
            0 => usize::from(follows),
            used => (used + 1).next_power_of_two(),
        };
        self.window = wanted.min(most).max(self.window / 2);
        self.window
    }
}

/// Returns the majority of the first `first` distances, or of twice as many, and so on up to
/// `most`; `None` if there are fewer distances than are examined.
fn majority(distances: &VecDeque<i64>, first: usize, most: usize) -> Option<i64> {
    let (mut candidate, mut votes) = (0, 0);
    let mut counted = 0;
    let mut window = first;
    while window <= distances.len() {
        for &distance in distances.range(counted..window) {
            if votes == 0 {
                candidate = distance;
            }
            votes += if distance == candidate { 1 } else { -1 };
        }
        counted = window;
        let of = distances.range(..window);
        if of.filter(|distance| **distance == candidate).count() > window / 2 {
            return Some(candidate);
        }
        if window == most {
            break;
        }
        window = (window * 2).min(most);
    }
    None
}

impl Predictor for Leap {
    fn fault(&mut self, fault: &Fault, _: &mut dyn Memory, predictions: &mut Vec<Prediction>) {
        let page = fault.at.page;
        let state = self.threads.of(fault);
        let distance = state.note(page, self.settings.history);
        let first = (self.settings.history / self.settings.split).max(1);
        let majority = majority(&state.distances, first, self.settings.history);
        state.trend = majority.or(state.trend);
        state.behind_window = None;
        let follows = state.trend == Some(distance);
        let window = state.widen(follows, self.settings.window);
        let Some(trend) = state.trend else {
            return;
        };
        let step = |k: i64| page.at_distance(trend.checked_mul(k)?);
        let mut answer = Answer::new(fault, window);
        if majority.is_some() {
            let ahead = 1..=window as i64;
            ahead.for_each(|k| _ = answer.add(step(k)));
            state.behind_window = step(window as i64 + 1);
        } else {
            let around = (1..=window as i64).flat_map(|k| [k, -k]);
            around.take(window).for_each(|k| _ = answer.add(step(k)));
        }
        predictions.extend(answer.of(Source(u64::from(fault.thread.0))));
    }

    fn outcome(&mut self, source: Source, outcome: Outcome) {
        let thread = u32::try_from(source.0).map(Thread);
        let state = thread.ok().and_then(|thread| self.threads.get_mut(thread));
        match (state, outcome) {
            (Some(state), Outcome::Used | Outcome::Late | Outcome::Reissued) => state.used += 1,
            (None, _) | (_, Outcome::Wasted) => {}
        }
    }

    fn forget(&mut self, space: Space) {
        self.threads.forget(space);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prefetch::testing::{SPACE, answers};

    fn new(params: &str) -> Leap {
        Leap::new(&mut Params::parse(params).unwrap()).unwrap()
    }

    fn use_pages(leap: &mut Leap, pages: usize) {
        (0..pages).for_each(|_| leap.outcome(Source(1), Outcome::Used));
    }

    #[test]
    fn the_window_opens_as_pages_are_used() {
        let mut leap = new("split=8");
        // The first four distances are three of 2 and one of 50.
        let first = answers(&mut leap, &[0, 2, 52, 54, 56]);
        assert!(first[..4].iter().all(Vec::is_empty));
        assert_eq!(first[4], [58]);
        use_pages(&mut leap, 1);
        assert_eq!(answers(&mut leap, &[60])[0], [62, 64]);
        use_pages(&mut leap, 2);
        // Right behind what was fetched: still a distance of 2.
        assert_eq!(answers(&mut leap, &[66])[0], [68, 70, 72, 74]);
        use_pages(&mut leap, 4);
        assert_eq!(answers(&mut leap, &[76])[0].len(), 8);
        // Nothing was used of late: half as many, down to one while the trend is kept.
        assert_eq!(answers(&mut leap, &[78])[0].len(), 4);
        assert_eq!(answers(&mut leap, &[80, 82, 84])[2], [86]);
    }

    #[test]
    fn a_wider_look_finds_a_trend_that_others_disturb() {
        // Of the latest four distances none has a majority, of the latest eight 3 has five.
        let distances = VecDeque::from([9, 3, 8, 3, 3, 3, 7, 3]);
        assert_eq!(majority(&distances, 4, 8), Some(3));
        assert_eq!(majority(&distances, 4, 32), Some(3));
        assert_eq!(majority(&distances, 4, 4), None);
        assert_eq!(majority(&VecDeque::from([3, 3, 3]), 4, 32), None);
    }

    #[test]
    fn without_a_majority_around_the_fault_along_the_last_trend() {
        let mut leap = new("history=4,split=2");
        assert_eq!(answers(&mut leap, &[10, 15, 20])[2], [25]);
        use_pages(&mut leap, 2);
        // Distances 41, 5, 5: no majority of two; four there are not yet.
        assert_eq!(answers(&mut leap, &[61])[0], [66, 56, 71, 51]);
    }

    #[test]
    fn an_address_space_that_ends_is_forgotten() {
        let mut leap = new("");
        let pages: Vec<u64> = (1..=9).collect();
        assert_eq!(answers(&mut leap, &pages)[8], [10]);
        leap.forget(SPACE);
        assert!(answers(&mut leap, &[10])[0].is_empty());
    }
}
