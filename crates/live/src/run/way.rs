//! The ways to run a program whose memory is larger than its DRAM.

use terrace_base::{Bytes, Error, Result};
use terrace_policy::{eviction, migration, prefetch};

use crate::fetch::evictor::Evictor;
use crate::group::budget::Budget;
use crate::group::reserve::Reserve;
use crate::group::room::Room;
use crate::steer::lesson::LessonFile;

/// One way to run a program whose memory is larger than its DRAM.
#[derive(Clone)]
pub enum Way {
    /// Without a limit: DRAM alone.
    AllDram,
    /// The kernel's swap with the machine's settings.
    Kernel,
    /// The kernel's swap without readahead: critical page first.
    KernelCpf,
    /// The kernel's swap with the machine's settings, from which the objects of a placement are
    /// kept; or two memory nodes, with those objects alone on the fast one.
    Placed,
    /// The kernel's swap, steered by policies; and the objects of a placement are kept from it, if
    /// there is one.
    Terrace(Policies),
    /// The kernel's own tiering of memory nodes, without a budget.
    KernelTiering,
    /// Pages on two memory nodes, moved as a policy decides; and the objects of a placement are
    /// kept on the fast one, if there is one and the policy moves anything.
    Migration(migration::Spec),
}

/// Policies that steer the kernel's swap.
#[derive(Clone)]
pub struct Policies {
    /// What is fetched ahead.
    pub prefetch: prefetch::Spec,
    /// What leaves DRAM before the kernel needs room.
    pub eviction: eviction::Spec,
    /// What earlier runs left to learn from, and this one leaves.
    pub lesson: Option<LessonFile>,
}

impl Policies {
    /// Fetches ahead, and leaves what goes to the kernel.
    pub fn fetching(prefetch: prefetch::Spec) -> Self {
        Self {
            prefetch,
            eviction: eviction::Spec::default(),
            lesson: None,
        }
    }

    /// Starts what lets pages go, for a program with a DRAM limit; `None` if that is left to the
    /// kernel. Keeps a reserve if nothing else changes the limit.
    pub(super) fn evictor(
        &self,
        budget: &Budget,
        limit: Option<Bytes>,
        limit_is_fixed: bool,
    ) -> Result<Option<Evictor>> {
        let Some((limit, room)) = limit.and_then(|limit| Some((limit, Room::of(budget, limit)?)))
        else {
            return Ok(None);
        };
        let policy = self.eviction.policy(limit.pages()).map_err(Error::usage)?;
        let reserve = || match limit_is_fixed {
            true => Reserve::keep(budget, limit),
            false => Ok(None),
        };
        policy
            .map(|policy| Evictor::start(policy, room, reserve()?))
            .transpose()
    }
}

impl Way {
    /// Returns the name in tables and JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Self::AllDram => "all-dram",
            Self::Kernel => "kernel",
            Self::KernelCpf => "kernel-cpf",
            Self::Terrace(_) | Self::Migration(_) => "terrace",
            Self::KernelTiering => "kernel-tiering",
            Self::Placed => "placed",
        }
    }

    /// Returns the file with what earlier runs left.
    pub(super) fn lesson(&self) -> Option<&LessonFile> {
        match self {
            Self::Terrace(policies) => policies.lesson.as_ref(),
            _ => None,
        }
    }
}
