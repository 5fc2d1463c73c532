//! Results of `terrace validate`: a table, and the JSON of schema `terrace.validate/1`.

pub mod mix;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Serialize;
use terrace_base::{Bytes, median};
use terrace_live::machine::view::View;
use terrace_live::measure::calibrate::Calibration;
use terrace_live::run::Outcome;
use terrace_policy::prefetch::LifeStory;
use terrace_sim::pages::{FaultCost, Times, ZeroPages};
use terrace_validate::machine::machine;
use terrace_validate::perform::Results;

use terrace_results::document::{Document, words};
use terrace_results::html::{Axis, Page, Plot, Unit};
use terrace_results::number::count;
use terrace_results::rows::Rows;
use terrace_results::table::table;
use terrace_results::text::Text;

/// The JSON of `terrace validate --json`.
#[derive(Serialize, JsonSchema)]
pub struct ValidationDocument {
    /// `terrace.validate/1`. Fields may be added under this name; none changes its meaning.
    pub schema: &'static str,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Prefetcher.
    pub prefetch: String,
    /// The DRAM budget in bytes.
    pub dram_bytes: u64,
    /// The program's footprint in bytes, measured, without page cache.
    pub footprint_bytes: u64,
    /// Kernel memory charged to the program, in bytes, measured.
    pub kernel_bytes: u64,
    /// The most memory in huge pages with all the DRAM, in bytes, measured. The simulator knows
    /// none.
    pub huge_bytes: u64,
    /// Pages that the budget leaves to the program: those of the simulated DRAM.
    pub dram_pages: u64,
    /// Pages that the trace touches.
    pub trace_pages: u64,
    /// Touches of pages in the trace, and seconds that recording took; null where the trace was
    /// given.
    pub recorded: Option<Recorded>,
    /// The pace that makes the simulated time with all the DRAM the measured one, in picoseconds
    /// an instruction: the only figure that was taken from this program.
    pub instruction_ps: u64,
    /// Seconds with all the DRAM the program wants, measured, one number a repetition.
    pub all_dram_s: Vec<f64>,
    /// Seconds under the budget, likewise.
    pub limited_s: Vec<f64>,
    /// Whether other programs swapped meanwhile; times and pages are then not the program's alone.
    pub disturbed: bool,
    /// What the program saw of memory limits: `machine` for those that hold for terrace, as without
    /// it, or `limit` for that of its own group.
    pub memory_view: Option<View>,
    /// Figures of both sides. The live one is the median of the runs.
    pub figures: Vec<Figure>,
    /// Readings of the machine.
    pub calibration: Calibration,
    /// Costs of a fault in the simulation.
    pub fault: FaultCost,
    /// Where the simulated time went, in nanoseconds.
    pub times_ns: Times,
}

/// Extent of a recording.
#[derive(Serialize, JsonSchema)]
pub struct Recorded {
    /// Touches of pages.
    pub touches: u64,
    /// Seconds.
    pub wall_s: f64,
}

/// One figure on both sides.
#[derive(Serialize, JsonSchema)]
pub struct Figure {
    /// Its name.
    pub name: &'static str,
    /// Measured: the median of the runs.
    pub live: f64,
    /// Measured: the least of the runs.
    pub live_least: f64,
    /// Measured: the most of the runs.
    pub live_most: f64,
    /// Simulated.
    pub simulated: f64,
    /// Difference of the simulated from the live value, in percent of the live one; null if that is
    /// 0.
    pub error_percent: Option<f64>,
}

impl Figure {
    /// Compares what runs had with what was simulated.
    fn new(name: &'static str, runs: &[f64], simulated: f64) -> Self {
        let live = median(runs.iter().copied());
        let error = (simulated - live) / live * 100.0;
        Self {
            name,
            live,
            live_least: runs.iter().copied().fold(live, f64::min),
            live_most: runs.iter().copied().fold(live, f64::max),
            simulated,
            error_percent: (live > 0.0).then_some(error),
        }
    }
}

