use std::ptr::NonNull;

use proptest::prelude::*;

use super::*;
use crate::capacity::region::Region;
use crate::contiguity::Backing;

#[derive(Clone, Debug)]
enum Step {
    Alloc { bytes: usize, align: usize },
    Free(prop::sample::Index),
    Resize(prop::sample::Index, usize),
}

fn step() -> impl Strategy<Value = Step> {
    let bytes = || prop_oneof![8 => 0usize..600, 3 => 0usize..40_000, 1 => 0usize..400_000];
    let align =
        prop_oneof![6 => Just(8), 3 => (0u32..13).prop_map(|bits| 1 << bits), 1 => Just(1 << 18)];
    prop_oneof![
        4 => (bytes(), align).prop_map(|(bytes, align)| Step::Alloc { bytes, align }),
        2 => any::<prop::sample::Index>().prop_map(Step::Free),
        2 => (any::<prop::sample::Index>(), bytes()).prop_map(|(i, bytes)| Step::Resize(i, bytes)),
    ]
}

/// Memory that is in use, and what it is filled with.
struct Held {
    memory: NonNull<u8>,
    bytes: usize,
    align: usize,
    fill: u8,
}

impl Held {
    fn fill(&self) {
        // SAFETY: as many bytes as were asked for.
        unsafe { self.memory.write_bytes(self.fill, self.bytes) };
    }

    fn check(&self, bytes: usize) {
        assert!(self.memory.addr().get().is_multiple_of(self.align));
        for i in 0..bytes {
            // SAFETY: as many bytes as were asked for.
            assert_eq!(unsafe { self.memory.add(i).read() }, self.fill);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Checks what the memory is filled with, which reveals writes by other owners.
    #[test]
    fn memory_belongs_to_whom_it_was_given(steps in prop::collection::vec(step(), 0..200)) {
        let (region, spans) = (Region::anonymous(Backing::OnTouch).unwrap(), Spans::new());
        let mut held: Vec<Held> = Vec::new();
        for (i, step) in steps.into_iter().enumerate() {
            match step {
                Step::Alloc { bytes, align } => {
                    let memory = spans.alloc(&region, bytes, align).unwrap();
                    let new = Held { memory, bytes, align, fill: i as u8 };
                    prop_assert!(spans.size_of(&region, memory).unwrap() >= bytes);
                    new.fill();
                    held.push(new);
                }
                Step::Free(which) if !held.is_empty() => {
                    let old = held.swap_remove(which.index(held.len()));
                    old.check(old.bytes);
                    // SAFETY: allocated above, and no longer held.
                    unsafe { spans.free(&region, old.memory) };
                }
                Step::Resize(which, bytes) if !held.is_empty() => {
                    let which = which.index(held.len());
                    let old = &mut held[which];
                    // SAFETY: allocated above.
                    old.memory = unsafe { spans.resize(&region, old.memory, bytes, old.align) }.unwrap();
                    old.check(bytes.min(old.bytes));
                    old.bytes = bytes;
                    old.fill();
                }
                Step::Free(_) | Step::Resize(..) => {}
            }
        }
        for old in held {
            old.check(old.bytes);
            // SAFETY: allocated above, and no longer held.
            unsafe { spans.free(&region, old.memory) };
        }
        prop_assert_eq!(spans.bytes(), 0);
    }
}

#[test]
fn only_what_begins_there_is_found() {
    let (region, spans) = (Region::anonymous(Backing::OnTouch).unwrap(), Spans::new());
    let small = spans.alloc(&region, 48, 8).unwrap();
    let large = spans.alloc(&region, 200_000, 8).unwrap();
    assert_eq!(spans.size_of(&region, small), Some(48));
    assert_eq!(spans.size_of(&region, large), Some(4 << 16));
    let nothing = NonNull::from(&mut [0u8; 8]).cast();
    for wrong in [
        small.map_addr(|at| at | 8),
        large.map_addr(|at| at | 4096),
        nothing,
    ] {
        assert_eq!(spans.size_of(&region, wrong), None);
    }
}

/// What one thread allocates another one frees, over and over: the memory is used again.
#[test]
fn memory_goes_from_thread_to_thread() {
    let (region, spans) = (Region::anonymous(Backing::OnTouch).unwrap(), Spans::new());
    let (send, receive) = std::sync::mpsc::sync_channel::<usize>(64);
    std::thread::scope(|scope| {
        let (region, spans) = (&region, &spans);
        scope.spawn(move || {
            for i in 0..20_000 {
                let memory = spans.alloc(region, 64 + i % 200, 8).unwrap();
                // SAFETY: it is ours, and has 64 bytes at least.
                unsafe { memory.write_bytes(i as u8, 64) };
                send.send(memory.expose_provenance().get()).unwrap();
            }
        });
        scope.spawn(move || {
            for (i, address) in receive.into_iter().enumerate() {
                let memory = NonNull::with_exposed_provenance(address.try_into().unwrap());
                // SAFETY: it was just sent, and no other thread has it.
                unsafe {
                    assert_eq!(memory.read(), i as u8);
                    assert_eq!(memory.add(63).read(), i as u8);
                    spans.free(region, memory);
                }
            }
        });
        std::thread::sleep(std::time::Duration::from_millis(1));
        assert!(spans.bytes() <= 40 << 16);
    });
    assert_eq!(spans.bytes(), 0);
}
