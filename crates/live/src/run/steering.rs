//! How a session steers a program: the engine of its way, and the kernel's readahead.

use terrace_base::{Bytes, Context, Error, Result};
use terrace_policy::prefetch::{Costs, Engine, Lessons};

use super::{Event, Observer, Outcome, Session, Way};
use crate::group::budget::Budget;
use crate::machine::sysctl::{Attempt, Cluster, Hand, PageCluster};
use crate::machine::zswap;
use crate::run::comparison_lock::{self, Waiting};
use crate::steer::Aids;
use crate::steer::steered::Steered;
use crate::system::dram;
use crate::tier::MEMORY_COSTS;
use crate::watch::faults::FaultStream;

impl Session {
    /// Starts to steer a program with this DRAM, if the way is one that steers. Otherwise returns
    /// the kernel's readahead, which is held until the program has ended, if the way sets it.
    pub(super) fn steer(
        &mut self,
        way: &Way,
        budget: &Budget,
        limit: Option<Bytes>,
        observer: Observer,
    ) -> Result<(Option<Steered>, Option<PageCluster>, Option<Hand>)> {
        let engine = self.engine(way, observer)?;
        let readahead = match (way, &engine) {
            (Way::KernelCpf, _) | (_, Some(_)) => self.take_readahead(way, observer)?,
            _ => None,
        };
        let hand = readahead.as_ref().map(PageCluster::hand);
        let Some(engine) = engine else {
            return Ok((None, readahead, hand));
        };
        let evictor = match way {
            Way::Terrace(policies) => {
                policies.evictor(budget, limit, !self.charges_pool(budget))?
            }
            _ => None,
        };
        let aids = Aids {
            gauge: Some(budget.fault_counter()),
            readahead,
            evictor,
            lessons: way.lesson().map(|_| Lessons::default()),
        };
        let faults = FaultStream::open(budget.watched())?;
        let dram = limit.unwrap_or_else(dram::total);
        let steered = Steered::start(engine, faults, dram, aids)?;
        Ok((Some(steered), None, hand))
    }

    /// Returns the engine of the way; `None` if it has none, or if fetching cannot pay.
    pub(crate) fn engine(&self, way: &Way, observer: Observer) -> Result<Option<Engine>> {
        let Way::Terrace(policies) = way else {
            return Ok(None);
        };
        let mut engine = policies.prefetch.engine(None).map_err(Error::usage)?;
        let costs = match self.far.swap() {
            Some(tier) if !zswap::takes_all(self.footprint) => tier.costs(),
            Some(_) => MEMORY_COSTS,
            None => Costs::DISK,
        };
        engine.set_costs(costs);
        if let Some(file) = &policies.lesson
            && !engine.learn(&file.read()?)
        {
            return Err(Error::usage(format!(
                "`{}` learns nothing from earlier runs; use ‘learn’ with auto or replay",
                policies.prefetch
            )));
        }
        if engine.cannot_pay() {
            observer(Event::Notice(&format!(
                "on this tier a fault takes {} us and a fetch {} us, so fetching ahead cannot pay; \
                 the kernel is left alone (‘prefetch’ stream fetches all the same)",
                costs.demand.as_micros(),
                costs.fetch.as_micros()
            )));
            return Ok(None);
        }
        Ok(Some(engine))
    }

    /// Takes `vm.page-cluster`; sets it to single pages for
    /// [`Way::KernelCpf`].
    pub(crate) fn take_readahead(
        &mut self,
        way: &Way,
        observer: Observer,
    ) -> Result<Option<PageCluster>> {
        let single = matches!(way, Way::KernelCpf);
        let attempt = match single {
            true => self.await_knob(observer)?,
            false => Some(PageCluster::acquire(self.journal.state())?),
        };
        // A signal that came during the wait ends the program, too.
        let Some(attempt) = attempt else {
            return Ok(None);
        };
        let knob = match attempt {
            Attempt::Taken(knob) => knob,
            refused if single => return refused.require_single().map(|()| None),
            refused => {
                if let Some(notice) = refused.notice()
                    && !std::mem::replace(&mut self.told_of_readahead, true)
                {
                    observer(Event::Notice(&notice));
                }
                return Ok(None);
            }
        };
        let found = knob.found().to_owned();
        self.journal.note(Cluster(found))?;
        knob.set(single)
            .or_fail(|| "cannot set vm.page-cluster".into())?;
        Ok(Some(knob))
    }

    fn await_knob(&self, observer: Observer) -> Result<Option<Attempt>> {
        comparison_lock::await_knob(
            self.journal.state(),
            &mut Waiting {
                stop: &|| self.asked_to_end().is_some(),
                told: &mut |text| observer(Event::Notice(text)),
            },
        )
    }
}

/// Writes what the next run may learn from this one, if that is asked for.
pub(super) fn leave_lesson(way: &Way, outcome: &mut Outcome, observer: Observer) -> Result<()> {
    if let (Some(file), Some(lesson)) = (way.lesson(), outcome.lesson.take()) {
        let foreseen = outcome
            .prefetch
            .is_some_and(|story| file.path().exists() && story.used >= outcome.major_faults);
        let notice = file.leave(&lesson, foreseen)?;
        observer(Event::Notice(&notice));
    }
    Ok(())
}
