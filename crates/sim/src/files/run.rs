//! Simulation of the same requests on several machines.

use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;
use terrace_base::Result;

use super::extent::Ends;
use super::hierarchy::Hierarchy;
use super::outcome::{Run, Simulated};
use super::requests::{Event, Requests};
use super::settings::FilesMachine;
use crate::mix::Trace;

/// Requests between two calls of `progress`.
const STEP: u64 = 1 << 12;

/// Returns the number of requests of all traces, with at most `limit` of each; `None` where one
/// does not say.
///
/// # Errors
/// Errors of the traces.
pub fn accesses(traces: &[Trace], limit: Option<u64>) -> Result<Option<u64>> {
    let mut sum = Some(0);
    for trace in traces {
        let accesses = (trace.open)()()?.meta().accesses;
        let accesses = accesses.map(|accesses| accesses.min(limit.unwrap_or(u64::MAX)));
        sum = sum.zip(accesses).map(|(sum, accesses)| sum + accesses);
    }
    Ok(sum)
}

/// Simulates traces, one after the other, on each machine, several machines at the same time, with
/// at most `limit` requests of each trace. `progress` is called with the requests served on all
/// machines.
///
/// # Errors
/// Errors of the traces; a usage error where a machine cannot be made.
pub fn run(
    machines: Vec<FilesMachine>,
    traces: &[Trace],
    limit: Option<u64>,
    progress: impl Fn(u64) + Sync,
) -> Result<Simulated> {
    let limit = limit.unwrap_or(u64::MAX);
    let reads_ahead = machines.iter().any(|machine| machine.readahead_pages > 0);
    let ends = match reads_ahead {
        true => Ends::before(traces, limit)?,
        false => Ends::default(),
    };
    let done = AtomicU64::new(0);
    let step = || progress(done.fetch_add(STEP, Ordering::Relaxed) + STEP);
    let one = |machine: FilesMachine| {
        let mut hierarchy = Hierarchy::new(&machine, &ends)?;
        let mut requests = Requests::new();
        let mut served = 0_u64;
        for (number, trace) in traces.iter().enumerate() {
            let mut source = (trace.open)()()?;
            requests.each(number, &mut *source, limit, |event| {
                let is_request = matches!(event, Event::Request(_));
                hierarchy.serve(number, event)?;
                served += u64::from(is_request);
                if is_request && served.is_multiple_of(STEP) {
                    step();
                }
                Ok(())
            })?;
        }
        let outcome = hierarchy.outcome();
        Ok(Run { machine, outcome })
    };
    let runs = machines.into_par_iter().map(one).collect::<Result<_>>()?;
    Ok(Simulated { runs })
}
