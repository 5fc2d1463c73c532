//! The pages of simulations.

use terrace_base::Bytes;
use terrace_base::schema::Tree;
use terrace_sim::pages::Simulated;
use terrace_sim::pages::options::effective;

use super::plot::{Axis, Plot, Unit};
use super::{Page, life_story};
use crate::document::Document;
use crate::flat::{flat, plain};
use crate::llc::{LlcDocument, Run as Cache};
use crate::rows::Rows;
use crate::sim::{PagesDocument, parts};
use crate::sweep::{Row, SweepDocument, table};

/// The settings by which machines are told apart in plots.
const TELLING: [&str; 12] = [
    "memory",
    "replacement",
    "prefetch",
    "prefetch_cache",
    "work",
    "inclusion",
    "eviction_buffer",
    "channels",
    "devices",
    "fault_name",
    "fault_shootdown",
    "seed",
];

/// A machine on a page: its name without DRAM, its effective settings, and what was found.
struct Machine<'r> {
    name: String,
    settings: Tree,
    run: &'r Simulated,
}

impl Machine<'_> {
    fn dram(&self) -> f64 {
        self.bytes().0 as f64
    }

    /// The name with DRAM, as in a list of machines.
    fn with_dram(&self) -> String {
        format!("{} {}", self.name, self.bytes()).trim().to_owned()
    }

    fn bytes(&self) -> Bytes {
        Bytes::of_pages(self.run.machine.dram_pages as u64)
    }
}

/// Names machines by the settings in which they differ.
fn named<'r>(runs: &[(&str, &'r Simulated)]) -> Vec<Machine<'r>> {
    let fields = effective();
    let trees = runs.iter().map(|(_, run)| Tree::of(&fields, &run.machine));
    let trees: Vec<Tree> = trees.collect();
    let settings: Vec<_> = trees.iter().map(flat).collect();
    let value = |settings: &[(String, serde_json::Value)], name: &str| {
        let found = settings.iter().find(|(key, _)| key == name);
        found.map_or(String::new(), |(_, value)| plain(value))
    };
    let differs = |name: &&str| {
        let mut others = settings.iter();
        others.any(|other| value(other, name) != value(&settings[0], name))
    };
    let telling: Vec<&str> = TELLING.into_iter().filter(differs).collect();
    let name = |(((trace, run), settings), tree): ((&(&str, &'r Simulated), &Vec<_>), Tree)| {
        let values = telling.iter().map(|name| value(settings, name));
        let words: Vec<String> = [(*trace).to_owned()].into_iter().chain(values).collect();
        Machine {
            name: words.join(" ").trim().to_owned(),
            settings: tree,
            run,
        }
    };
    runs.iter().zip(&settings).zip(trees).map(name).collect()
}

/// A line a kind of machine over DRAM; where all have the same DRAM, a bar a machine.
fn over_dram(title: &str, y: Axis, machines: &[Machine], figure: fn(&Simulated) -> f64) -> Plot {
    let same = machines
        .iter()
        .all(|machine| machine.dram() == machines[0].dram());
    if same {
        let names = Axis::names("", machines.iter().map(Machine::with_dram));
        let values = machines.iter().map(|machine| figure(machine.run));
        return Plot::bars(title, names, y).values(title, values);
    }
    let mut plot = Plot::lines(title, Axis::new("DRAM", Unit::Bytes).log(), y);
    let mut names: Vec<&str> = Vec::new();
    for machine in machines {
        if !names.contains(&&*machine.name) {
            names.push(&machine.name);
        }
    }
    for name in names {
        let own = machines.iter().filter(|machine| machine.name == name);
        let mut points: Vec<_> = own.map(|one| (one.dram(), figure(one.run))).collect();
        points.sort_by(|one, other| one.0.total_cmp(&other.0));
        plot = plot.series(name, points);
    }
    plot
}

fn times(machines: &[Machine]) -> Plot {
    let all: Vec<_> = machines
        .iter()
        .map(|one| parts(&one.run.outcome.times))
        .collect();
    let names = Axis::names("", machines.iter().map(Machine::with_dram));
    let time = Axis::new("time of all threads", Unit::Nanos);
    let plot = Plot::stacked("Time by part", names, time)
        .note("Where the virtual time of all threads went, added up over the threads.");
    let names = all.iter().flatten().map(|(name, _)| *name);
    let names: Vec<_> = names.take(all[0].len()).collect();
    names.iter().enumerate().fold(plot, |plot, (part, name)| {
        plot.values(name, all.iter().map(|times| times[part].1.0 as f64))
    })
}

fn machines_page(title: String, runs: &[(&str, &Simulated)]) -> Page {
    if runs.is_empty() {
        return Page::new(title);
    }
    let machines = named(runs);
    let misses = Axis::new("misses", Unit::Count);
    let slowdown = Axis::new("times as long as with DRAM alone", Unit::Times);
    let written = Axis::new("written", Unit::Bytes);
    let predicting = machines
        .iter()
        .filter(|machine| machine.run.outcome.story.predicted > 0);
    let stories = predicting.map(|machine| (machine.with_dram(), machine.run.outcome.story));
    let page = Page::new(title)
        .plot(
            over_dram("Misses over DRAM", misses, &machines, |run| {
                run.outcome.counts.misses() as f64
            })
            .note("Touches of pages that were not in DRAM, first touches included; simulated."),
        )
        .plot(
            over_dram("Slowdown over DRAM", slowdown, &machines, |run| {
                run.outcome.slowdown()
            })
            .note("Virtual run time against a machine with DRAM for everything."),
        )
        .plot(times(&machines))
        .plot(life_story(stories))
        .plot(
            over_dram("Writes to the tier over DRAM", written, &machines, |run| {
                Bytes::of_pages(run.outcome.counts.writebacks).0 as f64
            })
            .note("What wears the tier out."),
        );
    machines.iter().fold(page, |page, machine| {
        page.settings(&machine.with_dram(), &machine.settings)
    })
}

impl Document for PagesDocument {
    fn rows(&self) -> Rows {
        self.table()
    }

    fn page(&self) -> Page {
        let runs: Vec<_> = self.runs.iter().map(|run| ("", run)).collect();
        machines_page(
            format!("terrace sim pages: {}", self.traces.join(", ")),
            &runs,
        )
    }
}

impl Document for SweepDocument {
    fn rows(&self) -> Rows {
        table(&self.runs)
    }

    fn page(&self) -> Page {
        let several = self.runs.iter().any(|row| row.trace != self.runs[0].trace);
        let trace = |row: &'_ Row| {
            if several {
                row.trace.clone()
            } else {
                String::new()
            }
        };
        let traces: Vec<String> = self.runs.iter().map(trace).collect();
        let runs = self.runs.iter().zip(&traces);
        let runs: Vec<_> = runs
            .map(|(row, trace)| (&**trace, &row.simulated))
            .collect();
        machines_page("terrace sweep".to_owned(), &runs)
    }
}

