//! The simulated half.

use std::path::Path;

use terrace_base::{Error, Nanos, Result};
use terrace_policy::replacement;
use terrace_sim::pages::{Machine, Outcome, PageMachine, Prefetch, ZeroPages, run};
use terrace_sim::workload::Workload;
use terrace_trace::{Columns, Reading};

/// The kernel's replacement policy, the same for all programs.
const REPLACEMENT: &str = "linux";
/// Pages of the eviction buffer: the kernel reclaims 32 at a time (`SWAP_CLUSTER_MAX`), and starts
/// to write the dirty ones.
const EVICTION_BUFFER: usize = 64;
/// Two times of an instruction, in picoseconds, from which the program's own is interpolated.
const PACES: [u64; 2] = [100, 1_100];

/// The prediction for a program.
#[derive(Clone, Debug)]
pub struct Predicted {
    /// The result of the simulation.
    pub outcome: Outcome,
    /// Pages of DRAM.
    pub dram_pages: usize,
    /// The time of an instruction, in picoseconds, with which the program takes the measured time
    /// with all the DRAM it wants.
    pub instruction_ps: u64,
    /// What became of pages of zeros.
    pub zero_pages: ZeroPages,
}

/// Simulates the program of `trace`, which was measured to take `all_dram` with all the DRAM it
/// wants. Pages of zeros become what becomes of them on the machine, if the trace tells which these
/// are.
///
/// # Errors
/// Returns a failure if the trace is corrupt or empty.
pub fn predict(
    trace: &Path,
    machine: &Machine,
    dram_pages: usize,
    prefetch: &Prefetch,
    all_dram: Nanos,
    zero_pages: ZeroPages,
) -> Result<Predicted> {
    let traces = [trace.to_owned()];
    let columns = Columns {
        zeros: true,
        ..Columns::PAGES
    };
    let open = || Workload::open(&traces, &Reading::default(), None, columns);
    let zero_pages = match open()?.tell_zeros() {
        true => zero_pages,
        false => ZeroPages::Written,
    };
    let settings = |instruction_ps| PageMachine {
        dram_pages: dram_pages.max(1),
        tier: machine.tier(),
        replacement: replacement::Spec::parse(REPLACEMENT).expect("it is there"),
        prefetch: prefetch.clone(),
        eviction_buffer: EVICTION_BUFFER,
        fault: machine.fault.clone(),
        instruction_ps,
        zero_pages,
        seed: 1,
        ..PageMachine::default()
    };
    let simulate = |machines| run(open()?, machines, None, |_| {});
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
        zero_pages,
    })
}

/// Returns the run time with all the DRAM that the program wants.
fn time(outcome: &Outcome) -> Result<Nanos> {
    let program = outcome.programs.first();
    program
        .map(|program| program.all_dram_ns)
        .ok_or_else(|| Error::failure("there is no access in the trace"))
}

/// Returns the time of an instruction at which a program takes `wanted`, if at [`PACES`] it takes
/// `times`: a part grows with it, first touches do not.
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
