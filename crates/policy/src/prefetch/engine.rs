//! The framework around a predictor: filter, secondary queue, life story.
//!
//! Fedorov 2016, section 5.4.3: the demand page goes first and is the driver's business;
//! predictions are hints that wait in a secondary queue and are issued, newest first, only
//! when the driver says that no demand request waits. Of a prediction that goes on, the first
//! page that is fetched is its *trigger*: when the program touches it, the predictor is asked
//! for what comes after, so a foreseen stream goes on without a single demand fault.

use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

use super::story::Stories;
use super::{
    Constituent, Costs, LifeStory, Outcome, Prediction, Predictor, SecondaryQueue, Source,
};
use crate::page::{Fault, Location, Memory, Residence, Space, Thread};

/// Which hint goes next, and before what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The newest (Fedorov 2016, 5.4.3); of a full queue the oldest are dropped.
    Lifo,
    /// The oldest; what finds no room is dropped.
    Fifo,
    /// None waits: all go into the device's main queue at once, as if demanded (CORP, Fedorov
    /// 2016, 5.5.2).
    Direct,
}

/// What the predictor is told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// Demand faults (Fedorov 2016; Awad 2016).
    Faults,
    /// The first use of a fetched page as well, as if it had been a fault of the thread that it
    /// was fetched for (Oskin & Loh 2015, V.C).
    FirstUse,
}

/// How the engine works around any predictor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Which hint goes next.
    pub order: Order,
    /// Hints the secondary queue holds.
    pub hints: usize,
    /// What the predictor is told of.
    pub trigger: Trigger,
    /// How often a prediction that goes on is prolonged in a row when much of it is filtered.
    pub rounds: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            order: Order::Lifo,
            hints: 2048,
            trigger: Trigger::Faults,
            rounds: 8,
        }
    }
}

/// One predicted page between its prediction and its end.
#[derive(Clone, Copy, Debug)]
struct Hint {
    source: Source,
    /// Who is expected to touch it.
    thread: Thread,
    /// Its use asks for what comes after.
    trigger: bool,
    /// How many pages had been handed out when it was; none while it waits.
    issued: Option<u64>,
}

/// Sources of whose evicted pages is remembered that there were some.
const DOUBTS: usize = 4096;

/// Runs one predictor; a driver delivers faults and first uses, and carries out fetches.
pub struct Engine {
    predictor: Box<dyn Predictor>,
    settings: Settings,
    queue: SecondaryQueue<Location>,
    hints: FxHashMap<Location, Hint>,
    triggers: Vec<Location>,
    /// Of these sources something fetched was evicted unused when so many pages had been handed
    /// out: what was handed out before may be gone too.
    doubts: FxHashMap<Source, u64>,
    /// The source of a trigger that came into memory before it could be issued: its next page
    /// takes its place.
    heirless: Option<Source>,
    stories: Stories,
    /// Room for the predictions of one fault, kept.
    predictions: Vec<Prediction>,
}

impl Engine {
    /// An engine around `predictor`.
    pub fn new(predictor: Box<dyn Predictor>, settings: Settings) -> Self {
        Self {
            predictor,
            queue: SecondaryQueue::new(settings.hints),
            hints: FxHashMap::default(),
            triggers: Vec::new(),
            doubts: FxHashMap::default(),
            heirless: None,
            stories: Stories::default(),
            predictions: Vec::new(),
            settings,
        }
    }

    /// A demand fault. If the page had been fetched, tell its end by [`Engine::touched`] or
    /// [`Engine::evicted`] first.
    pub fn fault(&mut self, fault: &Fault, memory: &mut dyn Memory) {
        let mut predictions = std::mem::take(&mut self.predictions);
        self.predictor.fault(fault, memory, &mut predictions);
        match self.settings.order {
            // The last to come in is the first to go.
            Order::Lifo => predictions.reverse(),
            Order::Fifo | Order::Direct => {}
        }
        for prediction in predictions.drain(..) {
            self.accept(prediction, fault.thread, memory);
        }
        self.predictions = predictions;
    }

    /// What fetches cost on this machine; to be said before the first fault.
    pub fn price(&mut self, costs: Costs) {
        self.predictor.price(costs);
    }

    /// So many fetched pages may wait to be touched; to be said before the first fault.
    pub fn limit(&mut self, window: u64) {
        self.predictor.limit(window);
    }

