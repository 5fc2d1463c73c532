//! The hash table without persistence, on the program's own heap: the paper's NVMCap version.

use crate::Outcome;
use crate::keys::{Item, key_of, value_of};
use crate::options::{Options, Phase, Program};
use crate::table::hash_of;

struct Entry {
    next: Option<Box<Entry>>,
    hash: u64,
    key: Item,
    value: Item,
}

struct Table {
    count: u64,
    buckets: Vec<Option<Box<Entry>>>,
}

pub fn run(options: &Options) -> Outcome {
    if options.program != Program::Table {
        return Err("without a pool there is only the hash table".into());
    }
    let buckets = options.elements.next_power_of_two() as usize;
    let mut table = Table {
        count: 0,
        buckets: std::iter::repeat_with(|| None).take(buckets).collect(),
    };
    for &phase in &options.phases {
        for turn in 0..options.elements {
            match phase {
                Phase::Put => table.put(turn),
                Phase::Get => table.get(options.scattered(turn))?,
                Phase::Mixed => {
                    table.put(turn);
                    table.get(options.scattered(turn) % (turn + 1))?;
                }
                _ => return Err("without a pool there are put, get and mixed".into()),
            }
        }
    }
    println!("{{\"count\": {}}}", table.count);
    Ok(())
}

impl Table {
    fn bucket(&mut self, hash: u64) -> &mut Option<Box<Entry>> {
        let mask = self.buckets.len() as u64 - 1;
        &mut self.buckets[(hash & mask) as usize]
    }

    fn put(&mut self, index: u64) {
        let key = key_of(index);
        let hash = hash_of(&key);
        self.count += 1;
        let bucket = self.bucket(hash);
        *bucket = Some(Box::new(Entry {
            next: bucket.take(),
            hash,
            value: value_of(&key),
            key,
        }));
    }

    fn get(&mut self, index: u64) -> Outcome {
        let key = key_of(index);
        let hash = hash_of(&key);
        let mut at = self.bucket(hash).as_deref();
        while let Some(entry) = at {
            if entry.hash == hash && entry.key == key {
                return match entry.value == value_of(&key) {
                    true => Ok(()),
                    false => Err("an entry is wrong".into()),
                };
            }
            at = entry.next.as_deref();
        }
        Err("a key is missing".into())
    }
}
