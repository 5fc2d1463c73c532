//! `markov`: the pages that were missed right after this page before.
//!
//! Oskin & Loh 2015, V.B and V.D, after Joseph & Grunwald, "Prefetching using Markov Predictors",
//! ISCA 1997. Every missed page is a state, and its edges lead to the pages that its thread missed
//! next, the most recently followed first. Predictions follow one edge only: the paper found no use
//! in more. The state visited least recently is evicted. As in `stride`, misses follow each other
//! within a thread, and the threads of an address space share its states.

use super::answer::Answer;
use super::lru::Lru;
use super::threads::Threads;
use super::{Entry, Make, Params, Prediction, Predictor, Source};
use crate::page::{Fault, Location, Memory, Page, Space};
use crate::settings;

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "markov",
    summary: "the pages that were missed right after this one before (Oskin & Loh 2015, V.B)",
    paper: "Oskin & Loh 2015, V.B and V.D; Joseph & Grunwald, ISCA 1997",
    when: "Programs that repeat the same irregular walk, as over linked structures. It learns in the first walk, and predicts from the second on.",
    evidence: crate::registry::Evidence {
        open: "",
        compared: "no other program; a slow twin from the paper does the same, step by step",
    },
    make: Make::Online(&|params| Ok(Box::new(Markov::new(params)?))),
};

/// Most edges of a state.
const MOST_EDGES: usize = 8;

/// Targets of a state's edges, the most recently followed first.
#[derive(Clone, Copy)]
struct Edges {
    pages: [Page; MOST_EDGES],
    len: usize,
}

impl Edges {
    const NONE: Self = Self {
        pages: [Page(0); MOST_EDGES],
        len: 0,
    };

    fn pages(&self) -> &[Page] {
        &self.pages[..self.len]
    }

    /// Follows the edge to `page`; if there are more than `most`, the edge followed longest ago
    /// goes.
    fn follow(&mut self, page: Page, most: usize) {
        let known = self.pages().iter().position(|other| *other == page);
        let place = known.unwrap_or_else(|| {
            self.len = (self.len + 1).min(most);
            self.len - 1
        });
        self.pages[..=place].rotate_right(1);
        self.pages[0] = page;
    }
}

settings! {
    /// Settings of `markov`.
    pub struct MarkovSettings {
        /// pages that are named at a fault, at most: successors of each state
        edges: usize = 4, 1..=MOST_EDGES;
        /// missed pages that are remembered
        states: usize = 1 << 18, 1..=1 << 24;
    }
}

/// The `markov` predictor. A state takes 96 bytes and up to 10 in the index: with the default of
/// 262144 states, 28 MB when all are in use.
pub struct Markov {
    /// Most edges of a state.
    edges: usize,
    /// The page that each thread missed last.
    threads: Threads<Option<Page>>,
    states: Lru<Location, Edges>,
}

impl Markov {
    /// Makes a predictor with the given settings.
    ///
    /// # Errors
    /// Returns a message if a setting has a wrong value.
    pub fn new(params: &mut Params) -> Result<Self, String> {
        let settings = MarkovSettings::take(params)?;
        Ok(Self {
            edges: settings.edges,
            threads: Threads::new(),
            states: Lru::new(settings.states),
        })
    }
}

impl Predictor for Markov {
    fn fault(&mut self, fault: &Fault, _: &mut dyn Memory, predictions: &mut Vec<Prediction>) {
        let Location { space, page } = fault.at;
        let before = self.threads.of(fault).replace(page);
        if let Some(before) = before.filter(|before| *before != page)
            && let Some(edges) = self.states.peek_mut(&Location::new(space, before))
        {
            edges.follow(page, self.edges);
        }
        let edges = self.states.touch_or_insert(fault.at, || Edges::NONE);
        let mut answer = Answer::new(fault, self.edges);
        for page in edges.pages() {
            answer.add(Some(*page));
        }
        predictions.extend(answer.of(Source(0)));
    }

    fn forget(&mut self, space: Space) {
        self.threads.forget(space);
        self.states.retain(|at, _| at.space != space);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prefetch::testing::{SPACE, answers};

    fn new(params: &str) -> Markov {
        Markov::new(&mut Params::parse(params).unwrap()).unwrap()
    }

    #[test]
    fn what_followed_last_goes_first() {
        let walk = [1, 9, 1, 4, 1, 9, 1, 7, 1];
        let answers = answers(&mut new("edges=2"), &walk);
        assert_eq!(answers[2], [9]);
        assert_eq!(answers[3], []);
        assert_eq!(answers[4], [4, 9]);
        assert_eq!(answers[5], [1]);
        assert_eq!(answers[6], [9, 4]);
        assert_eq!(answers[8], [7, 9]);
    }

    #[test]
    fn the_state_visited_longest_ago_goes() {
        let answers = answers(&mut new("states=3"), &[1, 2, 3, 1, 4, 2, 1]);
        assert_eq!(answers[3], [2]);
        assert_eq!(answers[5], [], "2 made room for 4");
        assert_eq!(answers[6], [4, 2]);
    }

    #[test]
    fn an_address_space_that_ends_is_forgotten() {
        let mut markov = new("");
        answers(&mut markov, &[1, 2, 1, 2]);
        markov.forget(SPACE);
        assert!(answers(&mut markov, &[1])[0].is_empty());
    }
}
