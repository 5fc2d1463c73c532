//! The persistent hash map.

use std::ops::Range;

use terrace_heap::Heap;
use terrace_heap::containers::HashMap;

use crate::Outcome;
use crate::keys::{Item, key_of, value_of};
use crate::measure::Visited;
use crate::options::Options;
use crate::way::{Kind, Way};

const NAME: &str = "entries";
/// Number of puts in a commit.
const BATCH: u64 = 100;

pub struct Table {
    heap: Heap,
    map: HashMap<Item, Item>,
    way: Way,
}

impl Table {
    pub fn open(heap: &Heap, options: &Options, way: Way) -> Outcome<Self> {
        let map = match way.kind {
            Kind::Growing => HashMap::open(heap, NAME),
            _ => HashMap::open_with_capacity(heap, NAME, options.entries),
        };
        Ok(Self {
            heap: heap.clone(),
            map: map?,
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
            let key = key_of(options.first + turn);
            new(self.map.insert(&key, &value_of(&key))?)?;
        }
        Ok(())
    }

    fn put_batches(&self, options: &Options, turns: Range<u64>) -> Outcome {
        for from in turns.clone().step_by(BATCH as usize) {
            self.heap.transaction(|tx| {
                let map = tx.open(&self.map)?;
                for turn in from..turns.end.min(from + BATCH) {
                    let key = key_of(options.first + turn);
                    new(map.insert(&key, &value_of(&key))?)?;
                }
                Outcome::Ok(())
            })?;
        }
        Ok(())
    }

    pub fn get(&self, options: &Options, turns: Range<u64>) -> Outcome {
        for turn in turns {
            let key = key_of(options.scattered(turn));
            right(&key, self.map.get(&key)?)?;
        }
        Ok(())
    }

    pub fn delete(&self, options: &Options, turns: Range<u64>) -> Outcome {
        for turn in turns {
            let key = key_of(options.scattered(turn));
            right(&key, self.map.remove(&key)?)?;
        }
        Ok(())
    }

    pub fn iterate(&self) -> Outcome<Visited> {
        let mut visited = Visited::default();
        for entry in self.map.iter() {
            let (key, value) = entry?;
            if value[0] != !key[0] {
                return Err("an entry is wrong".into());
            }
            visited.add(key[0]);
        }
        Ok(visited)
    }
}

fn new(old: Option<Item>) -> Outcome {
    match old {
        None => Ok(()),
        Some(_) => Err("a key is there already".into()),
    }
}

fn right(key: &Item, found: Option<Item>) -> Outcome {
    match found {
        Some(value) if value == value_of(key) => Ok(()),
        _ => Err("a key is lost".into()),
    }
}
