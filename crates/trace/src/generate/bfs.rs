//! Breadth-first searches of a graph like a social network's.
//!
//! Searches from one random vertex after another, top down, over an undirected R-MAT graph
//! (Chakrabarti, Zhan and Faloutsos, SDM 2004) with the parameters of Graph500 (0.57, 0.19, 0.19)
//! and scrambled vertex numbers, in compressed sparse rows.
//!
//! ```text
//! for (v = 0; v < n; v++) parent[v] = NONE;
//! parent[root] = root; queue[tail++] = root;
//! while (head < tail) {
//!   v = queue[head++];
//!   for (e = offsets[v]; e < offsets[v + 1]; e++) {
//!     t = targets[e];
//!     if (parent[t] == NONE) { parent[t] = v; queue[tail++] = t; }
//!   }
//! }
//! ```
//!
//! Offsets are of 8 bytes, the rest of 4; parents are cleared 32 bytes at a time. Two instructions
//! a clearing store, six a vertex, six an edge, three more an edge that finds a new vertex. The
//! number of vertices is the largest power of two that fits, so the footprint may be half of what
//! was asked.

use std::ops::Range;

use terrace_base::{Error, Result};

use super::kernel::{KernelSettings, MAX_BUILT, generated, zeroed};
use super::log::{Heap, Log};
use super::permutation::Permutation;
use super::random::Random;
use crate::source::Source;

/// Bytes of an offset into the targets.
const OFFSET: u64 = 8;
/// Bytes of a vertex number.
const VERTEX: u64 = 4;
/// What one instruction of memset stores.
const WIDE: u64 = 32;
/// Least binary logarithm of the number of vertices: clearing them takes a whole wide store.
const LEAST_SCALE: u32 = 3;
/// Vertex numbers and their count fit into 32 bits.
const MOST_SCALE: u32 = 31;
const UNSEEN: u32 = u32::MAX;

/// Breadth-first searches of a graph like a social network's (R-MAT, as in Graph500)
///
/// One search after the other, each from another vertex. The graph is really built in memory; its
/// number of vertices is the largest power of two that fits into the footprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct Bfs {
    /// Edges for each vertex, before each is stored in both directions
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", default_value_t = 16, value_parser = terrace_base::count::whole(0..=u64::MAX)))]
    pub degree: u64,
}

impl Bfs {
    /// Returns the trace.
    ///
    /// # Errors
    /// Returns a usage error if the degree is absurd or the footprint too small or too large; a
    /// failure where there is no memory for the graph.
    pub fn source(&self, settings: &KernelSettings) -> Result<Box<dyn Source>> {
        if !(1..=1024).contains(&self.degree) {
            return Err(Error::usage(format!(
                "{} edges for each vertex are no graph to search; give 1 to 1024",
                self.degree
            )));
        }
        settings.check(self.bytes(LEAST_SCALE), MAX_BUILT)?;
        let fits = |scale: &u32| self.bytes(*scale) <= settings.footprint.0;
        let scale = (LEAST_SCALE..=MOST_SCALE).take_while(fits).last();
        let scale = scale.unwrap_or(LEAST_SCALE);
        let mut random = Random::new(settings.seed);
        let graph = Graph::new(scale, self.degree, &mut random)?;
        let options = [
            ("vertices", (1u64 << scale).to_string()),
            ("edges", (self.degree << scale).to_string()),
        ];
        let mut search = Search::new(graph, random)?;
        let step = move |log: &mut Log| search.step(log);
        Ok(generated("bfs", settings, &options, step))
    }

    /// What a graph of 2^scale vertices takes with what a search needs.
    fn bytes(&self, scale: u32) -> u64 {
        let vertices = 1u64 << scale;
        (vertices + 1) * OFFSET + vertices * (2 * self.degree + 2) * VERTEX
    }
}

/// A graph in compressed sparse rows: `targets[offsets[v]..offsets[v + 1]]` are the neighbours of
/// `v`.
struct Graph {
    offsets: Vec<u64>,
    targets: Vec<u32>,
}

impl Graph {
    fn new(scale: u32, degree: u64, random: &mut Random) -> Result<Self> {
        let vertices = 1u64 << scale;
        let labels = Permutation::new(vertices, random);
        let mut graph = Self {
            offsets: zeroed(vertices + 1)?,
            targets: zeroed(2 * degree * vertices)?,
        };
        // The edges are drawn twice from the same stream, so that they need not be kept.
        let mut again = random.clone();
        for _ in 0..degree * vertices {
            for end in edge(scale, &labels, random) {
                graph.offsets[end as usize] += 1;
            }
        }
        graph.sum_up();
        for _ in 0..degree * vertices {
            let [from, to] = edge(scale, &labels, &mut again);
            graph.insert(from, to);
            graph.insert(to, from);
        }
        Ok(graph)
    }

