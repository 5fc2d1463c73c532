//! Counts and times phases, and prints a line of JSON for each.

use std::mem;

use terrace_heap::{Counts, Heap, Medium};

use crate::Outcome;
use crate::options::{Options, Phase};

pub struct Measure<'h, M: Medium> {
    heap: &'h Heap<M>,
    operations: u64,
}

impl<'h, M: Medium> Measure<'h, M> {
    pub fn new(heap: &'h Heap<M>, options: &Options) -> Self {
        Self {
            heap,
            operations: options.elements,
        }
    }

    /// Runs a phase; `work` returns the number of flushed lines of the program's own data.
    pub fn phase(&self, phase: Phase, work: impl FnOnce() -> Outcome<u64>) -> Outcome {
        let (counts, began) = (self.heap.counts(), processor_seconds());
        let data_lines = work()?;
        let seconds = processor_seconds() - began;
        let Counts {
            lines,
            fences,
            bytes,
            ..
        } = self.heap.counts() - counts;
        println!(
            "{{\"phase\": \"{}\", \"operations\": {}, \"lines\": {lines}, \"fences\": {fences}, \
             \"bytes\": {bytes}, \"data_lines\": {data_lines}, \"cpu_s\": {seconds:.6}}}",
            phase.name(),
            self.operations,
        );
        Ok(())
    }
}

/// Returns the processor time of this process, in user mode and in the kernel.
fn processor_seconds() -> f64 {
    // SAFETY: zeros are a valid value of this C structure of integers.
    let mut usage: libc::rusage = unsafe { mem::zeroed() };
    // SAFETY: the pointer is to a structure of the type that is written.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}
