//! What a reading of the heap has found, each as a program that showed it.

use std::collections::BTreeMap as Twin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::thread;
use std::time::Duration;

use terrace_heap::containers::{BTreeMap, HashMap, Queue};
use terrace_heap::medium::simulated::{Granule, Simulated};
use terrace_heap::{Cause, Counts, Error, Heap, Kind, Medium, Result, use_lane};

#[path = "common/mod.rs"]
mod common;
use common::{Memory, create, open, options, used};

fn memory(chunks: u64) -> Memory {
    Arc::new(Simulated::new(chunks * 4096, Granule::Line))
}

fn sorted(mut offsets: Vec<u64>) -> Vec<u64> {
    offsets.sort_unstable();
    offsets
}

/// A count of all entries waits for a transaction, and that for no count.
#[test]
fn who_counts_a_map_and_a_transaction_do_not_wait_for_each_other() {
    let heap = Heap::anonymous(8 << 20).unwrap();
    let map = HashMap::<u64, u64>::open(&heap, "map").unwrap();
    let (held, is_held) = mpsc::channel();
    thread::scope(|scope| {
        let map = &map;
        let counted = scope.spawn(move || {
            is_held.recv().unwrap();
            map.len().unwrap()
        });
        heap.transaction(|tx| {
            let map = tx.open(map)?;
            map.insert(&0, &0)?;
            let _ = held.send(());
            // So that the other thread waits by now for the first entry's lock.
            thread::sleep(Duration::from_millis(50));
            (1..500).try_for_each(|key| map.insert(&key, &key).map(drop))
        })
        .unwrap();
        let counted = counted.join().unwrap();
        assert!(counted == 0 || counted == 500, "{counted}");
    });
}

/// Two threads that nest transactions of two heaps in opposite order.
#[test]
fn transactions_of_two_heaps_do_not_wait_for_each_other() {
    let heaps = [0, 1].map(|_| Heap::anonymous(4 << 20).unwrap());
    let queues = [0, 1].map(|i| Queue::<u64>::open(&heaps[i], "queue").unwrap());
    let both = Barrier::new(2);
    let nest = |first: usize| {
        let mut met = false;
        loop {
            let done: Result<()> = heaps[first].transaction(|outer| {
                outer.open(&queues[first])?.push(&1)?;
                if !met {
                    met = true;
                    both.wait();
                }
                heaps[1 - first].transaction(|inner| inner.open(&queues[1 - first])?.push(&1))
            });
            match done {
                Err(error) if error.cause() == Cause::Again => thread::yield_now(),
                done => return done.unwrap(),
            }
        }
    };
    thread::scope(|scope| {
        scope.spawn(|| nest(0));
        nest(1);
    });
    for queue in queues {
        assert_eq!(queue.len(), Ok(2));
    }
}

/// What a transaction was told had failed has not happened, and what it was told is there, is.
#[test]
fn what_breaks_off_in_a_transaction_does_not_happen_by_halves() {
    for bytes in [40, 3000] {
        let heap = create(memory(64), &options(2));
        let tree = BTreeMap::<u64, [u8], Memory>::open(&heap, "tree").unwrap();
        let map = HashMap::<u64, [u8], Memory>::open(&heap, "map").unwrap();
        let mut twins = [(); 2].map(|()| Twin::new());
        let mut failures = 0;
        for round in 0..1000 {
            let (key, value) = (
                round * 37 % 97,
                vec![round as u8; bytes + round as usize % 7 * 500],
            );
            let mut is_there = [false; 2];
            let done = heap.transaction(|tx| -> Result<()> {
                is_there[0] = tx.open(&tree)?.insert(&key, &value).is_ok();
                is_there[1] = tx.open(&map)?.insert(&key, &value).is_ok();
                Ok(())
            });
            for (twin, is_there) in twins.iter_mut().zip(is_there) {
                if done.is_ok() && is_there {
                    twin.insert(key, value.clone());
                }
            }
            failures += u32::from(done.is_ok() && is_there != [true; 2]);
            let found: Result<_> = tree.iter().collect();
            assert_eq!(found, Ok(twins[0].clone()), "{round}");
            let found: Result<_> = map.iter().collect();
            assert_eq!(found, Ok(twins[1].clone()), "{round}");
            assert_eq!(map.len(), Ok(twins[1].len() as u64));
            let reached = [tree.objects().unwrap(), map.objects().unwrap()].concat();
            assert_eq!(sorted(reached), used(&heap), "{round}");
        }
        assert!(failures > 50, "{failures}");
    }
}

