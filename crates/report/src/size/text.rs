//! The results for people.

use std::time::Duration;

use terrace_base::Bytes;
use terrace_live::control::size::Progress;
use terrace_policy::control::Step;
use terrace_results::lifetime::in_words;
use terrace_results::number::count;
use terrace_results::table::table;
use terrace_results::text::Text;

use super::{SizeDocument, SizeSimulation};
use crate::waits;

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
    if let Some(simulated) = &document.simulated {
        text = beside(text, document, simulated);
    }
    remarks(document).into_iter().fold(
        text.prose(format!("{}\n", sentence(document))),
        |text, it| text.prose(format!("{it}\n")),
    )
}

/// Adds both curves, a row a size.
fn beside(text: Text, document: &SizeDocument, simulated: &SizeSimulation) -> Text {
    let mut rows = table(&[
        "DRAM",
        "slow-down, measured",
        "simulated",
        "faults/s, measured",
        "simulated",
    ]);
    for (level, other) in document.levels.iter().zip(&simulated.levels) {
        rows.add_row([
            Bytes(level.dram_bytes).to_string(),
            percent(level.slowdown),
            percent(other.slowdown),
            format!("{:.1}", level.faults_per_s),
            format!("{:.1}", other.faults_per_s),
        ]);
    }
    let text = text.table(rows).prose(format!(
        "Simulated: {} on DRAM of each size before {}. The recording touches {}; the service had {}.\n",
        simulated.traces.join(", "),
        simulated.memory,
        Bytes(simulated.footprint_bytes),
        Bytes(document.footprint_bytes)
    ));
    let warnings = simulated.warnings.iter();
    warnings.fold(text, |text, it| text.prose(format!("{it}\n")))
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
