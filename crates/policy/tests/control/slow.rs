//! Slow twins: each answers a look by all looks before it.

use std::time::Duration;

use terrace_policy::control::{Reason, Seen, Step, slowdown};

/// A look, and what came of its step.
#[derive(Clone, Copy, Debug, Default)]
pub struct Past {
    pub seen: Seen,
    /// Bytes that left DRAM by it.
    pub left: u64,
}

/// Answers the last of some looks.
pub type Twin = fn(&[Past]) -> (Step, Reason);

/// Policies with their settings, and their twins.
pub const TWINS: &[(&str, Twin)] = &[
    ("fixed:dram=1G", fixed),
    ("senpai", senpai),
    ("slowdown", slowdown),
];

fn fixed(looks: &[Past]) -> (Step, Reason) {
    let gib = 1 << 30;
    match looks[looks.len() - 1].seen.resident {
        resident if resident > gib => (Step::Reclaim(resident - gib), Reason::Quiet),
        _ => (Step::Hold, Reason::Settled),
    }
}

/// Time since the look before, or since the beginning.
fn passed(looks: &[Past], at: usize) -> Duration {
    let before = at.checked_sub(1).map(|before| looks[before].seen.time);
    looks[at].seen.time - before.unwrap_or_default()
}

fn senpai(looks: &[Past]) -> (Step, Reason) {
    let last = looks.len() - 1;
    let passed = passed(looks, last).as_secs_f64();
    if passed == 0.0 {
        return (Step::Hold, Reason::Quiet);
    }
    match looks[last].seen.stalled.as_secs_f64() / passed / 0.001 {
        stalls if stalls >= 1.0 => (Step::Hold, Reason::Stalls),
        stalls => {
            let bytes = looks[last].seen.resident as f64 * 0.0005 * (1.0 - stalls);
            (Step::Reclaim(bytes as u64), Reason::Quiet)
        }
    }
}

/// What became of a look.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Nothing,
    Hurt,
    Enough,
    Rested,
    Saved,
    Used,
    Reclaimed,
}

fn slowdown(looks: &[Past]) -> (Step, Reason) {
    let mut kinds: Vec<Kind> = Vec::new();
    for at in 0..looks.len() {
        kinds.push(kind(&looks[..=at], &kinds));
    }
    let last = looks.len() - 1;
    match kinds[last] {
        Kind::Nothing | Kind::Saved => (Step::Hold, Reason::Saving),
        Kind::Enough => (Step::Hold, Reason::Settled),
        Kind::Used => (Step::Hold, Reason::Used),
        Kind::Rested => {
            let begins = |kind: &&Kind| matches!(kind, Kind::Hurt | Kind::Used);
            match kinds.iter().rev().find(begins) {
                Some(Kind::Used) => (Step::Hold, Reason::Used),
                _ => (Step::Hold, Reason::Resting),
            }
        }
        Kind::Hurt => (Step::GiveBack(given_back(looks, &kinds)), Reason::Stalls),
        Kind::Reclaimed => (Step::Reclaim(reclaimed(looks, &kinds)), Reason::Quiet),
    }
}

/// Millionths of nanoseconds of a look that stalled.
fn lost(looks: &[Past], at: usize) -> i128 {
    let stalled = looks[at].seen.stalled.min(passed(looks, at));
    1_000_000 * stalled.as_nanos() as i128
}

/// Those that may: 2 %.
fn allowed(looks: &[Past], at: usize) -> i128 {
    20_000 * passed(looks, at).as_nanos() as i128
}

/// What is saved after each look: what may be lost comes in, for a minute at most.
fn savings(looks: &[Past]) -> Vec<i128> {
    let mut saved = 0;
    let after = (0..looks.len()).map(|at| {
        saved = (saved + allowed(looks, at) - lost(looks, at)).clamp(OWED, FULL);
        saved
    });
    after.collect()
}

/// No more than a window is owed, and no more than its share is saved.
const OWED: i128 = -60_000_000_000 * 1_000_000;
const FULL: i128 = 60_000_000_000 * 20_000;

