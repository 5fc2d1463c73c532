//! Successors of each page, the most recent first.

use terrace_policy::prefetch::{Params, Prediction, Predictor};
use terrace_policy::{Fault, Location, Memory, Space};

use super::{Event, History, answer};

pub struct Markov {
    states: usize,
    edges: usize,
    history: History,
    /// The state visited last first; in it the edge followed last first.
    model: Vec<(Location, Vec<u64>)>,
}

impl Markov {
    pub fn new(params: &mut Params) -> Self {
        Self {
            states: params.take("states", "", 1 << 18, 1..=1 << 24).unwrap(),
            edges: params.take("edges", "", 4, 1..=8).unwrap(),
            history: History::default(),
            model: Vec::new(),
        }
    }
}

impl Predictor for Markov {
    fn fault(&mut self, fault: &Fault, _: &mut dyn Memory, predictions: &mut Vec<Prediction>) {
        let page = fault.at.page.0;
        let before = self.history.pages_before(fault).first().copied();
        for (at, edges) in &mut self.model {
            if at.space == fault.at.space && Some(at.page.0) == before && before != Some(page) {
                edges.retain(|edge| *edge != page);
                edges.insert(0, page);
                edges.truncate(self.edges);
            }
        }
        let known = self.model.iter().position(|(at, _)| *at == fault.at);
        let state = match known {
            Some(place) => self.model.remove(place),
            None => (fault.at, Vec::new()),
        };
        let edges = state.1.iter().copied().map(Some).collect();
        self.model.insert(0, state);
        self.model.truncate(self.states);
        self.history.0.push(Event::Fault(*fault));
        answer(fault, edges, self.edges, 0, predictions);
    }

    fn forget(&mut self, space: Space) {
        self.model.retain(|(at, _)| at.space != space);
        self.history.0.push(Event::Forget(space));
    }
}
