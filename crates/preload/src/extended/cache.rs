//! Freed blocks that a thread keeps for its next blocks of the same size.
//!
//! Most blocks come from here and go here: without the heap's lock, and without a touch of the
//! blocks around them, which may lie in the slow memory. A kept block is not written either, which
//! would make its page dirty.

use std::ffi::c_void;

/// Chunks of the heap are a block and the word before it, which has the chunk's size.
const WORD: usize = size_of::<usize>();
/// The smallest chunk, and the step from one size to the next.
const LEAST: usize = 32;
const STEP: usize = 16;
/// Number of sizes: blocks of up to 1 KiB are kept.
const SIZES: usize = 63;
/// Blocks of a size that are kept at most.
const MOST: usize = 16;

/// The size of some blocks, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(usize);

impl Size {
    /// Returns the size of the smallest blocks that hold this many bytes; `None` for one that is
    /// not kept.
    pub fn holding(bytes: usize) -> Option<Self> {
        let chunk = bytes.checked_add(WORD)?.next_multiple_of(STEP);
        Self::of_chunk(chunk.max(LEAST))
    }

    /// Returns the size of the block in a chunk of this many bytes.
    pub fn of_chunk(bytes: usize) -> Option<Self> {
        let number = bytes.checked_sub(LEAST)? / STEP;
        (number < SIZES).then_some(Self(number))
    }
}

/// The kept blocks of a thread.
pub struct Cache {
    held: [usize; SIZES],
    blocks: [[*mut c_void; MOST]; SIZES],
}

impl Cache {
    pub const fn new() -> Self {
        Self {
            held: [0; SIZES],
            blocks: [[std::ptr::null_mut(); MOST]; SIZES],
        }
    }

    /// Returns a block that was kept, the last one first.
    pub fn take(&mut self, size: Size) -> Option<*mut c_void> {
        let held = self.held[size.0].checked_sub(1)?;
        self.held[size.0] = held;
        Some(self.blocks[size.0][held])
    }

    /// Keeps a block, and returns whether there was room for it.
    pub fn keep(&mut self, size: Size, block: *mut c_void) -> bool {
        let held = self.held[size.0];
        if held == MOST {
            return false;
        }
        self.blocks[size.0][held] = block;
        self.held[size.0] = held + 1;
        true
    }

    /// Gives half of the blocks of a size back, those that were kept first.
    pub fn halve(&mut self, size: Size, mut give_back: impl FnMut(*mut c_void)) {
        let (blocks, held) = (&mut self.blocks[size.0], self.held[size.0]);
        let given = held.div_ceil(2);
        blocks[..given].iter().for_each(|block| give_back(*block));
        blocks.copy_within(given..held, 0);
        self.held[size.0] = held - given;
    }

    /// Gives all blocks back.
    pub fn empty(&mut self, mut give_back: impl FnMut(*mut c_void)) {
        for number in 0..SIZES {
            while let Some(block) = self.take(Size(number)) {
                give_back(block);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sizes_are_those_of_the_chunks_of_dlmalloc() {
        let mut heap = dlmalloc::Dlmalloc::new();
        for bytes in 0..1200 {
            // SAFETY: a block of this heap, with a word before it.
            let (block, chunk) = unsafe {
                let block = heap.c_malloc(bytes);
                (block, *block.cast::<usize>().sub(1) & !7)
            };
            let size = Size::holding(bytes);
            assert_eq!(size, Size::of_chunk(chunk), "{bytes}");
            assert_eq!(size.is_some(), bytes <= 1016);
            // SAFETY: it is no longer used.
            unsafe { heap.c_free(block) };
        }
        assert_eq!(Size::holding(usize::MAX), None);
    }

    proptest! {
        /// The slow twin has a queue for each size.
        #[test]
        fn blocks_are_kept_once(
            calls in prop::collection::vec((0_usize..4, 0_usize..3), 1..300)
        ) {
            let mut cache = Cache::new();
            let mut twin = vec![VecDeque::new(); SIZES];
            let mut next = 0_usize;
            let mut new = || {
                next += 1;
                std::ptr::without_provenance_mut::<c_void>(next)
            };
            for (call, number) in calls {
                let (size, kept) = (Size(number), &mut twin[number]);
                match call {
                    0 => prop_assert_eq!(cache.take(size), kept.pop_back()),
                    1 | 2 => {
                        let block = new();
                        let room = kept.len() < MOST;
                        prop_assert_eq!(cache.keep(size, block), room);
                        if room {
                            kept.push_back(block);
                        }
                    }
                    _ => {
                        let mut given = Vec::new();
                        cache.halve(size, |block| given.push(block));
                        let expected: Vec<_> = kept.drain(..kept.len().div_ceil(2)).collect();
                        prop_assert_eq!(given, expected);
                    }
                }
            }
            let mut rest = Vec::new();
            cache.empty(|block| rest.push(block));
            let expected: Vec<_> = twin.into_iter().flat_map(|kept| kept.into_iter().rev()).collect();
            prop_assert_eq!(rest, expected);
        }
    }
}
