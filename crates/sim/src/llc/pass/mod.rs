//! One pass over the traces, with any number of last-level caches.

use rayon::prelude::*;
use terrace_base::{Error, Result, memory};
use terrace_policy::llc::Cache;
use terrace_trace::{Block, Sink};

use super::batch::Batch;
use super::core_side::CoreSide;
use super::early::Early;
use super::mix::Mix;
use super::origin;
use super::outcome::Pass;
use super::program::Program;
use super::settings::{Llc, LlcMachine, Prefetching, WriteBack};
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
/// Caches are simulated in parallel, while the next requests are made; the results are the same on
/// any number of processors. Several cores take turns by time, that of the first cache whose policy
/// foresees nothing, with its first memory, so that all caches see the same requests; without one,
/// programs do by instructions, and their threads keep to the order of their trace. `progress` is
/// called with the number of accesses after every batch.
///
/// # Errors
/// Errors of the traces and the sinks; a usage error where the settings cannot be simulated.
pub fn run(
    settings: &LlcMachine,
    mut mix: Mix,
    mut sinks: Sinks,
    mut progress: impl FnMut(u64),
) -> Result<Pass> {
    settings.check_private()?;
    settings.check_write_back()?;
    settings.check_cores(mix.programs().len(), mix.cores())?;
    settings.check_requests(sinks.requests.is_some())?;
    let lines = settings.lines()?;
    let rows_are = origin::rows_of(mix.programs(), settings)?;
    require_ips(settings, &mut mix)?;
    let cores = mix.cores();
    let mut caches = settings
        .llcs
        .iter()
        .map(|llc| shared(settings, llc, cores))
        .collect::<Result<Vec<_>>>()?;
    let foresees = |llc: &Llc| llc.policy.entry().make.knows_future();
    let (mut foreseeing, mut seeing): (Vec<_>, Vec<_>) = settings
        .llcs
        .iter()
        .zip(&mut caches)
        .partition(|(llc, _)| foresees(llc));
    let mut kept = Vec::new();
    let counts_instructions = mix.programs().iter().all(Program::counts_instructions);
    let mut core_side = CoreSide::new(mix, settings, rows_are)?;

    let has_time = !settings.memories.is_empty() && !seeing.is_empty();
    let by_time = has_time && core_side.can_keep_time();
    if by_time {
        core_side.keep_time();
    }
    let at_once = by_time || settings.is_inclusive();
    let (mut batch, mut next, mut block) = (Batch::default(), Batch::default(), Block::default());
    let (first, _) = first_at_once(at_once, &mut seeing);
    let mut more = fill(&mut core_side, first, &mut batch)?;
    while more {
        let (first, others) = first_at_once(at_once, &mut seeing);
        let filled = serve_and(others, &batch, || fill(&mut core_side, first, &mut next));
        if let Some(sink) = &mut sinks.requests {
            rows(&batch, lines, &mut block);
            sink.write(&block)?;
        }
        if let [(_, only)] = &mut seeing[..] {
            write_traffic(&mut sinks, only)?;
        }
        if !foreseeing.is_empty() {
            memory::require(batch.bytes(), "keeping the requests that a policy foresees")?;
            kept.push(batch.clone());
        }
        more = filled?;
        progress(core_side.accesses());
        std::mem::swap(&mut batch, &mut next);
    }
    foreseeing
        .par_iter_mut()
        .for_each(|(_, shared)| shared.serve_foreseen(&kept));
    if let [(_, only)] = &mut foreseeing[..] {
        write_traffic(&mut sinks, only)?;
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
        prefetches: core_side.prefetch_counts(),
        invalidated: core_side.invalidated(),
        pages: core_side.faults(),
        outcomes: found.map(|(llc, shared)| shared.outcome(llc)).collect(),
    })
}

/// Checks that traces have instruction addresses, if anything learns by them.
fn require_ips(settings: &LlcMachine, mix: &mut Mix) -> Result<()> {
    let policies = settings.llcs.iter().map(|llc| &llc.policy);
    let mut policies = policies.filter(|policy| policy.entry().make.needs_ip());
    let learns = match policies.next() {
        Some(policy) => policy.to_string(),
        None if settings.prefetching == Prefetching::Stride => "‘prefetch’ stride".to_owned(),
        None if settings.write_back == WriteBack::LastWrite => "‘write-back’ last-write".to_owned(),
        None => return Ok(()),
    };
    let Some(without) = mix.without_ips()? else {
        return Ok(());
    };
    Err(Error::usage(format!(
        "{learns} learns by the instructions that ask, and {} does not say which they were",
        without.name()
    )))
}

/// Returns the cache that serves requests as they are made, if one has to: it includes the private
/// levels, or cores take turns by its time; and the caches that serve them afterwards.
fn first_at_once<'s, 'c, 'l>(
    at_once: bool,
    caches: &'s mut [(&'l Llc, &'c mut Shared)],
) -> (Option<&'s mut Shared>, &'s mut [(&'l Llc, &'c mut Shared)]) {
    if !at_once {
        return (None, caches);
    }
    match caches {
        [(_, first), others @ ..] => (Some(first), others),
        none => (None, none),
    }
}

/// Makes the next batch; returns whether there were accesses.
fn fill(core_side: &mut CoreSide, first: Option<&mut Shared>, batch: &mut Batch) -> Result<bool> {
    match first {
        Some(first) => core_side.fill_with(batch, first),
        None => core_side.fill(batch),
    }
}

/// Serves a batch in these caches, while something else is done, and returns what that returns.
fn serve_and<T: Send>(
    caches: &mut [(&Llc, &mut Shared)],
    batch: &Batch,
    meanwhile: impl FnOnce() -> T + Send,
) -> T {
    let (done, ()) = rayon::join(meanwhile, || match caches {
        [(_, only)] => only.serve(batch),
        many => many
            .par_iter_mut()
            .for_each(|(_, shared)| shared.serve(batch)),
    });
    done
}

/// Writes the requests to memory of the only cache that keeps them.
fn write_traffic(sinks: &mut Sinks, shared: &mut Shared) -> Result<()> {
    if let (Some(sink), Some(traffic)) = (&mut sinks.traffic, shared.traffic()) {
        sink.write(traffic)?;
        traffic.clear();
    }
    Ok(())
}

/// Makes an empty last-level cache.
pub(super) fn shared(settings: &LlcMachine, llc: &Llc, cores: usize) -> Result<Shared> {
    let geometry = llc.size.geometry(settings.line)?;
    let policy = llc
        .policy
        .policy(geometry, settings.seed)
        .map_err(Error::usage)?;
    let memory_sides = settings
        .memories
        .iter()
        .map(|memory| memory.memory_side(settings.line, cores));
    let cache = Cache::new(geometry, policy);
    let cache = match settings.is_exclusive() {
        true => cache.exclusive().ok_or_else(|| llc.is_not_exclusive())?,
        false => cache,
    };
    Ok(Shared::new(
        cache,
        settings.lines()?,
        memory_sides.collect::<Result<_>>()?,
        settings.epoch,
        settings.traffic,
        Early::new(settings, geometry),
        cores,
    ))
}

#[cfg(test)]
mod tests;
