//! What programs without `unsafe` must not be able to do.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use terrace_heap::containers::{BTreeMap, HashMap};
use terrace_heap::{CapacityBox, Heap, Hint, Place, Ptr};

fn heap() -> Heap {
    Heap::anonymous(8 << 20).unwrap()
}

/// The offset of what lies in a box.
fn offset<T>(heap: &Heap, boxed: &CapacityBox<T>) -> u64 {
    ((&raw const **boxed).addr() - heap.base().addr()) as u64
}

#[test]
fn what_lies_in_capacity_is_changed_by_no_offset() {
    let heap = heap();
    let boxed = heap.capacity_box(Box::new(7u64)).unwrap();
    let at = Ptr::<u64>::at(offset(&heap, &boxed));
    assert!(heap.set(at, 1).is_err());
    assert!(heap.write_bytes(at.cast(), &[1; 8]).is_err());
    assert!(heap.publish(at.cast::<Ptr<u64>>(), &1).is_err());
    assert!(heap.free(at.cast::<Ptr<u64>>()).is_err());
    assert!(heap.read(at).is_err());
    heap.transaction(|tx| {
        assert!(tx.set(at, 1).is_err());
        assert!(tx.write(at, &1).is_err());
        assert!(tx.write_bytes(at.offset(), &[1], Hint::Object).is_err());
        assert!(tx.free(at).is_err());
        Ok::<_, terrace_heap::Error>(())
    })
    .unwrap();
    assert_eq!(**boxed, 7);
}

#[test]
fn what_the_heap_itself_keeps_is_changed_by_no_offset() {
    let heap = heap();
    let object: Place<[u64; 4]> = heap.root("object", 0).unwrap();
    heap.publish(object, &[7; 4]).unwrap();
    // The header, the lanes, records and what is free; a root is the program's to change.
    for at in (0..heap.len()).step_by(4096) {
        let at = Ptr::<u64>::at(at);
        let is_the_program_s = heap.object(at).is_ok() || at.offset() == object.offset();
        assert!(is_the_program_s || heap.set(at, 1).is_err(), "{at:?}");
    }
    assert_eq!(heap.read(heap.read(object).unwrap()), Ok([7; 4]));
}

#[test]
fn objects_are_listed_while_others_free_them() {
    let (heap, done) = (heap(), AtomicBool::new(false));
    thread::scope(|scope| {
        let workers: Vec<_> = (0..3)
            .map(|worker| {
                let heap = &heap;
                scope.spawn(move || {
                    let place: Place<u8> = heap.root(&format!("{worker}"), 0).unwrap();
                    for round in 0..400u64 {
                        heap.publish_zeros(place, 16 + round * 391 % 200_000)
                            .unwrap();
                        heap.free(place).unwrap();
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let listed = heap.objects().unwrap();
                assert!(listed.len() <= 3 && listed.is_sorted_by_key(|object| object.offset));
            }
        });
        let ended: Vec<_> = workers.into_iter().map(|worker| worker.join()).collect();
        done.store(true, Ordering::Relaxed);
        assert!(ended.iter().all(Result::is_ok));
    });
    assert_eq!(heap.objects().unwrap(), []);
}

#[test]
fn a_child_has_no_part_in_its_parent_s_transaction() {
    let folder = tempfile::tempdir().unwrap();
    let heap = Heap::create(folder.path().join("pool"), 4 << 20).unwrap();
    let map = HashMap::<u64, u64>::open(&heap, "map").unwrap();
    let tree = BTreeMap::<str, str>::open(&heap, "tree").unwrap();
    let word: Place<u64> = heap.root("word", 0).unwrap();
    let tx = heap.begin().unwrap();
    let (opened, branches) = (tx.open(&map).unwrap(), tx.open(&tree).unwrap());
    opened.insert(&1, &2).unwrap();
    // SAFETY: the child calls what must fail, and ends.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let all_fail = opened.get(&1).is_err()
            && opened.insert(&2, &3).is_err()
            && opened.remove(&1).is_err()
            && branches.insert("a", "b").is_err()
            && branches.first().is_err()
            && tx.read(word).is_err()
            && tx.write(word, &Ptr::at(1)).is_err()
            && tx.alloc(&7u64).is_err();
        // SAFETY: nothing of the parent's is undone.
        unsafe { libc::_exit(if all_fail { 0 } else { 1 }) };
    }
    let mut status = 0;
    // SAFETY: the child is ours, and the place for its status too.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert!(
        libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0,
        "{status}"
    );
    tx.commit().unwrap();
    assert_eq!(map.get(&1), Ok(Some(2)));
}

#[test]
fn nobody_can_foresee_where_keys_lie() {
    let order = || {
        let map = HashMap::<u64, u64>::open(&heap(), "map").unwrap();
        (0..1000).for_each(|key| assert_eq!(map.insert(&key, &key), Ok(None)));
        map.iter().map(|entry| entry.unwrap().0).collect::<Vec<_>>()
    };
    assert_ne!(order(), order());
}
