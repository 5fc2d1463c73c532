//! Reads a workload once, and simulates what was sampled.

use std::collections::BTreeSet;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use rayon::prelude::*;
use terrace_base::{Error, Result};
use terrace_policy::replacement::{PageId, Spec};

use super::estimate::Estimate;
use super::outcome::{Curve, Curves};
use super::part::Part;
use super::settings::{CurveSettings, Sizes, is_stack};
use crate::pages::{Dram, Inclusion};
use crate::workload::{Batch, Workload};

/// Batches that may wait to be followed.
const BATCHES_AHEAD: usize = 2;

/// What was gathered from a workload, from which curves are made.
pub struct Gathered {
    settings: CurveSettings,
    touches: u64,
    pages: u64,
    footprint_pages: u64,
    parts: Vec<Part>,
}

impl Gathered {
    /// Reads a workload to its end, one program after the other. `progress` is called with the
    /// number of touches read.
    ///
    /// # Errors
    /// A usage error where the settings do not go together; the errors of the traces; a failure
    /// where there is no access, or what is sampled takes more memory than there is.
    pub fn read(
        mut workload: Workload,
        settings: CurveSettings,
        mut progress: impl FnMut(u64),
    ) -> Result<Self> {
        settings.check()?;
        let parts = parts(&settings);
        let (touches, parts) = gather(&mut workload, parts, &mut progress)?;
        if touches == 0 {
            return Err(Error::failure("there is no access in the traces"));
        }
        Ok(Self {
            settings,
            touches,
            pages: workload.pages().len() as u64,
            footprint_pages: workload.pages().footprint() as u64,
            parts,
        })
    }

    /// Returns the number of touches that will be simulated, those of each size by themselves.
    pub fn simulated(&self) -> u64 {
        let policies = self.settings.policies.iter();
        let simulated = policies.filter(|policy| !is_stack(policy));
        let tapes = simulated.flat_map(|policy| &self.part(policy).tapes);
        let touches: u64 = tapes.map(|tape| tape.len() as u64).sum();
        match &self.settings.sizes {
            Sizes::Some(sizes) => touches * sizes.len() as u64,
            Sizes::All => 0,
        }
    }

    /// Makes the curves. `progress` is called with the number of touches simulated.
    ///
    /// # Errors
    /// A usage error where a sample has no page, or a policy cannot be made of a size.
    pub fn curves(&self, progress: impl Fn(u64) + Sync) -> Result<Curves> {
        let done = AtomicU64::new(0);
        let progress = |touches| progress(done.fetch_add(touches, Ordering::Relaxed) + touches);
        let policies = self.settings.policies.iter();
        let curves = policies.map(|policy| self.curve(policy, &progress));
        Ok(Curves {
            touches: self.touches,
            footprint_pages: self.footprint_pages,
            pages: self.pages,
            seed: self.settings.seed,
            curves: curves.collect::<Result<_>>()?,
        })
    }

    fn curve(&self, policy: &Spec, progress: &(impl Fn(u64) + Sync)) -> Result<Curve> {
        let part = self.part(policy);
        let estimate = Estimate::new(part.sampling, self.pages, self.touches)?;
        let sizes = self.sizes(part, &estimate);
        let samples = 0..part.sampling.samples as usize;
        let drams = sizes.iter().flat_map(|size| {
            let miniature = |sample| (sample, estimate.miniature(sample, *size) as usize);
            samples.clone().map(miniature)
        });
        let misses = match is_stack(policy) {
            true => drams
                .map(|(sample, dram)| of_stack(&part.misses[sample], dram))
                .collect(),
            false => self.simulate(policy, part, drams.collect(), progress)?,
        };
        let points = sizes.iter().zip(misses.chunks(samples.len()));
        Ok(Curve {
            policy: policy.to_string(),
            rate: part.sampling.rate(),
            samples: part.sampling.samples,
            sampled_pages: estimate.least_pages(),
            points: points
                .map(|(size, misses)| estimate.point(*size, misses))
                .collect(),
        })
    }

