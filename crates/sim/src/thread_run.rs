//! Consecutive accesses of one thread in a block of a trace.

use terrace_trace::Block;

/// Returns whether one thread makes all accesses of a block.
#[inline]
pub(crate) fn is_of_one_thread(block: &Block) -> bool {
    // All are looked at, which takes less time than to stop at the first other one.
    let same = |names: &[u16]| {
        let first = names.first().copied().unwrap_or(0);
        names
            .iter()
            .fold(true, |same, name| same & (*name == first))
    };
    same(&block.process) && same(&block.thread)
}

/// Returns the end of the accesses from `begin` on, before `end`, that one thread of a process
/// makes.
#[inline]
pub(crate) fn thread_run(block: &Block, begin: usize, end: usize) -> usize {
    let run = block.thread_run(begin, end);
    #[cfg(test)]
    LOOKED.set(LOOKED.get() + run - begin + usize::from(run < end));
    run
}

#[cfg(test)]
thread_local! {
    /// Accesses that [`thread_run`] has looked at.
    pub(crate) static LOOKED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}
