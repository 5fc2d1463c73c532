//! The page of a simulation of tasks that take turns.

use terrace_sim::mix::{Run, Simulated, options, results};

use super::{MixDocument, name};
use crate::document::Document;
use crate::html::{Axis, Page, Plot, Unit};
use crate::rows::Rows;

impl Document for MixDocument {
    fn rows(&self) -> Rows {
        // Tasks stay JSON.
        let fields = results::run();
        let runs = results::compared(&self.simulated);
        Rows::flat_of(&fields, runs)
    }

    fn page(&self) -> Page {
        Page::new(format!("terrace sim mix: {}", self.traces.join(", ")))
            .counted(&self.counted)
            .plot(run_times(&self.simulated))
            .plot(misses(&self.simulated))
            .settings_of("", &options::effective(), &self.simulated)
    }
}

/// Returns the plot of run times (Fedorov 2016, figure 3.5).
fn run_times(simulated: &Simulated) -> Plot {
    let runs = &simulated.runs;
    let machines = Axis::names("", runs.iter().map(|run| name(run, runs)));
    let of = |run| run_time(simulated, run);
    Plot::bars(
        "Run time",
        machines,
        Axis::new("share of the first", Unit::Share),
    )
    .note("Geometric mean over the tasks; simulated.")
    .values("run time", runs.iter().map(of))
}

fn run_time(simulated: &Simulated, run: &Run) -> f64 {
    run.slowdown(simulated.base(run)).unwrap_or(f64::NAN)
}

/// Returns the plot of misses after a switch, a line for each task of the first machine (figure
/// 3.3).
fn misses(simulated: &Simulated) -> Plot {
    let plot = Plot::lines(
        "Misses after a turn begins",
        Axis::new("time since the turn began", Unit::Nanos),
        Axis::new("misses per ms", Unit::Count),
    );
    let longest = |run: &&Run| run.turn();
    let runs = simulated.runs.iter();
    let Some(run) = runs.max_by_key(longest) else {
        return plot;
    };
    let note = format!(
        "With {}, whose turns are the longest.",
        name(run, &simulated.runs)
    );
    run.tasks().iter().fold(plot.note(&note), |plot, task| {
        let points = task.curve().enumerate();
        let points = points.filter_map(|(ms, misses)| Some((ms as f64 * 1e6, misses?)));
        plot.series(&task.name, points)
    })
}
