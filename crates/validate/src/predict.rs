//! The simulated half.

use std::path::Path;

use terrace_base::{Error, Nanos, Result};
use terrace_policy::replacement;
use terrace_sim::pages::{Inclusion, Machine, Outcome, Prefetch, Settings, Work, run};
use terrace_sim::workload::Workload;
use terrace_trace::{Columns, ahead, open_in};

/// How the kernel replaces: one choice for all programs.
const REPLACEMENT: &str = "linux";
/// Pages on their way out beside DRAM: the kernel reclaims 32 at a time (`SWAP_CLUSTER_MAX`), of
/// which it starts to write as many as are dirty.
const EVICTION_BUFFER: usize = 64;
/// Two paces of instructions between which the program's own is found, in picoseconds.
const PACES: [u64; 2] = [100, 1_100];

/// What a program is predicted to do.
#[derive(Clone, Debug)]
pub struct Predicted {
    /// What the simulation found.
    pub outcome: Outcome,
    /// Pages of DRAM.
    pub dram_pages: usize,
    /// The pace of the program's instructions, in picoseconds: with it, the program takes as long
    /// with all the DRAM it wants as it was measured to.
    pub instruction_ps: u64,
}

/// Simulates the program of `trace`, which takes `all_dram` with all the DRAM it wants.
///
/// # Errors
/// The trace's, where it is corrupt or empty.
pub fn predict(
    trace: &Path,
    machine: &Machine,
    dram_pages: usize,
    prefetch: &Prefetch,
    all_dram: Nanos,
) -> Result<Predicted> {
    let settings = |instruction_ps| Settings {
        dram_pages: dram_pages.max(1),
        tier: machine.tier(),
        replacement: replacement::by_name(REPLACEMENT).expect("it is there"),
        prefetch: prefetch.clone(),
        work: Work::Asynchronous,
        inclusion: Inclusion::Inclusive,
        prefetch_cache: 0,
        eviction_buffer: EVICTION_BUFFER,
        fault: machine.fault.clone(),
        threads: None,
        instruction_ps,
        access: Nanos::ZERO,
        warmup: 0,
        seed: 1,
    };
    let simulate = |machines| run(workload(trace)?, machines, None, |_| {});
    let paced = simulate(PACES.map(settings).into())?;
    let instruction_ps = match &paced[..] {
        [slow, fast] => pace([time(slow)?, time(fast)?], all_dram),
        _ => PACES[0],
    };
    let outcome = simulate(vec![settings(instruction_ps)])?.pop();
    Ok(Predicted {
        outcome: outcome.ok_or_else(|| Error::failure("there is nothing to simulate"))?,
        dram_pages,
        instruction_ps,
    })
}

fn workload(trace: &Path) -> Result<Workload> {
    let source = open_in(trace, None, Columns::PAGES).map(ahead)?;
    Workload::new(vec![source], None)
}

/// The run time with all the DRAM the program wants.
fn time(outcome: &Outcome) -> Result<Nanos> {
    let program = outcome.programs.first();
    program
        .map(|program| program.all_dram_ns)
        .ok_or_else(|| Error::failure("there is no access in the trace"))
}

/// The pace at which a program takes `wanted`, if at [`PACES`] it takes `times`: its time is a
/// part that grows with the pace, and first touches.
fn pace(times: [Nanos; 2], wanted: Nanos) -> u64 {
    let [first, second] = times.map(|time| time.0 as f64);
    let [from, to] = PACES.map(|pace| pace as f64);
    let slope = (second - first) / (to - from);
    if slope <= 0.0 {
        return PACES[0];
    }
    (from + (wanted.0 as f64 - first) / slope).round().max(1.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pace_makes_the_time_what_was_measured() {
        // 1000 instructions and 5 us of first touches.
        let time = |pace: u64| Nanos(5_000 + pace);
        let times = PACES.map(time);
        assert_eq!(pace(times, time(400)), 400);
        assert_eq!(pace(times, time(4_000)), 4_000);
        assert_eq!(pace(times, Nanos(10)), 1, "no pace is too fast for that");
        assert_eq!(pace([Nanos(5); 2], Nanos(10)), PACES[0]);
    }
}
