//! The pages of simulations.

use indexmap::IndexMap;
use terrace_base::Bytes;
use terrace_base::schema::Tree;
use terrace_sim::pages::options::effective;
use terrace_sim::pages::{Look, Simulated};

use super::plot::{Axis, Plot, Unit};
use super::{Page, life_story, value};
use crate::document::Document;
use crate::flat::flat;
use crate::rows::Rows;
use crate::schemes;
use crate::sim::{PagesDocument, parts};
use crate::sweep::{SweepDocument, table};

/// Settings that distinguish machines in plots.
const TELLING: [&str; 16] = [
    "memory",
    "middle",
    "replacement",
    "control",
    "control_writes",
    "prefetch",
    "prefetch_cache",
    "work",
    "inclusion",
    "eviction_buffer",
    "staging",
    "channels",
    "devices",
    "fault_name",
    "fault_shootdown",
    "seed",
];

/// A machine on a page: its name without DRAM, its effective settings, and its results.
struct Machine<'r> {
    name: String,
    run: &'r Simulated,
}

impl Machine<'_> {
    fn dram(&self) -> f64 {
        self.bytes().0 as f64
    }

    /// Returns the name with DRAM, as in a list of machines.
    fn with_dram(&self) -> String {
        format!("{} {}", self.name, self.bytes()).trim().to_owned()
    }

    fn bytes(&self) -> Bytes {
        Bytes::of_pages(self.run.machine.dram_pages as u64)
    }
}

/// Returns machines named by the settings in which they differ.
fn named<'r>(runs: &[(&str, &'r Simulated)]) -> Vec<Machine<'r>> {
    let fields = effective();
    let trees = runs.iter().map(|(_, run)| Tree::of(&fields, &run.machine));
    let settings: Vec<_> = trees.map(|tree| flat(&tree)).collect();
    let differs = |name: &&str| {
        let mut others = settings.iter();
        others.any(|other| value(other, name) != value(&settings[0], name))
    };
    let telling: Vec<&str> = TELLING.into_iter().filter(differs).collect();
    let name = |((trace, run), settings): (&(&str, &'r Simulated), &Vec<_>)| {
        let values = telling.iter().map(|name| value(settings, name));
        let words: Vec<String> = [(*trace).to_owned()].into_iter().chain(values).collect();
        Machine {
            name: words.join(" ").trim().to_owned(),
            run,
        }
    };
    runs.iter().zip(&settings).map(name).collect()
}

/// Returns a plot over DRAM with a line for each kind of machine; if all have the same DRAM, with a
/// bar for each machine.
fn over_dram(title: &str, y: Axis, machines: &[Machine], figure: fn(&Simulated) -> f64) -> Plot {
    let mut drams = machines.iter().map(Machine::dram);
    if drams.all(|dram| dram == machines[0].dram()) {
        let names = Axis::names("", machines.iter().map(Machine::with_dram));
        let values = machines.iter().map(|machine| figure(machine.run));
        return Plot::bars(title, names, y).values(title, values);
    }
    let mut lines: IndexMap<&str, Vec<(f64, f64)>> = IndexMap::new();
    for machine in machines {
        let point = (machine.dram(), figure(machine.run));
        lines.entry(&machine.name).or_default().push(point);
    }
    let plot = Plot::lines(title, Axis::new("DRAM", Unit::Bytes).log(), y);
    lines.into_iter().fold(plot, |plot, (name, mut points)| {
        points.sort_by(|one, other| one.0.total_cmp(&other.0));
        plot.series(name, points)
    })
}

fn times(machines: &[Machine]) -> Plot {
    let all = machines.iter().map(|one| parts(&one.run.outcome.times));
    let all: Vec<_> = all.collect();
    let names = Axis::names("", machines.iter().map(Machine::with_dram));
    let time = Axis::new("time of all threads", Unit::Nanos);
    let plot = Plot::stacked("Time by part", names, time)
        .note("Where the virtual time of all threads went, added up over the threads.");
    (0..all[0].len()).fold(plot, |plot, part| {
        let times = all.iter().map(|times| times[part].1.0 as f64);
        plot.values(all[0][part].0, times)
    })
}

