//! A request for runs of a program: what is asked, whether that can be, and the ways that follow.

use std::time::Duration;

use terrace_base::{Bytes, Error, Result};
use terrace_policy::{eviction, migration, prefetch};

use super::limit::require;
use crate::machine::zswap;
use crate::nodes;
use crate::program::Invocation;
use crate::run::{Dram, Measures, Policies, Way};
use crate::steer::lesson::LessonFile;
use crate::steer::placement::Placement;
use crate::tier::{self, Spec};

/// A request: the program, and the machine to run it on.
#[derive(Clone)]
pub struct Request {
    /// The program.
    pub command: Invocation,
    /// DRAM of the program.
    pub dram: Dram,
    /// Footprint of the program, if known.
    pub footprint: Option<Bytes>,
    /// Tier.
    pub tier: tier::Choice,
    /// zswap in front of the tier; `None` leaves it as the machine has it.
    pub zswap: Option<zswap::Spec>,
    /// Predictors, one way each; empty for the kernel alone.
    pub prefetch: Vec<prefetch::Spec>,
    /// Eviction policies, each with every predictor; not empty.
    pub eviction: Vec<eviction::Spec>,
    /// Which pages lie in DRAM if the tier is a memory node; `None` for the usual policy.
    pub migration: Option<migration::Spec>,
    /// Which objects stay in DRAM.
    pub placement: Option<Placement>,
    /// What earlier runs left to learn from, and each of these leaves to the next.
    pub lesson: Option<LessonFile>,
    /// Whether what the program writes to the tier is looked at.
    pub writes: bool,
    /// Time after which the program has its footprint, which is measured in the run itself; `None`
    /// for a run before it.
    pub measure: Option<Duration>,
    /// What is measured of each run beside its usual figures.
    pub measures: Measures,
    /// Whether to run all ways and not only the first.
    pub compare: bool,
    /// Repetitions of each way.
    pub repeat: usize,
}

impl Request {
    /// # Errors
    /// A usage error if memory would be compressed twice, or writes are to be looked at that cannot
    /// be.
    pub(super) fn check(&self) -> Result<()> {
        self.check_node()?;
        self.check_measure()?;
        require(self.dram)?;
        self.lesson.as_ref().map_or(Ok(()), LessonFile::check)?;
        if self.writes && self.tier.spec != Some(Spec::Zram) {
            return Err(Error::usage(
                "‘writes’ looks at places of the tier, and only those of zram tell what was written to them: a \
                 place on a disk still holds what another page left there if its own is zeros, which the kernel \
                 does not write; give ‘tier’ zram",
            ));
        }
        if self.writes && self.zswap.is_none() && zswap::current() != "off" {
            return Err(Error::usage(
                "‘writes’ looks at places of the tier, and zswap is on, which keeps pages from them; give ‘zswap’ off",
            ));
        }
        match (&self.tier.spec, &self.zswap) {
            (Some(Spec::Zram | Spec::TwoLevels(_)), Some(zswap::Spec::On { .. })) => {
                Err(Error::usage(
                    "a tier of zram is compressed memory already; leave ‘zswap’ out, or name a disk with \
                 ‘tier’",
                ))
            }
            _ => Ok(()),
        }
    }

    /// # Errors
    /// A usage error if the footprint is to be measured in a run that has no use for it, or needs
    /// it at its start.
    fn check_measure(&self) -> Result<()> {
        if self.measure.is_none() {
            return Ok(());
        }
        let why = match () {
            () if matches!(self.dram, Dram::Bytes(_)) => {
                "‘measure’ is for a ‘dram’ that is a share of the footprint, as 50%; leave it out"
            }
            () if self.node().is_some() => {
                "‘measure’ moves pages to swap, and a memory node has none; give ‘footprint’ SIZE"
            }
            () if self.placement.is_some() => {
                "‘place’ needs the budget when the program starts; give ‘footprint’ SIZE in place of ‘measure’"
            }
            () => return Ok(()),
        };
        Err(Error::usage(why))
    }

    /// Returns the memory node that is the tier, if it is one.
    pub(super) fn node(&self) -> Option<u32> {
        match self.tier.spec {
            Some(Spec::Node(node)) => Some(node),
            _ => None,
        }
    }

    /// Returns the policy that says on which node pages lie.
    pub(super) fn migration(&self) -> migration::Spec {
        let usual = || (&migration::benefit::ENTRY).into();
        self.migration.clone().unwrap_or_else(usual)
    }

    /// # Errors
    /// A usage error if an option is of swap where the tier is a node, or of nodes where it is not.
    fn check_node(&self) -> Result<()> {
        if self.node().is_none() {
            return match &self.migration {
                None => Ok(()),
                Some(_) => Err(Error::usage(
                    "‘migration’ moves pages between memory nodes; name one with ‘tier’, as node:1",
                )),
            };
        }
        // What the command names if its user does not.
        let steered = self.prefetch.iter().any(|spec| spec.to_string() != "auto");
        let mut evicts = self.eviction.iter().map(|spec| spec.entry().name);
        let evicts = evicts.any(|name| !["hold", "kernel"].contains(&name));
        let options = [
            ("‘tier-size’", self.tier.allowed.is_some()),
            ("‘zswap’", self.zswap.is_some()),
            ("‘writes’", self.writes),
            ("‘learn’", self.lesson.is_some()),
            ("‘prefetch’", steered),
            ("‘eviction’", evicts || self.eviction.len() > 1),
        ];
        match options.iter().find(|(_, given)| *given) {
            Some((option, _)) => Err(Error::usage(format!(
                "{option} is of swap, and on a memory node nothing is swapped; leave it out, or name another ‘tier’"
            ))),
            None => Ok(()),
        }
    }

    /// Whether a run without a limit comes first to measure the footprint.
    pub(super) fn is_measured_first(&self) -> bool {
        let needs_it = self.compare || matches!(self.dram, Dram::Share(_));
        self.footprint.is_none() && self.measure.is_none() && needs_it
    }
}

/// Returns the ways in the order in which each repetition runs them.
pub(super) fn ways(request: &Request) -> Vec<Way> {
    if request.node().is_some() {
        let never = Way::Migration((&migration::never::ENTRY).into());
        let placed = request.placement.as_ref().map(|_| Way::Placed);
        let ours = match (request.migration(), &placed) {
            // Nothing but what is placed comes to the fast node.
            (spec, Some(_)) if nodes::moves_nothing(&spec) => None,
            (spec, _) => Some(Way::Migration(spec)),
        };
        let others = [Way::AllDram, Way::KernelTiering, never];
        return match request.compare {
            true => others.into_iter().chain(placed).chain(ours).collect(),
            false => ours.or(placed).into_iter().collect(),
        };
    }
    let mut steered = request.prefetch.iter().flat_map(|prefetch| {
        request.eviction.iter().map(|eviction| {
            Way::Terrace(Policies {
                prefetch: prefetch.clone(),
                eviction: eviction.clone(),
                lesson: request.lesson.clone(),
            })
        })
    });
    let placed = request.placement.as_ref().map(|_| Way::Placed);
    let others = [Way::AllDram, Way::Kernel, Way::KernelCpf];
    match request.compare {
        true => others.into_iter().chain(placed).chain(steered).collect(),
        false => vec![steered.next().or(placed).unwrap_or(Way::Kernel)],
    }
}

#[cfg(test)]
mod tests;
