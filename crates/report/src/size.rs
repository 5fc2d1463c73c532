//! Results of `terrace size`: the curve as a table, and the JSON of schema `terrace.size/1`.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use terrace_base::{Bytes, kernel};
use terrace_live::control::size::{Progress, Results};
use terrace_live::control::{Level, Spread};
use terrace_live::run::attach::End;
use terrace_live::system::dram;
use terrace_policy::control::Step;

use crate::waits::{self, Waits};
use terrace_results::document::Document;
use terrace_results::html::{Axis, Page, Plot, Unit};
use terrace_results::lifetime::{Endurance, in_words};
use terrace_results::number::count;
use terrace_results::rows::Rows;
use terrace_results::table::table;
use terrace_results::text::Text;

const DAY_S: f64 = 86_400.0;

/// The JSON of `terrace size --json`. All figures are measured.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SizeDocument {
    /// `terrace.size/1`. Fields may be added under this name; none changes its meaning.
    pub schema: String,
    /// The service, described for people.
    pub target: String,
    /// Effective settings.
    pub settings: SizeSettings,
    /// Time that it was looked at in seconds.
    pub wall_s: f64,
    /// Why it ended: `program` (all processes had), `signal` or `time`.
    pub end: String,
    /// Most memory that it had in DRAM and tier together, in bytes.
    pub footprint_bytes: u64,
    /// The least DRAM that kept the slow-down within the goal, of the sizes that were held for a
    /// twentieth of the time and for eight looks; null if none did.
    pub least: Option<SizeLevel>,
    /// Sizes that were held, from the most DRAM to the least.
    pub levels: Vec<SizeLevel>,
    /// Of the whole time.
    pub all: SizeLevel,
    /// Time in seconds in which it had less than nine tenths of its most memory, as while it
    /// started; no size has that in it.
    pub smaller_s: f64,
    /// Decisions, and what they came to.
    pub decisions: SizeDecisions,
    /// Waits at faults; missing if nothing measured them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<Waits>,
}

/// Effective settings and machine.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SizeSettings {
    /// Share of the time that the service may stand still.
    pub goal: f64,
    /// The control policy with its settings.
    pub control: String,
    /// Swap areas.
    pub tier: String,
    /// What stalls are known from: `pressure` (the kernel's, of the group) or `waits` (at faults).
    pub stalls: String,
    /// What bytes written are known from: `group` (the kernel's count) or `steps` (at least).
    pub written: String,
    /// Directory of the group that counts memory; null if that was done by process.
    pub group: Option<String>,
    /// The device's endurance in bytes; null if it was not given.
    pub endurance_bytes: Option<u64>,
    /// The kernel's release.
    pub kernel: String,
    /// The machine's DRAM in bytes.
    pub machine_memory_bytes: u64,
    /// The version of terrace.
    pub terrace: String,
}

/// How the service fared at a size.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SizeLevel {
    /// DRAM in bytes, the mean over time.
    pub dram_bytes: u64,
    /// Time at this size in seconds.
    pub time_s: f64,
    /// Looks in that time.
    pub looks: u64,
    /// Whether there were enough looks to say something.
    pub known: bool,
    /// Share of the time in which it stood still for memory.
    pub slowdown: f64,
    /// That share, by look.
    pub spread: SizeSpread,
    /// Major faults a second.
    pub faults_per_s: f64,
    /// Bytes written for it in that time.
    pub written_bytes: u64,
    /// Bytes that would be written in a day at that rate.
    pub written_bytes_per_day: f64,
    /// Lifetime of the device in years at that rate; null without an endurance or without writes.
    pub lifetime_years: Option<f64>,
}

/// Quartiles and the most over the looks of a size.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SizeSpread {
    /// A quarter of the looks had no more.
    pub lower: f64,
    /// Half of the looks had no more.
    pub median: f64,
    /// Three quarters of the looks had no more.
    pub upper: f64,
    /// The most of all looks.
    pub most: f64,
}

/// Decisions, and what they came to.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SizeDecisions {
    /// Looks.
    pub looks: u64,
    /// Decisions to reclaim.
    pub reclaims: u64,
    /// Bytes of these.
    pub asked_bytes: u64,
    /// Bytes that a trial began for.
    pub tried_bytes: u64,
    /// Bytes that left DRAM.
    pub left_bytes: u64,
    /// Decisions to give back.
    pub returns: u64,
    /// Bytes that came back by these, or were on their way.
    pub came_bytes: u64,
    /// Bytes that came back at the end.
    pub restored_bytes: u64,
    /// Looks at which the machine was short of memory.
    pub short: u64,
    /// Whether the tier was full at some time.
    pub full: bool,
    /// The longest step in seconds.
    pub longest_step_s: f64,
    /// Bytes passed over because several processes share them, as far as was looked.
    pub shared_bytes: u64,
    /// Bytes that stayed when they were to leave: pinned, or in use just then.
    pub stayed_bytes: u64,
    /// Bytes that the processes have locked.
    pub locked_bytes: u64,
    /// Events of faults that were lost, so that stalls are missing.
    pub lost: u64,
}

