//! Does with a pool all that can be done with one. Nothing panics or goes on without end, and what
//! is refused `check` finds.

use std::collections::BTreeSet;
use std::sync::Arc;

use terrace_heap::check::check;
use terrace_heap::containers::{BTreeMap, HashMap, Queue, Vector};
use terrace_heap::dump::{Dump, Field};
use terrace_heap::info::info;
use terrace_heap::medium::simulated::{Granule, Simulated};
use terrace_heap::{Error, Place, Ptr, use_lane};

use crate::common::{Memory, TestHeap, open};

/// More elements than the containers of these pools can have.
const MANY: usize = 4000;

type Work = fn(&TestHeap) -> Result<(), Error>;

/// What is done with a heap that could be opened.
const WORK: [Work; 7] = [
    follow,
    read_maps,
    read_ordered,
    read_sequences,
    work,
    containers,
    free,
];

/// Looks at a pool in all ways.
pub fn look(bytes: &[u8]) {
    let found = check(simulated(bytes));
    let informed = info(simulated(bytes));
    dump(bytes);
    let opened = open(simulated(bytes));
    assert_eq!(opened.is_ok(), informed.is_ok(), "{:?}", opened.err());
    match opened {
        Err(error) => assert!(!found.is_empty(), "{error}, and nothing was found"),
        Ok(heap) => {
            // Each may find damage; the others go on.
            for each in WORK {
                let _ = each(&heap);
            }
            let _ = heap.close();
        }
    }
}

fn simulated(bytes: &[u8]) -> Memory {
    Arc::new(Simulated::from_bytes(bytes, Granule::Line))
}

fn dump(bytes: &[u8]) {
    let Ok(dump) = Dump::open(simulated(bytes)) else {
        return;
    };
    for item in dump.items() {
        assert!(!item.to_string().is_empty());
        for (name, field) in &item.fields {
            if let ("object", Field::Number(object)) = (*name, field) {
                let _ = dump.object(*object);
            }
        }
    }
}

/// Follows every word that could be a pointer.
fn follow(heap: &TestHeap) -> Result<(), Error> {
    let mut seen = BTreeSet::new();
    let roots = heap.roots()?;
    let mut next: Vec<u64> = roots.iter().map(|root| root.pointer.offset()).collect();
    next.extend(heap.objects()?.iter().map(|object| object.offset));
    while let Some(at) = next.pop() {
        if seen.insert(at)
            && let Ok(words) = heap.read(Ptr::<[u64; 6]>::at(at))
        {
            next.extend(words);
            let _ = heap.object(Ptr::<u8>::at(at));
        }
    }
    Ok(())
}

fn read_maps(heap: &TestHeap) -> Result<(), Error> {
    if let Ok(numbers) = HashMap::<u64, u64, _>::open(heap, "numbers") {
        let _ = (0..30).try_for_each(|i| numbers.get(&i).map(drop));
        let _ = numbers.iter().take(MANY).count();
        let _ = (numbers.len(), numbers.objects());
    }
    let words = HashMap::<[u8], [u8], _>::open(heap, "words")?;
    let _ = (0..30).try_for_each(|i| words.get(&[i; 40][..i.into()]).map(drop));
    let _ = words.iter().take(MANY).count();
    let _ = (words.len(), words.objects());
    Ok(())
}

fn read_ordered(heap: &TestHeap) -> Result<(), Error> {
    if let Ok(ordered) = BTreeMap::<u64, [u64; 3], _>::open(heap, "ordered") {
        let _ = (0..30).try_for_each(|i| ordered.get(&i).map(drop));
        let _ = ordered.iter().take(MANY).count();
        let _ = ordered.range(5..20)?.rev().take(MANY).count();
        let _ = (
            ordered.first(),
            ordered.last(),
            ordered.len(),
            ordered.objects(),
        );
    }
    let texts = BTreeMap::<[u8], [u8], _>::open(heap, "texts")?;
    let _ = (0..30).try_for_each(|i| texts.get(&[i; 40][..i.into()]).map(drop));
    let _ = texts.prefix(&[7]).take(MANY).count();
    let _ = (texts.get(b"long"), texts.len(), texts.objects());
    let mut cursor = texts.cursor();
    let _ = cursor.seek(&[9])?;
    for _ in 0..MANY {
        if cursor.prev()?.is_none() {
            break;
        }
    }
    Ok(())
}

fn read_sequences(heap: &TestHeap) -> Result<(), Error> {
    if let Ok(queue) = Queue::<[u8], _>::open(heap, "queue") {
        let _ = (queue.front(), queue.len(), queue.objects());
        let _ = queue.iter().take(MANY).count();
    }
    let vector = Vector::<[u64; 3], _>::open(heap, "vector")?;
    let _ = (vector.get(7), vector.len(), vector.objects());
    let _ = vector.iter().take(MANY).count();
    Ok(())
}

/// Changes what is there, in all lanes.
fn work(heap: &TestHeap) -> Result<(), Error> {
    let _ = heap.compact();
    for lane in 0..3 {
        use_lane(lane);
        let place: Place<[u64; 6]> = heap.root(&format!("more {lane}"), 0)?;
        let node = heap.publish(place, &[3; 6])?;
        heap.set(node.field(8), 4)?;
        heap.transaction(|tx| tx.write(node, &[5; 6]))?;
        let _ = heap.resize(place.cast(), 500);
        heap.free(place)?;
    }
    heap.usage().map(drop)
}

/// Changes each container.
fn containers(heap: &TestHeap) -> Result<(), Error> {
    let text = |i: u64| [i as u8; 40];
    for i in (0..40).step_by(3) {
        let part = &text(i)[..i as usize];
        if let Ok(numbers) = HashMap::<u64, u64, _>::open(heap, "numbers") {
            let _ = (numbers.insert(&i, &1), numbers.remove(&(i / 2)));
        }
        if let Ok(words) = HashMap::<[u8], [u8], _>::open(heap, "words") {
            let _ = (
                words.insert(part, b"new"),
                words.remove(&part[i as usize / 2..]),
            );
        }
        if let Ok(ordered) = BTreeMap::<u64, [u64; 3], _>::open(heap, "ordered") {
            let _ = (ordered.insert(&i, &[1; 3]), ordered.remove(&(i / 2)));
        }
        if let Ok(texts) = BTreeMap::<[u8], [u8], _>::open(heap, "texts") {
            let _ = (
                texts.insert(part, &[2; 300]),
                texts.remove(&part[i as usize / 2..]),
            );
        }
        if let Ok(queue) = Queue::<[u8], _>::open(heap, "queue") {
            let _ = (queue.push(part), queue.pop(), queue.pop());
        }
        if let Ok(vector) = Vector::<[u64; 3], _>::open(heap, "vector") {
            let _ = (vector.push(&[i; 3]), vector.set(i, &[0; 3]), vector.pop());
        }
    }
    let texts = BTreeMap::<[u8], [u8], _>::open(heap, "texts")?;
    let queue = Queue::<[u8], _>::open(heap, "queue")?;
    heap.transaction(|tx| {
        tx.open(&texts)?.remove(b"long")?;
        tx.open(&queue)?.push(b"last")
    })
}

/// Frees what the roots point to, and removes them.
fn free(heap: &TestHeap) -> Result<(), Error> {
    for root in heap.roots()? {
        let _ = heap.free(root.place.cast::<Ptr<u8>>());
        let _ = heap.remove_root(&root.name);
    }
    Ok(())
}