/// Returns plots over time of the machines with a control policy: DRAM, stalls and writes.
fn control(machines: &[Machine]) -> [Plot; 3] {
    let time = || Axis::new("virtual time", Unit::Nanos);
    let plot = |title, y, note| Plot::lines(title, time(), y).note(note);
    let stalls = Axis::new("time lost for memory", Unit::Share);
    let plots = [
        plot(
            "DRAM over time",
            Axis::new("DRAM held", Unit::Bytes),
            "At each look of the control policy, before it decides.",
        ),
        plot(
            "Stalls over time",
            stalls,
            "Share of the time of all threads since the look before.",
        ),
        plot(
            "Writes over time",
            Axis::new("written to the tier", Unit::Bytes),
            "From the first look on.",
        ),
    ];
    let controlled = machines
        .iter()
        .filter(|one| !one.run.outcome.looks.is_empty());
    controlled.fold(plots, |[dram, stalls, writes], machine| {
        let (looks, name) = (&machine.run.outcome.looks, machine.with_dram());
        let at = |look: &Look| look.time_ns.0 as f64;
        let held = looks.iter().map(|look| (at(look), look.dram.0 as f64));
        let shares = looks
            .iter()
            .filter_map(|look| Some((at(look), look.stalls()?)));
        let written = looks.iter().scan(0, |all, look| {
            *all += look.written.0;
            Some((at(look), *all as f64))
        });
        [
            dram.series(&name, held),
            stalls.series(&name, shares),
            writes.series(&name, written),
        ]
    })
}

fn machines_page(title: String, runs: &[(&str, &Simulated)]) -> Page {
    if runs.is_empty() {
        return Page::new(title);
    }
    let machines = named(runs);
    // Machines without a clock only count.
    let timed = runs.iter().filter(|(_, run)| run.outcome.timed).copied();
    let timed = named(&timed.collect::<Vec<_>>());
    let misses = Axis::new("misses", Unit::Count);
    let misses = over_dram("Misses over DRAM", misses, &machines, |run| {
        run.outcome.counts.misses() as f64
    });
    let writes = "Writes to the tier over DRAM";
    let written = Axis::new("written", Unit::Bytes);
    let written = over_dram(writes, written, &machines, |run| {
        Bytes::of_pages(run.outcome.counts.writebacks).0 as f64
    });
    let stories = machines
        .iter()
        .map(|one| (one.with_dram(), one.run.outcome.story));
    let predicting = stories.filter(|(_, story)| story.predicted > 0);
    let mut page =
        Page::new(title)
            .plot(misses.note(
                "Touches of pages that were not in DRAM, first touches included; simulated.",
            ));
    if !timed.is_empty() {
        let slowdown = Axis::new("times as long as with DRAM alone", Unit::Times);
        let slowdown = over_dram("Slowdown over DRAM", slowdown, &timed, |run| {
            run.outcome.slowdown()
        });
        page = page
            .plot(slowdown.note("Virtual run time against a machine with DRAM for everything."))
            .plot(times(&timed));
    }
    let page = control(&machines).into_iter().fold(page, Page::plot);
    let page = page
        .plot(life_story(predicting))
        .plot(written.note("What wears the tier out."));
    let asked = machines.iter().map(|one| match machines.len() {
        1 => (String::new(), one.run),
        _ => (one.with_dram(), one.run),
    });
    let page = schemes::plots(&asked.collect::<Vec<_>>())
        .into_iter()
        .fold(page, Page::plot);
    machines.iter().fold(page, |page, machine| {
        page.settings_of(&machine.with_dram(), &effective(), &machine.run.machine)
    })
}

impl Document for PagesDocument {
    fn rows(&self) -> Rows {
        self.table()
    }

    fn page(&self) -> Page {
        let title = format!("terrace sim pages: {}", self.traces.join(", "));
        let runs = self.runs.iter().map(|run| ("", run));
        machines_page(title, &runs.collect::<Vec<_>>()).counted(&self.counted)
    }
}

impl Document for SweepDocument {
    fn rows(&self) -> Rows {
        table(&self.runs)
    }

    fn page(&self) -> Page {
        let several = self.runs.iter().any(|row| row.trace != self.runs[0].trace);
        let runs = self.runs.iter().map(|row| match several {
            true => (&*row.trace, &row.simulated),
            false => ("", &row.simulated),
        });
        let runs: Vec<_> = runs.collect();
        machines_page("terrace sweep".to_owned(), &runs).counted(&self.counted)
    }
}
