//! Objects without a container, each with a pointer to it in the pool: the cost of an allocator.

use terrace_heap::medium::lines;
use terrace_heap::{Heap, Medium, Place, Ptr};

use crate::Outcome;
use crate::options::{Options, Phase};

/// As large as an entry of the hash table.
type Object = [u64; 18];

const WORD: u64 = 8;

pub struct Objects<'h, M: Medium> {
    heap: &'h Heap<M>,
    /// Offset of the pointers, which lie side by side.
    array: u64,
    elements: u64,
}

impl<'h, M: Medium> Objects<'h, M> {
    pub fn create(heap: &'h Heap<M>, options: &Options) -> Outcome<Self> {
        let elements = options.elements;
        let root: Place<u64> = heap.root("objects", 0)?;
        heap.transaction(|tx| {
            let array = tx.alloc_bytes(&vec![0; (elements * WORD) as usize])?;
            tx.set(root.cast(), array)
        })?;
        Ok(Self {
            array: heap.read(root)?.offset(),
            heap,
            elements,
        })
    }

    /// Runs a phase; returns the number of lines of objects and pointers.
    pub fn run(&self, phase: Phase) -> Outcome<u64> {
        let mut data_lines = 0;
        for index in 0..self.elements {
            let place: Place<Object> = Ptr::at(self.array + index * WORD);
            match phase {
                Phase::Allocate => {
                    let object = self.heap.publish(place, &[index; 18])?.offset();
                    let lines = lines::lines(object, size_of::<Object>() as u64);
                    data_lines += lines.end - lines.start + 1;
                }
                Phase::Free => {
                    self.heap.free(place)?;
                    data_lines += 1;
                }
                _ => return Err("objects are allocated and freed".into()),
            }
        }
        Ok(data_lines)
    }
}