    /// Replaces the number of neighbours of each vertex by the end of its row.
    fn sum_up(&mut self) {
        let mut end = 0;
        for offset in &mut self.offsets {
            end += *offset;
            *offset = end;
        }
    }

    /// Fills rows from their ends, whereby each offset becomes its row's beginning.
    fn insert(&mut self, from: u32, to: u32) {
        let offset = &mut self.offsets[from as usize];
        *offset -= 1;
        self.targets[*offset as usize] = to;
    }

    fn vertices(&self) -> u64 {
        self.offsets.len() as u64 - 1
    }

    fn neighbours(&self, vertex: u32) -> Range<u64> {
        self.offsets[vertex as usize]..self.offsets[vertex as usize + 1]
    }
}

/// An edge: at each of `scale` levels one quarter of the adjacency matrix is chosen.
fn edge(scale: u32, labels: &Permutation, random: &mut Random) -> [u32; 2] {
    // 0.57, 0.19, 0.19 and 0.05 of 2^16, added up.
    const QUARTERS: [u64; 3] = [37_356, 49_808, 62_260];
    let (mut from, mut to, mut bits) = (0u64, 0u64, 0u64);
    for level in 0..scale {
        if level % 4 == 0 {
            bits = random.bits();
        }
        let quarter = QUARTERS.iter().filter(|end| bits & 0xffff >= **end).count() as u64;
        from = (from << 1) | (quarter >> 1);
        to = (to << 1) | (quarter & 1);
        bits >>= 16;
    }
    [labels.at(from) as u32, labels.at(to) as u32]
}

struct Search {
    graph: Graph,
    parents: Vec<u32>,
    queue: Vec<u32>,
    random: Random,
    /// The number of vertices whose parents are cleared; the search goes on when all are.
    cleared: u64,
    /// Entries that were taken from the queue.
    head: usize,
    /// The vertex that was taken last, and its edges that were not followed yet.
    vertex: u32,
    edges: Range<u64>,
    offsets: u64,
    targets: u64,
    parent: u64,
    queued: u64,
}

impl Search {
    fn new(graph: Graph, random: Random) -> Result<Self> {
        let vertices = graph.vertices();
        let mut heap = Heap::new();
        Ok(Self {
            offsets: heap.array((vertices + 1) * OFFSET),
            targets: heap.array(graph.targets.len() as u64 * VERTEX),
            parent: heap.array(vertices * VERTEX),
            queued: heap.array(vertices * VERTEX),
            parents: zeroed(vertices)?,
            queue: Vec::new(),
            graph,
            random,
            cleared: 0,
            head: 0,
            vertex: 0,
            edges: 0..0,
        })
    }

    /// Clears parents; after the last of them begins a search.
    fn clear(&mut self, log: &mut Log) {
        log.store(0, self.parent + self.cleared * VERTEX, WIDE);
        log.work(1);
        self.cleared += WIDE / VERTEX;
        if self.cleared >= self.graph.vertices() {
            self.parents.fill(UNSEEN);
            self.queue.clear();
            self.head = 0;
            let root = self.root();
            self.reach(root, root, log);
        }
    }

    /// A random vertex that has neighbours.
    fn root(&mut self) -> u32 {
        loop {
            let vertex = self.random.below(self.graph.vertices()) as u32;
            if !self.graph.neighbours(vertex).is_empty() {
                return vertex;
            }
        }
    }

    fn reach(&mut self, vertex: u32, parent: u32, log: &mut Log) {
        let tail = self.queue.len() as u64;
        self.parents[vertex as usize] = parent;
        self.queue.push(vertex);
        log.store(1, self.parent + u64::from(vertex) * VERTEX, VERTEX);
        log.store(2, self.queued + tail * VERTEX, VERTEX);
        log.work(1);
    }

    /// Takes the next vertex from the queue; the search has ended if there is none.
    fn take(&mut self, log: &mut Log) {
        let Some(&vertex) = self.queue.get(self.head) else {
            self.cleared = 0;
            return;
        };
        let offset = self.offsets + u64::from(vertex) * OFFSET;
        log.load(3, self.queued + self.head as u64 * VERTEX, VERTEX);
        log.load(4, offset, OFFSET);
        log.load(5, offset + OFFSET, OFFSET);
        log.work(3);
        self.head += 1;
        self.vertex = vertex;
        self.edges = self.graph.neighbours(vertex);
    }

