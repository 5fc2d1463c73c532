//! The memory nodes of the machine, as the kernel's files describe them.

use std::fs;
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;
use terrace_base::Bytes;

use crate::system::cpus::Cpus;

const NODES: &str = "/sys/devices/system/node";
/// Tiers of memory (Linux 6.1 and later).
const TIERS: &str = "/sys/devices/virtual/memory_tiering";

/// A memory node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Node {
    /// Its number.
    pub id: u32,
    /// Number of its processors; 0 of a node that is memory alone.
    pub cpus: usize,
    /// Size of its memory.
    #[serde(rename = "memory_bytes")]
    pub memory: Bytes,
    /// Part of it that is free.
    #[serde(rename = "free_bytes")]
    pub free: Bytes,
    /// Nodes with their distances as the firmware says them, 10 for its own.
    pub distances: Vec<(u32, u32)>,
    /// The kernel's memory tier, a smaller number for faster memory; `None` before Linux 6.1.
    pub tier: Option<u32>,
}

impl Node {
    /// Returns the distance to another node, the largest if it is not known.
    pub fn distance_to(&self, other: u32) -> u32 {
        let found = self.distances.iter().find(|(id, _)| *id == other);
        found.map_or(u32::MAX, |(_, distance)| *distance)
    }
}

/// Reads the nodes that have memory, in the order of their numbers.
pub fn read() -> Vec<Node> {
    read_in(Path::new(NODES), Path::new(TIERS))
}

/// Returns the processors of a node; `None` if it has none.
pub(super) fn processors(id: u32) -> Option<Cpus> {
    let list = fs::read_to_string(Path::new(NODES).join(format!("node{id}/cpulist"))).ok()?;
    Cpus::parse(list.trim())
}

/// Whether the kernel knows a node of this number, with memory or without.
pub(super) fn is_there(id: u32) -> bool {
    Path::new(NODES).join(format!("node{id}")).exists()
}

/// Whether the kernel takes `slow` for memory of a lower tier than `fast`.
pub fn is_lower_tier(fast: u32, slow: u32) -> bool {
    let nodes = read();
    let tier = |id| nodes.iter().find(|node| node.id == id)?.tier;
    tier(slow) > tier(fast)
}

fn read_in(nodes: &Path, tiers: &Path) -> Vec<Node> {
    let online = list(&nodes.join("online"));
    let with_memory = list(&nodes.join("has_memory"));
    with_memory
        .iter()
        .map(|id| {
            let directory = nodes.join(format!("node{id}"));
            let text = fs::read_to_string(directory.join("meminfo")).unwrap_or_default();
            let distances = fs::read_to_string(directory.join("distance")).unwrap_or_default();
            let distances = distances.split_whitespace().filter_map(|d| d.parse().ok());
            Node {
                id: *id,
                cpus: list(&directory.join("cpulist")).len(),
                memory: amount(&text, "MemTotal:"),
                free: amount(&text, "MemFree:"),
                distances: online.iter().copied().zip(distances).collect(),
                tier: tier_of(*id, tiers),
            }
        })
        .collect()
}

/// Returns the numbers in a file such as `0-1,3`; none if it is empty or missing.
fn list(file: &Path) -> Vec<u32> {
    let text = fs::read_to_string(file).unwrap_or_default();
    let numbers = Cpus::parse(text.trim());
    numbers.map_or_else(Vec::new, |all| all.iter().map(|id| id as u32).collect())
}

/// Returns an amount of a line such as `Node 1 MemTotal:  1048576 kB`.
fn amount(meminfo: &str, name: &str) -> Bytes {
    let kib = meminfo.lines().find_map(|line| {
        let rest = line.split_once(name)?.1;
        rest.split_whitespace().next()?.parse::<u64>().ok()
    });
    Bytes(kib.unwrap_or(0) << 10)
}

fn tier_of(node: u32, tiers: &Path) -> Option<u32> {
    let entries = fs::read_dir(tiers).ok()?.flatten();
    let mut found = entries.filter(|entry| list(&entry.path().join("nodelist")).contains(&node));
    let name = found.next()?.file_name().into_string().ok()?;
    name.strip_prefix("memory_tier")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_as_the_kernel_describes_them() {
        let top = tempfile::tempdir().unwrap();
        let (nodes, tiers) = (top.path().join("node"), top.path().join("tiers"));
        for (file, text) in [
            ("node/online", "0-1,3\n"),
            ("node/has_memory", "0,3\n"),
            ("node/node0/cpulist", "0-3\n"),
            ("node/node0/distance", "10 15 20\n"),
            (
                "node/node0/meminfo",
                "Node 0 MemTotal:  2048 kB\nNode 0 MemFree: 1024 kB\n",
            ),
            ("node/node3/cpulist", "\n"),
            ("node/node3/distance", "20 25 10\n"),
            ("node/node3/meminfo", "Node 3 MemTotal:  4096 kB\n"),
            ("tiers/memory_tier4/nodelist", "0\n"),
            ("tiers/memory_tier22/nodelist", "3\n"),
        ] {
            let path = top.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let found = read_in(&nodes, &tiers);
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].id, found[0].cpus, found[0].tier), (0, 4, Some(4)));
        assert_eq!(
            (found[0].memory, found[0].free),
            (Bytes(2 << 20), Bytes(1 << 20))
        );
        assert_eq!(
            (found[1].id, found[1].cpus, found[1].tier),
            (3, 0, Some(22))
        );
        assert_eq!(found[1].distance_to(1), 25);
        assert_eq!(found[1].distance_to(3), 10);
        assert!(read_in(&top.path().join("none"), &tiers).is_empty());
    }
}
