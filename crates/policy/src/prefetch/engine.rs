//! The engine around a predictor: filter, secondary queue, life story.
//!
//! Fedorov 2016, section 5.4.3: the driver serves the demand page first; predictions are hints that
//! wait in a secondary queue and are issued, newest first, only when the driver reports that no
//! demand request waits. A hint that a newer fault names again counts as new. The first fetched
//! page of a prediction that goes on is its *trigger*: when the program touches it, the predictor
//! is asked for the continuation, so that a predicted stream continues without a demand fault.

use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

use super::story::Stories;
use super::worth::Appraisal;
use super::{
    Constituent, Costs, EngineSettings, KernelReadahead, Lesson, LifeStory, Order, Outcome,
    Prediction, Predictor, SecondaryQueue, Source, Throttle, Trigger, Worth,
};
use crate::page::{Fault, Location, Memory, Residence, Space, Thread};

/// A predicted page between its prediction and its end.
#[derive(Clone, Copy, Debug)]
struct Hint {
    source: Source,
    /// Thread that is expected to touch the page.
    thread: Thread,
    /// Whether the prediction goes on.
    goes_on: bool,
    /// Whether the use of the page asks the predictor for a continuation.
    trigger: bool,
    /// Number of pages issued before this one; `None` while the hint waits.
    issued: Option<u64>,
}

/// Capacity of [`Engine::suspect_sources`].
const SUSPECT_SOURCES: usize = 4096;
/// Pages issued behind an evicted one that may be evicted too: memory lets pages go in about the
/// order in which they came.
const SUSPECT_REACH: u64 = 64;

/// Runs one predictor. A driver reports faults and first uses, and carries out the fetches.
pub struct Engine {
    predictor: Box<dyn Predictor>,
    settings: EngineSettings,
    queue: SecondaryQueue<Location>,
    hints: FxHashMap<Location, Hint>,
    triggers: Vec<Location>,
    /// Sources with a fetched page that was evicted unused, and the number of pages issued up to
    /// somewhat behind it: pages of the source that were issued earlier may be evicted too.
    suspect_sources: FxHashMap<Source, u64>,
    /// Source of a trigger that came into memory before it could be issued; the next page of the
    /// source becomes the trigger.
    orphaned_trigger: Option<Source>,
    stories: Stories,
    appraisal: Appraisal,
    /// Buffer for the predictions of one fault.
    predictions: Vec<Prediction>,
}

impl Engine {
    /// Makes an engine around `predictor`.
    pub fn new(predictor: Box<dyn Predictor>, settings: EngineSettings) -> Self {
        Self {
            predictor,
            queue: SecondaryQueue::new(settings.hints),
            hints: FxHashMap::default(),
            triggers: Vec::new(),
            suspect_sources: FxHashMap::default(),
            orphaned_trigger: None,
            stories: Stories::default(),
            appraisal: Appraisal::default(),
            predictions: Vec::new(),
            settings,
        }
    }

    /// Handles a demand fault. If the page had been fetched, report its end by [`Engine::touched`]
    /// or [`Engine::evicted`] first.
    pub fn fault(&mut self, fault: &Fault, memory: &mut dyn Memory) {
        let mut predictions = std::mem::take(&mut self.predictions);
        self.predictor.fault(fault, memory, &mut predictions);
        if self.settings.throttle == Throttle::Occupancy {
            self.throttle(&mut predictions);
        }
        match self.settings.order {
            // The queue issues the newest hint first, so the best prediction goes in last.
            Order::Lifo => predictions.reverse(),
            Order::Fifo | Order::Direct => {}
        }
        for prediction in predictions.drain(..) {
            self.accept(prediction, fault.thread, memory);
        }
        self.predictions = predictions;
    }

    /// Sets the costs of faults and fetches on this machine, before the first fault or as they are
    /// measured.
    pub fn set_costs(&mut self, costs: Costs) {
        self.appraisal.set_costs(costs);
        self.predictor.set_costs(costs);
    }

    /// Sets the readahead with which fetches are compared, before the first fault: the kernel's
    /// own, or none if it reads single pages. A driver that sets it reports each demand fault to
    /// [`Engine::missed`].
    pub fn set_readahead(&mut self, readahead: Option<KernelReadahead>) {
        self.appraisal.compare_with(readahead);
    }

    /// Appraises a demand fault, which is delivered to [`Engine::fault`] or left out there.
    pub fn missed(&mut self, at: Location, memory: &mut dyn Memory) {
        self.appraisal.faulted(at, memory);
    }

    /// Returns the costs of faults and fetches on this machine.
    pub fn costs(&self) -> Costs {
        self.appraisal.costs()
    }

    /// Whether the readahead with which fetches are compared would pay without them.
    pub fn readahead_pays(&self) -> bool {
        self.appraisal.readahead_pays()
    }

