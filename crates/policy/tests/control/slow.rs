//! Slow twins: each answers a look by all looks before it.

use std::time::Duration;

use terrace_policy::control::{Reason, Seen, Step, slowdown};

/// Answers the last of some looks.
pub type Twin = fn(&[Seen]) -> (Step, Reason);

/// Policies with their settings, and their twins.
pub const TWINS: &[(&str, Twin)] = &[
    ("fixed:dram=1G", fixed),
    ("senpai", senpai),
    ("slowdown", slowdown),
];

fn fixed(looks: &[Seen]) -> (Step, Reason) {
    let gib = 1 << 30;
    match looks[looks.len() - 1].resident {
        resident if resident > gib => (Step::Reclaim(resident - gib), Reason::Quiet),
        _ => (Step::Hold, Reason::Settled),
    }
}

/// Time since the look before, or since the beginning.
fn passed(looks: &[Seen], at: usize) -> Duration {
    let before = at.checked_sub(1).map(|before| looks[before].time);
    looks[at].time - before.unwrap_or_default()
}

fn senpai(looks: &[Seen]) -> (Step, Reason) {
    let last = looks.len() - 1;
    let passed = passed(looks, last).as_secs_f64();
    if passed == 0.0 {
        return (Step::Hold, Reason::Quiet);
    }
    match looks[last].stalled.as_secs_f64() / passed / 0.001 {
        stalls if stalls >= 1.0 => (Step::Hold, Reason::Stalls),
        stalls => {
            let bytes = looks[last].resident as f64 * 0.0005 * (1.0 - stalls);
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
    Reclaimed,
}

fn slowdown(looks: &[Seen]) -> (Step, Reason) {
    let mut kinds: Vec<Kind> = Vec::new();
    for at in 0..looks.len() {
        kinds.push(kind(&looks[..=at], &kinds));
    }
    let last = looks.len() - 1;
    match kinds[last] {
        Kind::Nothing | Kind::Saved => (Step::Hold, Reason::Saving),
        Kind::Enough => (Step::Hold, Reason::Settled),
        Kind::Rested => (Step::Hold, Reason::Resting),
        Kind::Hurt => (Step::GiveBack(given_back(looks, &kinds)), Reason::Stalls),
        Kind::Reclaimed => (Step::Reclaim(reclaimed(looks, &kinds)), Reason::Quiet),
    }
}

/// Time saved after each look, in millionths of nanoseconds: 2 % comes in, for a minute at most.
fn savings(looks: &[Seen]) -> Vec<i128> {
    let mut saved = 0;
    let after = (0..looks.len()).map(|at| {
        let passed = passed(looks, at).as_nanos() as i128;
        let stalled = (looks[at].stalled.as_nanos() as i128).min(passed);
        saved += 20_000 * passed - 1_000_000 * stalled;
        saved = saved.clamp(OWED, FULL);
        saved
    });
    after.collect()
}

/// No more than a window is owed, and no more than its share is saved.
const OWED: i128 = -60_000_000_000 * 1_000_000;
const FULL: i128 = 60_000_000_000 * 20_000;

fn kind(looks: &[Seen], before: &[Kind]) -> Kind {
    let last = looks.len() - 1;
    let passed = passed(looks, last);
    if passed.is_zero() {
        return Kind::Nothing;
    }
    let stalled = looks[last].stalled.min(passed).as_nanos() * 1_000_000;
    let goal = passed.as_nanos() * 20_000;
    let savings = savings(looks);
    if stalled > 4 * goal || stalled > goal && savings[last] < 0 {
        return Kind::Hurt;
    }
    if 2 * stalled > goal {
        return Kind::Enough;
    }
    if looks[last].time < rest(looks, before).1 {
        return Kind::Rested;
    }
    // It has to have half of what fits since it last owed something, or since it began.
    let owed = savings.iter().rposition(|saved| *saved < 0);
    let since = &savings[owed.map_or(0, |at| at + 1)..];
    match since.iter().any(|saved| *saved >= FULL / 2) {
        true => Kind::Reclaimed,
        false => Kind::Saved,
    }
}

/// Length and end of the last rest before the last look.
fn rest(looks: &[Seen], kinds: &[Kind]) -> (Duration, Duration) {
    let (mut rest, mut until, mut floor) = (Duration::from_secs(30), Duration::ZERO, 0);
    for (look, kind) in looks.iter().zip(kinds) {
        let is_there = look.resident >= floor - floor / 16;
        match kind {
            Kind::Hurt => {
                if look.time >= until && floor > 0 && is_there {
                    rest = (rest * 2).min(Duration::from_secs(600));
                }
                (floor, until) = (look.resident.max(1), look.time + rest);
            }
            Kind::Reclaimed if !is_there => rest = Duration::from_secs(30),
            _ => {}
        }
    }
    (rest, until)
}

/// A part of the DRAM at the first of the looks that hurt in a row, doubled at each further one.
fn given_back(looks: &[Seen], kinds: &[Kind]) -> u64 {
    let matters = |at: &usize| kinds[*at] != Kind::Nothing;
    let all: Vec<usize> = (0..looks.len()).filter(matters).collect();
    let row = all.iter().rev().take_while(|at| kinds[**at] == Kind::Hurt);
    let row: Vec<usize> = row.copied().collect();
    let first = looks[row[row.len() - 1]].resident / 64 + 1;
    (1..row.len()).fold(first, |bytes, _| bytes.saturating_mul(2))
}

/// The largest step is one in 256 of the DRAM; the first has a sixteenth of it.
fn reclaimed(looks: &[Seen], kinds: &[Kind]) -> u64 {
    let mild = kinds
        .iter()
        .rposition(|kind| matches!(kind, Kind::Hurt | Kind::Enough));
    let since = &kinds[mild.map_or(0, |at| at + 1)..];
    let steps = since
        .iter()
        .filter(|kind| **kind == Kind::Reclaimed)
        .count();
    let most = (1_u64 << 32) / 256;
    let pace = (1..steps).fold(most / 16, |pace, _| (pace + pace.div_ceil(8)).min(most));
    let parts = u128::from(looks[looks.len() - 1].resident) * u128::from(pace);
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
