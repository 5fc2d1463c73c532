//! What a reading of the heap has found, each as a program that showed it.

use std::sync::{Barrier, mpsc};
use std::thread;
use std::time::Duration;

use terrace_heap::containers::{HashMap, Queue};
use terrace_heap::{Cause, Heap, Result};

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
