//! The figures of a simulation: the values of its counters, and its results.

use terrace_policy::prefetch::{Engine, LifeStory};

use super::Simulation;
use crate::intern::PageTable;
use crate::pages::count::Times;
use crate::pages::outcome::{Drawn, Outcome, Reading};
use crate::pages::threads::Thread;

impl Simulation {
    /// Returns the life story of predictions: the engine's, with what became of pages here.
    pub(super) fn story(&self) -> LifeStory {
        let Some(engine) = &self.engine else {
            return self.story;
        };
        let story = engine.story();
        LifeStory {
            // The engine counts as issued what it named again for doubt and was still there.
            in_memory: story.in_memory + story.issued - self.story.issued,
            issued: self.story.issued,
            used: self.story.used,
            late: self.story.late,
            wasted: self.story.wasted,
            ..*story
        }
    }

    /// Returns the bytes that were drawn from each memory.
    fn drawn(&self) -> Drawn {
        let bandwidth = self
            .lines
            .as_ref()
            .and_then(|lines| lines.bandwidth.as_ref());
        bandwidth.map_or_else(Drawn::default, |bandwidth| bandwidth.drawn())
    }

    /// Returns the values of all counters.
    pub(super) fn reading(&self) -> Reading {
        let engine = self.engine.as_ref();
        Reading {
            counts: self.counts,
            story: self.story(),
            latencies: self.latencies,
            constituents: engine.map(Engine::constituents).unwrap_or_default(),
            times: Times {
                compute: self.threads.iter().map(Thread::computed).sum(),
                ..self.times
            },
            slot_writes: self.store.writes().to_vec(),
            places: self.store.places(),
            drawn: self.drawn(),
            clocks: self.threads.iter().map(Thread::clock).collect(),
        }
    }

    /// Returns the results, after [`Simulation::run`] has returned `None`.
    pub fn outcome(&self, pages: &PageTable) -> Outcome {
        let threads = self.programs.iter();
        let threads = threads.map(|program| program.threads.len() as u32);
        let mut outcome = Outcome::new(
            &self.settings,
            pages.footprint() as u64,
            &threads.collect::<Vec<_>>(),
            self.marks.warm.as_ref(),
            self.marks.full_at,
            self.store.untouched(),
            self.reading(),
        );
        if let Some(lines) = &self.lines {
            outcome.count_lines(&self.settings.tier, lines.wear.as_ref());
        }
        if let Some(writes) = &self.writes {
            let tier = &self.settings.tier;
            outcome.schemes = writes.outcome(tier.energy, tier.endurance, outcome.time());
        }
        if let Some(control) = &self.control {
            let end = self.threads.iter().map(Thread::now).max();
            outcome.control = Some(control.outcome(self.held(end.unwrap_or_default())));
            outcome.looks = control.looks();
        }
        outcome
    }
}
