//! `replay`: the misses that followed the last time, in their order, as far ahead as pays.
//!
//! The misses of each thread are recorded one after the other. When two misses follow each other as
//! they did before, what followed then is predicted, `depth` pages at a time; when the program
//! touches the first page of a prediction, the next one is made. Two misses are compared and not
//! one, because a page that holds several nodes of a list occurs in several places of its walk.
//!
//! After the global history buffer of Nesbit & Smith, HPCA 2004, with address correlation, and the
//! temporal streams of Wenisch et al., ISCA 2005, which run ahead of the program in the same way.
//! `markov` remembers successors, too, but predicts one step: the next page is late, and the one
//! behind it is a miss again.

use std::collections::VecDeque;

use super::accuracy::Accuracy;
use super::history::{History, Seen};
use super::lesson::{Lesson, Walks};
use super::{Entry, Make, Outcome, Params, Prediction, Predictor, Source};
use crate::page::{Fault, Location, Memory, Space, Thread};
use crate::settings;

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "replay",
    summary: "replays recorded misses in their order, running ahead (after Nesbit & Smith 2004)",
    paper: "Nesbit & Smith, HPCA 2004; Wenisch et al., ISCA 2005",
    when: "Programs that repeat the same irregular walk, as over lists and trees. It learns in the first walk, and runs ahead from the second on.",
    evidence: crate::registry::Evidence::NONE,
    make: Make::Online(&|params| Ok(Box::new(Replay::new(params)?))),
};

settings! {
    /// Settings of `replay`.
    pub struct ReplaySettings {
        /// pages of a walk's first prediction
        first: usize = 8, 1..=64;
        /// pages of one prediction, at most
        depth: usize = 64, 1..=256;
        /// misses that are recorded; when there are more, recording starts anew
        misses: usize = 1 << 18, 2..=1 << 26;
    }
}

/// A recorded walk that is being replayed.
struct Walk {
    source: Source,
    thread: Thread,
    /// The misses that were predicted: from the first place on, before the second.
    predicted: (u32, u32),
    /// Pages in the next prediction.
    depth: usize,
    wasted: usize,
    /// Place in the index of the misses that began the walk.
    begun_by: usize,
}

/// Most walks that are replayed at once.
const WALKS: usize = 16;
/// Share of fetched pages that must have been used for predictions to grow.
const RELIABLE: f64 = 0.6;

/// The `replay` predictor. A recorded miss takes 16 bytes, and the index 4 for each that there is
/// room for: 5 MB with the default of 262144 misses, 0.5 % of the memory that they are pages of.
pub struct Replay {
    settings: ReplaySettings,
    history: History,
    walks: Vec<Walk>,
    sources: u64,
    accuracy: Accuracy,
    /// Walks of processes that are still to come, in the order in which they miss first.
    lessons: VecDeque<Walks>,
    /// Processes that had their lesson.
    taught: Vec<Space>,
}

impl Replay {
    /// Makes a predictor with the given settings.
    ///
    /// # Errors
    /// Returns a message if a setting has a wrong value.
    pub fn new(params: &mut Params) -> Result<Self, String> {
        let settings = ReplaySettings::take(params)?;
        Ok(Self {
            history: History::new(settings.misses),
            settings,
            walks: Vec::new(),
            sources: 0,
            accuracy: Accuracy::assumed(1.0),
            lessons: VecDeque::new(),
            taught: Vec::new(),
        })
    }

    /// Records the walks of an earlier run at the first miss of the process that they are of.
    fn teach(&mut self, space: Space) {
        if self.lessons.is_empty() || self.taught.contains(&space) {
            return;
        }
        if let Some(walks) = self.lessons.pop_front() {
            self.history.teach(space, &walks);
            self.taught.push(space);
        }
    }

    /// Replays what followed the miss at `place`, unless that is being done.
    fn replay(&mut self, fault: &Fault, place: u32, begun_by: usize) -> Option<Prediction> {
        let ours = |walk: &Walk| walk.thread == fault.thread;
        let known = |walk: &Walk| (walk.predicted.0..walk.predicted.1).contains(&place);
        if self.walks.iter().any(|walk| ours(walk) && known(walk)) {
            return None;
        }
        let last = self.walks.iter().rposition(ours);
        let depth = last.map_or(self.settings.first, |last| self.walks.remove(last).depth);
        if self.walks.len() == WALKS {
            self.walks.remove(0);
        }
        self.sources += 1;
        self.walks.push(Walk {
            source: Source(self.sources % (1 << 31)),
            thread: fault.thread,
            predicted: (place, place),
            depth,
            wasted: 0,
            begun_by,
        });
        self.predict(self.walks.len() - 1, Some(fault.at))
    }

    /// Predicts what follows the pages that a walk has predicted.
    fn predict(&mut self, walk: usize, fault: Option<Location>) -> Option<Prediction> {
        let walk = &mut self.walks[walk];
        let from = walk.predicted.1;
        let mut pages: Vec<Location> = Vec::with_capacity(walk.depth);
        let mut end = from;
        while pages.len() < walk.depth
            && let Some((next, at)) = self.history.next(end)
        {
            if Some(at) != fault && !pages.contains(&at) {
                pages.push(at);
            }
            end = next;
        }
        walk.predicted = (from, end);
        (!pages.is_empty()).then_some(Prediction {
            source: walk.source,
            pages,
            goes_on: true,
        })
    }

    fn position(&self, source: Source) -> Option<usize> {
        self.walks.iter().position(|walk| walk.source == source)
    }
}

impl Predictor for Replay {
    fn fault(&mut self, fault: &Fault, _: &mut dyn Memory, predictions: &mut Vec<Prediction>) {
        self.teach(fault.at.space);
        match self.history.miss(fault) {
            Seen::Before { place, slot } => predictions.extend(self.replay(fault, place, slot)),
            Seen::First { anew: true } => self.walks.clear(),
            Seen::First { anew: false } => {}
        }
    }

