//! The page of a simulation of files.

use terrace_sim::files::{Run, Simulated, options, results};

use super::{FilesDocument, differing, name};
use crate::document::Document;
use crate::html::{Axis, Page, Plot, Unit};
use crate::rows::Rows;

impl Document for FilesDocument {
    fn rows(&self) -> Rows {
        // The timeline stays JSON.
        let fields = results::run();
        let runs = results::compared(&self.simulated);
        Rows::flat_of(&fields, runs)
    }

    fn page(&self) -> Page {
        let runs = &self.simulated.runs;
        Page::new(format!("terrace sim files: {}", self.traces.join(", ")))
            .counted(&self.counted)
            .plot(rates(&self.simulated))
            .plot(misses(&self.simulated))
            .settings_of(
                "of the first machine",
                &options::effective(),
                &runs[0].machine,
            )
    }
}

/// Returns the plot of the bytes read in a second (Koob 2010, "Postmark Read Rate").
fn rates(simulated: &Simulated) -> Plot {
    let runs = &simulated.runs;
    let differing = differing(runs);
    let machines = Axis::names("", runs.iter().map(|run| name(run, &differing)));
    let rate = |run: &Run| run.outcome.read_rate().unwrap_or(f64::NAN);
    Plot::bars("Read rate", machines, Axis::new("a second", Unit::Bytes))
        .note("Bytes of the pages read, by virtual time.")
        .values("read rate", runs.iter().map(rate))
}

/// Returns the plot of miss rates over the run (Koob 2010, "Miss Rates"), of each machine.
fn misses(simulated: &Simulated) -> Plot {
    let runs = &simulated.runs;
    let differing = differing(runs);
    let plot = Plot::lines(
        "Miss rates over the run",
        Axis::new("requests", Unit::Count),
        Axis::new("missed", Unit::Share),
    )
    .note("Of the pages read: those that neither DRAM nor flash had.");
    runs.iter().fold(plot, |plot, run| {
        let points = results::epochs(&run.outcome.points).filter_map(|epoch| {
            let hits = epoch.counts.hit_rate()?;
            Some((epoch.end.counts.requests as f64, 1.0 - hits))
        });
        plot.series(&name(run, &differing), points)
    })
}
