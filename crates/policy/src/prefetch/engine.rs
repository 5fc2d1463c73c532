//! The framework around a predictor: filter, secondary queue, life story.
//!
//! Fedorov 2016, section 5.4.3: the demand page goes first and is the driver's business;
//! predictions are hints that wait in a secondary queue and are issued, newest first, only
//! when the driver says that no demand request waits. The first page that is fetched of each
//! prediction is its *trigger*: when the program touches it, the predictor is asked for what
//! comes after (Oskin & Loh 2015, V.B: triggering on the first use of a prefetched page), so
//! a foreseen stream goes on without a single demand fault.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::{LifeStory, Outcome, Prediction, Predictor, SecondaryQueue, Source};
use crate::page::{Fault, Location, Memory, Residence, Space};

/// How the engine works around any predictor.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Hints the secondary queue holds.
    pub queue: usize,
    /// How often a predictor is asked in a row when much of what it names is filtered.
    pub rounds: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            queue: 2048,
            rounds: 8,
        }
    }
}

/// One predicted page between its prediction and its end.
#[derive(Clone, Copy, Debug)]
struct Hint {
    source: Source,
    trigger: bool,
    issued: bool,
    /// Issued together with a page that is known to have been evicted.
    doubtful: bool,
}

/// Runs one predictor; a driver delivers faults and first uses, and carries out fetches.
pub struct Engine {
    predictor: Box<dyn Predictor>,
    queue: SecondaryQueue<Location>,
    hints: HashMap<Location, Hint>,
    triggers: Vec<Location>,
    /// The source of a trigger that came into memory before it could be issued: its next page
    /// takes its place.
    heirless: Option<Source>,
    story: LifeStory,
    rounds: usize,
}

impl Engine {
    /// An engine around `predictor`.
    pub fn new(predictor: Box<dyn Predictor>, settings: Settings) -> Self {
        Self {
            predictor,
            queue: SecondaryQueue::new(settings.queue),
            hints: HashMap::new(),
            triggers: Vec::new(),
            heirless: None,
            story: LifeStory::default(),
            rounds: settings.rounds,
        }
    }

    /// A demand fault. If the page had been fetched, tell its end by [`Engine::touched`] or
    /// [`Engine::evicted`] first.
    pub fn fault(&mut self, fault: &Fault, memory: &mut dyn Memory) {
        let prediction = self.predictor.fault(fault, memory);
        self.accept(prediction, memory);
    }

    /// The next page to fetch; call it only when no demand request waits.
    pub fn next(&mut self, memory: &mut dyn Memory) -> Option<Location> {
        while let Some(at) = self.queue.pop() {
            let Entry::Occupied(mut entry) = self.hints.entry(at) else {
                unreachable!("a queued hint is known until it is popped or wiped");
            };
            let hint = entry.get_mut();
            hint.trigger |= self
                .heirless
                .take_if(|source| *source == hint.source)
                .is_some();
            if memory.residence(at) == Residence::InTier {
                hint.issued = true;
                if hint.trigger {
                    self.triggers.push(at);
                }
                self.story.issued += 1;
                return Some(at);
            }
            if hint.trigger {
                self.heirless = Some(hint.source);
            }
            entry.remove();
            self.story.in_memory += 1;
        }
        None
    }

    /// Issued pages whose first use makes the predictor go on. A driver that cannot see every
    /// first use watches these.
    pub fn triggers(&self) -> &[Location] {
        &self.triggers
    }

    /// Whether `at` was issued and its end is not known.
    pub fn is_outstanding(&self, at: Location) -> bool {
        self.hints.get(&at).is_some_and(|hint| hint.issued)
    }

    /// The program touched a fetched page for the first time, in time or too early for it. No
    /// effect on any other page.
    pub fn touched(&mut self, at: Location, outcome: Outcome, memory: &mut dyn Memory) {
        let Some(hint) = self.settle(at, outcome) else {
            return;
        };
        if hint.trigger {
            let prediction = self.predictor.advance(hint.source, Some(at));
            self.accept(prediction, memory);
        }
    }

    /// A fetched page ended unused, or its end shall have no consequences. No effect on a page
    /// that is not outstanding.
    pub fn end(&mut self, at: Location, outcome: Outcome) {
        self.settle(at, outcome);
    }

    /// A fetched page was evicted before its use. What else its source has outstanding may be
    /// gone too: it may be predicted anew.
    pub fn evicted(&mut self, at: Location) {
        let Some(gone) = self.settle(at, Outcome::Wasted) else {
            return;
        };
        for hint in self.hints.values_mut() {
            hint.doubtful |= hint.issued && hint.source == gone.source;
        }
    }

