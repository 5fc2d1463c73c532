//! Telling what happens, without telling each step.
//!
//! The first of a kind is told at once; those that follow soon are summed up, and told together
//! when their time has come. Nothing is left out of the sums.

use std::collections::BTreeMap;
use std::time::Duration;

use terrace_base::Bytes;

use super::Now;
use crate::protocol::Kind;

/// Something to tell, of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// Milliseconds since 1970.
    pub time_ms: u64,
    /// The target.
    pub target: String,
    /// What it is about.
    pub kind: Kind,
    /// Bytes that moved.
    pub bytes: u64,
    /// The words.
    pub text: String,
}

/// What was not told yet, of a kind.
#[derive(Default)]
struct Sum {
    bytes: u64,
    times: u64,
    /// The words of the last.
    text: String,
    /// Since when it is summed up, and when the last was told.
    since: Duration,
    told: Option<Duration>,
}

/// Tells what happens to a target.
#[derive(Default)]
pub(super) struct Teller {
    sums: BTreeMap<Kind, Sum>,
    ready: Vec<(Kind, u64, String, u64)>,
}

/// Time between two of a kind.
fn pause(kind: Kind) -> Duration {
    Duration::from_secs(match kind {
        Kind::GaveBack => 10,
        _ => 60,
    })
}

impl Teller {
    /// Tells something at once.
    pub fn now(&mut self, kind: Kind, text: String, now: Now) {
        self.ready.push((kind, 0, text, now.wall_ms));
    }

    /// Adds something, and returns it in words.
    pub fn add(&mut self, kind: Kind, bytes: u64, text: String, now: Now) -> String {
        let said = words(kind, bytes, 1, Duration::ZERO, &text);
        let sum = self.sums.entry(kind).or_default();
        if sum.times == 0 {
            sum.since = now.since;
        }
        sum.bytes += bytes;
        sum.times += 1;
        sum.text = text;
        said
    }

    /// Returns what is to be told now.
    pub fn take(&mut self, target: &str, now: Now) -> Vec<Told> {
        for (kind, sum) in &mut self.sums {
            let is_due = sum.told.is_none_or(|told| now.since >= told + pause(*kind));
            if sum.times == 0 || !is_due {
                continue;
            }
            let time = now.since.saturating_sub(sum.since);
            let text = words(*kind, sum.bytes, sum.times, time, &sum.text);
            self.ready.push((*kind, sum.bytes, text, now.wall_ms));
            *sum = Sum {
                told: Some(now.since),
                ..Sum::default()
            };
        }
        let ready = self.ready.drain(..);
        let told = ready.map(|(kind, bytes, text, time_ms)| Told {
            time_ms,
            target: target.to_owned(),
            kind,
            bytes,
            text,
        });
        told.collect()
    }
}

/// Returns what happened so often within a time.
fn words(kind: Kind, bytes: u64, times: u64, time: Duration, why: &str) -> String {
    let what = match kind {
        Kind::Reclaimed => format!("reclaimed {}", Bytes(bytes)),
        Kind::GaveBack => format!("gave back {}", Bytes(bytes)),
        _ if times == 1 => return why.to_owned(),
        _ => return format!("{why}, {times} times in {} s", time.as_secs()),
    };
    match times {
        1 => format!("{what}: {why}"),
        _ => format!("{what} in {times} steps of {} s: {why}", time.as_secs()),
    }
}
