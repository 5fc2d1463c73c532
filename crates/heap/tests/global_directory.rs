//! As `global_allocator`, with the memory of a file that has no name.

use terrace_heap::CapacityAllocator;

#[global_allocator]
static HEAP: CapacityAllocator = CapacityAllocator::in_directory(c"/dev/shm", 256 << 20);

#[test]
fn a_program_lives_on_a_file_and_what_does_not_fit_is_refused() {
    let all: Vec<String> = (0..10_000).map(|i| format!("{i}")).collect();
    assert!(HEAP.holds(all.as_ptr().cast()) && HEAP.holds(all[77].as_ptr()));
    for _ in 0..5 {
        // More than there is, if it were not given back.
        let large = vec![1u8; 100 << 20];
        assert!(HEAP.holds(large.as_ptr()));
    }
    let mut too_large = Vec::<u8>::new();
    assert!(too_large.try_reserve(300 << 20).is_err());
    assert_eq!(all[9999], "9999");
}
