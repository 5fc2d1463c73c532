//! A program that lives on capacity: all that this test allocates, and its harness, too.

use std::collections::{BTreeMap, HashMap};
use std::sync::mpsc;
use std::thread;

use terrace_heap::CapacityAllocator;

#[global_allocator]
static HEAP: CapacityAllocator = CapacityAllocator::new();

#[test]
fn collections_live_on_it() {
    let mut map: HashMap<String, Vec<u64>> = HashMap::new();
    for i in 0..20_000u64 {
        map.entry(format!("{}", i % 1000)).or_default().push(i);
    }
    let sorted: BTreeMap<_, _> = map.iter().collect();
    assert_eq!(sorted.len(), 1000);
    assert!(
        map.values()
            .all(|all| all.len() == 20 && HEAP.holds(all.as_ptr().cast()))
    );
    let large = vec![1u8; 100 << 20];
    assert!(HEAP.holds(large.as_ptr()) && HEAP.bytes() >= 100 << 20);
    let on_stack = 0u8;
    assert!(!HEAP.holds(&raw const on_stack));
}

#[test]
fn threads_pass_memory_on() {
    let (send, receive) = mpsc::channel::<Vec<u64>>();
    let workers: Vec<_> = (0..4u64)
        .map(|worker| {
            let send = send.clone();
            thread::spawn(move || {
                for i in 0..2000 {
                    send.send((0..i % 300).map(|k| worker * k).collect())
                        .unwrap();
                }
            })
        })
        .collect();
    drop(send);
    let sum: u64 = receive.iter().flatten().sum();
    workers
        .into_iter()
        .for_each(|worker| worker.join().unwrap());
    let slow: u64 = (0..4)
        .flat_map(|w| (0..2000).flat_map(move |i| (0..i % 300).map(move |k| w * k)))
        .sum();
    assert_eq!(sum, slow);
}

#[test]
fn alignment_is_kept() {
    #[repr(align(65536))]
    struct Aligned(#[allow(dead_code)] [u8; 10]);
    let all: Vec<Box<Aligned>> = (0..20).map(|_| Box::new(Aligned([1; 10]))).collect();
    assert!(
        all.iter()
            .all(|one| (&raw const **one).addr().is_multiple_of(65536))
    );
}
