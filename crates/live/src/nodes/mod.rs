//! Memory nodes: DRAM beside slower memory that processors address by themselves.
//!
//! A CXL expander, or the memory of another socket, is a *node* of its own, and so is the DRAM of a
//! machine that has faster memory beside it, as HBM. A page there is not missing, only slower, so a
//! run with such a tier swaps nothing: the program's memory is bound to the slow node (`binding`),
//! and a thread of ours (`migrator`) has pages move to the fast node and back as a policy of
//! [`terrace_policy::migration`] decides, the same that runs in simulations. It sees accesses by
//! the kernel's hint faults (`balancing`).
//!
//! Why all pages come to the slow node first: a memory policy of Linux knows no amounts, and
//! nothing outside of a process can change its policy. As only our thread brings pages to the fast
//! node, the budget there holds at any moment, forks and children included; a page is moved once
//! for it, soon after its first touch.

mod anonymous;
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

use terrace_base::{Bytes, Context, Error, Result};
use terrace_policy::migration::{self, Costs};

use crate::group::budget::Budget;
use crate::journal::Journal;
use crate::system::cpus::Cpus;
use crate::watch::faults::FaultStream;

pub use figures::Figures;
pub use timeline::Moment;
pub use topology::Node;

use balancing::Balancing;
pub(crate) use migrator::Migrator;

/// The two nodes of a run.
#[derive(Clone, Debug)]
pub(crate) struct Nodes {
    /// The node with DRAM or faster memory, on which the budget is.
    pub fast: u32,
    /// The node with slower memory.
    pub slow: u32,
    /// The processors of the program: those of the fast node, if the slow one is of another socket;
    /// `None` for all.
    pub processors: Option<Cpus>,
    /// Whether the slow node is that of the processors on which the program runs.
    own: bool,
    /// Size of the memory of the slow node.
    size: Bytes,
    /// What moves cost between them, and what they save.
    costs: Costs,
}

/// Checks that the tier can be this node.
///
/// # Errors
/// A usage error if there is no such node, or none for which it is slower memory.
pub(crate) fn require(slow: u32) -> Result<()> {
    choose(&topology::read(), slow).map(drop)
}

impl Nodes {
    /// Finds the fast node for a slow one, which has to hold `dram`, and measures both.
    ///
    /// # Errors
    /// A usage error if there is no such node, it cannot be the slow one, or the fast one is too
    /// small; a failure if memory cannot be bound to it.
    pub fn prepare(slow: u32, dram: Bytes) -> Result<Self> {
        let all = topology::read();
        let (fast, slow) = choose(&all, slow)?;
        require_room(fast, dram)?;
        binding::check(slow.id)?;
        let processors = processors(fast, slow)?;
        Ok(Self {
            fast: fast.id,
            slow: slow.id,
            own: fast.cpus == 0,
            size: slow.memory,
            costs: costs(fast.id, slow.id, processors.as_ref()),
            processors,
        })
    }

    /// Describes the tier for people.
    pub fn description(&self) -> String {
        format!(
            "node {} of {}, beside node {}",
            self.slow, self.size, self.fast
        )
    }

    /// Starts to move pages of the program in a group, with at most `dram` of it on the fast node;
    /// `placed` of these are kept for what a placement puts there.
    ///
    /// # Errors
    /// A failure if accesses cannot be watched, or a usage error if a setting of the policy is
    /// wrong.
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
                "`{}` is of memory that processors cannot address; name another ‘migration’",
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
        let migrator = Migrator::start(self, policy, faults, group, counter, dram, placed)?;
        Ok((migrator, balancing))
    }

    /// Returns what a user of a policy has to know of these nodes.
    pub fn notices(&self, spec: &migration::Spec) -> impl Iterator<Item = &'static str> {
        let names =
            [migration::benefit::ENTRY, migration::write_aware::ENTRY].map(|entry| entry.name);
        let alike = names.contains(&spec.entry().name) && self.costs.line_ps == 0;
        let unseen = self.own && !moves_nothing(spec);
        let alike = alike.then_some(
            "loads from both nodes take the same time, as measured, so this policy moves nothing; if the fast one has more \
             bandwidth, name ‘migration’ hot",
        );
        let unseen = unseen.then_some(
            "the slow node is that of the processors, to which the kernel shows no access of a program with one thread: the \
             pages of one stay there",
        );
        alike.into_iter().chain(unseen)
    }

    /// Has the kernel tier memory by itself; says what it lacks.
    ///
    /// # Errors
    /// A failure if the kernel cannot.
    pub fn tier(&self, journal: &mut Journal, notice: &mut dyn FnMut(&str)) -> Result<Balancing> {
        let balancing = Balancing::tiering(journal)?;
        if !topology::is_lower_tier(self.fast, self.slow) {
            notice(
                "the kernel takes both nodes for memory of one tier, so it demotes nothing by itself",
            );
        }
        Ok(balancing)
    }
}

