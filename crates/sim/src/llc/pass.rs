//! One pass over the traces, with any number of last-level caches.

use rayon::prelude::*;
use terrace_base::{Error, Result};
use terrace_policy::llc::Cache;
use terrace_trace::{Block, Sink};

use super::batch::Batch;
use super::core_side::CoreSide;
use super::mix::Mix;
use super::origin;
use super::outcome::Pass;
use super::program::Program;
use super::settings::{Llc, LlcMachine};
use super::shared::{Shared, rows};

/// Sinks for requests and traffic, as rows of a trace.
#[derive(Default)]
pub struct Sinks<'a> {
    /// Requests of the private levels to the last.
    pub requests: Option<&'a mut dyn Sink>,
    /// Requests of the last level to memory, of the only cache, which keeps them by
    /// [`LlcMachine::traffic`].
    pub traffic: Option<&'a mut dyn Sink>,
}

/// Simulates the private levels of all programs once, and all last-level caches on their requests.
///
/// Caches are simulated in parallel, while the next requests are made; the results are the same on any
/// number of processors. Several programs take turns by time, as the first cache with its first memory gives it, so that
/// all caches see the same requests; without a memory by instructions. `progress` is called with the number of accesses after every batch.
///
/// # Errors
/// Errors of the traces and the sinks; a usage error where the settings cannot be simulated.
pub fn run(
    settings: &LlcMachine,
    mut mix: Mix,
    mut sinks: Sinks,
    mut progress: impl FnMut(u64),
) -> Result<Pass> {
    let lines = settings.lines()?;
    let rows_are = origin::rows_of(mix.programs(), settings)?;
    let learns = settings.llcs.iter().map(|llc| &llc.policy);
    let mut learns = learns.filter(|policy| policy.entry().make.needs_ip());
    if let Some(policy) = learns.next()
        && let Some(without) = mix.without_ips()?
    {
        return Err(Error::usage(format!(
            "{policy} learns by the instructions that ask, and {} does not say which they were",
            without.name()
        )));
    }
    let cores = mix.cores();
    let mut caches = settings
        .llcs
        .iter()
        .map(|llc| shared(settings, llc, cores))
        .collect::<Result<Vec<_>>>()?;
    let counts_instructions = mix.programs().iter().all(Program::counts_instructions);
    let mut core_side = CoreSide::new(mix, settings, rows_are)?;

    let by_time = core_side.programs() > 1 && !settings.memories.is_empty();
    if by_time {
        core_side.keep_time();
    }
    let (mut batch, mut next, mut block) = (Batch::default(), Batch::default(), Block::default());
    let mut more = match by_time {
        true => core_side.fill_turn(&mut batch)?,
        false => core_side.fill(&mut batch)?,
    };
    while more {
        let filled = match by_time {
            true => {
                caches.iter_mut().for_each(|shared| shared.serve(&batch));
                core_side.tell_time(|core, instruction| caches[0].advance(core, instruction));
                core_side.fill_turn(&mut next)
            }
            false => serve_and_fill(&mut caches, &batch, &mut core_side, &mut next),
        };
        if let Some(sink) = &mut sinks.requests {
            rows(&batch, lines, &mut block);
            sink.write(&block)?;
        }
        if let (Some(sink), [only]) = (&mut sinks.traffic, &mut caches[..])
            && let Some(traffic) = only.traffic()
        {
            sink.write(traffic)?;
            traffic.clear();
        }
        more = filled?;
        progress(core_side.accesses());
        std::mem::swap(&mut batch, &mut next);
    }
    let instructions = core_side.instructions();
    caches
        .iter_mut()
        .for_each(|shared| shared.end(&instructions));
    let found = settings.llcs.iter().cloned().zip(&caches);
    Ok(Pass {
        accesses: core_side.accesses(),
        instructions,
        counts_instructions,
        private: core_side.counts(),
        pages: core_side.faults(),
        outcomes: found.map(|(llc, shared)| shared.outcome(llc)).collect(),
    })
}

/// Serves a batch in all caches while the next one is made; returns whether there were accesses.
fn serve_and_fill(
    caches: &mut [Shared],
    batch: &Batch,
    core_side: &mut CoreSide,
    next: &mut Batch,
) -> Result<bool> {
    let (filled, ()) = rayon::join(
        || core_side.fill(next),
        || match caches {
            [only] => only.serve(batch),
            many => many.par_iter_mut().for_each(|shared| shared.serve(batch)),
        },
    );
    filled
}

/// Makes an empty last-level cache.
fn shared(settings: &LlcMachine, llc: &Llc, cores: usize) -> Result<Shared> {
    let geometry = llc.size.geometry(settings.line)?;
    let policy = llc
        .policy
        .policy(geometry, settings.seed)
        .map_err(Error::usage)?;
    let memory_sides = settings
        .memories
        .iter()
        .map(|memory| memory.memory_side(settings.line, cores));
    Ok(Shared::new(
        Cache::new(geometry, policy),
        settings.lines()?,
        memory_sides.collect::<Result<_>>()?,
        settings.epoch,
        settings.traffic,
        cores,
    ))
}
