//! The page of a simulation of last-level caches.

use terrace_sim::llc::Epoch;
use terrace_sim::llc::results::run;
use terrace_sim::llc::{Counts, Run, options};

use super::{LlcDocument, name};
use crate::document::Document;
use crate::html::{Axis, Page, Plot, Unit};
use crate::rows::Rows;

impl Document for LlcDocument {
    fn rows(&self) -> Rows {
        // Lists of positions, cores, memories and epochs stay JSON.
        let fields = run();
        Rows::flat_of(&fields, self.simulated.runs())
    }

    fn page(&self) -> Page {
        let runs: &[Run] = &Vec::from_iter(self.simulated.runs());
        let inputs = self.traces.as_ref().map(|traces| traces.join(", "));
        let program = || self.program.clone().unwrap_or_default().join(" ");
        let inputs = inputs.unwrap_or_else(program);
        let page = Page::new(format!("terrace sim llc: {inputs}"))
            .counted(&self.counted)
            .plot(traffic(runs))
            .plot(positions(runs))
            .plot(epochs(runs));
        let page = times(runs).into_iter().fold(page, Page::plot);
        page.settings_of("", &options::effective(), &self.simulated)
    }
}

/// Returns an axis with the name of each cache.
fn caches(runs: &[Run]) -> Axis {
    Axis::names("", runs.iter().map(|run| name(run, runs)))
}

fn lines() -> Axis {
    Axis::new("lines", Unit::Count)
}

fn traffic(runs: &[Run]) -> Plot {
    let figure = |get: fn(&Counts) -> u64| runs.iter().map(move |run| get(&run.counts()) as f64);
    let plot = Plot::bars("Misses and write-backs", caches(runs), lines())
        .note("Lines that go over the memory bus; simulated.")
        .values("misses", figure(Counts::misses));
    let ahead = |counts: &Counts| counts.prefetches.misses();
    let plot = match runs.iter().any(|run| ahead(&run.counts()) > 0) {
        true => plot.values("read ahead", figure(ahead)),
        false => plot,
    };
    plot.values("write-backs", figure(Counts::writebacks))
}

fn positions(runs: &[Run]) -> Plot {
    let ordered = runs
        .iter()
        .filter_map(|run| Some((run, run.outcome.positions.as_ref()?)));
    let most = ordered.clone().map(|(_, hits)| hits.len()).max();
    let positions = Axis::names(
        "lines of the set used more recently",
        (0..most.unwrap_or(0)).map(|position| position.to_string()),
    );
    let hits = Axis::new("hits", Unit::Count);
    let plot = Plot::bars("LLC hits by stack position", positions, hits)
        .note("By how many lines of the set had been used since (Fedorov 2016, figure 2.1).");
    ordered.fold(plot, |plot, (run, hits)| {
        plot.values(&name(run, runs), hits.iter().map(|&hits| hits as f64))
    })
}

fn epochs(runs: &[Run]) -> Plot {
    let requests = Axis::new("requests to the last level", Unit::Count);
    let plot = Plot::lines("Misses by epoch", requests, lines()).note("Warm-up included.");
    let point = |epoch: Epoch| {
        let end = epoch.end.counts.accesses();
        (end as f64, epoch.counts.misses() as f64)
    };
    runs.iter().fold(plot, |plot, run| {
        let epochs = run.epochs().into_iter().flatten();
        plot.series(&name(run, runs), epochs.map(point))
    })
}

/// Returns the plots of time, one for each memory.
fn times(runs: &[Run]) -> Vec<Plot> {
    let memories = runs.first().into_iter();
    let memories = memories.flat_map(|run| run.outcome.memories.iter().enumerate());
    let plot = |(index, memory): (usize, &terrace_sim::llc::Found)| {
        let title = format!("Time with {} behind", memory.name);
        let time = |run: &Run| run.outcome.memories[index].elapsed.0 as f64;
        Plot::bars(&title, caches(runs), Axis::new("time", Unit::Nanos))
            .note("Virtual time of the core that took longest.")
            .values("time", runs.iter().map(time))
    };
    memories.map(plot).collect()
}
