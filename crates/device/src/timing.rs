//! Timing of a device, and the order of waiting requests.

use terrace_base::Nanos;

/// The timing of a device's page transfers.
///
/// A request holds one of `channels` for the latency of its kind. Its bytes pass over one bus
/// that all channels share, `bytes / bandwidth` for each request, in the order in which the
/// requests start and within their latencies: a request ends when its latency has passed and the
/// bus has carried its bytes. The latency does not grow with the bytes otherwise; a driver that
/// holds a device to pay its latency for every page (Fedorov 2016, 5.4.2) asks for one page a
/// request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timing {
    /// Latency of a read when nothing else is under way.
    pub read: Nanos,
    /// Latency of a write when nothing else is under way.
    pub write: Nanos,
    /// Requests served at the same time; 0 counts as 1.
    pub channels: u32,
    /// Bytes a second over all channels; `None` if the bus never makes a request wait.
    pub bandwidth: Option<u64>,
    /// Order of waiting requests.
    pub order: Order,
}

/// Order of waiting requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// One queue, first come, first served: a NOOP scheduler before a device without priorities.
    #[default]
    Plain,
    /// Several queues, one a class, served in turn: the round-robin arbitration of NVMe.
    RoundRobin,
    /// Reads before writes, each in the order of their places: Linux's deadline scheduler, made for
    /// disks.
    Elevator,
    /// Demand before prefetches before background, first come, first served within each; but
    /// what has waited past its deadline goes first, every second time at most while demand
    /// waits.
    Deadline(Deadlines),
}

impl Order {
    /// Returns the orders by name.
    pub fn named() -> [(&'static str, Self); 4] {
        let deadline = Self::Deadline(Deadlines::default());
        [Self::Plain, Self::RoundRobin, Self::Elevator, deadline].map(|order| (order.name(), order))
    }

    /// Returns the name of an order, whatever its deadlines.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::RoundRobin => "round-robin",
            Self::Elevator => "elevator",
            Self::Deadline(_) => "deadline",
        }
    }
}

/// Longest wait of a class behind more urgent ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadlines {
    /// For prefetches.
    pub prefetch: Nanos,
    /// For background requests.
    pub background: Nanos,
}

impl Default for Deadlines {
    /// Returns 500 ms and 5 s, the deadlines of reads and writes in the mq-deadline scheduler of
    /// Linux.
    fn default() -> Self {
        Self {
            prefetch: Nanos(500_000_000),
            background: Nanos(5_000_000_000),
        }
    }
}

impl Timing {
    /// Returns the time for which `bytes` occupy the bus.
    pub fn transfer(&self, bytes: u64) -> Nanos {
        let Some(bandwidth) = self.bandwidth else {
            return Nanos::ZERO;
        };
        let nanos = (u128::from(bytes) * 1_000_000_000).div_ceil(u128::from(bandwidth.max(1)));
        Nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transfer(bytes: u64, bandwidth: Option<u64>) -> u64 {
        let timing = Timing {
            read: Nanos(1),
            write: Nanos(1),
            channels: 1,
            bandwidth,
            order: Order::Plain,
        };
        timing.transfer(bytes).0
    }

    #[test]
    fn the_bus_is_held_for_whole_nanoseconds_and_never_too_short() {
        assert_eq!(transfer(4096, Some(51_200_000_000)), 80);
        assert_eq!(transfer(4097, Some(51_200_000_000)), 81);
        assert_eq!(transfer(1, Some(u64::MAX)), 1);
        assert_eq!(transfer(0, Some(1)), 0);
        assert_eq!(transfer(4096, None), 0);
        assert_eq!(transfer(u64::MAX, Some(0)), u64::MAX, "the end of time");
    }
}
