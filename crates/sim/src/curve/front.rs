//! Miss-ratio curves as they are asked for.

use terrace_base::Result;
use terrace_device::Catalogue;
use terrace_trace::Columns;
use terrace_trace::objects::Extent;

use super::outcome::Curves;
use super::run::Gathered;
use super::settings::CurveSettings;
use crate::Simulation;
use crate::setting::Given;
use crate::traces::Traces;
use crate::watch::{Event, Watch};
use crate::workload::Workload;

/// A simulation of all sizes of DRAM.
pub struct CurveSimulation(CurveSettings);

impl Simulation for CurveSimulation {
    type Machine = CurveSettings;
    type Beside = ();
    type Results = Curves;

    const OBJECTS: Option<Extent> = Some(Extent::Unit);

    fn new(given: Given<CurveSettings>, _: Catalogue, (): ()) -> Result<Self> {
        let mut settings = CurveSettings::default();
        given.apply(&mut settings, &())?;
        Ok(Self(settings))
    }

    /// Curves need no instruction counts.
    fn columns(&self) -> Columns {
        Columns {
            instruction: false,
            ..Columns::PAGES
        }
    }

    fn reads_again(&self, _: usize) -> bool {
        false
    }

    fn run(self, traces: &Traces, watch: Watch) -> Result<Curves> {
        let done = |touches| watch(Event::Done(touches));
        let workload = Workload::of(traces, self.columns(), "reading", watch)?;
        let gathered = Gathered::read(workload, self.0, done)?;
        watch(Event::begins("simulating", Some(gathered.simulated())));
        gathered.curves(done)
    }
}