/// Whether a policy leaves all pages on the slow node.
pub(crate) fn moves_nothing(policy: &migration::Spec) -> bool {
    policy.entry().name == migration::never::ENTRY.name
}

/// Returns the node that a run would name as its tier: memory without processors, or else the last
/// that can be one.
pub(crate) fn slower(nodes: &[Node]) -> Option<u32> {
    let memory = nodes.iter().filter(|node| node.cpus == 0);
    let with_processors = nodes.iter().rev().filter(|node| node.cpus > 0);
    let mut all = memory.chain(with_processors);
    let slow = all.find(|node| choose(nodes, node.id).is_ok())?;
    Some(slow.id)
}

/// Returns the fast node for a slow one, and the slow one.
fn choose(nodes: &[Node], slow: u32) -> Result<(&Node, &Node)> {
    let named = nodes.iter().find(|node| node.id == slow);
    let Some(node) = named.filter(|_| nodes.len() > 1) else {
        let is_offline = named.is_none() && topology::is_there(slow);
        return Err(Error::usage(missing(nodes, slow, is_offline)));
    };
    let fast = match node.cpus {
        0 => dram_beside(nodes, node)?,
        _ => faster_than_dram(nodes, node)?,
    };
    Ok((fast, node))
}

/// Returns the DRAM beside memory that has no processors, as a CXL expander.
fn dram_beside<'a>(nodes: &'a [Node], slow: &Node) -> Result<&'a Node> {
    let with_processors = nodes.iter().filter(|other| other.cpus > 0);
    let Some(fast) = nearest(slow, with_processors) else {
        return Err(Error::failure("no memory node has processors"));
    };
    match is_faster(slow, fast) {
        true => Err(Error::usage(format!(
            "the kernel counts node {} as faster memory than node {}, which has the processors; the tier has to be \
             slower: name ‘tier’ node:{}",
            slow.id, fast.id, fast.id
        ))),
        false => Ok(fast),
    }
}

/// Returns what is faster than the DRAM of a node: memory that the kernel counts as faster, as HBM,
/// or for programs on another socket the DRAM there.
fn faster_than_dram<'a>(nodes: &'a [Node], dram: &Node) -> Result<&'a Node> {
    let others = || nodes.iter().filter(|other| other.id != dram.id);
    let memory = others().filter(|other| other.cpus == 0 && is_faster(other, dram));
    let sockets = others().filter(|other| other.cpus > 0);
    let fast = nearest(dram, memory).or_else(|| nearest(dram, sockets));
    fast.ok_or_else(|| {
        Error::usage(format!(
            "node {} has processors of its own, and there is neither another socket nor memory that the kernel counts \
             as faster; name a node without processors (terrace doctor lists them)",
            dram.id
        ))
    })
}

fn nearest<'a>(node: &Node, others: impl Iterator<Item = &'a Node>) -> Option<&'a Node> {
    others.min_by_key(|other| (node.distance_to(other.id), other.id))
}

/// Whether the kernel counts a node as faster memory than another.
fn is_faster(node: &Node, other: &Node) -> bool {
    let tiers = node.tier.zip(other.tier);
    tiers.is_some_and(|(own, of_other)| own < of_other)
}

/// Returns the processors to which a program has to be kept so that `slow` is slower for it: those
/// of this process on the fast node, if both nodes have some.
///
/// # Errors
/// A usage error if this process may use none of them.
fn processors(fast: &Node, slow: &Node) -> Result<Option<Cpus>> {
    if fast.cpus == 0 || slow.cpus == 0 {
        return Ok(None);
    }
    let own = Cpus::of(0).or_fail(|| "cannot read the processors of this process".to_owned())?;
    let there = topology::processors(fast.id).map(|there| own.and(&there));
    match there.filter(|usable| usable.count() > 0) {
        Some(usable) => Ok(Some(usable)),
        None => Err(Error::usage(format!(
            "this process may run on processors {own} alone, none of node {}, beside which node {} is the slower one",
            fast.id, slow.id
        ))),
    }
}