impl ValidationDocument {
    /// Returns the document of a validation.
    pub fn of(results: &Results) -> Self {
        let (live, predicted) = (&results.live, &results.predicted);
        let seconds =
            |outcomes: &[Outcome]| outcomes.iter().map(|o| o.wall.as_secs_f64()).collect();
        Self {
            schema: "terrace.validate/1",
            command: words(&results.command),
            prefetch: results.prefetch.to_string(),
            dram_bytes: live.limit.0,
            footprint_bytes: live.footprint.0,
            kernel_bytes: live.kernel().0,
            huge_bytes: live.huge().0,
            dram_pages: predicted.dram_pages as u64,
            trace_pages: predicted.outcome.footprint_pages,
            recorded: results.recorded.as_ref().map(|recorded| Recorded {
                touches: recorded.accesses,
                wall_s: recorded.wall.as_secs_f64(),
            }),
            instruction_ps: predicted.instruction_ps,
            all_dram_s: seconds(&live.all_dram),
            limited_s: seconds(&live.limited),
            disturbed: results.is_disturbed(),
            memory_view: results.live.view,
            figures: figures(results),
            calibration: results.calibration.clone(),
            fault: machine(&results.calibration).fault,
            times_ns: predicted.outcome.times,
        }
    }
}

fn figures(results: &Results) -> Vec<Figure> {
    let (limited, outcome) = (&results.live.limited, &results.predicted.outcome);
    let wall = |runs: &[Outcome]| -> Vec<_> { runs.iter().map(|o| o.wall.as_secs_f64()).collect() };
    let live = |figure: fn(&Outcome) -> u64| -> Vec<_> {
        limited.iter().map(|o| figure(o) as f64).collect()
    };
    let paced = outcome.programs.first();
    let paced = paced.map_or(0.0, |program| program.all_dram_ns.seconds());
    let time = outcome.time().seconds();
    let faults = live(|o| o.major_faults);
    let (read, written) = (
        live(|o| o.tier_read.pages()),
        live(|o| o.tier_written.pages()),
    );
    let with_zeros = live(|o| o.tier_written.pages() + o.tier_zeros);
    let counts = &outcome.counts;
    let mut figures = vec![
        Figure::new(ALL_DRAM, &wall(&results.live.all_dram), paced),
        Figure::new(TIME, &wall(limited), time),
        Figure::new("major faults", &faults, counts.full_misses as f64),
        Figure::new("pages read", &read, counts.reads as f64),
        Figure::new("pages written", &written, counts.writebacks as f64),
        Figure::new(
            "- or of zeros",
            &with_zeros,
            (counts.writebacks + counts.zeros_dropped) as f64,
        ),
    ];
    if results.predicted.zero_pages == ZeroPages::Written {
        // The kernel keeps pages of zeros out of the tier, and the simulator moves them where a
        // trace does not tell them from others: what it takes for them follows from their shares of
        // the pages that came and went.
        let unread = share(&live(|o| o.tier_unread), &read) * outcome.times.read.seconds();
        let unwritten =
            share(&live(|o| o.tier_zeros), &written) * outcome.times.write_out.seconds();
        let time = time - unread - unwritten;
        figures.insert(2, Figure::new(ZEROS_STAY, &wall(limited), time));
    }
    let stories: Option<Vec<LifeStory>> = limited.iter().map(|o| o.prefetch).collect();
    if let Some(stories) = stories {
        type Count = fn(&LifeStory) -> u64;
        let ends: [(_, Count); 5] = [
            ("prefetches issued", |story| story.issued),
            ("- used in time", |story| story.used),
            ("- late", |story| story.late),
            ("- reissued", |story| story.reissued),
            ("- wasted", |story| story.wasted),
        ];
        figures.extend(ends.map(|(name, count)| {
            let live: Vec<_> = stories.iter().map(|story| count(story) as f64).collect();
            Figure::new(name, &live, count(&outcome.story) as f64)
        }));
    }
    figures
}

/// Returns the share of `part` in itself and `rest`, by medians of the runs; 0 of nothing.
fn share(part: &[f64], rest: &[f64]) -> f64 {
    let [part, rest] = [part, rest].map(|runs| median(runs.iter().copied()));
    match part + rest {
        0.0 => 0.0,
        all => part / all,
    }
}

