//! A tree of nodes, each of which knows in which half the victim is.

use terrace_policy::llc::{Evicted, Geometry, Outcome, Request};

use super::Slow;

#[derive(Clone)]
enum Tree {
    Way(usize),
    Node {
        halves: Box<[Tree; 2]>,
        victim: usize,
    },
}

impl Tree {
    fn new(ways: &[usize]) -> Self {
        match ways {
            [way] => Self::Way(*way),
            ways => {
                let (first, second) = ways.split_at(ways.len() - ways.len() / 2);
                Self::Node {
                    halves: Box::new([Self::new(first), Self::new(second)]),
                    victim: 0,
                }
            }
        }
    }

    fn holds(&self, way: usize) -> bool {
        match self {
            Self::Way(own) => *own == way,
            Self::Node { halves, .. } => halves.iter().any(|half| half.holds(way)),
        }
    }

    fn touch(&mut self, way: usize) {
        if let Self::Node { halves, victim } = self {
            let used = usize::from(halves[1].holds(way));
            *victim = 1 - used;
            halves[used].touch(way);
        }
    }

    fn victim(&self) -> usize {
        match self {
            Self::Way(way) => *way,
            Self::Node { halves, victim } => halves[*victim].victim(),
        }
    }
}

#[derive(Clone)]
struct Set {
    lines: Vec<Evicted>,
    tree: Tree,
}

pub struct Plru {
    ways: usize,
    sets: Vec<Set>,
}

impl Plru {
    pub fn new(geometry: Geometry) -> Self {
        let ways: Vec<usize> = (0..geometry.ways).collect();
        let set = Set {
            lines: Vec::new(),
            tree: Tree::new(&ways),
        };
        Self {
            ways: geometry.ways,
            sets: vec![set; geometry.sets],
        }
    }
}

impl Slow for Plru {
    fn access(&mut self, request: &Request) -> Outcome {
        let index = request.line % self.sets.len() as u64;
        let Set { lines, tree } = &mut self.sets[index as usize];
        let dirty = request.kind.writes();
        if let Some(way) = lines.iter().position(|held| held.line == request.line) {
            lines[way].dirty |= dirty;
            tree.touch(way);
            return Outcome::Hit { position: None };
        }
        let new = Evicted {
            line: request.line,
            dirty,
        };
        if lines.len() < self.ways {
            lines.push(new);
            tree.touch(lines.len() - 1);
            return Outcome::Miss { evicted: None };
        }
        let way = tree.victim();
        tree.touch(way);
        let evicted = Some(std::mem::replace(&mut lines[way], new));
        Outcome::Miss { evicted }
    }
}
