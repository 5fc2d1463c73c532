//! Gain and loss of a fetch.

use std::time::Duration;

/// Costs on the driver's machine, measured or given, for one page each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Costs {
    /// Time that a demand fault takes the program, with the wait for the device.
    pub demand: Duration,
    /// Time that the first touch of a fetched page takes the program, once the page has arrived.
    pub first_use: Duration,
    /// Processor time of a fetch, without the wait for the device.
    pub fetch: Duration,
    /// Part of it that counts if the page would have come in any case: all of it, unless something
    /// is learnt by it.
    pub redundant: Duration,
}

impl Costs {
    /// Costs of a virtual machine with a disk of 53 us a read, measured on Linux 6.18; used until
    /// something else is known.
    pub const DISK: Self = Self {
        demand: Duration::from_micros(62),
        first_use: Duration::from_nanos(2_600),
        fetch: Duration::from_micros(4),
        redundant: Duration::from_micros(4),
    };

    /// Returns the costs where a read takes `read`, and all else is as measured for [`Self::DISK`],
    /// on whose disk a read takes 53 us.
    pub fn of_read(read: Duration) -> Self {
        let kernel = Self::DISK.demand - Duration::from_micros(53);
        Self {
            demand: read + kernel,
            ..Self::DISK
        }
    }

    /// Time that a used fetch saves the program.
    pub fn saved(&self) -> Duration {
        self.demand.saturating_sub(self.first_use)
    }

    /// Time that an unused fetch costs: the fetch, and a demand fault on the page that was evicted
    /// for it. That page is nearly always needed again: with GNU sort 16,000 fetched pages were
    /// used, 17,000 were not, and there were as many faults as without prefetching.
    pub fn lost(&self) -> Duration {
        self.fetch + self.demand
    }

    /// Returns the accuracy, from 0 to 1, above which fetching saves more time than it costs.
    pub fn break_even(&self) -> f64 {
        let (saved, lost) = (self.saved().as_secs_f64(), self.lost().as_secs_f64());
        match saved + lost {
            0.0 => 1.0,
            both => lost / both,
        }
    }

    /// Whether the kernel's readahead pays, where it reads `read` pages ahead and `hits` are used.
    /// The program itself makes room for each and waits for its transfer, which takes twice the
    /// processor time of a fetch (measured: 5 us of transfer and 4 us of making room, where a fetch
    /// takes 4 us).
    pub fn readahead_pays(&self, read: u64, hits: u64) -> bool {
        let cost = 2.0 * self.fetch.as_secs_f64();
        self.saved().as_secs_f64() * hits as f64 >= cost * read as f64
    }

    /// Whether fetching can pay at all. A device as fast as memory reads a page in about the time
    /// that it takes to request it from outside, and another processor is kept busy: a used fetch
    /// must save twice the processor time of a fetch.
    pub fn can_pay(&self) -> bool {
        self.saved() > self.fetch * 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_pays_from_a_half_on() {
        assert!(Costs::DISK.can_pay());
        let accuracy = Costs::DISK.break_even();
        assert!((0.5..0.55).contains(&accuracy), "{accuracy}");
    }

    #[test]
    fn a_faster_read_saves_less() {
        assert_eq!(Costs::of_read(Duration::from_micros(53)), Costs::DISK);
        assert!(!Costs::of_read(Duration::from_micros(1)).can_pay());
        // Of what is read ahead a seventh has to be used on a disk, more on a faster one.
        let fast = Costs::of_read(Duration::from_micros(10));
        assert!(Costs::DISK.readahead_pays(1000, 140));
        assert!(!fast.readahead_pays(1000, 140));
        assert!(fast.readahead_pays(1000, 500));
    }

    /// Compressed memory, measured: 10 us a fault, 8 us a fetch.
    #[test]
    fn a_device_of_memory_speed_does_not() {
        let costs = Costs {
            demand: Duration::from_micros(10),
            first_use: Duration::from_nanos(2_600),
            fetch: Duration::from_micros(8),
            redundant: Duration::from_micros(8),
        };
        assert!(!costs.can_pay());
        assert!(costs.break_even() > 0.7);
    }

    #[test]
    fn where_nothing_costs_anything_nothing_can_be_won() {
        let nothing = Costs {
            demand: Duration::ZERO,
            first_use: Duration::ZERO,
            fetch: Duration::ZERO,
            redundant: Duration::ZERO,
        };
        assert!(!nothing.can_pay());
        assert_eq!(nothing.break_even(), 1.0);
    }
}