    /// Returns the worth of all fetches that have ended.
    pub fn worth(&self) -> Worth {
        self.appraisal.worth()
    }

    /// Sets the number of fetched pages that may wait to be used, before the first fault.
    pub fn set_window(&mut self, window: u64) {
        self.predictor.set_window(window);
    }

    /// Learns from the misses of an earlier run, before the first fault. Returns whether the
    /// predictor can learn.
    pub fn learn(&mut self, lesson: &Lesson) -> bool {
        self.predictor.learn(lesson)
    }

    /// Whether prefetching cannot pay on this machine, so that no driver need watch for faults.
    pub fn cannot_pay(&self) -> bool {
        self.predictor.cannot_pay()
    }

    /// Whether a driver may try what fetching is worth, and leave it out while it is worth nothing.
    pub fn may_rest(&self) -> bool {
        self.predictor.may_rest()
    }

    /// Sets the number of touches that a thread has made, which only a simulation knows, before any
    /// other event of the thread.
    pub fn advance_clock(&mut self, thread: Thread, touches: u64) {
        self.predictor.advance_clock(thread, touches);
    }

    /// Whether hints go into the device's main queue even while demand requests wait there.
    pub fn is_direct(&self) -> bool {
        self.settings.order == Order::Direct
    }

    /// Returns the next page to fetch. Unless the engine is direct, call it only when no demand
    /// request waits.
    pub fn next(&mut self, memory: &mut dyn Memory) -> Option<Location> {
        self.next_of(memory, |_| true)
    }

