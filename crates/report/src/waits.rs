//! Waits at faults: the JSON, rows of tables and plots.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use terrace_base::Nanos;
use terrace_live::watch::waits::{Figures, Measured, Moment, Recent};

use terrace_results::html::{Axis, Plot, Unit};
use terrace_results::number::count;
use terrace_results::table::table;
use terrace_results::text::Text;

/// Waits at faults (`--latency`): of major faults, and of minor ones that took 20 us or longer,
/// because their page was on its way or another had to leave first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// Events of faults that found a ring full, because they came faster than they were read. A
    /// ring is of all programs on its CPU, so some may be of others. Missing in older results, in
    /// the figures of a part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<u64>,
    /// Whether no event was lost, so that these are figures of all waits; missing in older results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<bool>,
    /// Share of the program's faults of all kinds whose waits are not known because events were
    /// lost; missing in the figures of a part, and in older results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing_share: Option<f64>,
    /// Waits over time, where there are any, from the start of the program on, or from `--after`
    /// on: the same waits as in `count`. Missing in the figures of a part.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub timeline: Vec<WaitsMoment>,
}

/// Waits at faults that began between two times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// Whether no event was lost meanwhile, so that these are figures of all waits; missing in
    /// older results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<bool>,
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
            whole: None,
            missing_share: None,
            timeline: Vec::new(),
        }
    }
}

impl From<&Recent> for Waits {
    fn from(recent: &Recent) -> Self {
        Self {
            lost: Some(recent.lost),
            whole: Some(recent.lost == 0),
            ..Self::from(&recent.waits)
        }
    }
}

impl From<&Measured> for Waits {
    fn from(measured: &Measured) -> Self {
        Self {
            lost: Some(measured.lost),
            whole: Some(measured.lost == 0),
            missing_share: Some(measured.missing() as f64 / measured.of.max(1) as f64),
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
            whole: Some(moment.is_whole),
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
            ("- median", self.shown(self.p50_us)),
            ("- 99th percentile", self.shown(self.p99_us)),
            ("- worst", self.shown(self.worst_us)),
        ];
        let missing = self.missing().map(|missing| ("- not measured", missing));
        rows.extend(missing);
        rows
    }

    /// Whether the waits of some of the program's faults are missing.
    fn misses_some(&self) -> bool {
        self.missing_share.is_some_and(|share| share > 0.0)
    }

    /// Returns a wait in microseconds as people read it, marked if the waits of some faults are
    /// missing.
    fn shown(&self, micros: f64) -> String {
        let mark = if self.misses_some() { MARK } else { "" };
        format!("{}{mark}", shown(micros))
    }

    /// Returns the share of faults that is missing, and the events that were lost; `None` if none
    /// were.
    fn missing(&self) -> Option<String> {
        let lost = self.lost.filter(|lost| *lost > 0)?;
        let events = format!("{} events lost", count(lost));
        Some(match self.missing_share {
            Some(share) if share < 0.0005 => format!("under 0.1 % of the faults ({events})"),
            Some(share) => format!("{:.1} % of the faults ({events})", share * 100.0),
            None => events,
        })
    }
}

/// Stands behind percentiles that miss some waits.
const MARK: &str = " *";

/// Says what is measured, and what that costs.
const EXPLAINED: &str = "Waits are those of major faults, and of minor ones of 20 us and longer.\n\
    Measuring them took the program some 1.2 us a fault, in each way alike.\n";

/// Explains the mark, if it is there.
const MARKED: &str = "* Events were lost, because faults came faster than they were read: the \
    waits of that share of the\n  program's faults are missing here.\n";

/// Says what the waits of some ways are, and what measuring them costs; nothing without any.
pub(crate) fn explained<'a>(measured: impl IntoIterator<Item = &'a Waits>) -> String {
    let mut measured = measured.into_iter().peekable();
    let Some(_) = measured.peek() else {
        return String::new();
    };
    let marked = match measured.any(Waits::misses_some) {
        true => MARKED,
        false => "",
    };
    format!("{EXPLAINED}{marked}")
}

/// Returns a table of the waits by way; nothing without any.
pub(crate) fn by_way(ways: &[(String, Waits)]) -> Text {
    if ways.is_empty() {
        return Text::default();
    }
    let mut rows = table(&[
        "way",
        "waits at faults",
        "all s",
        "median",
        "p99",
        "worst",
        "not measured",
    ]);
    for (way, waits) in ways {
        rows.add_row([
            way.clone(),
            count(waits.count),
            format!("{:.2}", waits.total_s),
            waits.shown(waits.p50_us),
            waits.shown(waits.p99_us),
            waits.shown(waits.worst_us),
            waits.missing().unwrap_or_default(),
        ]);
    }
    Text::default()
        .table(rows)
        .prose(explained(ways.iter().map(|(_, waits)| waits)))
}