    /// Simulates samples, each with this number of pages of DRAM, and returns the misses of each.
    fn simulate(
        &self,
        policy: &Spec,
        part: &Part,
        drams: Vec<(usize, usize)>,
        progress: &(impl Fn(u64) + Sync),
    ) -> Result<Vec<u64>> {
        let knows_future = policy.entry().knows_future();
        let futures = part
            .tapes
            .iter()
            .map(|tape| knows_future.then(|| tape.pages()));
        let futures: Vec<Option<Vec<PageId>>> = futures.collect();
        let misses = drams.into_par_iter().map(|(sample, dram)| {
            let future = futures[sample].as_deref();
            let policy = policy.policy(dram, self.settings.seed, future);
            let tape = &part.tapes[sample];
            let misses = tape.misses(&mut *policy.map_err(Error::usage)?);
            progress(tape.len() as u64);
            Ok(misses)
        });
        misses.collect()
    }

    /// Returns the sizes of DRAM for which there are points, in their order.
    fn sizes(&self, part: &Part, estimate: &Estimate) -> BTreeSet<u64> {
        match &self.settings.sizes {
            Sizes::Some(sizes) => {
                let pages = |size: Dram| size.pages(self.footprint_pages, Inclusion::Inclusive);
                sizes.iter().copied().map(pages).collect()
            }
            Sizes::All => {
                let stacks = part.misses.iter().enumerate();
                let sizes = stacks.flat_map(|(sample, misses)| {
                    let steps = (1..).zip(misses.windows(2));
                    let steps = steps.filter(|(size, pair)| *size == 1 || pair[0] != pair[1]);
                    steps.map(move |(size, _)| estimate.full_size(sample, size))
                });
                sizes.collect()
            }
        }
    }

    fn part(&self, policy: &Spec) -> &Part {
        let sampling = self.settings.sampling(policy);
        let part = self.parts.iter().find(|part| part.sampling == sampling);
        part.expect("each policy has its part")
    }
}

/// Reads a workload to its end, and has another thread follow it, as numbering pages takes as long
/// as finding them in a stack. Returns the number of touches, and the parts.
fn gather(
    workload: &mut Workload,
    parts: Vec<Part>,
    progress: &mut impl FnMut(u64),
) -> Result<(u64, Vec<Part>)> {
    let (sender, batches) = sync_channel(BATCHES_AHEAD);
    thread::scope(|scope| {
        let follower = scope.spawn(move || follow(parts, batches));
        let read = send(workload, sender, progress);
        let parts = follower.join().unwrap_or_else(|panic| resume_unwind(panic));
        Ok((read?, parts?))
    })
}

/// Sends the batches of all programs, one after the other, until the end or until nothing is
/// received any more, and returns the number of their touches.
fn send(
    workload: &mut Workload,
    sender: SyncSender<Batch>,
    progress: &mut impl FnMut(u64),
) -> Result<u64> {
    let mut touches = 0;
    for program in 0..workload.programs() {
        while let Some(batch) = workload.read(program)? {
            touches += batch.touches() as u64;
            if sender.send(batch).is_err() {
                return Ok(touches);
            }
            progress(touches);
        }
    }
    Ok(touches)
}

/// Takes what batches have of the samples, up to the last batch.
fn follow(mut parts: Vec<Part>, batches: Receiver<Batch>) -> Result<Vec<Part>> {
    for batch in batches {
        parts.iter_mut().try_for_each(|part| part.add(&batch))?;
    }
    parts.iter_mut().for_each(Part::finish);
    Ok(parts)
}

/// Returns what has to be gathered for the policies.
fn parts(settings: &CurveSettings) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for policy in &settings.policies {
        let sampling = settings.sampling(policy);
        let known = parts.iter().position(|part| part.sampling == sampling);
        let at = known.unwrap_or_else(|| {
            parts.push(Part::new(sampling));
            parts.len() - 1
        });
        parts[at].need(is_stack(policy));
    }
    parts
}

/// Returns the misses of a stack at a size.
fn of_stack(misses: &[u64], dram: usize) -> u64 {
    misses[dram.min(misses.len() - 1)]
}
