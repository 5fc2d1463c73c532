//! The tables at the end of `terrace run`.

use std::fmt::Write;
use std::time::Duration;

use terrace_base::Bytes;
use terrace_live::compare::{Results, Runs};
use terrace_live::program::Exit;
use terrace_live::run::Outcome;

use crate::lifetime::{Endurance, in_words};
use crate::schema::{median, typical};
use crate::table::table;

/// The table of a program that was run one way.
pub fn single(results: &Results, endurance: Option<Endurance>) -> String {
    let Some(runs) = results.runs.first().filter(|r| !r.outcomes.is_empty()) else {
        return String::new();
    };
    let outcome = typical(runs);
    let mut table = table(&["terrace run", ""]);
    let mut row = |name: &str, value: String| {
        table.add_row([name.to_owned(), value]);
    };
    row("wall time", seconds(runs));
    row(
        "user + system",
        format!(
            "{:.2} + {:.2} s",
            outcome.user.as_secs_f64(),
            outcome.system.as_secs_f64()
        ),
    );
    row("major faults", count(outcome.major_faults));
    row("minor faults", count(outcome.minor_faults));
    if let Some(story) = outcome.prefetch {
        row("prefetches issued", count(story.issued));
        row("- used in time", share(story.used, story.issued));
        row("- late", share(story.late, story.issued));
        row("- wasted", share(story.wasted, story.issued));
    }
    row("tier read", outcome.tier_read.to_string());
    row("tier written", outcome.tier_written.to_string());
    if let Some(peak) = outcome.peak_resident {
        row(
            "peak resident",
            format!("{peak} of {}", results.effective.dram),
        );
    }
    row("footprint", outcome.footprint.to_string());
    if let Some(text) = lifetime(outcome, endurance) {
        row("device lifetime at this rate", text);
    }
    format!("{table}\n{}", settings(results))
}

/// The table of a program that was run several ways.
pub fn comparison(results: &Results, endurance: Option<Endurance>) -> String {
    let mut head = vec![
        "way",
        "wall s",
        "vs all-dram",
        "vs kernel",
        "won back",
        "major faults",
        "prefetched",
        "used",
        "late",
        "wasted",
        "tier read",
        "tier written",
    ];
    if endurance.is_some() {
        head.push("lifetime");
    }
    let mut table = table(&head);
    let reference = Reference::of(results);
    for runs in results.runs.iter().filter(|r| !r.outcomes.is_empty()) {
        let outcome = typical(runs);
        let wall = wall(runs);
        let mut row = vec![
            runs.way.name().to_owned(),
            seconds(runs),
            ratio(reference.all_dram.map(|base| wall / base)),
            ratio(reference.kernel.map(|base| base / wall)),
            reference.won_back(runs),
            count(outcome.major_faults),
        ];
        row.extend(match outcome.prefetch {
            Some(story) => [
                count(story.issued),
                share(story.used, story.issued),
                share(story.late, story.issued),
                share(story.wasted, story.issued),
            ],
            None => [const { String::new() }; 4],
        });
        row.push(outcome.tier_read.to_string());
        row.push(outcome.tier_written.to_string());
        if endurance.is_some() {
            row.push(lifetime(outcome, endurance).unwrap_or_default());
        }
        table.add_row(row);
    }
    let mut text = format!("{table}\n{}", settings(results));
    text.push_str(
        "vs all-dram: how many times the wall time. vs kernel: speed-up against the better of \
         the two kernel ways.\nwon back: share of the time lost by the better kernel way \
         against all-dram.\n",
    );
    text
}

/// The median wall times that the others are held against, in seconds.
struct Reference {
    all_dram: Option<f64>,
    /// Of the better kernel way.
    kernel: Option<f64>,
}

impl Reference {
    fn of(results: &Results) -> Self {
        let of = |name: &str| {
            results
                .runs
                .iter()
                .find(|r| r.way.name() == name && !r.outcomes.is_empty())
                .map(wall)
        };
        Self {
            all_dram: of("all-dram"),
            kernel: [of("kernel"), of("kernel-cpf")]
                .into_iter()
                .flatten()
                .min_by(f64::total_cmp),
        }
    }

