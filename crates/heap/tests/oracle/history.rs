//! What threads have done at the same time, and whether what is left of it can be explained:
//! whether there is an order in which each operation saw what it saw, after all that ended before
//! it began, and that ends with what is left. All that was acknowledged is in it; what was under
//! way may be, wholly.
//!
//! The search for such an order is that of Wing and Gong (Testing and verifying concurrent objects,
//! JPDC 17, 1993), which comes back to no configuration a second time (Lowe, Testing for
//! linearizability, CCPE 29(4), 2017).

use std::collections::{BTreeMap, HashSet};

/// The values of all keys that have one.
pub type State = BTreeMap<u64, u64>;
/// A key, and its value or none.
pub type Entry = (u64, Option<u64>);

/// What a thread says while it works.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// It is going to have this happen: it has seen these, and sets those. Said again, the last
    /// counts.
    Means { seen: Vec<Entry>, sets: Vec<Entry> },
    /// It has happened, and it saw these besides.
    Ended { seen: Vec<Entry> },
    /// It has not happened, and never will.
    Failed,
}

/// All events by their threads, in the order of time.
pub type Log = Vec<(usize, Event)>;

/// An operation of a thread.
#[derive(Clone, Debug)]
pub struct Operation {
    /// Moments.
    pub began: usize,
    pub ended: Option<usize>,
    /// Whether it must have happened.
    pub certain: bool,
    pub seen: Vec<Entry>,
    pub sets: Vec<Entry>,
}

/// The operations of each thread, one after the other.
#[derive(Clone, Debug, Default)]
pub struct History {
    threads: Vec<Vec<Operation>>,
}

/// How many operations of each thread have happened, and what state that has led to.
type Configuration = (Vec<usize>, State);

impl History {
    /// What a log says. What ended before the moment `certain` was acknowledged.
    pub fn new(log: &[(usize, Event)], certain: usize) -> Self {
        let mut history = Self::default();
        for (moment, (thread, event)) in log.iter().enumerate() {
            if history.threads.len() <= *thread {
                history.threads.resize_with(thread + 1, Vec::new);
            }
            history.add(*thread, moment, event, moment < certain);
        }
        history
    }

    fn add(&mut self, thread: usize, moment: usize, event: &Event, certain: bool) {
        let operations = &mut self.threads[thread];
        if let Event::Means { seen, sets } = event {
            operations.pop_if(|last| last.ended.is_none());
            operations.push(Operation {
                began: moment,
                ended: None,
                certain: false,
                seen: seen.clone(),
                sets: sets.clone(),
            });
            return;
        }
        // What fails before it has said what it means has done nothing.
        let Some(last) = operations.last_mut().filter(|last| last.ended.is_none()) else {
            assert_eq!(*event, Event::Failed, "what ends has begun");
            return;
        };
        match event {
            Event::Ended { seen } => last.seen.extend(seen),
            _ => last.sets.clear(),
        }
        (last.ended, last.certain) = (Some(moment), certain);
    }

    /// Whether these operations can have made the second state of the first.
    pub fn explains(&self, initial: &State, left: &State) -> bool {
        let mut open = vec![(vec![0; self.threads.len()], initial.clone())];
        let mut known = HashSet::new();
        while let Some(configuration) = open.pop() {
            if self.is_over(&configuration.0) && configuration.1 == *left {
                return true;
            }
            let next = (0..self.threads.len())
                .filter_map(|thread| self.step(&configuration, thread))
                .filter(|next| known.insert(next.clone()));
            open.extend(next.collect::<Vec<_>>());
        }
        false
    }

    /// Whether all has happened that must have.
    fn is_over(&self, done: &[usize]) -> bool {
        let mut left = self
            .threads
            .iter()
            .zip(done)
            .map(|(all, &done)| &all[done..]);
        left.all(|left| left.iter().all(|operation| !operation.certain))
    }

    /// The configuration after the next operation of a thread, if that can be the next of all.
    fn step(&self, (done, state): &Configuration, thread: usize) -> Option<Configuration> {
        let operation = self.threads[thread].get(done[thread])?;
        let mut next = self
            .threads
            .iter()
            .zip(done)
            .filter_map(|(all, &done)| all.get(done));
        let is_first = next.all(|other| other.ended.is_none_or(|ended| ended > operation.began));
        let sees = |(key, value): &Entry| state.get(key) == value.as_ref();
        if !is_first || !operation.seen.iter().all(sees) {
            return None;
        }
        let mut state = state.clone();
        for &(key, value) in &operation.sets {
            match value {
                Some(value) => drop(state.insert(key, value)),
                None => drop(state.remove(&key)),
            }
        }
        let mut done = done.clone();
        done[thread] += 1;
        Some((done, state))
    }
}
