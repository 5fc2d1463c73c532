//! The persistent maps with keys and values of any length.

use std::ops::Range;

use terrace_heap::Heap;
use terrace_heap::containers::{BTreeMap, HashMap};

use crate::Outcome;
use crate::measure::Visited;
use crate::options::Options;
use crate::pair::{Pair, sum_of};
use crate::way::{Kind, Way};

const NAME: &str = "bytes";
/// Number of puts in a commit.
const BATCH: u64 = 100;

pub struct Maps {
    heap: Heap,
    map: Map,
    way: Way,
}

enum Map {
    Hash(HashMap<[u8], [u8]>),
    Tree(BTreeMap<[u8], [u8]>),
}

impl Maps {
    pub fn open(heap: &Heap, options: &Options, way: Way) -> Outcome<Self> {
        let map = match way.kind {
            Kind::Tree => Map::Tree(BTreeMap::open(heap, NAME)?),
            _ => Map::Hash(HashMap::open_with_capacity(heap, NAME, options.entries)?),
        };
        Ok(Self {
            heap: heap.clone(),
            map,
            way,
        })
    }

    pub fn put(&self, options: &Options, turns: Range<u64>) -> Outcome {
        match self.way.batched {
            true => self.put_batches(options, turns),
            false => self.put_each(options, turns),
        }
    }

    fn put_each(&self, options: &Options, turns: Range<u64>) -> Outcome {
        for turn in turns {
            let entry = Pair::of(options.first + turn);
            new(match &self.map {
                Map::Hash(map) => map.insert(entry.key(), entry.value())?,
                Map::Tree(map) => map.insert(entry.key(), entry.value())?,
            })?;
        }
        Ok(())
    }

    fn put_batches(&self, options: &Options, turns: Range<u64>) -> Outcome {
        for from in turns.clone().step_by(BATCH as usize) {
            let entries =
                (from..turns.end.min(from + BATCH)).map(|turn| Pair::of(options.first + turn));
            self.heap.transaction(|tx| {
                match &self.map {
                    Map::Hash(map) => {
                        let map = tx.open(map)?;
                        for entry in entries.clone() {
                            new(map.insert(entry.key(), entry.value())?)?;
                        }
                    }
                    Map::Tree(map) => {
                        let map = tx.open(map)?;
                        for entry in entries.clone() {
                            new(map.insert(entry.key(), entry.value())?)?;
                        }
                    }
                }
                Outcome::Ok(())
            })?;
        }
        Ok(())
    }

    pub fn get(&self, options: &Options, turns: Range<u64>) -> Outcome {
        for turn in turns {
            let entry = Pair::of(options.scattered(turn));
            right(
                &entry,
                match &self.map {
                    Map::Hash(map) => map.get(entry.key())?,
                    Map::Tree(map) => map.get(entry.key())?,
                },
            )?;
        }
        Ok(())
    }

    pub fn delete(&self, options: &Options, turns: Range<u64>) -> Outcome {
        for turn in turns {
            let entry = Pair::of(options.scattered(turn));
            right(
                &entry,
                match &self.map {
                    Map::Hash(map) => map.remove(entry.key())?,
                    Map::Tree(map) => map.remove(entry.key())?,
                },
            )?;
        }
        Ok(())
    }

    /// Visits all entries: of the tree with a cursor, which lends them as the peers do.
    pub fn iterate(&self) -> Outcome<Visited> {
        let mut visited = Visited::default();
        match &self.map {
            Map::Hash(map) => {
                for entry in map.iter() {
                    let (key, value) = entry?;
                    visited.add(sum_of(&key, &value));
                }
            }
            Map::Tree(map) => {
                let mut cursor = map.cursor();
                while let Some((key, value)) = cursor.next()? {
                    visited.add(sum_of(key, value));
                }
            }
        }
        Ok(visited)
    }

    /// Visits the entries from each of some keys on, with a cursor.
    pub fn scan(&self, options: &Options) -> Outcome<Visited> {
        let map = self.tree()?;
        let mut visited = Visited::default();
        for turn in 0..options.scans() {
            let mut cursor = map.cursor();
            let mut found = cursor.seek(Pair::of(options.scattered(turn)).key())?;
            for _ in 0..options.scanned() {
                let Some((key, value)) = found else { break };
                visited.add(sum_of(key, value));
                found = cursor.next()?;
            }
        }
        Ok(visited)
    }

    /// Same as [`Maps::scan`], with an iterator of copies.
    pub fn range(&self, options: &Options) -> Outcome<Visited> {
        let map = self.tree()?;
        let mut visited = Visited::default();
        for turn in 0..options.scans() {
            let entry = Pair::of(options.scattered(turn));
            let range = map.range::<&[u8]>(entry.key()..)?;
            for found in range.take(options.scanned()) {
                let (key, value) = found?;
                visited.add(sum_of(&key, &value));
            }
        }
        Ok(visited)
    }

    fn tree(&self) -> Outcome<&BTreeMap<[u8], [u8]>> {
        match &self.map {
            Map::Tree(map) => Ok(map),
            Map::Hash(_) => Err("a hash map has no ranges".into()),
        }
    }
}

fn new(old: Option<Vec<u8>>) -> Outcome {
    match old {
        None => Ok(()),
        Some(_) => Err("a key is there already".into()),
    }
}

fn right(entry: &Pair, found: Option<Vec<u8>>) -> Outcome {
    match found {
        Some(value) if value == entry.value() => Ok(()),
        _ => Err("a key is lost".into()),
    }
}