impl SizeDocument {
    /// Returns the document of results.
    pub fn of(results: &Results, goal: f64, endurance: Option<Endurance>) -> Self {
        let level = |level: &Level| SizeLevel::of(level, endurance);
        let (about, decisions) = (&results.about, &results.decisions);
        Self {
            schema: "terrace.size/1".to_owned(),
            target: about.name.clone(),
            settings: SizeSettings {
                goal,
                control: results.control.clone(),
                tier: results.tier.clone(),
                stalls: about.stalls.name().to_owned(),
                written: about.written.name().to_owned(),
                group: about.group.clone(),
                endurance_bytes: endurance.map(|it| it.bytes().0),
                kernel: kernel::release(),
                machine_memory_bytes: dram::total().0,
                terrace: env!("CARGO_PKG_VERSION").to_owned(),
            },
            wall_s: results.wall.as_secs_f64(),
            end: match results.end {
                End::Program => "program",
                End::Signal => "signal",
                End::Time => "time",
            }
            .to_owned(),
            footprint_bytes: results.curve.footprint().0,
            least: results.curve.least(goal).as_ref().map(level),
            levels: results.curve.levels().iter().map(level).collect(),
            all: level(&results.curve.all()),
            smaller_s: results.curve.smaller().as_secs_f64(),
            decisions: SizeDecisions {
                looks: decisions.looks,
                reclaims: decisions.reclaims,
                asked_bytes: decisions.reclaimed,
                tried_bytes: results.carried.tried.0,
                left_bytes: results.carried.left.0,
                returns: decisions.returns,
                came_bytes: results.carried.came.0,
                restored_bytes: results.restored.0,
                short: decisions.short,
                full: results.carried.full,
                longest_step_s: results.carried.took.as_secs_f64(),
                shared_bytes: results.passed.shared.0,
                stayed_bytes: results.passed.stayed.0,
                locked_bytes: results.locked.0,
                lost: results.lost,
            },
            waits: results.waits.as_ref().map(Waits::from),
        }
    }
}

impl SizeLevel {
    fn of(level: &Level, endurance: Option<Endurance>) -> Self {
        let seconds = level.time.as_secs_f64();
        let a_day = level.written.0 as f64 / seconds * DAY_S;
        Self {
            dram_bytes: level.dram.0,
            time_s: seconds,
            looks: level.looks as u64,
            known: level.is_known(),
            slowdown: level.slowdown,
            spread: SizeSpread::from(&level.spread),
            faults_per_s: level.faults_per_s,
            written_bytes: level.written.0,
            written_bytes_per_day: if seconds > 0.0 { a_day } else { 0.0 },
            lifetime_years: endurance.and_then(|it| it.years(level.written, level.time)),
        }
    }
}

impl From<&Spread> for SizeSpread {
    fn from(spread: &Spread) -> Self {
        Self {
            lower: spread.lower,
            median: spread.median,
            upper: spread.upper,
            most: spread.most,
        }
    }
}

impl Document for SizeDocument {
    /// A row a size.
    fn rows(&self) -> Rows {
        Rows::flat(&self.levels)
    }

    fn page(&self) -> Page {
        let axes = |title, unit| (Axis::new("DRAM", Unit::Bytes), Axis::new(title, unit));
        let points = |of: fn(&SizeLevel) -> f64| {
            let known = self.levels.iter().filter(|level| level.known);
            let points: Vec<_> = known.map(|it| (it.dram_bytes as f64, of(it))).collect();
            points
        };
        let (x, y) = axes("share of time", Unit::Share);
        let slowdown = Plot::lines("Slow-down over DRAM", x, y)
            .note("Share of the time in which the service stood still for memory. Measured.")
            .series("mean", points(|it| it.slowdown))
            .series("median of looks", points(|it| it.spread.median))
            .series("upper quartile of looks", points(|it| it.spread.upper));
        let (x, y) = axes("major faults a second", Unit::Count);
        let faults = Plot::lines("Major faults over DRAM", x, y)
            .series("major faults", points(|it| it.faults_per_s));
        Page::new(format!("terrace size: {}", self.target))
            .plot(slowdown)
            .plot(faults)
            .settings("", &self.settings)
    }
}

