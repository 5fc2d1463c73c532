//! How few reads and writes of memory together a cache can have, from below and from above.
//!
//! To find the fewest is NP-complete (Beckmann, Gibbons, Haeupler and McGuffey, "Writeback-aware
//! caching", APOCS 2020), since a dirty line is written once, however often it leaves the cache
//! until it is written to again. Bounds come of a relaxation in the manner of flow-based offline
//! optima (Berger, Beckmann and Harchol-Balter, "Practical bounds on optimal caching with variable
//! object sizes", SIGMETRICS 2018): between two requests for a line it is kept or not. Not to keep
//! it costs the read at its end, if that is a read, and an equal part of the write: of the times
//! between a write-back and the next one to the line, one that is not kept makes the line be
//! written. Which times to keep, as many lines at once as there are ways, is a flow of least cost.
//! What it costs in parts is a lower bound; what the same choice costs in full, an upper one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;

use super::{Geometry, Request};

/// Parts of a transfer in which costs are reckoned: rounded down, so that the lower bound stays
/// one.
const PARTS: i64 = 1 << 20;

/// Bounds of the reads and writes of memory together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// No policy has fewer, whatever it knows.
    pub least: u64,
    /// Some policy that knows the future has no more.
    pub reached: u64,
}

/// A time between two requests for a line, or after the last one.
#[derive(Clone, Copy, Debug)]
struct Gap {
    /// The requests to the set before and behind it, by number.
    begin: usize,
    end: usize,
    /// Whether memory is read at its end if the line is not kept.
    reads: bool,
    /// The write-back to the line before it, by number; `None` while the line is clean.
    write: Option<usize>,
}

/// Returns the bounds for a cache of this shape that is empty at first, of what it transfers from
/// request `from` on. Lines that are dirty at the end are not written.
pub fn bounds(geometry: Geometry, requests: impl Iterator<Item = Request>, from: usize) -> Bounds {
    let mut sets = vec![Vec::new(); geometry.sets];
    for (at, request) in requests.enumerate() {
        sets[geometry.set_of(request.line)].push((at >= from, request));
    }
    let (mut parts, mut reached) = (0, 0);
    for set in &sets {
        let (least, full) = of_set(geometry.ways, set);
        parts += least;
        reached += full;
    }
    Bounds {
        least: parts.div_ceil(PARTS as u64),
        reached,
    }
}

/// Returns the bounds of a set, the lower in parts.
fn of_set(ways: usize, requests: &[(bool, Request)]) -> (u64, u64) {
    let (gaps, first_reads) = gaps(requests);
    let mut shares: FxHashMap<usize, i64> = FxHashMap::default();
    gaps.iter()
        .filter_map(|gap| gap.write)
        .for_each(|write| *shares.entry(write).or_default() += 1);
    let counts = |at: usize| requests.get(at).is_some_and(|(counts, _)| *counts);
    let cost = |gap: &Gap| {
        let read = i64::from(gap.reads && counts(gap.end)) * PARTS;
        // What was written to before may have left before, too, and then is clean.
        let write = gap.write.filter(|write| counts(*write));
        read + write.map_or(0, |write| PARTS / shares[&write])
    };
    let costs: Vec<i64> = gaps.iter().map(cost).collect();
    let kept = keep(ways, requests.len(), &gaps, &costs);
    let lost = || (0..gaps.len()).filter(|gap| !kept[*gap]);
    let parts: i64 = lost().map(|gap| costs[gap]).sum();
    let reads = lost().filter(|gap| gaps[*gap].reads && counts(gaps[*gap].end));
    let mut written = FxHashMap::default();
    for gap in lost().map(|gap| gaps[gap]) {
        if let Some(write) = gap.write {
            // A line leaves as soon as it is not kept, and clean after the first time.
            written.entry(write).or_insert(counts(gap.begin));
        }
    }
    let writes = written.values().filter(|counts| **counts).count();
    let full = first_reads + reads.count() as u64 + writes as u64;
    (first_reads * PARTS as u64 + parts as u64, full)
}

/// Returns the times between requests in the order of their beginnings, and how many first requests
/// read.
fn gaps(requests: &[(bool, Request)]) -> (Vec<Gap>, u64) {
    let mut open: FxHashMap<u64, (usize, Option<usize>)> = FxHashMap::default();
    let (mut gaps, mut first_reads) = (Vec::new(), 0);
    for (at, (counts, request)) in requests.iter().enumerate() {
        let reads = !request.kind.writes();
        let before = open.get(&request.line).copied();
        match before {
            Some((begin, write)) => gaps.push(Gap {
                begin,
                end: at,
                reads,
                write,
            }),
            None => first_reads += u64::from(reads && *counts),
        }
        let write = match reads {
            true => before.and_then(|(_, write)| write),
            false => Some(at),
        };
        open.insert(request.line, (at, write));
    }
    let last = open.into_values().map(|(begin, write)| Gap {
        begin,
        end: requests.len(),
        reads: false,
        write,
    });
    gaps.extend(last.filter(|gap| gap.write.is_some()));
    gaps.sort_unstable_by_key(|gap| gap.begin);
    (gaps, first_reads)
}

