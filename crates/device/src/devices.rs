//! Several devices, each with its own queue.

use terrace_base::Nanos;

use super::queue::{Completion, Queue, Request};
use super::timing::Timing;

/// One or more devices.
pub struct Devices(Vec<Queue>);

impl Devices {
    /// Returns `number` idle devices, at least one.
    pub fn new(timing: Timing, number: u32) -> Self {
        Self((0..number.max(1)).map(|_| Queue::new(timing)).collect())
    }

    /// Adds an idle device of another kind, and returns its number.
    pub fn add(&mut self, timing: Timing) -> usize {
        self.0.push(Queue::new(timing));
        self.0.len() - 1
    }

    /// Returns the number of devices.
    pub fn number(&self) -> usize {
        self.0.len()
    }

    /// Submits a request to a device, which is below [`Devices::number`].
    pub fn submit(&mut self, device: usize, now: Nanos, request: Request) {
        self.0[device].submit(now, request);
    }

    /// Returns the moment at which the next transfer of any device ends.
    #[inline]
    pub fn next_completion(&self) -> Option<Nanos> {
        match &self.0[..] {
            [only] => only.next_completion(),
            all => all.iter().filter_map(Queue::next_completion).min(),
        }
    }

    /// Completes the transfer that ends next, whenever that is; the first device goes first where
    /// several end together.
    pub fn complete(&mut self) -> Option<Completion> {
        let ends = |queue: &Queue| queue.next_completion().unwrap_or(Nanos(u64::MAX));
        let next = self.0.iter_mut().min_by_key(|queue| ends(queue))?;
        next.complete(next.next_completion()?)
    }

    /// Promotes a request for which a thread waits, whichever device has it.
    pub fn promote(&mut self, id: u64) {
        self.0.iter_mut().any(|queue| queue.promote(id));
    }

    /// Returns whether a device has an idle channel.
    pub fn is_idle(&self, device: usize) -> bool {
        self.0[device].idle() > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::{Class, Kind};
    use crate::timing::{Deadlines, Order};

    fn request(id: u64, class: Class) -> Request {
        Request {
            id,
            kind: Kind::Read,
            class,
            place: id,
            bytes: 4096,
        }
    }

    #[test]
    fn each_device_has_a_queue_of_its_own() {
        let timing = |read| Timing {
            read: Nanos(read),
            channels: 1,
            ..Timing::default()
        };
        let mut devices = Devices::new(timing(100), 2);
        assert_eq!(devices.add(timing(30)), 2);
        for (id, device) in [(0, 0), (1, 0), (2, 1), (3, 2)] {
            devices.submit(device, Nanos(0), request(id, Class::Demand));
        }
        assert!((0..3).all(|device| !devices.is_idle(device)));
        let mut ended = Vec::new();
        while let Some(at) = devices.next_completion() {
            let done = devices.complete().expect("one ends next");
            assert_eq!(done.finished, at);
            ended.push((done.request.id, at.0));
        }
        assert_eq!(ended, [(3, 30), (0, 100), (2, 100), (1, 200)]);
    }

    #[test]
    fn a_request_is_promoted_wherever_it_waits() {
        let order = Order::Deadline(Deadlines::default());
        let mut devices = Devices::new(
            Timing {
                read: Nanos(100),
                order,
                ..Timing::default()
            },
            2,
        );
        for id in 0..3 {
            devices.submit(1, Nanos(0), request(id, Class::Prefetch));
        }
        devices.promote(2);
        let order: Vec<u64> = std::iter::from_fn(|| devices.complete())
            .map(|done| done.request.id)
            .collect();
        assert_eq!(order, [0, 2, 1]);
    }
}