impl Document for LlcDocument {
    fn rows(&self) -> Rows {
        // Lists of positions, cores, memories and epochs stay JSON.
        Rows::flat(&self.runs)
    }

    fn page(&self) -> Page {
        let size = |run: &Cache| (run.llc.bytes, run.llc.ways);
        let one_size = self.runs.iter().all(|run| size(run) == size(&self.runs[0]));
        let name = |run: &Cache| match one_size {
            true => run.policy.clone(),
            false => {
                let bytes = terrace_base::Bytes(run.llc.bytes);
                format!("{} {bytes} {}-way", run.policy, run.llc.ways)
            }
        };
        let caches = || Axis::names("", self.runs.iter().map(name));
        let lines = || Axis::new("lines", Unit::Count);
        let figure = |get: fn(&Cache) -> u64| self.runs.iter().map(move |run| get(run) as f64);
        let traffic = Plot::bars("Misses and write-backs", caches(), lines())
            .note("Lines that go over the memory bus; simulated.")
            .values("misses", figure(|run| run.misses))
            .values("write-backs", figure(|run| run.writebacks));
        let ordered = || {
            self.runs
                .iter()
                .filter_map(|run| Some((run, run.hits_by_position.as_ref()?)))
        };
        let most = ordered().map(|(_, hits)| hits.len()).max().unwrap_or(0);
        let positions = Axis::names(
            "lines of the set used more recently",
            (0..most).map(|p| p.to_string()),
        );
        let hits = Plot::bars(
            "LLC hits by stack position",
            positions,
            Axis::new("hits", Unit::Count),
        )
        .note("By how many lines of the set had been used since (Fedorov 2016, figure 2.1).");
        let hits = ordered().fold(hits, |plot, (run, hits)| {
            plot.values(&name(run), hits.iter().map(|&hits| hits as f64))
        });
        let mut page = Page::new(match (&self.traces, &self.program) {
            (Some(traces), _) => format!("terrace sim llc: {}", traces.join(", ")),
            (_, program) => format!(
                "terrace sim llc: {}",
                program.clone().unwrap_or_default().join(" ")
            ),
        })
        .plot(traffic)
        .plot(hits);
        let epochs = |run: &Cache, get: fn(&crate::llc::Epoch) -> u64| {
            let epochs = run.epochs.iter().flatten();
            epochs
                .map(|epoch| (epoch.end as f64, get(epoch) as f64))
                .collect::<Vec<_>>()
        };
        let requests = Axis::new("requests to the last level", Unit::Count);
        let plot = Plot::lines("Misses by epoch", requests, lines()).note("Warm-up included.");
        page = page.plot(self.runs.iter().fold(plot, |plot, run| {
            plot.series(&name(run), epochs(run, |epoch| epoch.misses))
        }));
        for (index, memory) in self
            .runs
            .first()
            .into_iter()
            .flat_map(|run| run.memories.iter().enumerate())
        {
            let times = self
                .runs
                .iter()
                .map(|run| run.memories[index].time_ns.0 as f64);
            let title = format!("Time with {} behind", memory.memory);
            page = page.plot(
                Plot::bars(&title, caches(), Axis::new("time", Unit::Nanos))
                    .note("Virtual time of the core that took longest.")
                    .values("time", times),
            );
        }
        page.settings("", &self.settings)
    }
}
