use super::*;

#[test]
fn tmpfs_is_no_second_tier() {
    let shm = Path::new("/dev/shm");
    let error = sizes(shm, &Demand::default()).unwrap_err().to_string();
    assert!(error.contains("tmpfs"), "{error}");
}

#[test]
fn a_full_disk_is_named_with_what_is_needed() {
    let demand = Demand::of_program(Some(Bytes(1 << 60)), Bytes(0), None);
    let error = sizes(Path::new(env!("CARGO_MANIFEST_DIR")), &demand).unwrap_err();
    assert!(error.to_string().contains("1.00 EiB are needed"), "{error}");
}

#[test]
fn a_tier_of_unknown_size_begins_small_and_leaves_the_disk_room() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let free = file::room(here).unwrap();
    let (sizes, bound) = sizes(here, &Demand::default()).unwrap();
    assert!(sizes[0] <= Bytes(1 << 30));
    let all: u64 = sizes.iter().map(|size| size.0).sum();
    // Other programs write to the disk meanwhile.
    assert!(all <= bound.size().0 && all <= free.0 / 2 + SMALLEST.0);
}
