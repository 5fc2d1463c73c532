//! A device that serves readers at once, and writes in the background.

use terrace_base::Nanos;

/// A device. Reads go before writes that wait; a writer waits only when more work waits than the
/// buffer holds.
#[derive(Clone, Debug)]
pub(super) struct Station {
    channels: u64,
    /// Work that may wait.
    buffer: Nanos,
    /// Work that waits, at `at`.
    waiting: Nanos,
    at: Nanos,
}

impl Station {
    /// Makes an idle device with so many channels, at least one, and a buffer for so much work.
    pub(super) fn new(channels: u32, buffer: Nanos) -> Self {
        Self {
            channels: channels.max(1).into(),
            buffer,
            waiting: Nanos::ZERO,
            at: Nanos::ZERO,
        }
    }

    /// Serves a read that begins then, now or behind those in flight, and returns its end.
    pub(super) fn read(&mut self, now: Nanos, service: Nanos) -> Nanos {
        self.work_until(now, self.channels);
        self.work_until(now + service, self.channels - 1);
        now + service
    }

    /// Takes a write, and returns when its writer goes on.
    pub(super) fn write(&mut self, now: Nanos, service: Nanos) -> Nanos {
        self.work_until(now, self.channels);
        self.waiting += service;
        let excess = self.waiting.saturating_sub(self.buffer);
        if excess == Nanos::ZERO {
            return now;
        }
        // A read in flight may end later.
        let end = self.at + Nanos(excess.0.div_ceil(self.channels));
        self.work_until(end, self.channels);
        end
    }

    /// Works off what waits until then.
    fn work_until(&mut self, then: Nanos, channels: u64) {
        let done = then.saturating_sub(self.at).0.saturating_mul(channels);
        self.waiting = self.waiting.saturating_sub(Nanos(done));
        self.at = self.at.max(then);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_wait_behind_reads_and_writers_behind_a_full_buffer() {
        let mut one = Station::new(1, Nanos(20));
        assert_eq!(one.write(Nanos(0), Nanos(10)), Nanos(0));
        assert_eq!(one.write(Nanos(0), Nanos(10)), Nanos(0));
        assert_eq!(one.read(Nanos(0), Nanos(7)), Nanos(7), "before the writes");
        assert_eq!(one.write(Nanos(7), Nanos(10)), Nanos(17), "30 wait for 20");
        assert_eq!(
            one.write(Nanos(100), Nanos(10)),
            Nanos(100),
            "idle since 37"
        );
    }

    #[test]
    fn other_channels_go_on() {
        let mut two = Station::new(2, Nanos(0));
        assert_eq!(two.write(Nanos(0), Nanos(10)), Nanos(5), "both work on it");
        let mut two = Station::new(2, Nanos(10));
        assert_eq!(two.write(Nanos(0), Nanos(10)), Nanos(0));
        assert_eq!(two.read(Nanos(0), Nanos(10)), Nanos(10));
        assert_eq!(
            two.write(Nanos(10), Nanos(10)),
            Nanos(10),
            "the other has worked"
        );
    }
}