    fn won_back(&self, runs: &Runs) -> String {
        let (Some(best), Some(kernel)) = (self.all_dram, self.kernel) else {
            return String::new();
        };
        let lost = kernel - best;
        // Where the kernel loses next to nothing there is nothing to win, only noise.
        if runs.way.name() != "terrace" || lost < kernel * 0.05 {
            return String::new();
        }
        format!("{:.0} %", (kernel - wall(runs)) / lost * 100.0)
    }
}

fn wall(runs: &Runs) -> f64 {
    median(runs.outcomes.iter().map(|o| o.wall.as_secs_f64()))
}

/// The median wall time, with the spread where there is one.
fn seconds(runs: &Runs) -> String {
    let walls = runs.outcomes.iter().map(|o| o.wall);
    let middle = wall(runs);
    match (walls.clone().min(), walls.max()) {
        (Some(least), Some(most)) if runs.outcomes.len() > 1 => format!(
            "{middle:.2} ({:.2} to {:.2})",
            least.as_secs_f64(),
            most.as_secs_f64()
        ),
        _ => format!("{middle:.2} s"),
    }
}

fn lifetime(outcome: &Outcome, endurance: Option<Endurance>) -> Option<String> {
    let endurance = endurance?;
    Some(
        endurance
            .years(outcome.tier_written, outcome.wall)
            .map_or("no writes".into(), in_words),
    )
}

fn settings(results: &Results) -> String {
    let effective = &results.effective;
    let mut line = format!("DRAM {}", effective.dram);
    if let Some(footprint) = effective.footprint {
        let share = effective.dram.0 as f64 / footprint.0 as f64 * 100.0;
        let origin = if effective.footprint_measured {
            "measured"
        } else {
            "given"
        };
        let _ = write!(line, ", {share:.0} % of {footprint} ({origin})");
    }
    let _ = writeln!(
        line,
        "; tier: {}; prefetch: {}; page-cluster {}",
        effective.tier,
        names(&effective.prefetch),
        effective.page_cluster
    );
    line
}

/// The predictors' names, or that there was none.
pub(crate) fn names(predictors: &[String]) -> String {
    match predictors {
        [] => "off".to_owned(),
        _ => predictors.join(", "),
    }
}

/// What people should know beside the table: a program that failed or was killed.
pub fn remarks(results: &Results) -> Vec<String> {
    let mut remarks = Vec::new();
    for runs in &results.runs {
        let way = runs.way.name();
        for outcome in &runs.outcomes {
            if outcome.oom_kills > 0 {
                remarks.push(format!(
                    "{way}: the kernel killed the program because it needed more than its DRAM \
                     budget of {} plus the tier ({}); raise --dram, or name a larger tier or \
                     --footprint",
                    results.effective.dram, results.effective.tier
                ));
            } else if results.runs.len() > 1 && !outcome.exit.success() {
                remarks.push(match outcome.exit {
                    Exit::Code(code) => format!("{way}: the program ended with code {code}"),
                    Exit::Signal(signal) => {
                        format!("{way}: the program was ended by signal {signal}")
                    }
                });
            }
        }
    }
    remarks.dedup();
    if let Some(error) = &results.left_behind {
        remarks.push(format!("{error}; put it back with: terrace doctor --clean"));
    }
    remarks
}

fn ratio(value: Option<f64>) -> String {
    value.map_or(String::new(), |ratio| format!("{ratio:.2}x"))
}

/// `93 % (1,234)`, or just the count where there is no whole.
fn share(part: u64, whole: u64) -> String {
    if whole == 0 {
        return count(part);
    }
    format!("{:.0} %", part as f64 / whole as f64 * 100.0)
}

/// Thousands apart: `1,234,567`.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A rate of bytes: `85.0 MiB/s`.
pub(crate) fn rate(bytes: Bytes, time: Duration) -> String {
    let per_second = bytes.0 as f64 / time.as_secs_f64().max(1e-9);
    format!("{}/s", Bytes(per_second as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_apart() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1000), "1,000");
        assert_eq!(count(1_234_567), "1,234,567");
    }

    #[test]
    fn rates() {
        let second = Duration::from_secs(2);
        assert_eq!(rate(Bytes(4 << 20), second), "2.00 MiB/s");
    }
}
