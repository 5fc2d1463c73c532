//! Objects without a container, each with a pointer to it in the pool.

use std::ops::Range;

use terrace_heap::{Heap, Place, Ptr};

use crate::Outcome;
use crate::options::Options;

/// As large as an entry of the peers' tables.
type Object = [u64; 18];

const NAME: &str = "objects";
const WORD: u64 = 8;

pub struct Objects {
    heap: Heap,
    /// Where the pointers lie, one behind the other; behind them as many words for `set`.
    array: u64,
    entries: u64,
}

impl Objects {
    pub fn open(heap: &Heap, options: &Options) -> Outcome<Self> {
        let entries = options.entries;
        let root: Place<u64> = heap.root(NAME, 0)?;
        if heap.read(root)?.is_null() {
            heap.transaction(|tx| {
                let array = tx.alloc_bytes(&vec![0; (2 * entries * WORD) as usize])?;
                tx.set(root.cast(), array)
            })?;
        }
        Ok(Self {
            array: heap.read(root)?.offset(),
            heap: heap.clone(),
            entries,
        })
    }

    pub fn allocate(&self, options: &Options, turns: Range<u64>) -> Outcome {
        for turn in turns {
            self.heap
                .publish(self.place(options.first + turn), &[turn; 18])?;
        }
        Ok(())
    }

    pub fn free(&self, options: &Options, turns: Range<u64>) -> Outcome {
        for turn in turns {
            self.heap.free(self.place(options.scattered(turn)))?;
        }
        Ok(())
    }

    pub fn set(&self, options: &Options, turns: Range<u64>) -> Outcome {
        for turn in turns {
            let place = self.place(self.entries + options.scattered(turn));
            self.heap.set(place.cast(), turn + 1)?;
        }
        Ok(())
    }

    fn place(&self, index: u64) -> Place<Object> {
        Ptr::at(self.array + index * WORD)
    }
}
