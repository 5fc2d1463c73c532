//! Work on many chunks, by several threads.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Chunks that are worth a thread of their own.
const CHUNKS_A_THREAD: usize = 8;

/// Returns how many threads should work on a number of chunks.
pub(super) fn threads_for(chunks: usize) -> usize {
    match chunks.div_ceil(CHUNKS_A_THREAD) {
        0 | 1 => 1,
        enough => thread::available_parallelism().map_or(1, |n| enough.min(NonZero::get(n))),
    }
}

/// Runs `work` on each item, on `threads` threads including the calling one.
pub(super) fn on_each<T: Sync>(items: &[T], threads: usize, work: impl Fn(&T) + Sync) {
    let next = AtomicUsize::new(0);
    let all = || {
        while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
            work(item);
        }
    };
    on_threads(threads, all);
}

/// Runs `work` on `threads` threads including the calling one.
pub(super) fn on_threads(threads: usize, work: impl Fn() + Copy + Send) {
    thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
}
