//! Waits at faults: the JSON, rows of tables and plots.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use terrace_base::Nanos;
use terrace_live::waits::{Figures, Measured, Moment};

use crate::html::{Axis, Plot, Unit};
use crate::run::count;
use crate::table::table;
use crate::text::Text;

/// Waits at faults (`--latency`): of major faults, and of minor ones that took 20 us or longer, because their page was on
/// its way or another had to leave first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Waits {
    /// Faults that waited.
    pub count: u64,
    /// Major faults among them.
    pub major: u64,
    /// All waits together in seconds; those of several threads add up.
    pub total_s: f64,
    /// Median wait in microseconds, to 1 %.
    pub p50_us: f64,
    /// 99th percentile in microseconds, to 1 %.
    pub p99_us: f64,
    /// The longest wait in microseconds.
    pub worst_us: f64,
    /// Events of faults that found a ring full, so that their waits are not known; missing in the figures of a part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<u64>,
    /// Waits over time, where there are any, from the start of the program on; missing in the figures of a part.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub timeline: Vec<WaitsMoment>,
}

/// Waits at faults from one time to another.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct WaitsMoment {
    /// Time since the start in seconds, from which on they are.
    pub from_s: f64,
    /// Time since the start in seconds, up to which they are.
    pub to_s: f64,
    /// Faults that waited.
    pub count: u64,
    /// Median wait in microseconds.
    pub p50_us: f64,
    /// 99th percentile in microseconds.
    pub p99_us: f64,
    /// The longest wait in microseconds.
    pub worst_us: f64,
}

impl From<&Figures> for Waits {
    fn from(figures: &Figures) -> Self {
        Self {
            count: figures.count,
            major: figures.major,
            total_s: figures.total.as_secs_f64(),
            p50_us: micros(figures.median),
            p99_us: micros(figures.p99),
            worst_us: micros(figures.worst),
            lost: None,
            timeline: Vec::new(),
        }
    }
}

impl From<&Measured> for Waits {
    fn from(measured: &Measured) -> Self {
        Self {
            lost: Some(measured.lost),
            timeline: measured.timeline.iter().map(WaitsMoment::from).collect(),
            ..Self::from(&measured.all)
        }
    }
}

impl From<&Moment> for WaitsMoment {
    fn from(moment: &Moment) -> Self {
        let waits = &moment.waits;
        Self {
            from_s: moment.from.as_secs_f64(),
            to_s: moment.to.as_secs_f64(),
            count: waits.count,
            p50_us: micros(waits.median),
            p99_us: micros(waits.p99),
            worst_us: micros(waits.worst),
        }
    }
}

fn micros(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1000.0
}

/// Returns a time of microseconds as people read it.
fn shown(micros: f64) -> String {
    Nanos((micros * 1000.0) as u64).to_string()
}

impl Waits {
    /// Returns the rows of a table: names and values.
    pub(crate) fn rows(&self) -> Vec<(&'static str, String)> {
        let mut rows = vec![
            (
                "waits at faults",
                format!("{}, {:.2} s in all", count(self.count), self.total_s),
            ),
            ("- median", shown(self.p50_us)),
            ("- 99th percentile", shown(self.p99_us)),
            ("- worst", shown(self.worst_us)),
        ];
        if let Some(lost) = self.lost.filter(|lost| *lost > 0) {
            rows.push(("- not measured", format!("{} events", count(lost))));
        }
        rows
    }
}

/// Says what is measured, and what that costs.
pub(crate) const EXPLAINED: &str = "Waits are those of major faults, and of minor ones of 20 us and longer.\n\
    Measuring them took the program some 1.2 us a fault, in each way alike.\n";

/// Returns a table of the waits by way; nothing without any.
pub(crate) fn by_way<'a>(ways: impl Iterator<Item = (String, Option<&'a Waits>)>) -> Text {
    let mut rows = table(&[
        "way",
        "waits at faults",
        "all s",
        "median",
        "p99",
        "worst",
        "not measured",
    ]);
    let mut has_rows = false;
    for (way, waits) in ways {
        let Some(waits) = waits else { continue };
        has_rows = true;
        rows.add_row([
            way,
            count(waits.count),
            format!("{:.2}", waits.total_s),
            shown(waits.p50_us),
            shown(waits.p99_us),
            shown(waits.worst_us),
            waits.lost.map_or(String::new(), count),
        ]);
    }
    match has_rows {
        true => Text::default().table(rows).prose(EXPLAINED),
        false => Text::default(),
    }
}

/// Returns plots of the waits over time, a line a way.
pub(crate) fn plots(ways: &[(String, &Waits)]) -> Vec<Plot> {
    type Of = fn(&WaitsMoment) -> f64;
    let kinds: [(&str, Of); 3] = [
        ("Median wait at faults", |moment| moment.p50_us),
        ("99th percentile of the waits at faults", |moment| {
            moment.p99_us
        }),
        ("Worst wait at faults", |moment| moment.worst_us),
    ];
    let plot = |(title, of): (&str, Of)| {
        let x = Axis::new("time since the start", Unit::Seconds);
        let plot = Plot::lines(title, x, Axis::new("wait", Unit::Nanos).log())
            .note("Of major faults, and of minor ones of 20 us and longer; of the run with the median wall time.");
        ways.iter().fold(plot, |plot, (way, waits)| {
            let point = |it: &WaitsMoment| ((it.from_s + it.to_s) / 2.0, of(it) * 1000.0);
            plot.series(way, waits.timeline.iter().map(point))
        })
    };
    kinds.into_iter().map(plot).collect()
}