    /// The address space is gone.
    pub fn forget(&mut self, space: Space) {
        let hints = &mut self.hints;
        let wiped = self.queue.cancel(|at| {
            let doomed = at.space == space;
            if doomed {
                hints.remove(at);
            }
            doomed
        });
        self.story.wiped += wiped as u64;
        self.end_all(|at, _| at.space == space);
        self.predictor.forget(space);
    }

    /// The program ended: whatever is outstanding was wasted.
    pub fn finish(&mut self) {
        self.end_all(|_, _| true);
    }

    /// What became of all predictions so far.
    pub fn story(&self) -> &LifeStory {
        &self.story
    }

    /// Takes a prediction's pages that are worth fetching into the secondary queue. For those
    /// that are in memory already the source is asked what comes after, so that as much is
    /// under way in the end as it wanted.
    fn accept(&mut self, mut prediction: Option<Prediction>, memory: &mut dyn Memory) {
        let Some((source, mut wanted)) = prediction.as_ref().map(|p| (p.source, p.pages.len()))
        else {
            return;
        };
        let mut group: Vec<Location> = Vec::with_capacity(wanted);
        let mut under_way = 0;
        for _ in 0..self.rounds {
            let Some(named) = prediction else {
                break;
            };
            let (in_memory, known) = self.filter(&named, memory, &mut group);
            under_way += known;
            wanted = wanted.saturating_sub(named.pages.len() - in_memory);
            if wanted == 0 {
                break;
            }
            prediction = self.predictor.advance(named.source, None);
        }
        match group.first().and_then(|first| self.hints.get_mut(first)) {
            Some(hint) => hint.trigger = true,
            None if under_way == 0 => self.predictor.futile(source),
            None => {}
        }
        self.enqueue(group, source);
    }

    /// Adds to `group` those of the named pages that lie in the tier and are not hints yet;
    /// returns how many are in memory and how many are hints.
    fn filter(
        &mut self,
        named: &Prediction,
        memory: &mut dyn Memory,
        group: &mut Vec<Location>,
    ) -> (usize, usize) {
        let before = group.len();
        let (mut in_memory, mut known) = (0, 0);
        for &page in &named.pages {
            let at = Location::new(named.space, page);
            match memory.residence(at) {
                Residence::InMemory => in_memory += 1,
                Residence::InTier if self.register(at, named.source) => group.push(at),
                Residence::InTier => known += 1,
                Residence::Nowhere => {}
            }
        }
        let kept = group.len() - before;
        self.story.predicted += named.pages.len() as u64;
        self.story.filtered += (named.pages.len() - kept) as u64;
        (in_memory, known)
    }

    /// Notes a page as predicted, unless it is already. A doubtful fetch ends with that: it was
    /// in vain, or will be found to need no second one.
    fn register(&mut self, at: Location, source: Source) -> bool {
        match self.hints.get(&at) {
            Some(known) if !known.doubtful => return false,
            Some(_) => {
                self.story.count(Outcome::Wasted);
                self.triggers.retain(|trigger| *trigger != at);
            }
            None => {}
        }
        let hint = Hint {
            source,
            trigger: false,
            issued: false,
            doubtful: false,
        };
        self.hints.insert(at, hint);
        true
    }

    fn enqueue(&mut self, group: Vec<Location>, source: Source) {
        let hints = &self.hints;
        let kin = |at: &Location| hints.get(at).is_some_and(|hint| hint.source == source);
        let wiped = self.queue.push_group(group, kin);
        self.story.wiped += wiped.len() as u64;
        for at in wiped {
            let hint = self.hints.remove(&at);
            if let Some(hint) = hint.filter(|hint| hint.trigger) {
                self.predictor.futile(hint.source);
            }
        }
    }

    fn settle(&mut self, at: Location, outcome: Outcome) -> Option<Hint> {
        if !self.is_outstanding(at) {
            return None;
        }
        let hint = self.hints.remove(&at)?;
        if hint.trigger {
            self.triggers.retain(|trigger| *trigger != at);
        }
        self.story.count(outcome);
        self.predictor.outcome(hint.source, outcome);
        Some(hint)
    }

    fn end_all(&mut self, mut doomed: impl FnMut(&Location, &Hint) -> bool) {
        let ended: Vec<Location> = self
            .hints
            .iter()
            .filter(|(at, hint)| hint.issued && doomed(at, hint))
            .map(|(at, _)| *at)
            .collect();
        for at in ended {
            self.settle(at, Outcome::Wasted);
        }
    }
}