    fn advance(&mut self, source: Source, reached: Option<Location>) -> Option<Prediction> {
        let position = self.position(source)?;
        if reached.is_some() && self.accuracy.share() >= RELIABLE {
            let walk = &mut self.walks[position];
            walk.depth = (walk.depth * 2).min(self.settings.depth);
        }
        self.predict(position, None)
    }

    /// Limits one prediction to a quarter of the window.
    fn set_window(&mut self, window: u64) {
        let most = usize::try_from(window / 4).unwrap_or(usize::MAX);
        self.settings.depth = self.settings.depth.min(most.max(self.settings.first));
    }

    fn on_exhausted(&mut self, source: Source) {
        if let Some(position) = self.position(source) {
            self.walks.remove(position);
        }
    }

    /// Forgets what began a walk that is not repeated.
    fn outcome(&mut self, source: Source, outcome: Outcome) {
        self.accuracy.count(outcome);
        let Some(position) = self.position(source) else {
            return;
        };
        let walk = &mut self.walks[position];
        walk.wasted += usize::from(outcome == Outcome::Wasted);
        if walk.wasted > self.settings.first {
            self.history.disprove(walk.begun_by);
            self.walks.remove(position);
        }
    }

    fn learn(&mut self, lesson: &Lesson) -> bool {
        self.history.reserve(lesson.misses());
        self.lessons.extend(lesson.processes().iter().cloned());
        true
    }

    fn forget(&mut self, space: Space) {
        self.history.forget(space);
        self.taught.retain(|taught| *taught != space);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prefetch::testing::{Everywhere, SPACE, answers, fault, predictions};

    fn new(params: &str) -> Replay {
        Replay::new(&mut Params::parse(params).unwrap()).unwrap()
    }

    #[test]
    fn two_misses_as_before_are_followed_by_what_followed_then() {
        let walk = [1, 9, 4, 7, 5, 1, 9, 4];
        let answers = answers(&mut new("first=2"), &walk);
        assert!(answers[..6].iter().all(Vec::is_empty), "{answers:?}");
        assert_eq!(answers[6], [4, 7]);
        assert_eq!(answers[7], [], "4 was predicted");
    }

    #[test]
    fn a_page_in_two_places_of_a_walk_is_followed_by_what_belongs_to_each() {
        let walk = [1, 9, 4, 2, 9, 6, 3, 1, 9, 2, 9];
        let answers = answers(&mut new("first=1"), &walk);
        assert_eq!(answers[8], [4]);
        assert_eq!(answers[10], [6]);
    }

    #[test]
    fn the_walk_goes_on_further_each_time_that_it_is_reached() {
        let mut replay = new("first=1,depth=4");
        let walk: Vec<u64> = (0..20).map(|k| k * k).collect();
        answers(&mut replay, &walk);
        answers(&mut replay, &[100_000, 0]);
        let begun = predictions(&mut replay, &fault(1, 1), &mut Everywhere);
        let (source, mut reached) = (begun[0].source, begun[0].pages[0]);
        let mut named: Vec<Vec<u64>> = Vec::new();
        while let Some(next) = replay.advance(source, Some(reached)) {
            reached = next.pages[0];
            named.push(next.pages.iter().map(|at| at.page.0).collect());
        }
        let chunk = |from: u64, to: u64| (from..to).map(|k| k * k).collect::<Vec<_>>();
        let end = [chunk(17, 20), vec![100_000]].concat();
        let chunks = [
            chunk(3, 5),
            chunk(5, 9),
            chunk(9, 13),
            chunk(13, 17),
            end,
            vec![0],
        ];
        assert_eq!(named, chunks);
    }

    #[test]
    fn threads_are_recorded_apart() {
        let mut replay = new("first=8");
        let mut both = |one: &[u64], other: &[u64]| {
            let mut named: Vec<Vec<u64>> = Vec::new();
            for (a, b) in one.iter().zip(other) {
                for (thread, page) in [(1, *a), (2, *b)] {
                    predictions(&mut replay, &fault(thread, page), &mut Everywhere)
                        .iter()
                        .for_each(|p| named.push(p.pages.iter().map(|at| at.page.0).collect()));
                }
            }
            named
        };
        let first: Vec<Vec<u64>> = both(&[1, 9, 4], &[30, 20, 70]);
        assert!(first.is_empty());
        assert_eq!(both(&[1, 9], &[30, 20]), [vec![4, 1], vec![70, 30]]);
    }

    #[test]
    fn a_walk_that_is_not_repeated_is_forgotten() {
        let mut replay = new("first=2");
        answers(&mut replay, &[1, 9, 4, 7, 5, 1]);
        let begun = predictions(&mut replay, &fault(1, 9), &mut Everywhere);
        (0..3).for_each(|_| replay.outcome(begun[0].source, Outcome::Wasted));
        assert_eq!(answers(&mut replay, &[1, 9])[1], []);
    }

    #[test]
    fn with_no_room_recording_starts_anew() {
        let mut replay = new("misses=4");
        assert_eq!(answers(&mut replay, &[1, 2, 3, 1, 2])[4], [3, 1]);
        let answers = answers(&mut new("misses=4"), &[1, 2, 3, 4, 5, 1, 2]);
        assert!(answers.iter().all(Vec::is_empty), "{answers:?}");
    }

    #[test]
    fn an_address_space_that_ends_is_forgotten() {
        let mut replay = new("");
        answers(&mut replay, &[1, 2, 3, 1, 2]);
        replay.forget(SPACE);
        assert!(answers(&mut replay, &[1, 2]).iter().all(Vec::is_empty));
    }
}