/// Returns the curve, the sentence, and what it stands on.
pub fn text(document: &SizeDocument) -> Text {
    let has_life = document.settings.endurance_bytes.is_some();
    let mut columns = vec![
        "DRAM",
        "time s",
        "slow-down",
        "quartiles of looks",
        "most",
        "faults/s",
        "written/day",
    ];
    columns.extend(has_life.then_some("life"));
    let mut curve = table(&columns);
    for level in &document.levels {
        let spread = &level.spread;
        let quartiles = [spread.lower, spread.median, spread.upper].map(digits);
        let mut row = vec![
            Bytes(level.dram_bytes).to_string(),
            format!("{:.0}", level.time_s),
            match level.known {
                true => percent(level.slowdown),
                false => format!("{} *", percent(level.slowdown)),
            },
            format!("{} %", quartiles.join(" / ")),
            percent(spread.most),
            format!("{:.1}", level.faults_per_s),
            Bytes(level.written_bytes_per_day as u64).to_string(),
        ];
        let life = level.lifetime_years.map_or("no writes".into(), in_words);
        row.extend(has_life.then_some(life));
        curve.add_row(row);
    }
    let mut text = Text::default().table(curve);
    if document.levels.iter().any(|level| !level.known) {
        text = text.prose("* held for too short a time to say something\n");
    }
    text = text.prose(
        "Measured. Slow-down: the share of the time in which the service stood still for memory.\n\
         Bytes written are those of the moves to each size and of trials as well.\n",
    );
    if let Some(waits) = &document.waits {
        let mut rows = table(&["", ""]);
        rows.add_rows(
            waits
                .rows()
                .into_iter()
                .map(|(name, value)| [name.to_owned(), value]),
        );
        text = text.table(rows).prose(waits::explained(Some(waits)));
    }
    remarks(document).into_iter().fold(
        text.prose(format!("{}\n", sentence(document))),
        |text, it| text.prose(format!("{it}\n")),
    )
}

/// Returns the answer in one sentence.
pub fn sentence(document: &SizeDocument) -> String {
    let (target, goal) = (&document.target, percent(document.settings.goal));
    let most = Bytes(document.footprint_bytes);
    match &document.least {
        Some(least) => format!(
            "{target} keeps within {goal} with {} of {most}",
            Bytes(least.dram_bytes)
        ),
        None if document.levels.iter().any(|level| level.known) => format!(
            "{target} stood still for more than {goal} of its time at each size, {most} included"
        ),
        None => format!(
            "{target} was looked at for too short a time ({:.1} s) to say how much DRAM it needs",
            document.wall_s
        ),
    }
}

/// Returns sentences on what was passed over, or without effect.
fn remarks(document: &SizeDocument) -> Vec<String> {
    let decisions = &document.decisions;
    let passed = |bytes: u64, why: &str| {
        (bytes > 0).then(|| format!("{} were passed over: {why}.", Bytes(bytes)))
    };
    let said = [
        Some(format!(
            "{} left DRAM, and {} came back at {} decisions.",
            Bytes(decisions.left_bytes),
            Bytes(decisions.came_bytes),
            count(decisions.returns)
        )),
        Some(format!(
            "Stalls are known from {}; control: {}.",
            match document.settings.stalls.as_str() {
                "pressure" => "the pressure of the group",
                _ => "waits at faults",
            },
            document.settings.control
        )),
        Some(format!(
            "Over all {:.0} s it stood still for {} of the time.",
            document.all.time_s,
            percent(document.all.slowdown)
        )),
        (document.smaller_s > 0.0).then(|| {
            format!(
                "{:.1} s are left out, in which it had less than nine tenths of its most memory.",
                document.smaller_s
            )
        }),
        passed(decisions.shared_bytes, "several processes share them"),
        passed(decisions.stayed_bytes, "they stayed when they were to leave"),
        passed(decisions.locked_bytes, "they are locked (mlock)"),
        decisions
            .full
            .then(|| "The tier was full: no more could leave DRAM; give it more room.".to_owned()),
        (decisions.short > 0).then(|| {
            format!(
                "At {} of {} looks the machine was short of memory by itself, and nothing was moved.",
                count(decisions.short),
                count(decisions.looks)
            )
        }),
        (decisions.lost > 0).then(|| {
            format!(
                "{} events of faults were lost, so that some stalls are missing.",
                count(decisions.lost)
            )
        }),
    ];
    said.into_iter().flatten().collect()
}