    fn follow(&mut self, edge: u64, log: &mut Log) {
        let target = self.graph.targets[edge as usize];
        log.load(6, self.targets + edge * VERTEX, VERTEX);
        log.load(7, self.parent + u64::from(target) * VERTEX, VERTEX);
        log.work(4);
        if self.parents[target as usize] == UNSEEN {
            self.reach(target, self.vertex, log);
        }
    }
}

impl Search {
    fn step(&mut self, log: &mut Log) -> bool {
        if self.cleared < self.graph.vertices() {
            self.clear(log);
        } else if let Some(edge) = self.edges.next() {
            self.follow(edge, log);
        } else {
            self.take(log);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::super::testing::{HEAP, Touch, Twin, behind, settings, touches};
    use super::*;

    /// The textbook search, from the given roots.
    fn twin(graph: &Graph, roots: &[u32]) -> Vec<Touch> {
        let vertices = graph.vertices();
        let offsets = HEAP;
        let targets = behind(offsets, (vertices + 1) * 8);
        let parent = behind(targets, graph.targets.len() as u64 * 4);
        let queue = behind(parent, vertices * 4);
        let mut log = Twin::default();
        for root in roots {
            for vertex in (0..vertices).step_by(8) {
                log.store(parent + vertex * 4, 32);
            }
            let mut seen = vec![false; vertices as usize];
            let mut waiting = VecDeque::new();
            let (mut head, mut tail) = (0, 0);
            let mut reach = |vertex: u32, waiting: &mut VecDeque<u32>, log: &mut Twin| {
                if !std::mem::replace(&mut seen[vertex as usize], true) {
                    log.store(parent + u64::from(vertex) * 4, 4);
                    log.store(queue + tail * 4, 4);
                    tail += 1;
                    waiting.push_back(vertex);
                }
            };
            reach(*root, &mut waiting, &mut log);
            while let Some(vertex) = waiting.pop_front() {
                log.load(queue + head * 4, 4);
                head += 1;
                log.load(offsets + u64::from(vertex) * 8, 8);
                log.load(offsets + u64::from(vertex) * 8 + 8, 8);
                for edge in graph.neighbours(vertex) {
                    let target = graph.targets[edge as usize];
                    log.load(targets + edge * 4, 4);
                    log.load(parent + u64::from(target) * 4, 4);
                    reach(target, &mut waiting, &mut log);
                }
            }
        }
        log.0
    }

    #[test]
    fn as_a_real_search_does_it() {
        for (scale, degree) in [(3, 1), (5, 2), (8, 16)] {
            let kind = Bfs { degree };
            let mut random = Random::new(6);
            let graph = Graph::new(scale, degree, &mut random).unwrap();
            let mut roots = Vec::new();
            while roots.len() < 3 {
                let root = random.below(graph.vertices()) as u32;
                if !graph.neighbours(root).is_empty() {
                    roots.push(root);
                }
            }
            let expected = twin(&graph, &roots);
            let settings = settings(expected.len() as u64, kind.bytes(scale), 6);
            assert_eq!(touches(kind.source(&settings).unwrap()), expected);
        }
    }

    #[test]
    fn edges_go_both_ways_and_the_degrees_are_skewed() {
        let (scale, degree) = (12, 16);
        let graph = Graph::new(scale, degree, &mut Random::new(1)).unwrap();
        assert_eq!(graph.targets.len(), 2 * degree as usize * (1 << scale));
        let count = |from: u32, to: u32| {
            let row = graph.neighbours(from);
            let row = &graph.targets[row.start as usize..row.end as usize];
            row.iter().filter(|t| **t == to).count()
        };
        for vertex in 0..200 {
            for edge in graph.neighbours(vertex) {
                let target = graph.targets[edge as usize];
                assert_eq!(count(vertex, target), count(target, vertex));
            }
        }
        // An even graph has degrees of 32 give or take 30; R-MAT has hubs and hermits.
        let degrees = || (0..1 << scale).map(|v| graph.neighbours(v).count());
        assert!(degrees().max() > Some(500));
        assert!(degrees().filter(|d| *d < 3).count() > 200);
    }

    #[test]
    fn the_largest_graph_that_fits() {
        let kind = Bfs { degree: 16 };
        let vertices = |footprint| {
            let source = kind.source(&settings(1, footprint, 0)).unwrap();
            let about = source.meta().about.iter();
            about.clone().find(|a| a.0 == "vertices").unwrap().1.clone()
        };
        assert_eq!(vertices(kind.bytes(10)), "1024");
        assert_eq!(vertices(kind.bytes(10) - 1), "512");
    }

    #[test]
    fn degrees_that_are_none() {
        for degree in [0, 1025] {
            let error = Bfs { degree }.source(&settings(1, 1 << 20, 0)).err();
            assert!(error.unwrap().to_string().contains("no graph to search"));
        }
    }
}