const ALL_DRAM: &str = "time, all DRAM (s)";
const TIME: &str = "time (s)";
const ZEROS_STAY: &str = "- zeros not moved";
const DISTURBED: &str = "Other programs swapped on this machine meanwhile: times, and pages read \
                         and written, are not the program's alone.\n";

/// Returns the table and the settings.
pub fn text(document: &ValidationDocument) -> Text {
    let mut table = table(&["terrace validate", "live", "simulated", "error"]);
    for figure in &document.figures {
        let shown = |value: f64| match figure.name {
            ALL_DRAM | TIME | ZEROS_STAY => format!("{value:.3}"),
            _ => count(value.round() as u64),
        };
        let error = match (figure.name, figure.error_percent) {
            (ALL_DRAM, _) => "set so".to_owned(),
            (_, Some(error)) => format!("{error:+.1} %"),
            (_, None) => String::new(),
        };
        table.add_row([
            figure.name.to_owned(),
            shown(figure.live),
            shown(figure.simulated),
            error,
        ]);
    }
    let recorded = match &document.recorded {
        Some(Recorded { touches, wall_s }) => {
            format!("; recorded {} touches in {wall_s:.1} s", count(*touches))
        }
        None => String::new(),
    };
    let huge = match document.huge_bytes {
        0 => String::new(),
        bytes => format!(
            "{} of its memory lie in huge pages, which the kernel evicts whole and the simulator \
             does not know: its faults may differ.\n",
            Bytes(bytes)
        ),
    };
    let disturbed = match document.disturbed {
        false => "",
        true => DISTURBED,
    };
    let settings = format!(
        "DRAM {} of {}, {} pages without what the kernel takes; the trace touches {} \
         pages{recorded}.\nprefetch: {}; tier: {}; {} ps an instruction, the only figure taken \
         from this program.\n{huge}{disturbed}",
        Bytes(document.dram_bytes),
        Bytes(document.footprint_bytes),
        count(document.dram_pages),
        count(document.trace_pages),
        document.prefetch,
        document.calibration.tier,
        document.instruction_ps,
    );
    Text::default().table(table).prose(settings)
}

impl Document for ValidationDocument {
    fn rows(&self) -> Rows {
        Rows::flat(&self.figures)
    }

    fn page(&self) -> Page {
        let figures = || self.figures.iter().filter(|figure| figure.live > 0.0);
        let names = Axis::names("", figures().map(|figure| figure.name));
        let times = Axis::new("times what was measured", Unit::Times);
        let ratios = figures().map(|figure| figure.simulated / figure.live);
        let compared = Plot::bars("Simulated against measured", names, times)
            .note("1 is a prediction that is exactly right.")
            .values("simulated", ratios);
        let settings = [
            ("DRAM", Bytes(self.dram_bytes).to_string()),
            ("footprint", Bytes(self.footprint_bytes).to_string()),
            ("prefetch", self.prefetch.clone()),
            ("tier", self.calibration.tier.clone()),
            ("ps an instruction", self.instruction_ps.to_string()),
        ];
        Page::new(format!("terrace validate: {}", self.command.join(" ")))
            .plot(compared)
            .settings("", &IndexMap::from(settings))
            .settings("fault", &self.fault)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_shares_of_the_median_of_what_was_measured() {
        let error = |runs: &[f64], simulated| Figure::new("x", runs, simulated).error_percent;
        assert_eq!(error(&[4.0], 5.0), Some(25.0));
        assert_eq!(error(&[9.0, 4.0, 1.0], 3.0), Some(-25.0));
        assert_eq!(error(&[0.0], 3.0), None);
    }

    #[test]
    fn a_figure_says_how_far_the_runs_are_apart() {
        let figure = Figure::new("x", &[9.0, 4.0, 1.0], 3.0);
        assert_eq!(
            [figure.live_least, figure.live, figure.live_most],
            [1.0, 4.0, 9.0]
        );
    }

    #[test]
    fn zeros_are_a_share_of_what_came_or_went() {
        assert_eq!(
            [(1.0, 3.0), (0.0, 5.0), (0.0, 0.0)].map(|(part, rest)| share(&[part], &[rest])),
            [0.25, 0.0, 0.0]
        );
    }
}
