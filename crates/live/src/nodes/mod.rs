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
    /// Finds the fast node for a slow one, which has to hold `dram`, and measures both.
    ///
    /// # Errors
    /// A usage error if there is no such node, it cannot be the slow one, or the fast one is too small; a failure if memory
    /// cannot be bound to it.
    pub fn prepare(slow: u32, dram: Bytes) -> Result<Self> {
        let all = topology::read();
        let (fast, slow) = choose(&all, slow)?;
        require_room(fast, dram)?;
        binding::check(slow.id)?;
        Ok(Self {
            fast: fast.id,
            slow: slow.id,
            size: slow.memory,
            costs: chase::costs(fast.id, slow.id),
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

/// Returns the fast node for a slow one, and the slow one.
fn choose(nodes: &[Node], slow: u32) -> Result<(&Node, &Node)> {
    let named = nodes.iter().find(|node| node.id == slow);
    let Some(node) = named.filter(|_| nodes.len() > 1) else {
        let is_offline = named.is_none() && topology::is_there(slow);
        return Err(Error::usage(missing(nodes, slow, is_offline)));
    };
    if node.cpus > 0 {
        let others = match nodes.iter().all(|node| node.cpus > 0) {
            true => "this machine has no node without",
            false => "name a node without (terrace doctor lists them)",
        };
        return Err(Error::usage(format!(
            "node {slow} has processors of its own, so it is no slower memory of the others'; {others}"
        )));
    }
    let with_processors = nodes.iter().filter(|other| other.cpus > 0);
    let nearest = with_processors.min_by_key(|other| (node.distance_to(other.id), other.id));
    let Some(fast) = nearest else {
        return Err(Error::failure("no memory node has processors"));
    };
    match (node.tier, fast.tier) {
        (Some(tier), Some(of_fast)) if tier < of_fast => Err(Error::usage(format!(
            "the kernel counts node {slow} as faster memory than node {}, which has the processors; the tier has to be \
             slower",
            fast.id
        ))),
        _ => Ok((fast, node)),
    }
}

/// Says why there is no such node beside another.
fn missing(nodes: &[Node], id: u32, is_offline: bool) -> String {
    let ids: Vec<_> = nodes.iter().map(|node| node.id.to_string()).collect();
    let ids = ids.join(", ");
    match nodes.len() {
        0 => "this kernel knows no memory nodes (CONFIG_NUMA is off); name another kind of tier"
            .into(),
        _ if is_offline => format!(
            "no memory of node {id} is online; bring it online (of a CXL expander: daxctl reconfigure-device --mode \
             system-ram), or name another kind of tier"
        ),
        1 => format!(
            "this machine has one memory node, {ids}, so there is no slower one beside it; name another kind of tier"
        ),
        _ => format!("there is no memory node {id}; there are {ids}"),
    }
}

/// Requires that the fast node can hold the budget.
///
/// # Errors
/// A usage error if it never can.
fn require_room(fast: &Node, dram: Bytes) -> Result<()> {
    match dram > fast.memory {
        true => Err(Error::usage(format!(
            "a DRAM budget of {dram} is larger than the {} of node {}, the fast one; name less",
            fast.memory, fast.id
        ))),
        false => Ok(()),
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
        assert_eq!(choose(&two, 1), Ok((&two[0], &two[1])));
        let three = [
            node(0, 4, &[]),
            node(1, 4, &[]),
            node(3, 0, &[(0, 30), (1, 20), (3, 10)]),
        ];
        assert_eq!(choose(&three, 3), Ok((&three[1], &three[2])));
    }

    #[test]
    fn what_cannot_be_the_tier_is_refused() {
        let mut nodes = [node(0, 4, &[]), node(1, 4, &[]), node(9_999, 0, &[])];
        (nodes[0].tier, nodes[2].tier) = (Some(4), Some(2));
        for (nodes, slow, words) in [
            (&[][..], 1, "knows no memory nodes"),
            (&nodes[..1], 0, "one memory node, 0"),
            (&nodes[..1], 9_998, "one memory node, 0"),
            (
                &nodes[..],
                9_998,
                "no memory node 9998; there are 0, 1, 9999",
            ),
            (&nodes[..2], 1, "this machine has no node without"),
            (&nodes[..], 1, "name a node without"),
            (
                &nodes[..],
                9_999,
                "counts node 9999 as faster memory than node 0",
            ),
            (&nodes[2..], 9_999, "one memory node, 9999"),
        ] {
            let error = choose(nodes, slow).unwrap_err();
            assert!(error.to_string().contains(words), "{error}");
        }
        let said = missing(&nodes[..1], 1, true);
        assert!(said.contains("no memory of node 1 is online"), "{said}");
        nodes[2].tier = Some(4);
        assert_eq!(choose(&nodes, 9_999), Ok((&nodes[0], &nodes[2])));
    }

    #[test]
    fn a_budget_has_room_on_the_fast_node() {
        let fast = node(0, 4, &[]);
        assert_eq!(require_room(&fast, fast.memory), Ok(()));
        let error = require_room(&fast, Bytes(fast.memory.0 + 1)).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("larger than the 1.00 GiB of node 0"),
            "{error}"
        );
    }
}