/// Another lane puts entries into segments that a map was made with.
#[test]
fn a_map_made_for_many_entries_is_changed_by_all_lanes() {
    let heap = create(memory(512), &options(3));
    use_lane(0);
    let map = HashMap::<u64, u64, Memory>::open_with_capacity(&heap, "map", 14 * 512).unwrap();
    use_lane(1);
    for key in 0..100 {
        map.insert(&key, &key).unwrap();
    }
    assert_eq!(map.len(), Ok(100));
}

/// A container whose root was freed by hand is none any more.
#[test]
fn what_takes_the_place_of_a_container_is_another_one() {
    let memory = memory(64);
    let heap = create(Arc::clone(&memory), &options(2));
    let old = Queue::<u64, Memory>::open(&heap, "old").unwrap();
    drop(old);
    let place = heap.roots().unwrap()[0].place;
    heap.free(place).unwrap();
    heap.remove_root("old").unwrap();
    let new = Queue::<u64, Memory>::open(&heap, "new").unwrap();
    new.push(&7).unwrap();
    drop(new);
    heap.close().unwrap();
    let heap = open(memory).unwrap();
    let new = Queue::<u64, Memory>::open(&heap, "new").unwrap();
    assert_eq!(new.pop(), Ok(Some(7)));
}

/// A memory that loses its device.
struct Failing {
    memory: Memory,
    failed: AtomicBool,
}

// SAFETY: the memory is the inner medium's.
unsafe impl Medium for Failing {
    fn base(&self) -> *mut u8 {
        self.memory.base()
    }
    fn len(&self) -> u64 {
        self.memory.len()
    }
    fn max_len(&self) -> u64 {
        self.memory.max_len()
    }
    fn grow(&self, len: u64) -> Result<()> {
        self.memory.grow(len)
    }
    fn store(&self, offset: u64, bytes: &[u8]) {
        self.memory.store(offset, bytes);
    }
    fn store_word(&self, offset: u64, word: u64) {
        self.memory.store_word(offset, word);
    }
    fn flush(&self, offset: u64, len: u64) {
        self.memory.flush(offset, len);
    }
    fn fence(&self) -> Result<()> {
        match self.failed.load(Ordering::Relaxed) {
            true => Err(Error::damaged("the device is gone")),
            false => self.memory.fence(),
        }
    }
    fn counts(&self) -> Counts {
        self.memory.counts()
    }
    fn kind(&self) -> Kind {
        self.memory.kind()
    }
}

/// The kernel may yet write what was stored when a fence failed. So what is there then is one
/// operation, and not what is left of several.
#[test]
fn what_is_tried_after_a_failed_fence_changes_nothing() {
    for keys in 2..12 {
        let memory = memory(64);
        let failing = Arc::new(Failing {
            memory: Arc::clone(&memory),
            failed: AtomicBool::new(false),
        });
        let heap = create(Arc::clone(&failing), &options(1));
        let map = HashMap::<u64, [u8], _>::open(&heap, "map").unwrap();
        for key in 0..keys {
            map.insert(&key, &[1; 8]).unwrap();
        }
        // There is room for longer values without another chunk.
        map.insert(&keys, &[2; 80]).unwrap();
        failing.failed.store(true, Ordering::Relaxed);
        for key in 0..keys {
            map.insert(&key, &[2; 80]).unwrap_err();
        }
        drop((map, heap));
        let left = Arc::new(Simulated::from_bytes(&memory.bytes(), Granule::Line));
        let heap = open(left).unwrap();
        let map = HashMap::<u64, [u8], Memory>::open(&heap, "map").unwrap();
        for key in 0..keys {
            let value = map.get(&key).unwrap().unwrap_or_default();
            let is_new = key == 0 && value == [2; 80];
            assert!(is_new || value == [1; 8], "{key} of {keys}: {value:?}");
        }
        assert_eq!(map.len(), Ok(keys + 1));
        assert_eq!(sorted(map.objects().unwrap()), used(&heap));
    }
}
