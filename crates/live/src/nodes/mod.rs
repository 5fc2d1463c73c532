//! Memory nodes: DRAM beside slower memory that processors address by themselves.
//!
//! A CXL expander, or the memory of another socket, is a *node* of its own. A page there is not missing, only slower, so
//! a run with such a tier swaps nothing: the program's memory is bound to the slow node (`binding`), and a thread of
//! ours (`migrator`) has pages move to the fast node and back as a policy of [`terrace_policy::migration`] decides, the
//! same that runs in simulations. It sees accesses by the kernel's hint faults (`balancing`).
//!
//! Why all pages come to the slow node first: a memory policy of Linux knows no amounts, and nothing outside of a process
//! can change its policy. As only our thread brings pages to the fast node, the budget there holds at any moment, forks
//! and children included; a page is moved once for it, soon after its first touch.

pub(crate) mod balancing;
pub(crate) mod binding;
pub mod chase;
mod debugfs;
mod figures;
mod migrator;
mod numbers;
mod timeline;
pub mod topology;

use std::path::PathBuf;

use terrace_base::{Bytes, Error, Result};
use terrace_policy::migration::{self, Costs};

use crate::budget::Budget;
use crate::faults::FaultStream;
use crate::journal::Journal;
use crate::outcome::{Event, Observer};

pub use figures::Figures;
pub use timeline::Moment;
pub use topology::Node;

use balancing::Balancing;
pub(crate) use migrator::Migrator;

/// The two nodes of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Nodes {
    /// The node with DRAM, on which the budget is.
    pub fast: u32,
    /// The node with slower memory.
    pub slow: u32,
    /// Size of the memory of the slow node.
    size: Bytes,
    /// What moves cost between them, and what they save.
    costs: Costs,
}

/// Checks that the tier can be this node.
///
/// # Errors
/// A usage error if there is no such node, or it has processors.
pub(crate) fn require(slow: u32) -> Result<()> {
    choose(&topology::read(), slow).map(drop)
}

impl Nodes {
    /// Finds the fast node for a slow one, and measures both.
    ///
    /// # Errors
    /// A usage error if there is no such node or it has processors; a failure if memory cannot be bound to it.
    pub fn prepare(slow: u32) -> Result<Self> {
        let all = topology::read();
        let (fast, size) = choose(&all, slow)?;
        binding::check(slow)?;
        Ok(Self {
            fast,
            slow,
            size,
            costs: chase::costs(fast, slow),
        })
    }

    /// Describes the tier for people.
    pub fn description(&self) -> String {
        format!(
            "node {} of {}, beside node {}",
            self.slow, self.size, self.fast
        )
    }

    /// Starts to move pages of the program in a group, with at most `dram` of it on the fast node, of which `placed` are kept
    /// for what a placement puts there.
    ///
    /// # Errors
    /// A failure if accesses cannot be watched, or a usage error if a setting of the policy is wrong.
    pub fn migrate(
        &self,
        spec: &migration::Spec,
        budget: &Budget,
        dram: Bytes,
        placed: Option<Bytes>,
        journal: &mut Journal,
    ) -> Result<(Migrator, Option<Balancing>)> {
        let rest = Bytes(dram.0.saturating_sub(placed.unwrap_or_default().0));
        let policy = spec.policy(rest.pages() as usize).map_err(Error::usage)?;
        let Some(mut policy) = policy else {
            return Err(Error::usage(format!(
                "`{}` is of memory that processors cannot address; name another --migration",
                spec.entry().name
            )));
        };
        policy.set_costs(self.costs);
        // A policy that looks at nothing needs no faults.
        let watches = policy.every().is_some() || policy.next_scan().is_some();
        let balancing = watches
            .then(|| Balancing::hint_faults(journal))
            .transpose()?;
        let faults = watches
            .then(|| FaultStream::open_minor(budget.watched()))
            .transpose()?;
        let group: PathBuf = budget.directories()[0].clone();
        let counter = budget.nodes();
        let migrator = Migrator::start(*self, policy, faults, group, counter, dram, placed)?;
        Ok((migrator, balancing))
    }

    /// Has the kernel tier memory by itself; says what it lacks.
    ///
    /// # Errors
    /// A failure if the kernel cannot.
    pub fn tier(&self, journal: &mut Journal, observer: Observer) -> Result<Balancing> {
        let balancing = Balancing::tiering(journal)?;
        if !topology::is_lower_tier(self.fast, self.slow) {
            observer(Event::Notice(
                "the kernel takes both nodes for memory of one tier, so it demotes nothing by itself",
            ));
        }
        Ok(balancing)
    }
}

/// Whether a policy leaves all pages on the slow node.
pub(crate) fn moves_nothing(policy: &migration::Spec) -> bool {
    policy.entry().name == migration::never::ENTRY.name
}

/// Returns the fast node for a slow one, and the size of the slow one.
fn choose(nodes: &[Node], slow: u32) -> Result<(u32, Bytes)> {
    if let [only] = nodes {
        return Err(Error::usage(format!(
            "this machine has one memory node, {}, so there is no slower one beside it; name another kind of tier",
            only.id
        )));
    }
    let Some(node) = nodes.iter().find(|node| node.id == slow) else {
        let ids: Vec<_> = nodes.iter().map(|node| node.id.to_string()).collect();
        return Err(Error::usage(format!(
            "there is no memory node {slow}; there are {}",
            ids.join(", ")
        )));
    };
    if node.cpus > 0 {
        return Err(Error::usage(format!(
            "node {slow} has processors of its own, so it is no slower memory of the others'; name a node without \
             (terrace doctor lists them)"
        )));
    }
    let with_processors = nodes.iter().filter(|other| other.cpus > 0);
    let nearest = with_processors.min_by_key(|other| (node.distance_to(other.id), other.id));
    match nearest {
        Some(fast) => Ok((fast.id, node.memory)),
        None => Err(Error::failure("no memory node has processors")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(id: u32, cpus: usize, distances: &[(u32, u32)]) -> Node {
        Node {
            id,
            cpus,
            memory: Bytes(1 << 30),
            free: Bytes(1 << 29),
            distances: distances.to_vec(),
            tier: None,
        }
    }

    #[test]
    fn the_fast_node_is_the_nearest_with_processors() {
        let two = [
            node(0, 4, &[(0, 10), (1, 20)]),
            node(1, 0, &[(0, 20), (1, 10)]),
        ];
        assert_eq!(choose(&two, 1).unwrap(), (0, Bytes(1 << 30)));
        let three = [
            node(0, 4, &[]),
            node(1, 4, &[]),
            node(3, 0, &[(0, 30), (1, 20), (3, 10)]),
        ];
        assert_eq!(choose(&three, 3).unwrap().0, 1);
        for (nodes, slow, words) in [
            (&two[..1], 1, "one memory node, 0"),
            (&two[..], 7, "no memory node 7; there are 0, 1"),
            (&two[..], 0, "has processors of its own"),
        ] {
            let error = choose(nodes, slow).unwrap_err();
            assert!(error.to_string().contains(words), "{error}");
        }
    }
}