/// Measures what moves cost, and loads, on the processors of the program.
fn costs(fast: u32, slow: u32, processors: Option<&Cpus>) -> Costs {
    let measure = || {
        // Elsewhere the slow node may be the near one, so nothing would be known.
        let is_there = processors.is_none_or(|processors| processors.set(0).is_ok());
        is_there.then(|| chase::costs(fast, slow))
    };
    let measured = std::thread::scope(|scope| scope.spawn(measure).join());
    measured.ok().flatten().unwrap_or_default()
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
        assert_eq!(slower(&two), Some(1));
        let three = [
            node(0, 4, &[]),
            node(1, 4, &[]),
            node(3, 0, &[(0, 30), (1, 20), (3, 10)]),
        ];
        assert_eq!(choose(&three, 3), Ok((&three[1], &three[2])));
    }

    #[test]
    fn dram_is_slower_than_memory_that_the_kernel_counts_as_faster_and_than_that_of_another_socket()
    {
        let far = [(0, 10), (1, 21), (2, 13), (3, 23)];
        let mut nodes = [
            node(0, 4, &far),
            node(1, 4, &[]),
            node(2, 0, &[]),
            node(3, 0, &[]),
        ];
        assert_eq!(choose(&nodes, 0), Ok((&nodes[1], &nodes[0])));
        nodes.iter_mut().for_each(|node| node.tier = Some(4));
        assert_eq!(choose(&nodes, 0), Ok((&nodes[1], &nodes[0])));
        (nodes[2].tier, nodes[3].tier) = (Some(2), Some(2));
        assert_eq!(choose(&nodes, 0), Ok((&nodes[2], &nodes[0])));
        assert_eq!(slower(&nodes), Some(1));
        assert_eq!(slower(&nodes[..2]), Some(1));
        assert_eq!(slower(&nodes[..1]), None);
        let [fast, slow] = [2, 0].map(|id| nodes[id].clone());
        assert_eq!(processors(&fast, &slow), Ok(None));
    }

    #[test]
    fn a_program_beside_another_socket_stays_on_its_own() {
        let own = Cpus::of(0).unwrap();
        // Node 0 of a kernel that knows nodes has processors; else none is known.
        let (here, there) = (node(0, 1, &[]), node(1, 1, &[]));
        match topology::processors(0).map(|all| all.and(&own)) {
            Some(usable) if usable.count() > 0 => {
                assert_eq!(processors(&here, &there), Ok(Some(usable)));
            }
            _ => assert!(processors(&here, &there).is_err()),
        }
        let error = processors(&node(9_999, 1, &[]), &there).unwrap_err();
        assert!(error.to_string().contains("none of node 9999"), "{error}");
    }

    #[test]
    fn what_cannot_be_the_tier_is_refused() {
        let mut nodes = [node(0, 4, &[]), node(9_999, 0, &[])];
        (nodes[0].tier, nodes[1].tier) = (Some(4), Some(2));
        for (nodes, slow, words) in [
            (&[][..], 1, "knows no memory nodes"),
            (&nodes[..1], 0, "one memory node, 0"),
            (&nodes[..1], 9_998, "one memory node, 0"),
            (&nodes[..], 9_998, "no memory node 9998; there are 0, 9999"),
            (
                &nodes[..],
                9_999,
                "counts node 9999 as faster memory than node 0",
            ),
            (&nodes[1..], 9_999, "one memory node, 9999"),
        ] {
            let error = choose(nodes, slow).unwrap_err();
            assert!(error.to_string().contains(words), "{error}");
        }
        let said = missing(&nodes[..1], 1, true);
        assert!(said.contains("no memory of node 1 is online"), "{said}");
        nodes[1].tier = Some(4);
        assert_eq!(choose(&nodes, 9_999), Ok((&nodes[0], &nodes[1])));
        let error = choose(&nodes, 0).unwrap_err();
        assert!(
            error.to_string().contains("processors of its own"),
            "{error}"
        );
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
