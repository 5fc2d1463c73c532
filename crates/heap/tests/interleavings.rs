//! A few operations of two threads at the same time, so small that Miri looks at them in many
//! orders (`make miri`). On memory without a file, where no lock of a simulation comes between
//! them.

use std::thread;

use terrace_heap::containers::{BTreeMap, HashMap, Queue, Vector};
use terrace_heap::{Heap, Mapped, Place, Ptr, Result, use_lane};

#[path = "common/mod.rs"]
mod common;
use common::{create, options, used};

fn heap(lanes: u16) -> Heap {
    create(Mapped::anonymous(96 << 10).unwrap(), &options(lanes))
}

/// What is used is what is reached.
fn check(heap: &Heap, mut reached: Vec<u64>) {
    reached.sort_unstable();
    assert_eq!(reached, used(heap));
}

/// Two threads, each with its number, in lanes of their own or in the same one.
fn both(work: impl Fn(u64) -> Result<()> + Sync) {
    let work = &work;
    thread::scope(|scope| {
        let threads = [0, 1].map(|number| {
            scope.spawn(move || {
                use_lane(number as usize);
                work(number)
            })
        });
        for thread in threads {
            thread.join().unwrap().unwrap();
        }
    });
}

/// With one lane they wait for each other; with two what one does is settled by the other.
fn with_lanes(test: impl Fn(Heap)) {
    [1, 2].into_iter().for_each(|lanes| test(heap(lanes)));
}

#[test]
fn objects_come_and_go() {
    with_lanes(|heap| {
        let places: [Place<[u64; 2]>; 2] = ["0", "1"].map(|name| heap.root(name, 0).unwrap());
        both(|number| {
            let place = places[number as usize];
            for i in 0..3 {
                let object = heap.publish(place, &[number, i])?;
                assert_eq!(heap.read(object)?, [number, i]);
                if i < 2 {
                    heap.free(place)?;
                }
            }
            Ok(())
        });
        check(
            &heap,
            places
                .map(|place| heap.read(place).unwrap().offset())
                .to_vec(),
        );
    });
}

#[test]
fn a_map_is_used_by_both() {
    with_lanes(|heap| {
        let map = HashMap::<u64, u64>::open_with_capacity(&heap, "map", 1).unwrap();
        both(|number| {
            for i in 0..3 {
                assert_eq!(map.insert(&(i * 2 + number), &i)?, None);
                assert_eq!(map.get(&(i * 2 + number))?, Some(i));
            }
            assert_eq!(map.remove(&number)?, Some(0));
            map.get(&(1 - number)).map(drop)
        });
        assert_eq!(map.len(), Ok(4));
        check(&heap, map.objects().unwrap());
    });
}

#[test]
fn a_transaction_of_one_is_seen_wholly_by_the_other() {
    with_lanes(|heap| {
        let (tree, queue) = (
            BTreeMap::<u64, u64>::open(&heap, "tree").unwrap(),
            Queue::<u64>::open(&heap, "queue").unwrap(),
        );
        both(|number| {
            heap.transaction(|tx| {
                let (tree, queue) = (tx.open(&tree)?, tx.open(&queue)?);
                assert_eq!(tree.len()?, queue.len()?);
                queue.push(&number)?;
                tree.insert(&number, &1).map(drop)
            })?;
            tree.get(&(1 - number)).map(drop)
        });
        assert_eq!((tree.len(), queue.len()), (Ok(2), Ok(2)));
        check(
            &heap,
            [tree.objects(), queue.objects()]
                .map(Result::unwrap)
                .concat(),
        );
    });
}

#[test]
fn elements_are_pushed_by_both_and_read_by_both() {
    with_lanes(|heap| {
        let vector = Vector::<u64>::open(&heap, "vector").unwrap();
        both(|number| {
            vector.push(&number)?;
            assert!(vector.iter().all(|element| element.is_ok()));
            vector.push(&number)
        });
        assert_eq!(vector.len(), Ok(4));
    });
}

/// One changes a word that the other reads without a lock: it sees the old one or the new one.
#[test]
fn a_word_is_read_while_it_is_changed() {
    with_lanes(|heap| {
        let word: Ptr<u64> = heap.root::<u8>("word", 0).unwrap().cast();
        both(|number| match number {
            0 => (1..4).try_for_each(|value| heap.set(word, value)),
            _ => {
                let (first, second) = (heap.read(word)?, heap.read(word)?);
                assert!(first <= second && second < 4);
                Ok(())
            }
        });
        assert_eq!(heap.read(word), Ok(3));
    });
}

/// What one frees the other is given.
#[test]
fn capacity_goes_from_one_to_the_other() {
    with_lanes(|heap| {
        both(|number| {
            for bytes in [16, 200, 5000] {
                let mut memory = heap.capacity_alloc(bytes)?;
                // SAFETY: it is this thread's alone until it is freed, once.
                unsafe {
                    let bytes = memory.as_mut();
                    bytes.fill(number as u8);
                    assert!(bytes.iter().all(|&byte| byte == number as u8));
                    heap.capacity_free(memory.cast())?;
                }
            }
            Ok(())
        });
        check(&heap, Vec::new());
    });
}

/// One makes the allocation log shorter while the other adds to it.
#[test]
fn the_log_is_compacted_while_it_grows() {
    with_lanes(|heap| {
        let places: [Place<u64>; 3] = ["0", "1", "2"].map(|name| heap.root(name, 0).unwrap());
        both(|number| match number {
            0 => heap.compact().map(drop),
            _ => {
                for place in places {
                    heap.publish(place, &1)?;
                }
                heap.free(places[1])
            }
        });
        let left = [places[0], places[2]].map(|place| heap.read(place).unwrap().offset());
        check(&heap, left.to_vec());
    });
}
