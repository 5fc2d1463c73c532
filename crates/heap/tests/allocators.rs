//! Laws that hold for every allocator: objects keep what they hold and do not overlap, what is
//! freed can be used again, and a heap that is opened again has the same objects.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use terrace_heap::containers::HashMap;
use terrace_heap::medium::simulated::{Granule, Simulated};
use terrace_heap::{AllocatorKind, Place, use_lane};

#[path = "common/mod.rs"]
mod common;
use common::{TestHeap, create as create_on, open, options, used};

const KINDS: [AllocatorKind; 2] = [AllocatorKind::Nvwa, AllocatorKind::Naive];
const PLACES: usize = 40;

#[derive(Clone, Debug)]
enum Step {
    /// Place, size (one of [`SIZES`]), contents.
    Publish(usize, usize, u64),
    Free(usize),
    Lane(usize),
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0..PLACES, 0..SIZES, any::<u64>()).prop_map(|(p, s, v)| Step::Publish(p, s, v)),
        5 => (0..PLACES).prop_map(Step::Free),
        1 => (0..3usize).prop_map(Step::Lane),
        1 => Just(Step::Reopen),
    ]
}

/// Sizes of objects: in the same class and in others, and of several chunks.
const SIZES: usize = 5;

fn words_of(size: usize) -> usize {
    [1, 8, 9, 130, 1100][size]
}

fn publish(heap: &TestHeap, place: Place<u64>, size: usize, value: u64) {
    let done = match size {
        0 => heap.publish(place.cast(), &[value; 1]).map(drop),
        1 => heap.publish(place.cast(), &[value; 8]).map(drop),
        2 => heap.publish(place.cast(), &[value; 9]).map(drop),
        3 => heap.publish(place.cast(), &[value; 130]).map(drop),
        _ => heap.publish(place.cast(), &[value; 1100]).map(drop),
    };
    done.unwrap();
}

/// What each place should hold: size and contents.
type Model = BTreeMap<usize, (usize, u64)>;

/// Whether each place holds what it should, and nothing overlaps; where the objects are.
fn check(heap: &TestHeap, places: &[Place<u64>], model: &Model) -> Vec<u64> {
    let mut ends: Vec<(u64, u64)> = Vec::new();
    for (i, &place) in places.iter().enumerate() {
        let pointer = heap.read(place).unwrap();
        let Some(&(size, value)) = model.get(&i) else {
            assert!(pointer.is_null());
            continue;
        };
        for word in 0..words_of(size) {
            assert_eq!(heap.read(pointer.field::<u64>(word * 8)).unwrap(), value);
        }
        ends.push((
            pointer.offset(),
            pointer.offset() + words_of(size) as u64 * 8,
        ));
    }
    ends.sort_unstable();
    assert!(
        ends.windows(2).all(|pair| pair[0].1 <= pair[1].0),
        "{ends:?}"
    );
    ends.iter().map(|&(at, _)| at).collect()
}

/// Whether a heap that was just opened has these objects and no others.
fn check_opened(heap: &TestHeap, places: &[Place<u64>], model: &Model) {
    assert_eq!(used(heap), check(heap, places, model));
}

fn create(allocator: AllocatorKind, bytes: u64) -> (Arc<Simulated>, TestHeap) {
    let pool = Arc::new(Simulated::new(bytes, Granule::Line));
    let heap = create_on(Arc::clone(&pool), &options(3).allocator(allocator));
    (pool, heap)
}

fn places(heap: &TestHeap) -> Vec<Place<u64>> {
    let place = |i| heap.root(&format!("{i}"), 0).unwrap();
    (0..PLACES).map(place).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn objects_are_what_a_map_says(steps in prop::collection::vec(step(), 0..150)) {
        for kind in KINDS {
            use_lane(0);
            let (mut pool, mut heap) = create(kind, 2 << 20);
            let places = places(&heap);
            let mut model = Model::new();
            for step in &steps {
                match *step {
                    Step::Publish(place, size, value) if !model.contains_key(&place) => {
                        publish(&heap, places[place], size, value);
                        model.insert(place, (size, value));
                    }
                    Step::Publish(..) => {}
                    Step::Free(place) => {
                        heap.free(places[place]).unwrap();
                        model.remove(&place);
                    }
                    Step::Lane(lane) => use_lane(lane),
                    Step::Reopen => {
                        drop(heap);
                        pool = Arc::new(Simulated::from_bytes(&pool.bytes(), Granule::Line));
                        heap = open(Arc::clone(&pool)).unwrap();
                        check_opened(&heap, &places, &model);
                    }
                }
            }
            check(&heap, &places, &model);
        }
    }
}

/// A pool that has room for two of them at once serves thousands, one after the other.
#[test]
fn what_is_freed_is_used_again() {
    for kind in KINDS {
        use_lane(0);
        let (_pool, heap) = create(kind, 128 << 10);
        let places = [0, 1].map(|i| heap.root::<u64>(&format!("{i}"), 0).unwrap());
        for round in 0..600 {
            let size = round / 10 % SIZES;
            let place = places[round % 2];
            heap.free(place).unwrap();
            publish(&heap, place, size, round as u64);
        }
    }
}

/// Each thread its own objects, all at once.
#[test]
fn threads_do_not_get_the_same_room() {
    for kind in KINDS {
        let (_pool, heap) = create(kind, 2 << 20);
        let places = places(&heap);
        std::thread::scope(|scope| {
            for (thread, mine) in places.chunks(PLACES / 4).enumerate() {
                let heap = &heap;
                scope.spawn(move || {
                    for round in 0..20 {
                        for &place in mine {
                            heap.free(place).unwrap();
                            publish(heap, place, 1, thread as u64 * 1000 + round);
                        }
                    }
                });
            }
        });
        let model = (0..PLACES).map(|i| (i, (1, (i / (PLACES / 4)) as u64 * 1000 + 19)));
        check(&heap, &places, &model.collect());
    }
}

/// Table 2 of the paper, a put of 64 bytes each: without the object and the pointer to it NVWA has
/// 1 line (the record), the naive allocator 5.
#[test]
fn a_put_costs_four_lines_and_fences_more_with_the_naive_allocator() {
    let costs = KINDS.map(|kind| {
        use_lane(0);
        let (_pool, heap) = create(kind, 1 << 20);
        let map = HashMap::<[u64; 8], [u64; 8], _>::open_with_capacity(&heap, "map", 700).unwrap();
        (1..3).for_each(|key| assert_eq!(map.insert(&[key; 8], &[key; 8]), Ok(None)));
        let before = heap.counts();
        assert_eq!(map.insert(&[3; 8], &[3; 8]), Ok(None));
        let cost = heap.counts() - before;
        (cost.lines, cost.fences)
    });
    assert_eq!(costs, [(5, 1), (9, 5)]);
}