fn kind(looks: &[Past], before: &[Kind]) -> Kind {
    let last = looks.len() - 1;
    if passed(looks, last).is_zero() {
        return Kind::Nothing;
    }
    let (lost_now, goal) = (lost(looks, last), allowed(looks, last));
    let savings = savings(looks);
    if lost_now > 4 * goal || lost_now > goal && savings[last] < 0 {
        return Kind::Hurt;
    }
    if looks[last].seen.time < rest(looks, before).1 {
        return Kind::Rested;
    }
    let recent = (0..looks.len()).rev();
    let recent = recent.filter(|at| !passed(looks, *at).is_zero()).take(8);
    let (all_lost, all_allowed) = recent.fold((0, 0), |(all_lost, all_allowed), at| {
        (all_lost + lost(looks, at), all_allowed + allowed(looks, at))
    });
    if all_lost > all_allowed / 2 {
        return Kind::Enough;
    }
    // It has to have half of what fits since it last owed something, or since it began.
    let owed = savings.iter().rposition(|saved| *saved < 0);
    let since = &savings[owed.map_or(0, |at| at + 1)..];
    match since.iter().any(|saved| *saved >= FULL / 2) {
        false => Kind::Saved,
        true if comes_back(looks, before) => Kind::Used,
        true => Kind::Reclaimed,
    }
}

/// Whether the steps that the last look judges came to nothing.
fn comes_back(looks: &[Past], before: &[Kind]) -> bool {
    let rested = before
        .iter()
        .rposition(|kind| matches!(kind, Kind::Hurt | Kind::Used));
    let mut steps = (rested.map_or(0, |at| at + 1)..before.len())
        .filter(|at| before[*at] == Kind::Reclaimed)
        .chain([before.len()]);
    let Some(mut first) = steps.next() else {
        return false;
    };
    for step in steps {
        let left: u64 = looks[first..step].iter().map(|look| look.left).sum();
        if left <= looks[step].seen.resident / 32 {
            continue;
        }
        let [then, now] = [first, step].map(|at| looks[at].seen.swapped);
        // Only the last can be so, as a rest follows.
        if now < then + left / 4 {
            return true;
        }
        first = step;
    }
    false
}

/// Length and end of the last rest before the last look.
fn rest(looks: &[Past], kinds: &[Kind]) -> (Duration, Duration) {
    let (mut rest, mut until, mut floor) = (Duration::from_secs(30), Duration::ZERO, 0);
    for (look, kind) in looks.iter().zip(kinds) {
        let seen = &look.seen;
        let is_there = seen.resident >= floor - floor / 16;
        match kind {
            Kind::Hurt | Kind::Used => {
                if seen.time >= until && floor > 0 && is_there {
                    rest = (rest * 2).min(Duration::from_secs(600));
                }
                (floor, until) = (seen.resident.max(1), seen.time + rest);
            }
            Kind::Reclaimed if !is_there => rest = Duration::from_secs(30),
            _ => {}
        }
    }
    (rest, until)
}

/// A part of the DRAM at the first of the looks that hurt in a row, a page at least, twice the last
/// one at each further one; and never less than four times what left the tier since the look
/// before, beyond what was given back at that one.
fn given_back(looks: &[Past], kinds: &[Kind]) -> u64 {
    let matters = |at: &usize| kinds[*at] != Kind::Nothing;
    let all: Vec<usize> = (0..looks.len()).filter(matters).collect();
    let row = all.iter().rev().take_while(|at| kinds[**at] == Kind::Hurt);
    let first = all.len() - row.count();
    let mut back = 0_u64;
    for number in first..all.len() {
        let seen = &looks[all[number]].seen;
        let before = number
            .checked_sub(1)
            .map(|number| looks[all[number]].seen.swapped);
        let fetched = before
            .unwrap_or(0)
            .saturating_sub(seen.swapped)
            .saturating_sub(back);
        let least = match back {
            0 => (seen.resident / 64).max(4096),
            back => back.saturating_mul(2),
        };
        back = least.max(fetched.saturating_mul(4));
    }
    back
}

/// The largest step is one in 256 of the DRAM. The first has a sixteenth of it, as has the first
/// behind a rest.
fn reclaimed(looks: &[Past], kinds: &[Kind]) -> u64 {
    let most = (1_u64 << 32) / 256;
    let steps = &kinds[..kinds.len() - 1];
    let pace = steps.iter().fold(most / 16, |pace, kind| match kind {
        Kind::Hurt | Kind::Used => most / 16,
        Kind::Enough => (pace / 2).max(1),
        Kind::Reclaimed => (pace + pace.div_ceil(8)).min(most),
        Kind::Nothing | Kind::Rested | Kind::Saved => pace,
    });
    let parts = u128::from(looks[looks.len() - 1].seen.resident) * u128::from(pace);
    (parts >> 32) as u64
}

/// The twin's settings are those of the policy.
#[test]
fn the_numbers_here_are_the_defaults() {
    let settings = slowdown::Settings::default();
    assert_eq!((settings.goal, settings.most), (0.02, 1.0 / 256.0));
    let seconds = [settings.window, settings.rest, settings.longest].map(|time| time.as_secs());
    assert_eq!(seconds, [60, 30, 600]);
}
