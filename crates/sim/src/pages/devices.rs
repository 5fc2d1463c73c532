//! Devices, each with its own queue: those of the tier, which are all alike, and behind them that of
//! the middle memory.

use terrace_base::Nanos;
use terrace_device::{Completion, Queue, Request, Timing};

/// One or more devices.
pub(super) struct Devices(Vec<Queue>);

impl Devices {
    /// Returns `number` idle devices, at least one.
    pub(super) fn new(timing: Timing, number: u32) -> Self {
        Self((0..number.max(1)).map(|_| Queue::new(timing)).collect())
    }

    /// Submits a request to a device.
    pub(super) fn submit(&mut self, device: usize, now: Nanos, request: Request) {
        self.0[device].submit(now, request);
    }

    /// Returns the moment at which the next transfer of any device ends.
    #[inline]
    pub(super) fn next_completion(&self) -> Option<Nanos> {
        match &self.0[..] {
            [only] => only.next_completion(),
            all => all.iter().filter_map(Queue::next_completion).min(),
        }
    }

    /// Completes the transfer that ends next; the first device goes first where several end
    /// together.
    pub(super) fn complete(&mut self) -> Option<Completion> {
        let ends = |queue: &Queue| queue.next_completion().unwrap_or(Nanos(u64::MAX));
        let next = self.0.iter_mut().min_by_key(|queue| ends(queue))?;
        next.complete(next.next_completion()?)
    }

    /// Adds an idle device of another kind, and returns its number.
    pub(super) fn add(&mut self, timing: Timing) -> usize {
        self.0.push(Queue::new(timing));
        self.0.len() - 1
    }

    /// Promotes a request for which a thread waits, whichever device has it.
    pub(super) fn promote(&mut self, id: u64) {
        self.0.iter_mut().any(|queue| queue.promote(id));
    }

    /// Returns whether there is only one device.
    pub(super) fn is_one(&self) -> bool {
        self.0.len() == 1
    }

    /// Returns whether a device has an idle channel.
    pub(super) fn is_idle(&self, device: usize) -> bool {
        self.0[device].idle() > 0
    }

    /// Returns whether any device has an idle channel.
    pub(super) fn any_idle(&self) -> bool {
        self.0.iter().any(|queue| queue.idle() > 0)
    }
}
