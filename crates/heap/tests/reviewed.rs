//! What a reading of the heap has found, each as a program that showed it.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use terrace_heap::Heap;
use terrace_heap::containers::HashMap;

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
