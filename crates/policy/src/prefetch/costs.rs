//! What a fetch can win, and what it can lose.

use std::time::Duration;

/// What a driver has measured, or was told, of its machine; each for one page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Costs {
    /// What a demand fault takes the program, waiting for the device included.
    pub demand: Duration,
    /// What the first touch of a page takes it that was fetched ahead and has arrived.
    pub first_use: Duration,
    /// What a fetch takes whoever fetches, waiting for the device left out.
    pub fetch: Duration,
}

impl Costs {
    /// A virtual machine with a disk of 53 us a read, measured on Linux 6.18; where nothing else
    /// is known.
    pub const DISK: Self = Self {
        demand: Duration::from_micros(62),
        first_use: Duration::from_nanos(2_600),
        fetch: Duration::from_micros(4),
    };

    /// What a fetched page that is used saves the program.
    pub fn saved(&self) -> Duration {
        self.demand.saturating_sub(self.first_use)
    }

    /// What one that is not used costs: the fetch, and a demand fault on the page that had to go
    /// for it. That page is wanted again nearly always: of GNU sort 16,000 fetched pages were used,
    /// 17,000 were not, and it had as many faults as without them.
    pub fn lost(&self) -> Duration {
        self.fetch + self.demand
    }

    /// The accuracy from which on fetching wins more than it loses, 0 to 1.
    pub fn break_even(&self) -> f64 {
        let (saved, lost) = (self.saved().as_secs_f64(), self.lost().as_secs_f64());
        match saved + lost {
            0.0 => 1.0,
            both => lost / both,
        }
    }

    /// Whether fetching can win at all. Of a device as fast as memory a page is read in about the
    /// time that it takes to ask for it from outside, and another processor is kept busy: it must
    /// save twice what the fetch takes.
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

    /// Compressed memory, measured: 10 us a fault, 8 us a fetch.
    #[test]
    fn a_device_of_memory_speed_does_not() {
        let costs = Costs {
            demand: Duration::from_micros(10),
            first_use: Duration::from_nanos(2_600),
            fetch: Duration::from_micros(8),
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
        };
        assert!(!nothing.can_pay());
        assert_eq!(nothing.break_even(), 1.0);
    }
}
