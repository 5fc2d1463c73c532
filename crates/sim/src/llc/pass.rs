//! Simulates a hierarchy with any number of last-level caches in one pass over the traces.

use rayon::prelude::*;
use terrace_base::{Error, Result};
use terrace_policy::llc::Cache;
use terrace_trace::{Block, Sink};

use super::batch::Batch;
use super::front::Front;
use super::mix::Mix;
use super::outcome::{Outcome, Pass};
use super::program::Program;
use super::requests::Rows;
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
    mix: Mix,
    mut sinks: Sinks,
    mut progress: impl FnMut(u64),
) -> Result<Pass> {
    let lines = settings.lines()?;
    let programs = mix.programs();
    let cores = programs.iter().map(|program| program.cores.len()).sum();
    let mut caches = settings
        .llcs
        .iter()
        .map(|llc| shared(settings, llc, cores, programs))
        .collect::<Result<Vec<_>>>()?;
    let rows_are = rows_of(programs, settings)?;
    let counts_instructions = programs.iter().all(Program::counts_instructions);
    let mut front = Front::new(mix, lines, settings.levels()?, rows_are, settings.warmup);

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
        outcomes: found
            .map(|(llc, shared)| Outcome::of(llc, shared))
            .collect(),
    })
}

/// A last-level cache that is empty yet.
fn shared(settings: &Settings, llc: &Llc, cores: usize, programs: &[Program]) -> Result<Shared> {
    let geometry = llc.size.geometry(settings.line)?;
    if llc.policy.entry().needs_ip
        && let Some(without) = programs.iter().find(|program| !program.has_ips())
    {
        return Err(Error::usage(format!(
            "{} learns by the instructions that ask, and {} does not say which they were",
            llc.policy,
            without.name()
        )));
    }
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
    ))
}

/// What the rows of the traces are; requests have passed private levels already.
fn rows_of(programs: &[Program], settings: &Settings) -> Result<Rows> {
    let rows = |program: &Program| Rows::of(program.about());
    let first = programs.first().map_or(Rows::Accesses, rows);
    if programs.iter().any(|program| rows(program) != first) {
        return Err(Error::usage(
            "traces that have passed private levels cannot be mixed with others",
        ));
    }
    if first != Rows::Accesses && settings.private.iter().any(Option::is_some) {
        return Err(Error::usage(format!(
            "{} has passed private levels already; switch them off with --l1 off --l2 off",
            programs[0].name()
        )));
    }
    Ok(first)
}
