//! Transactions that are begun and committed, and how they become part of each other.

use std::mem;

use terrace_heap::{Heap, Ptr};

fn heap() -> Heap {
    Heap::anonymous(1 << 20).unwrap()
}

fn word(heap: &Heap, name: &str) -> Ptr<u64> {
    heap.root::<u8>(name, 0).unwrap().cast()
}

#[test]
fn what_is_committed_happens_and_what_is_dropped_does_not() {
    let heap = heap();
    let (a, b) = (word(&heap, "a"), word(&heap, "b"));
    let tx = heap.begin().unwrap();
    tx.set(a, 1).unwrap();
    tx.set(b, 2).unwrap();
    assert!(heap.in_transaction());
    assert_eq!((tx.read(a), heap.read(a)), (Ok(1), Ok(0)));
    tx.commit().unwrap();
    assert_eq!((heap.read(a), heap.read(b)), (Ok(1), Ok(2)));

    let tx = heap.begin().unwrap();
    tx.set(a, 3).unwrap();
    let object = tx.alloc(&[7u64; 8]).unwrap();
    tx.set(b, object.offset()).unwrap();
    drop(tx);
    assert_eq!((heap.read(a), heap.read(b)), (Ok(1), Ok(2)));
    assert!(!heap.in_transaction() && heap.objects().unwrap().is_empty());
}

#[test]
fn a_part_happens_with_the_whole() {
    let heap = heap();
    let (a, b) = (word(&heap, "a"), word(&heap, "b"));
    let whole = heap.begin().unwrap();
    whole.set(a, 1).unwrap();
    let part = heap.clone();
    let part = part.begin().unwrap();
    assert_eq!(part.read(a), Ok(1));
    part.set(b, 2).unwrap();
    heap.transaction(|tx| tx.set(a, 3)).unwrap();
    part.commit().unwrap();
    assert_eq!((heap.read(a), heap.read(b)), (Ok(0), Ok(0)));
    whole.commit().unwrap();
    assert_eq!((heap.read(a), heap.read(b)), (Ok(3), Ok(2)));
}

#[test]
fn a_part_that_is_dropped_has_all_fail() {
    let heap = heap();
    let a = word(&heap, "a");
    let whole = heap.begin().unwrap();
    whole.set(a, 1).unwrap();
    drop(heap.begin().unwrap());
    let failed = whole.commit().unwrap_err();
    assert!(failed.to_string().contains("nested"), "{failed}");
    assert_eq!(heap.read(a), Ok(0));
}

#[test]
fn a_part_can_do_nothing_once_the_whole_has_ended() {
    let heap = heap();
    let a = word(&heap, "a");
    let whole = heap.begin().unwrap();
    let part = heap.begin().unwrap();
    part.set(a, 1).unwrap();
    let failed = whole.commit().unwrap_err();
    assert!(failed.to_string().contains("has not ended"), "{failed}");
    part.set(a, 2).unwrap_err();
    part.read(a).unwrap_err();
    part.alloc(&1u64).unwrap_err();
    part.free(a).unwrap_err();
    part.commit().unwrap_err();
    assert_eq!(heap.read(a), Ok(0));
    heap.transaction(|tx| tx.set(a, 4)).unwrap();
    assert_eq!(heap.read(a), Ok(4));
}

/// Transactions of different heaps are independent, and end in any order.
#[test]
fn two_heaps_have_two_transactions() {
    let heaps = [heap(), heap()];
    let [a, b] = [0, 1].map(|i| word(&heaps[i], "a"));
    let first = heaps[0].begin().unwrap();
    let second = heaps[1].begin().unwrap();
    first.set(a, 1).unwrap();
    second.set(b, 2).unwrap();
    first.commit().unwrap();
    assert!(!heaps[0].in_transaction() && heaps[1].in_transaction());
    second.commit().unwrap();
    assert_eq!((heaps[0].read(a), heaps[1].read(b)), (Ok(1), Ok(2)));
}

/// A leaked transaction never ends, and no later heap takes it for its own.
#[test]
fn a_leaked_transaction_is_not_found_again() {
    for _ in 0..20 {
        let heap = heap();
        let a = word(&heap, "a");
        assert!(!heap.in_transaction());
        let tx = heap.begin().unwrap();
        tx.set(a, 1).unwrap();
        mem::forget(tx);
    }
}
