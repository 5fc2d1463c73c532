//! Remarks on runs that do not fit into a table: failures, and interruptions.

use terrace_base::Bytes;
use terrace_live::measure::compare::{Effective, Results, Runs};
use terrace_live::run::Outcome;

use super::comparison;

/// Returns why a way failed, as the end of a sentence; `None` if it did not.
pub(crate) fn failure(runs: &Runs) -> Option<String> {
    let first = runs.failure()?;
    let failed = runs.outcomes.iter().filter(|it| it.has_failed()).count();
    let among = match runs.outcomes.len() {
        1 => String::new(),
        all => format!("in {failed} of {all} runs "),
    };
    let killed = match first.oom_kills {
        0 => String::new(),
        1 => "the kernel killed a process of it for want of memory".to_owned(),
        kills => format!("the kernel killed {kills} of its processes for want of memory"),
    };
    let ended = match first.exit.success() {
        true => String::new(),
        false => format!("the program {}", first.exit),
    };
    let joint = if killed.is_empty() || ended.is_empty() {
        ""
    } else {
        ", and "
    };
    Some(format!("{among}{ended}{joint}{killed}"))
}

/// Returns remarks that do not fit into the table: programs that were killed, and what could not be
/// undone.
pub fn remarks(results: &Results) -> Vec<String> {
    let mut remarks = Vec::new();
    for runs in &results.runs {
        // Not as the first word: behind `terrace: ` the way `terrace` would read as a repetition.
        let program = match results.runs.len() {
            1 => "the program".to_owned(),
            _ => format!("the program, run as {},", runs.way.name()),
        };
        for outcome in &runs.outcomes {
            if outcome.oom_kills > 0 && outcome.nodes.is_some() {
                remarks.push(format!(
                    "the kernel killed {program} because it needed more than was free on the slow node ({}), to which all \
                     its memory comes first; run less beside it, or name another --tier",
                    results.effective.tier
                ));
            } else if outcome.oom_kills > 0 {
                remarks.push(format!(
                    "the kernel killed {program} {}",
                    why_killed(outcome, &results.effective)
                ));
            }
        }
    }
    remarks.dedup();
    if let Some(error) = &results.left_behind {
        remarks.push(format!(
            "{error}; it is put back as soon as that is possible, or then by: terrace doctor --clean"
        ));
    }
    remarks
}

/// Says that a signal ended the runs before all were done, and which were; `None` if none did, or
/// there was one alone.
pub fn interruption(results: &Results) -> Option<String> {
    let signal = results.interrupted?;
    let ways = &results.runs;
    let all = ways.len() * results.repeat;
    let begun: usize = ways.iter().map(|runs| runs.outcomes.len()).sum();
    if all == 1 || begun == all {
        return None;
    }
    let Some(done) = begun.checked_sub(1) else {
        return Some(format!(
            "interrupted by signal {signal} before the first of {all} runs"
        ));
    };
    let cut = comparison::name(&ways[done % ways.len()].way);
    // Each repetition runs the ways in their order.
    let whole = |index: usize| done / ways.len() + usize::from(index < done % ways.len());
    let whole: Vec<_> = ways
        .iter()
        .enumerate()
        .filter(|(index, _)| whole(*index) > 0)
        .map(|(index, runs)| match results.repeat {
            1 => comparison::name(&runs.way),
            repeat => format!(
                "{} {} of {repeat}",
                comparison::name(&runs.way),
                whole(index)
            ),
        })
        .collect();
    let whole = match whole.is_empty() {
        true => "none is done".to_owned(),
        false => format!("done before it: {}", whole.join(", ")),
    };
    Some(format!(
        "interrupted by signal {signal} in run {begun} of {all} ({cut}); {whole}"
    ))
}

/// Returns why the kernel killed a program that swaps, and what to do.
fn why_killed(outcome: &Outcome, effective: &Effective) -> String {
    let (dram, locked) = (effective.dram, outcome.locked);
    if locked.0 > dram.0 / 2 {
        return format!(
            "because its DRAM budget of {dram} was full of memory that it has locked (mlock), {locked} when last \
             counted: locked memory cannot go to the tier; raise --dram, or have the program lock less"
        );
    }
    if let Some(area) = outcome.tier_switched_off.first() {
        return format!(
            "because another program has switched off the swap area {} of its tier while it ran \
             (swapoff), and it needed more than its DRAM budget of {dram}; leave the area on until \
             the program ends",
            area.display()
        );
    }
    let others = match outcome.tier_others {
        Bytes(0) => String::new(),
        others => format!(", where other programs had up to {others}"),
    };
    let and_locked = match locked {
        Bytes(0) => String::new(),
        locked => format!(" ({locked} of it locked)"),
    };
    format!(
        "because it needed more than its DRAM budget of {dram}{and_locked} plus the tier ({}{others}); raise --dram, \
         --footprint or --tier-size, or name a larger --tier",
        effective.tier
    )
}
