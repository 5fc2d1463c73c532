//! The order of threads: which waits for which.

use std::sync::Arc;

use terrace_trace::order::Event;

use super::{LOOK_AHEAD, Simulation};
use crate::pages::outcome::Clock;
use crate::pages::settings::ThreadOrder;
use crate::pages::threads::{Mark, State};
use crate::workload::Batch;

/// Touches, for each thread of the program, after which a thread that is missing from the trace
/// counts as waiting for another thread, where the trace does not say what it waits for. The
/// recorder writes the touches of a thread in chunks of some 16,000, so in shorter pauses there may
/// only be chunks of other threads.
const ORDER: u64 = 1 << 16;

impl Simulation {
    /// Orders the next run of a thread, or the end of its last one, with the runs of others, as a
    /// trace says.
    pub(super) fn order(&mut self, index: usize, event: Event, batch: &Arc<Batch>) {
        if self.settings.thread_order == ThreadOrder::Together {
            return;
        }
        let program = self.threads[index].program;
        self.programs[program].ordered = true;
        match event {
            Event::Release(point) => {
                if point.is_creation() {
                    self.programs[program].created.insert(point);
                }
                // What it waits for comes before the point, even if it touches nothing in between.
                if self.threads[index].is_ordered() {
                    self.threads[index].feed(batch, 0..0, 0..0, 0);
                    self.threads[index].start_over();
                }
                self.name_end(index, Mark::Point(program, point));
            }
            Event::Acquire(point) => {
                self.programs[program].created.remove(&point);
                self.threads[index].come_after(Mark::Point(program, point));
            }
        }
    }

    /// Orders a thread's run at `position` of its program's trace behind the run before it, if the
    /// trace leaves open when the thread begins or what it waits for. A thread that appears in the
    /// trace for the first time, or after many touches of other threads, had not begun, or slept.
    pub(super) fn order_by_place(&mut self, index: usize, position: u64) {
        let thread = &self.threads[index];
        let program = &self.programs[thread.program];
        let Some(last) = program.last.filter(|last| *last != index) else {
            return;
        };
        let longest = match program.ordered {
            true => LOOK_AHEAD as u64,
            false => ORDER * program.threads.len() as u64,
        };
        let is_missing = thread.known_to == 0 || position - thread.known_to > longest;
        let together = self.settings.thread_order == ThreadOrder::Together;
        if together || thread.is_ordered() || !is_missing {
            return;
        }
        self.named += 1;
        let mark = Mark::Place(self.named);
        self.name_end(last, mark);
        self.threads[index].come_after(mark);
    }

    /// Names the end of the last known run of a thread.
    pub(super) fn name_end(&mut self, index: usize, mark: Mark) {
        let clock = match self.threads[index].name_end(mark) {
            true => None,
            false => Some(self.threads[index].clock()),
        };
        self.passed.insert(mark, clock);
    }

    /// Wakes the threads that wait for the run of this name, which has ended.
    pub(super) fn pass(&mut self, mark: Mark, moment: Clock) {
        self.passed.insert(mark, Some(moment));
        for thread in &mut self.threads {
            if thread.state == State::Held(mark) {
                thread.state = State::Running;
            }
        }
    }
}