/// Returns a line on a look, for a terminal.
pub fn line(progress: &Progress) -> String {
    let (seen, look) = (&progress.seen, &progress.look);
    let share = |part: Duration, whole: Duration| match whole.is_zero() {
        true => 0.0,
        false => part.as_secs_f64() / whole.as_secs_f64(),
    };
    let step = match progress.decision.step {
        Step::Reclaim(bytes) => format!("reclaims {}", Bytes(bytes)),
        Step::GiveBack(bytes) => format!("gives back {}", Bytes(bytes)),
        Step::Hold => "holds".to_owned(),
    };
    format!(
        "terrace {} s | DRAM {} of {} | stalls {} | {} ({})",
        seen.time.as_secs(),
        look.resident,
        Bytes(seen.resident + seen.swapped),
        percent(share(look.stalled, look.passed)),
        step,
        progress.decision.reason
    )
}

fn percent(share: f64) -> String {
    format!("{} %", digits(share))
}

/// Returns a share in percent, with two digits.
fn digits(share: f64) -> String {
    match share * 100.0 {
        many if many >= 9.95 => format!("{many:.0}"),
        few if few >= 0.995 => format!("{few:.1}"),
        little => format!("{little:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(mib: u64, slowdown: f64, known: bool) -> SizeLevel {
        SizeLevel {
            dram_bytes: mib << 20,
            time_s: 30.0,
            looks: 60,
            known,
            slowdown,
            spread: SizeSpread {
                lower: 0.0,
                median: slowdown / 2.0,
                upper: slowdown,
                most: slowdown * 4.0,
            },
            faults_per_s: 12.0,
            written_bytes: 1 << 20,
            written_bytes_per_day: (3_u64 << 30) as f64,
            lifetime_years: Some(5.0),
        }
    }

    fn document(levels: Vec<SizeLevel>) -> SizeDocument {
        SizeDocument {
            schema: "terrace.size/1".into(),
            target: "the unit postgresql".into(),
            settings: SizeSettings {
                goal: 0.05,
                control: "slowdown:goal=0.05".into(),
                tier: "/swapfile".into(),
                stalls: "waits".into(),
                written: "steps".into(),
                group: None,
                endurance_bytes: Some(600_000_000_000_000),
                kernel: "6.18".into(),
                machine_memory_bytes: 24 << 30,
                terrace: "0".into(),
            },
            wall_s: 90.0,
            end: "time".into(),
            footprint_bytes: 4915 << 20,
            least: levels.iter().rev().find(|it| it.slowdown <= 0.05).copied(),
            all: level(4000, 0.02, true),
            smaller_s: 2.5,
            levels,
            decisions: SizeDecisions {
                looks: 180,
                reclaims: 90,
                asked_bytes: 1 << 30,
                tried_bytes: 1 << 30,
                left_bytes: 1 << 29,
                returns: 2,
                came_bytes: 1 << 20,
                restored_bytes: 0,
                short: 0,
                full: true,
                longest_step_s: 0.01,
                shared_bytes: 4096,
                stayed_bytes: 0,
                locked_bytes: 0,
                lost: 0,
            },
            waits: None,
        }
    }

    #[test]
    fn the_answer_is_one_sentence() {
        let said = document(vec![level(4800, 0.0, true), level(3174, 0.04, true)]);
        assert_eq!(
            sentence(&said),
            "the unit postgresql keeps within 5.0 % with 3.10 GiB of 4.80 GiB"
        );
        let never = document(vec![level(4800, 0.5, true)]);
        assert!(sentence(&never).contains("stood still for more than 5.0 %"));
        let short = document(vec![level(4800, 0.5, false)]);
        assert!(sentence(&short).contains("too short a time (90.0 s)"));
    }

    #[test]
    fn tables_fit_lines_and_name_what_was_passed_over() {
        let document = document(vec![level(4800, 0.001, true), level(3174, 0.5, false)]);
        let shown = text(&document).to_string();
        assert!(shown.contains("50 % *"), "{shown}");
        assert!(shown.contains("too short a time to say"), "{shown}");
        assert!(shown.contains("The tier was full"), "{shown}");
        assert!(shown.contains("4.00 KiB were passed over"), "{shown}");
        assert!(!shown.contains("locked"), "{shown}");
        let widest = shown.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(100), "{shown}");
    }

    #[test]
    fn documents_are_read_as_they_were_written() {
        let document = document(vec![level(4800, 0.0, true)]);
        let json = document.to_json();
        let read: SizeDocument = serde_json::from_str(&json).unwrap();
        assert_eq!(read.to_json(), json);
        assert_eq!(document.rows().rows.len(), 1, "a row a size");
        let page = document.page().html(&text(&document), "terrace size");
        assert!(page.contains("<h1>terrace size: the unit postgresql</h1>"));
    }
}
