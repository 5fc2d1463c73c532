//! Objects of sizes that are rare.

use std::sync::Arc;

use terrace_heap::medium::simulated::{Granule, Simulated};
use terrace_heap::{Place, Ptr};

#[path = "common/mod.rs"]
mod common;
use common::{create, open, options};

/// Its slot holds zeros; the check in its record covers them all.
#[test]
fn an_object_of_no_bytes_survives_a_crash() {
    let pool = Arc::new(Simulated::new(64 << 10, Granule::Line));
    let heap = create(Arc::clone(&pool), &options(1));
    let place: Place<u8> = heap.root("empty", 0).unwrap();
    let made = heap.publish_bytes(place, &[]).unwrap();
    let mut images = 0;
    for image in pool.crash_images(100, 1) {
        let heap = open(Arc::new(image)).unwrap();
        assert_eq!(heap.read(place), Ok(made));
        assert_eq!(heap.read(Ptr::<[u64; 2]>::at(made.offset())), Ok([0; 2]));
        images += 1;
    }
    assert!(images > 0);
}
