//! What a run of a mix measured.

use std::time::Duration;

use terrace_base::Exit;

use super::choice::Way;
use super::counters::Counts;
use super::turns::Spell;
use crate::system::cpus::Cpus;

/// Waits for a CPU of tasks that sleep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Latency {
    /// Number of waits.
    pub count: u64,
    /// Median.
    pub median: Duration,
    /// 99th percentile.
    pub p99: Duration,
    /// The longest.
    pub worst: Duration,
}

/// Turns that came out.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TurnFigures {
    /// Number.
    pub count: u64,
    /// Mean length.
    pub mean: Duration,
    /// Median length.
    pub median: Duration,
}

/// A program's part of the time in which all CPU-bound programs ran.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share(pub f64);

/// What one program did.
#[derive(Clone, Debug)]
pub struct ProgramFigures {
    /// Its name.
    pub name: String,
    /// Number of its first process.
    pub pid: u32,
    /// Time from start to end; `None` if it was attached to, or runs on.
    pub wall: Option<Duration>,
    /// CPU time: by the kernel's account where the program was waited for, else while it was
    /// watched.
    pub cpu: Duration,
    /// How it ended, if it was waited for.
    pub exit: Option<Exit>,
    /// What the processor counted; `None` without counters.
    pub counts: Option<Counts>,
    /// Whether it was CPU-bound.
    pub bound: bool,
    /// How often its tasks got a CPU.
    pub scheduled: u64,
    /// Turns that came out; `None` if they could not be seen.
    pub turns: Option<TurnFigures>,
    /// Waits for a CPU of its tasks that sleep; `None` if there were none.
    pub waits: Option<Latency>,
    /// Misses a second by the time since its turn began (Fedorov 2016, figure 3.3), up to the end
    /// of each part; empty if the policy learnt none.
    pub curve: Vec<(Duration, f64)>,
    /// Its share of CPU time while all CPU-bound programs ran; `None` of one that is not.
    pub share: Option<Share>,
}

/// What one run measured.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Wall time.
    pub wall: Duration,
    /// The programs, in their order.
    pub programs: Vec<ProgramFigures>,
    /// CPUs on which turns were passed on and watched.
    pub cpus: Cpus,
    /// The mechanism at the end; `None` if none was used.
    pub mechanism: Option<Way>,
    /// Mean length of the turns that were asked for.
    pub asked: Option<Duration>,
    /// Jain's index of the shares: 1 if all are equal, 1/n if one has all.
    pub jain: Option<f64>,
    /// CPU time of this process meanwhile.
    pub own: Duration,
    /// Who ran when, for some time soon after the start.
    pub spells: Vec<Spell>,
}

/// Jain's index of fairness of shares (Jain, Chiu and Hawe 1984); `None` without any.
pub(crate) fn jain(shares: &[f64]) -> Option<f64> {
    let (sum, squares) = shares.iter().fold((0.0, 0.0), |(sum, squares), it| {
        (sum + it, squares + it * it)
    });
    (squares > 0.0).then(|| sum * sum / (shares.len() as f64 * squares))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_is_one_for_equals_and_least_for_one_who_has_all() {
        assert_eq!(jain(&[0.25; 4]), Some(1.0));
        assert_eq!(jain(&[1.0, 0.0, 0.0, 0.0]), Some(0.25));
        assert_eq!(jain(&[]), None);
        assert_eq!(jain(&[0.0]), None);
    }
}