    /// Same as [`Engine::next`] among the pages that `can` be fetched now, such as those on idle
    /// devices of the tier. Each call looks again at the pages that cannot.
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
                .orphaned_trigger
                .take_if(|source| *source == hint.source)
                .is_some();
            if memory.residence_lately(at) == Residence::InTier {
                hint.issued = Some(self.stories.all.issued);
                if hint.trigger {
                    self.triggers.push(at);
                }
                let by = self.predictor.named_by(hint.source);
                self.stories.tell(by, |story| story.issued += 1);
                return Some(at);
            }
            if hint.trigger {
                self.orphaned_trigger = Some(hint.source);
            }
            let by = self.predictor.named_by(hint.source);
            entry.remove();
            self.stories.tell(by, |story| story.in_memory += 1);
        }
        None
    }

    /// Issued pages whose first use makes the predictor continue. A driver that cannot see every
    /// first use watches these.
    pub fn triggers(&self) -> &[Location] {
        &self.triggers
    }

    /// Whether `at` is predicted and was not issued yet.
    pub fn is_waiting(&self, at: Location) -> bool {
        self.hints
            .get(&at)
            .is_some_and(|hint| hint.issued.is_none())
    }

    /// Whether `at` was issued and has not ended.
    pub fn is_outstanding(&self, at: Location) -> bool {
        self.hints
            .get(&at)
            .is_some_and(|hint| hint.issued.is_some())
    }

    /// Returns the source of an issued page if its prediction goes on: the program is expected to
    /// touch the pages of such a source in the order in which they were issued.
    pub fn walk_of(&self, at: Location) -> Option<Source> {
        let hint = self.hints.get(&at)?;
        (hint.goes_on && hint.issued.is_some()).then_some(hint.source)
    }

    /// Handles the first touch of a fetched page, after or before its arrival. No effect on any
    /// other page.
    pub fn touched(&mut self, at: Location, outcome: Outcome, memory: &mut dyn Memory) {
        let redundant = self.is_outstanding(at) && self.appraisal.is_redundant(at, outcome, memory);
        let Some(hint) = self.settle(at, outcome, redundant) else {
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

    /// Ends a fetched page without consequences for its prediction. No effect on a page that is not
    /// outstanding.
    pub fn end(&mut self, at: Location, outcome: Outcome) {
        self.settle(at, outcome, false);
    }

    /// Handles the eviction of a fetched page before its use. Other outstanding pages of its source
    /// may be evicted too, so they can be predicted again.
    pub fn evicted(&mut self, at: Location) {
        let Some(gone) = self.settle(at, Outcome::Wasted, false) else {
            return;
        };
        if self.suspect_sources.len() >= SUSPECT_SOURCES {
            // The engine does not know which sources have ended.
            self.suspect_sources.clear();
        }
        let since = gone.issued.unwrap_or(0) + SUSPECT_REACH;
        self.suspect_sources.insert(gone.source, since);
    }

    /// Forgets an address space that has ended.
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
        self.appraisal.forget(space);
        self.predictor.forget(space);
    }

    /// Ends all outstanding pages as wasted, when the program ends.
    pub fn finish(&mut self) {
        self.end_all(|_, _| true);
    }

    /// Returns the life story of all predictions so far.
    pub fn story(&self) -> &LifeStory {
        &self.stories.all
    }

    /// Returns the life story by constituents, for a predictor made of others: of the pages that
    /// each constituent predicted alone, and of those that several predicted.
    pub fn constituents(&self) -> Vec<Constituent> {
        self.stories.parts(&self.predictor.constituents())
    }

    /// Cuts what a fault names to a share that gets smaller as the secondary queue fills. The best
    /// pages stay; predictions that go on are left alone.
    fn throttle(&mut self, predictions: &mut [Prediction]) {
        let cuttable = predictions.iter().filter(|named| !named.goes_on);
        let all = cuttable.map(|named| named.pages.len()).sum();
        let mut left = self.queue.free_share_of(all);
        for named in predictions.iter_mut().filter(|named| !named.goes_on) {
            let kept = named.pages.len().min(left);
            let cut = (named.pages.len() - kept) as u64;
            left -= kept;
            named.pages.truncate(kept);
            self.tell(named.source, |story| {
                story.predicted += cut;
                story.filtered += cut;
            });
        }
    }

    /// Queues the pages of a prediction that are worth fetching. If the source goes on, it is asked
    /// for further pages in place of those in memory, so that as many pages as it wanted are under
    /// way.
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
            None if under_way == 0 => self.predictor.on_exhausted(source),
            None => {}
        }
        self.enqueue(group, goes_on.then_some(source));
    }

    /// Adds to `group` the named pages that lie in the tier and are not hints yet, and the hints
    /// that are to be issued with them; returns how many are in memory and how many are hints.
    fn filter(
        &mut self,
        named: &Prediction,
        thread: Thread,
        memory: &mut dyn Memory,
        group: &mut Vec<Location>,
    ) -> (usize, usize) {
        let before = group.len();
        let (mut in_memory, mut known, mut raised) = (0, 0, 0);
        for &at in &named.pages {
            if self.is_under_way(at) {
                known += 1;
                if !named.goes_on && self.withdraw(at) {
                    raised += 1;
                    group.push(at);
                }
                continue;
            }
            match memory.residence_lately(at) {
                Residence::InMemory => in_memory += 1,
                Residence::InTier => {
                    self.register(at, named, thread);
                    group.push(at);
                }
                Residence::Nowhere => {}
            }
        }
        let kept = group.len() - before - raised;
        self.tell(named.source, |story| {
            story.predicted += named.pages.len() as u64;
            story.filtered += (named.pages.len() - kept) as u64;
        });
        (in_memory, known)
    }

    /// Takes a hint that waits out of a queue that issues the newest first, since the newest fault
    /// names it again; returns whether it did. A prediction that goes on keeps its order.
    fn withdraw(&mut self, at: Location) -> bool {
        let waits = |hint: &Hint| hint.issued.is_none() && !hint.goes_on;
        self.settings.order == Order::Lifo
            && self.hints.get(&at).is_some_and(waits)
            && self.queue.pop_newest(|waiting| *waiting == at).is_some()
    }

    /// Whether a page is a hint, and its fetch is not suspect.
    fn is_under_way(&self, at: Location) -> bool {
        let known = self.hints.get(&at);
        known.is_some_and(|known| !self.is_suspect(known))
    }

    /// Registers a page as predicted. A suspect fetch of the page ends as wasted.
    fn register(&mut self, at: Location, named: &Prediction, thread: Thread) {
        if let Some(suspect) = self.hints.get(&at) {
            self.tell(suspect.source, |story| story.count(Outcome::Wasted));
            self.triggers.retain(|trigger| *trigger != at);
        }
        let hint = Hint {
            source: named.source,
            thread,
            goes_on: named.goes_on,
            trigger: false,
            issued: None,
        };
        self.hints.insert(at, hint);
    }

    /// Whether a page of the same source was evicted unused that was issued with or after this one.
    fn is_suspect(&self, hint: &Hint) -> bool {
        let suspect = self.suspect_sources.get(&hint.source);
        matches!((hint.issued, suspect), (Some(issued), Some(since)) if issued < *since)
    }

    /// Queues hints. Those of a source that goes on come behind its waiting hints.
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
                self.predictor.on_exhausted(hint.source);
            }
        }
    }

    fn settle(&mut self, at: Location, outcome: Outcome, redundant: bool) -> Option<Hint> {
        if !self.is_outstanding(at) {
            return None;
        }
        let hint = self.hints.remove(&at)?;
        if hint.trigger {
            self.triggers.retain(|trigger| *trigger != at);
        }
        self.tell(hint.source, |story| story.count(outcome));
        self.appraisal.count(outcome, redundant);
        if redundant {
            self.predictor.redundant(hint.source);
        }
        self.predictor.outcome(hint.source, outcome);
        Some(hint)
    }

    /// Records an event in the life story of a source's predictions.
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
            self.settle(at, Outcome::Wasted, false);
        }
    }
}
