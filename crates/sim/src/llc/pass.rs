//! Simulates a hierarchy with any number of last-level caches in one pass over the traces.

use rayon::prelude::*;
use terrace_base::{Error, Result};
use terrace_policy::llc::Cache;
use terrace_trace::{Block, Sink};

use super::batch::Batch;
use super::front::Front;
use super::mix::Mix;
use super::origin;
use super::outcome::{Outcome, Pass};
use super::program::Program;
use super::settings::{Llc, Settings};
use super::shared::{Shared, rows};

/// Where requests and traffic go, as rows of a trace.
#[derive(Default)]
pub struct Sinks<'a> {
    /// What the private levels ask of the last.
    pub requests: Option<&'a mut dyn Sink>,
    /// What the last level asks of memory; there is one such cache, told to keep it
    /// ([`Settings::traffic`]).
    pub traffic: Option<&'a mut dyn Sink>,
}

/// Runs the programs through the private levels once, and all last-level caches on what these ask.
///
/// Caches are served in parallel, and the next requests are made meanwhile; what comes out is the same
/// on any number of processors. `progress` is told now and then how many accesses were made.
///
/// # Errors
/// The traces' and the sinks'; a usage error where something cannot be as it was asked for.
pub fn run(
    settings: &Settings,
    mut mix: Mix,
    mut sinks: Sinks,
    mut progress: impl FnMut(u64),
) -> Result<Pass> {
    let lines = settings.lines()?;
    let rows_are = origin::rows_of(mix.programs(), settings)?;
    let learns = settings.llcs.iter().map(|llc| &llc.policy);
    let mut learns = learns.filter(|policy| policy.entry().needs_ip);
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
    let mut front = Front::new(mix, settings, rows_are)?;

    let (mut batch, mut next, mut block) = (Batch::default(), Batch::default(), Block::default());
    let mut more = front.fill(&mut batch)?;
    while more {
        let serve = |shared: &mut Shared| shared.serve(&batch);
        let (filled, ()) = rayon::join(
            || front.fill(&mut next),
            || match &mut caches[..] {
                [only] => serve(only),
                many => many.par_iter_mut().for_each(serve),
            },
        );
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
        progress(front.accesses());
        std::mem::swap(&mut batch, &mut next);
    }
    let instructions = front.instructions();
    caches
        .iter_mut()
        .for_each(|shared| shared.end(&instructions));
    let found = settings.llcs.iter().cloned().zip(&caches);
    Ok(Pass {
        accesses: front.accesses(),
        instructions,
        counts_instructions,
        private: front.counts(),
        pages: front.faults(),
        outcomes: found
            .map(|(llc, shared)| Outcome::of(llc, shared))
            .collect(),
    })
}

/// A last-level cache that is empty yet.
fn shared(settings: &Settings, llc: &Llc, cores: usize) -> Result<Shared> {
    let geometry = llc.size.geometry(settings.line)?;
    let policy = llc
        .policy
        .policy(geometry, settings.seed)
        .map_err(Error::usage)?;
    let behind = settings
        .memories
        .iter()
        .map(|memory| memory.behind(settings.line, cores));
    Ok(Shared::new(
        Cache::new(geometry, policy),
        settings.lines()?,
        behind.collect::<Result<_>>()?,
        settings.epoch,
        settings.traffic,
        cores,
    ))
}
