//! As `global_allocator`, with the memory of a pool that holds persistent data as well.

use std::process::Command;

use terrace_heap::check::check;
use terrace_heap::containers::BTreeMap;
use terrace_heap::{CapacityAllocator, Cause, Heap, Mapped, Mode};

#[global_allocator]
static MEMORY: CapacityAllocator = CapacityAllocator::new();

/// Whether something lies in the pool.
fn holds<T>(heap: &Heap, what: &[T]) -> bool {
    let first = heap.base().addr();
    (first..first + heap.len() as usize).contains(&what.as_ptr().addr())
}

/// All in one: a program has one memory.
#[test]
fn a_program_lives_on_what_a_pool_has_left() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pool");
    let heap = Heap::create(&path, 64 << 20).unwrap();
    let before = vec![1u64; 1000];
    assert!(!holds(&heap, &before));
    let free = heap.usage().unwrap().free;

    let error = MEMORY.take_from(&heap, 65 << 20).unwrap_err();
    assert_eq!(error.cause(), Cause::Full, "{error}");
    assert_eq!(heap.usage().unwrap().free, free);
    let other = Heap::anonymous(1 << 20).unwrap();
    assert_eq!(
        MEMORY.take_from(&other, 1).unwrap_err().cause(),
        Cause::Usage
    );
    MEMORY.take_from(&heap, 8 << 20).unwrap();
    MEMORY.take_from(&heap, 8 << 20).unwrap();
    assert_eq!(heap.usage().unwrap().free, free - (16 << 20));

    let map = BTreeMap::<u64, [u8; 100]>::open(&heap, "map").unwrap();
    let mut rows = Vec::new();
    for key in 0..20_000 {
        if key % 100 == 0 {
            map.insert(&key, &[key as u8; 100]).unwrap();
        }
        rows.push(vec![key; 40]);
    }
    assert!(holds(&heap, &rows) && holds(&heap, &rows[777]));
    let large = vec![7u8; 20 << 20];
    assert!(!holds(&heap, &large) && MEMORY.holds(large.as_ptr()));
    // What grows beyond the pool moves out, whole.
    let mut growing = Vec::new();
    (0..3_000_000u64).for_each(|number| growing.push(number));
    assert!(!holds(&heap, &growing) && growing.iter().sum::<u64>() == 4_499_998_500_000);
    assert!(Command::new("true").status().unwrap().success());
    assert!(rows.iter().zip(0..).all(|(row, key)| *row == [key; 40]));
    assert_eq!(map.len(), Ok(200));

    // The pool is durable as it is, and stays locked as long as the program lives on it.
    drop(map);
    heap.close().unwrap();
    rows.truncate(10);
    rows.push(vec![1; 1000]);
    assert_eq!(Heap::open(&path).err().unwrap().cause(), Cause::Open);
    let copy = folder.path().join("copy");
    std::fs::copy(&path, &copy).unwrap();
    assert_eq!(check(Mapped::open(&copy, Mode::Private).unwrap()), []);
    let heap = Heap::open(&copy).unwrap();
    assert!(heap.usage().unwrap().free > free - (8 << 20));
    let map = BTreeMap::<u64, [u8; 100]>::open(&heap, "map").unwrap();
    assert_eq!(map.get(&19_900), Ok(Some([19_900u64 as u8; 100])));
}