    /// Whether nothing will ever be fetched, so that nobody need watch for faults.
    pub fn is_in_vain(&self) -> bool {
        self.predictor.is_in_vain()
    }

    /// A thread has made so many touches, as only a simulation knows. Tell it before anything else
    /// that the thread does.
    pub fn made(&mut self, thread: Thread, touches: u64) {
        self.predictor.made(thread, touches);
    }

    /// Whether hints go into the device's main queue, whatever waits there.
    pub fn is_direct(&self) -> bool {
        self.settings.order == Order::Direct
    }

    /// The next page to fetch; unless the engine is direct, call it only when no demand request
    /// waits.
    pub fn next(&mut self, memory: &mut dyn Memory) -> Option<Location> {
        self.next_of(memory, |_| true)
    }

    /// As [`Engine::next`], of those pages that `can` be fetched now: where the tier has several
    /// devices, those of the idle ones. Looks at those that cannot, each time.
    pub fn next_of(
        &mut self,
        memory: &mut dyn Memory,
        mut can: impl FnMut(Location) -> bool,
    ) -> Option<Location> {
        while let Some(at) = match self.settings.order {
            Order::Lifo => self.queue.pop_newest(|at| can(*at)),
            Order::Fifo | Order::Direct => self.queue.pop_oldest(|at| can(*at)),
        } {
            let Entry::Occupied(mut entry) = self.hints.entry(at) else {
                unreachable!("a queued hint is known until it is popped or wiped");
            };
            let hint = entry.get_mut();
            hint.trigger |= self
                .heirless
                .take_if(|source| *source == hint.source)
                .is_some();
            if memory.residence(at) == Residence::InTier {
                hint.issued = Some(self.stories.all.issued);
                if hint.trigger {
                    self.triggers.push(at);
                }
                let by = self.predictor.named_by(hint.source);
                self.stories.tell(by, |story| story.issued += 1);
                return Some(at);
            }
            if hint.trigger {
                self.heirless = Some(hint.source);
            }
            let by = self.predictor.named_by(hint.source);
            entry.remove();
            self.stories.tell(by, |story| story.in_memory += 1);
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
        self.hints
            .get(&at)
            .is_some_and(|hint| hint.issued.is_some())
    }

    /// The program touched a fetched page for the first time, in time or too early for it. No
    /// effect on any other page.
    pub fn touched(&mut self, at: Location, outcome: Outcome, memory: &mut dyn Memory) {
        let Some(hint) = self.settle(at, outcome) else {
            return;
        };
        if hint.trigger
            && let Some(prediction) = self.predictor.advance(hint.source, Some(at))
        {
            self.accept(prediction, hint.thread, memory);
        }
        if self.settings.trigger == Trigger::FirstUse && outcome == Outcome::Used {
            let offset = 0;
            let thread = hint.thread;
            self.fault(&Fault { thread, at, offset }, memory);
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
        if self.doubts.len() >= DOUBTS {
            // Sources that have ended are not known here.
            self.doubts.clear();
        }
        self.doubts.insert(gone.source, self.stories.all.issued);
    }

    /// The address space is gone.
    pub fn forget(&mut self, space: Space) {
        let (hints, predictor) = (&mut self.hints, &self.predictor);
        let stories = &mut self.stories;
        self.queue.cancel(|at| {
            let doomed = at.space == space;
            if doomed && let Some(hint) = hints.remove(at) {
                let by = predictor.named_by(hint.source);
                stories.tell(by, |story| story.wiped += 1);
            }
            doomed
        });
        self.end_all(|at, _| at.space == space);
        self.predictor.forget(space);
    }

    /// The program ended: whatever is outstanding was wasted.
    pub fn finish(&mut self) {
        self.end_all(|_, _| true);
    }

    /// What became of all predictions so far.
    pub fn story(&self) -> &LifeStory {
        &self.stories.all
    }

    /// Of a predictor made of others: what became of the pages that each named alone, and that
    /// several named.
    pub fn constituents(&self) -> Vec<Constituent> {
        self.stories.parts(&self.predictor.constituents())
    }

    /// Takes a prediction's pages that are worth fetching into the secondary queue. Where the
    /// source goes on, it is asked for more instead of those that are in memory already, so that
    /// as much is under way in the end as it wanted.
    fn accept(&mut self, prediction: Prediction, thread: Thread, memory: &mut dyn Memory) {
        let (source, goes_on) = (prediction.source, prediction.goes_on);
        let mut wanted = prediction.pages.len();
        let mut group: Vec<Location> = Vec::with_capacity(wanted);
        let mut under_way = 0;
        let mut next = Some(prediction);
        for _ in 0..self.settings.rounds {
            let Some(named) = next else {
                break;
            };
            let (in_memory, known) = self.filter(&named, thread, memory, &mut group);
            under_way += known;
            wanted = wanted.saturating_sub(named.pages.len() - in_memory);
            if wanted == 0 || !goes_on {
                break;
            }
            next = self.predictor.advance(source, None);
        }
        match group.first().and_then(|first| self.hints.get_mut(first)) {
            Some(hint) => hint.trigger = goes_on,
            None if under_way == 0 => self.predictor.futile(source),
            None => {}
        }
        self.enqueue(group, goes_on.then_some(source));
    }

    /// Adds to `group` those of the named pages that lie in the tier and are not hints yet;
    /// returns how many are in memory and how many are hints.
    fn filter(
        &mut self,
        named: &Prediction,
        thread: Thread,
        memory: &mut dyn Memory,
        group: &mut Vec<Location>,
    ) -> (usize, usize) {
        let before = group.len();
        let (mut in_memory, mut known) = (0, 0);
        for &at in &named.pages {
            match memory.residence(at) {
                Residence::InMemory => in_memory += 1,
                Residence::InTier if self.register(at, named.source, thread) => group.push(at),
                Residence::InTier => known += 1,
                Residence::Nowhere => {}
            }
        }
        let kept = group.len() - before;
        self.tell(named.source, |story| {
            story.predicted += named.pages.len() as u64;
            story.filtered += (named.pages.len() - kept) as u64;
        });
        (in_memory, known)
    }

    /// Notes a page as predicted, unless it is already. A doubtful fetch ends with that: it was
    /// in vain, or will be found to need no second one.
    fn register(&mut self, at: Location, source: Source, thread: Thread) -> bool {
        if let Some(known) = self.hints.get(&at).copied() {
            if !self.is_doubtful(&known) {
                return false;
            }
            self.tell(known.source, |story| story.count(Outcome::Wasted));
            self.triggers.retain(|trigger| *trigger != at);
        }
        let hint = Hint {
            source,
            thread,
            trigger: false,
            issued: None,
        };
        self.hints.insert(at, hint);
        true
    }

    /// Whether something was evicted of the same source that was handed out when it was, or after.
    fn is_doubtful(&self, hint: &Hint) -> bool {
        let doubt = self.doubts.get(&hint.source);
        matches!((hint.issued, doubt), (Some(issued), Some(since)) if issued < *since)
    }

    /// Queues hints; of a source that goes on, behind those of it that wait.
    fn enqueue(&mut self, group: Vec<Location>, goes_on: Option<Source>) {
        let hints = &self.hints;
        let kin = |at: &Location| {
            let source = hints.get(at).map(|hint| hint.source);
            goes_on.is_some() && source == goes_on
        };
        let wiped = match self.settings.order {
            Order::Lifo => self.queue.push_newest(group, kin),
            Order::Fifo | Order::Direct => self.queue.push_behind(group),
        };
        for at in wiped {
            let Some(hint) = self.hints.remove(&at) else {
                continue;
            };
            self.tell(hint.source, |story| story.wiped += 1);
            if hint.trigger {
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
        self.tell(hint.source, |story| story.count(outcome));
        self.predictor.outcome(hint.source, outcome);
        Some(hint)
    }

    /// Goes on with the story of what a source named.
    fn tell(&mut self, source: Source, event: impl Fn(&mut LifeStory)) {
        self.stories.tell(self.predictor.named_by(source), event);
    }

    fn end_all(&mut self, mut doomed: impl FnMut(&Location, &Hint) -> bool) {
        let ended: Vec<Location> = self
            .hints
            .iter()
            .filter(|(at, hint)| hint.issued.is_some() && doomed(at, hint))
            .map(|(at, _)| *at)
            .collect();
        for at in ended {
            self.settle(at, Outcome::Wasted);
        }
    }
}
