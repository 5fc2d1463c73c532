//! The majority by counting every distance in every window.

use std::collections::HashMap;

use terrace_policy::prefetch::{Outcome, Params, Prediction, Predictor, Source};
use terrace_policy::{Fault, Memory, Space};

use super::{answer, distance, go};

pub struct Leap {
    history: usize,
    split: usize,
    window: usize,
    threads: HashMap<u32, State>,
}

struct State {
    space: Space,
    pages: Vec<u64>,
    /// All distances, the latest last.
    distances: Vec<i64>,
    trend: Option<i64>,
    /// The pages that were asked for last lay ahead, and this one comes after them.
    after: Option<u64>,
    window: usize,
    used: usize,
}

impl State {
    fn new(space: Space) -> Self {
        Self {
            space,
            pages: Vec::new(),
            distances: Vec::new(),
            trend: None,
            after: None,
            window: 0,
            used: 0,
        }
    }

    fn majority(&self, window: usize) -> Option<i64> {
        let latest = self.distances.len().checked_sub(window)?;
        let latest = &self.distances[latest..];
        let times = |distance: i64| latest.iter().filter(|d| **d == distance).count();
        latest.iter().copied().find(|d| 2 * times(*d) > window)
    }
}

impl Leap {
    pub fn new(params: &mut Params) -> Self {
        Self {
            history: params.take("history", "", 32, 1..=1024).unwrap(),
            split: params.take("split", "", 4, 1..=1024).unwrap(),
            window: params.take("window", "", 16, 1..=512).unwrap(),
            threads: HashMap::new(),
        }
    }

    fn windows(&self) -> Vec<usize> {
        let first = (self.history / self.split).max(1);
        let mut windows: Vec<usize> = (0..32).map(|k| first << k).collect();
        windows.retain(|window| *window < self.history);
        windows.push(self.history);
        windows
    }
}

impl Predictor for Leap {
    fn fault(&mut self, fault: &Fault, _: &mut dyn Memory, predictions: &mut Vec<Prediction>) {
        let (page, space) = (fault.at.page.0, fault.at.space);
        let windows = self.windows();
        let state = self.threads.entry(fault.thread.0);
        let state = state.or_insert_with(|| State::new(space));
        if state.space != space {
            *state = State::new(space);
        }
        let mut latest = state.pages.last().map_or(0, |last| distance(*last, page));
        if state.used > 0 && state.after == Some(page) {
            latest = state.trend.unwrap();
        }
        state.pages.push(page);
        if latest != 0 {
            state.distances.push(latest);
        }
        let majority = windows.iter().find_map(|window| state.majority(*window));
        if majority.is_some() {
            state.trend = majority;
        }
        let mut wanted = 1;
        if state.used == 0 {
            wanted = usize::from(state.trend == Some(latest));
        }
        while state.used > 0 && wanted <= state.used {
            wanted *= 2;
        }
        state.window = wanted.min(self.window).max(state.window / 2);
        state.used = 0;
        state.after = None;
        let Some(trend) = state.trend else {
            return;
        };
        let mut pages = Vec::new();
        for k in 1..=state.window as i64 {
            pages.push(go(page, trend, k));
            if majority.is_none() {
                pages.push(go(page, trend, -k));
            }
        }
        pages.truncate(state.window);
        if majority.is_some() {
            state.after = go(page, trend, state.window as i64 + 1);
        }
        let (window, thread) = (state.window, fault.thread.0);
        answer(fault, pages, window, thread.into(), predictions);
    }

    fn outcome(&mut self, source: Source, outcome: Outcome) {
        if let Some(state) = self.threads.get_mut(&(source.0 as u32))
            && outcome != Outcome::Wasted
        {
            state.used += 1;
        }
    }

    fn forget(&mut self, space: Space) {
        self.threads.retain(|_, state| state.space != space);
    }
}