/// Times that are told as not whole, at most; further ones are counted.
const MOST_TOLD: usize = 4;

/// Says when events of a way were lost; `None` if they never were.
fn broken(way: &str, waits: &Waits) -> Option<String> {
    let mut times: Vec<(f64, f64)> = Vec::new();
    for moment in waits.timeline.iter().filter(|it| it.whole == Some(false)) {
        match times.last_mut() {
            Some((_, to)) if (moment.from_s - *to).abs() < 1e-6 => *to = moment.to_s,
            _ => times.push((moment.from_s, moment.to_s)),
        }
    }
    let told: Vec<_> = times
        .iter()
        .take(MOST_TOLD)
        .map(|(from, to)| format!("{from:.1} to {to:.1} s"))
        .collect();
    let more = match times.len().saturating_sub(MOST_TOLD) {
        0 => String::new(),
        more => format!(" and {more} times more"),
    };
    (!told.is_empty()).then(|| {
        format!(
            " Events of {way} were lost, so that waits are missing: {}{more}.",
            told.join(", ")
        )
    })
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
    let mut note = "Of major faults, and of minor ones of 20 us and longer; of the run with the \
        median wall time; from the start on, or from --after on."
        .to_owned();
    note.extend(ways.iter().filter_map(|(way, waits)| broken(way, waits)));
    let plot = |(title, of): (&str, Of)| {
        let x = Axis::new("time since the start", Unit::Seconds);
        let plot = Plot::lines(title, x, Axis::new("wait", Unit::Nanos).log()).note(&note);
        ways.iter().fold(plot, |plot, (way, waits)| {
            let known = waits.timeline.iter().filter(|it| it.count > 0);
            let point = |it: &WaitsMoment| ((it.from_s + it.to_s) / 2.0, of(it) * 1000.0);
            plot.series(way, known.map(point))
        })
    };
    kinds.into_iter().map(plot).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn measured(lost: u64) -> Measured {
        let moment = |second: u64, is_whole| Moment {
            from: Duration::from_secs(second),
            to: Duration::from_secs(second + 1),
            waits: Figures::default(),
            is_whole,
        };
        Measured {
            all: Figures {
                count: 100,
                major: 90,
                median: Duration::from_micros(60),
                ..Figures::default()
            },
            faults: 3750,
            of: 4000,
            lost,
            timeline: vec![
                moment(0, true),
                moment(1, lost == 0),
                moment(2, lost == 0),
                moment(5, lost == 0),
            ],
        }
    }

    #[test]
    fn the_share_that_is_missing_is_said_and_marked() {
        let row = |waits: &Waits, name: &str| {
            let found = waits.rows().into_iter().find(|(row, _)| *row == name);
            found.map(|(_, value)| value)
        };
        let waits = Waits::from(&measured(12));
        assert_eq!(
            (waits.whole, waits.missing_share),
            (Some(false), Some(0.0625))
        );
        let missing = row(&waits, "- not measured");
        assert_eq!(
            missing.as_deref(),
            Some("6.2 % of the faults (12 events lost)")
        );
        assert!(row(&waits, "- median").unwrap().ends_with(" *"));
        assert!(explained([&waits]).contains("* Events were lost"));
        let note = broken("kernel", &waits).unwrap();
        assert!(
            note.contains("of kernel were lost") && note.contains("1.0 to 3.0 s, 5.0 to 6.0 s.")
        );

        let waits = Waits::from(&measured(0));
        assert_eq!((waits.whole, waits.missing_share), (Some(true), Some(0.0)));
        assert_eq!(row(&waits, "- not measured"), None);
        assert!(!row(&waits, "- median").unwrap().contains('*'));
        assert!(!explained([&waits]).contains('*'));
        assert_eq!(broken("kernel", &waits), None);
        assert_eq!(explained([]), "");
    }

    #[test]
    fn an_interval_with_losses_is_not_whole() {
        let interval = |lost| {
            let recent = Recent {
                waits: Figures::default(),
                lost,
            };
            let waits = Waits::from(&recent);
            (waits.whole, waits.lost)
        };
        assert_eq!(interval(0), (Some(true), Some(0)));
        assert_eq!(interval(3), (Some(false), Some(3)));
    }
}
