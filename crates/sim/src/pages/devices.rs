//! The devices of the tier: all alike, each with a queue of its own.

use terrace_base::Nanos;
use terrace_device::{Completion, Queue, Request, Timing};

/// One device or several.
pub(super) struct Devices(Vec<Queue>);

impl Devices {
    /// Idle devices; there is at least one.
    pub(super) fn new(timing: Timing, number: u32) -> Self {
        Self((0..number.max(1)).map(|_| Queue::new(timing)).collect())
    }

    /// Asks one of them for a transfer.
    pub(super) fn submit(&mut self, device: usize, now: Nanos, request: Request) {
        self.0[device].submit(now, request);
    }

    /// When the next transfer of any ends.
    #[inline]
    pub(super) fn next_completion(&self) -> Option<Nanos> {
        match &self.0[..] {
            [only] => only.next_completion(),
            all => all.iter().filter_map(Queue::next_completion).min(),
        }
    }

    /// The transfer that ends next of all, of the first device where several end together.
    pub(super) fn complete(&mut self) -> Option<Completion> {
        let ends = |queue: &Queue| queue.next_completion().unwrap_or(Nanos(u64::MAX));
        let next = self.0.iter_mut().min_by_key(|queue| ends(queue))?;
        next.complete(next.next_completion()?)
    }

    /// Somebody waits for a request of a device.
    pub(super) fn promote(&mut self, device: usize, id: u64) {
        self.0[device].promote(id);
    }

    /// Whether there is only one.
    pub(super) fn is_one(&self) -> bool {
        self.0.len() == 1
    }

    /// Whether a device has nothing else to do than another request.
    pub(super) fn is_idle(&self, device: usize) -> bool {
        self.0[device].idle() > 0
    }

    /// Whether one has.
    pub(super) fn any_idle(&self) -> bool {
        self.0.iter().any(|queue| queue.idle() > 0)
    }
}