/// Returns which gaps are kept so that those that are not cost least, no more than `ways` at a
/// time: a flow of as many units along time, from gap to gap or beside them, by successive shortest
/// paths.
fn keep(ways: usize, requests: usize, gaps: &[Gap], costs: &[i64]) -> Vec<bool> {
    let mut flow = Flow::new(requests + 1);
    for at in 0..requests {
        flow.add(at, at + 1, ways as u32, 0);
    }
    let first = flow.ends.len();
    for (gap, cost) in gaps.iter().zip(costs) {
        flow.add(gap.begin, gap.end, 1, -cost);
    }
    flow.forward();
    let mut left = ways as u32;
    while left > 0 {
        match flow.push(left) {
            0 => break,
            pushed => left -= pushed,
        }
    }
    let edges = (0..gaps.len()).map(|gap| first + 2 * gap);
    edges.map(|edge| flow.room[edge] == 0).collect()
}

/// A network whose nodes are points in time. An edge has the number of its reverse but for the last
/// bit.
struct Flow {
    ends: Vec<u32>,
    room: Vec<u32>,
    costs: Vec<i64>,
    edges: Vec<Vec<u32>>,
    /// Costs from the first node, by which no edge with room is cheaper than nothing.
    potentials: Vec<i64>,
}

impl Flow {
    fn new(nodes: usize) -> Self {
        Self {
            ends: Vec::new(),
            room: Vec::new(),
            costs: Vec::new(),
            edges: vec![Vec::new(); nodes],
            potentials: vec![0; nodes],
        }
    }

    fn add(&mut self, begin: usize, end: usize, room: u32, cost: i64) {
        for (from, to, room, cost) in [(begin, end, room, cost), (end, begin, 0, -cost)] {
            self.edges[from].push(self.ends.len() as u32);
            self.ends.push(to as u32);
            self.room.push(room);
            self.costs.push(cost);
        }
    }

    /// Sets the potentials while all edges with room lead forward.
    fn forward(&mut self) {
        self.potentials[1..].fill(i64::MAX);
        for node in 0..self.edges.len() {
            for &edge in &self.edges[node] {
                let edge = edge as usize;
                if self.room[edge] > 0 {
                    let cost = self.potentials[node] + self.costs[edge];
                    let end = &mut self.potentials[self.ends[edge] as usize];
                    *end = cost.min(*end);
                }
            }
        }
    }

    /// Sends up to `most` units the cheapest way, and returns how many: none if that saves nothing.
    fn push(&mut self, most: u32) -> u32 {
        let nodes = self.edges.len();
        let (mut costs, mut by) = (vec![i64::MAX; nodes], vec![u32::MAX; nodes]);
        let mut next = BinaryHeap::from([Reverse((0, 0))]);
        costs[0] = 0;
        while let Some(Reverse((cost, node))) = next.pop() {
            if cost > costs[node] {
                continue;
            }
            for &edge in &self.edges[node] {
                let end = self.ends[edge as usize] as usize;
                if self.room[edge as usize] == 0 {
                    continue;
                }
                let step = self.costs[edge as usize] + self.potentials[node] - self.potentials[end];
                if cost + step < costs[end] {
                    costs[end] = cost + step;
                    by[end] = edge;
                    next.push(Reverse((cost + step, end)));
                }
            }
        }
        for (potential, cost) in self.potentials.iter_mut().zip(&costs) {
            *potential += cost;
        }
        if self.potentials[nodes - 1] >= self.potentials[0] {
            return 0;
        }
        let path: Vec<usize> = std::iter::successors(Some(nodes - 1), |node| {
            let edge = by[*node];
            (edge != u32::MAX).then(|| self.ends[edge as usize ^ 1] as usize)
        })
        .filter_map(|node| (by[node] != u32::MAX).then_some(by[node] as usize))
        .collect();
        let pushed = path.iter().map(|edge| self.room[*edge]).min();
        let pushed = pushed.unwrap_or(0).min(most);
        for edge in path {
            self.room[edge] -= pushed;
            self.room[edge ^ 1] += pushed;
        }
        pushed
    }
}
