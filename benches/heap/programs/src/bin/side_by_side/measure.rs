//! Times operations, and prints a line of JSON for each.

use std::mem;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use crate::options::Options;
use crate::{Outcome, PEER};

/// Turns that a thread takes at a time: whole batches.
const SHARE: u64 = 1000;

pub struct Measure<'o> {
    options: &'o Options,
}

/// The visited entries of a table.
#[derive(Default)]
pub struct Visited {
    entries: u64,
    sum: u64,
}

impl Visited {
    /// Counts an entry, with its sum.
    pub fn add(&mut self, sum: u64) {
        self.entries += 1;
        self.sum = self.sum.wrapping_add(sum);
    }
}

/// The beginning of an operation.
struct Began {
    wall: Instant,
    processor: f64,
}

impl<'o> Measure<'o> {
    pub fn new(options: &'o Options) -> Self {
        Self { options }
    }

    /// Times an operation that is carried out once.
    pub fn once<T>(&self, operation: &str, work: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
        let began = self.begin();
        let done = work()?;
        self.end(&began, operation, 1, None);
        Ok(done)
    }

    /// Times visits, each of which is an operation.
    pub fn visits(&self, operation: &str, work: impl FnOnce() -> Outcome<Visited>) -> Outcome {
        let began = self.begin();
        let visited = work()?;
        self.end(&began, operation, visited.entries, Some(visited.sum));
        Ok(())
    }

    /// Times an operation on each of the keys, by their turns. Each thread takes some turns at a
    /// time: with a fixed share for each, the time would be that of the slowest processor.
    pub fn shared(&self, operation: &str, work: impl Fn(Range<u64>) -> Outcome + Sync) -> Outcome {
        let Options { threads, count, .. } = *self.options;
        let next = AtomicU64::new(0);
        let share = || -> Outcome {
            loop {
                let first = next.fetch_add(SHARE, Ordering::Relaxed);
                if first >= count {
                    return Ok(());
                }
                work(first..count.min(first + SHARE))?;
            }
        };
        let began = self.begin();
        thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(share)).collect();
            let mine = share();
            others
                .into_iter()
                .fold(mine, |done, other| match other.join() {
                    Ok(result) => done.and(result),
                    Err(panic) => std::panic::resume_unwind(panic),
                })
        })?;
        self.end(&began, operation, count, None);
        Ok(())
    }

    fn begin(&self) -> Began {
        let began = Began {
            processor: processor_seconds(),
            wall: Instant::now(),
        };
        self.signal(libc::SIGUSR1);
        began
    }

    fn end(&self, began: &Began, operation: &str, operations: u64, sum: Option<u64>) {
        self.signal(libc::SIGUSR2);
        let wall = began.wall.elapsed().as_secs_f64();
        let processor = processor_seconds() - began.processor;
        let Options {
            entries,
            threads,
            ref way,
            bytes,
            ..
        } = *self.options;
        let data = if bytes { "bytes" } else { "items" };
        let sum = sum.map_or_else(String::new, |sum| format!(", \"sum\": \"{sum:016x}\""));
        println!(
            "{{\"peer\": \"{PEER}\", \"way\": \"{way}\", \"data\": \"{data}\", \"entries\": {entries}, \
             \"threads\": {threads}, \"operation\": \"{operation}\", \"operations\": {operations}, \
             \"wall_s\": {wall:.9}, \"cpu_s\": {processor:.6}{sum}}}"
        );
    }

    /// Tells `count.c` where an operation begins and ends.
    fn signal(&self, number: i32) {
        if self.options.signals {
            // SAFETY: it takes no pointers.
            unsafe { libc::raise(number) };
        }
    }
}

/// Ends this process as a `kill -9` does, with nothing closed.
pub fn die() {
    // SAFETY: it takes no pointers.
    unsafe { libc::raise(libc::SIGKILL) };
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
