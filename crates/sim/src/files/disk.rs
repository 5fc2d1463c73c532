//! The disk: a seek, and the transfer.

use terrace_base::{Bytes, Nanos};
use terrace_policy::PAGE_BYTES;

use super::settings::FilesMachine;
use super::station::Station;

/// A disk. Reads and writes each go on where the last of their kind ended, or seek. Who waits for
/// it waits for the reads in flight first.
#[derive(Clone, Debug)]
pub(super) struct Disk {
    seek: Nanos,
    transfer: Nanos,
    station: Station,
    /// When the last read that was begun ends.
    free: Nanos,
    /// Places behind the last read and the last write.
    next: [Option<u64>; 2],
    /// Seeks.
    pub(super) seeks: u64,
}

impl Disk {
    /// Makes the disk of a machine.
    pub(super) fn new(machine: &FilesMachine) -> Self {
        let transfer = transfer(machine.disk_rate);
        Self {
            seek: machine.disk_latency,
            transfer,
            station: Station::new(1, Nanos(transfer.0.saturating_mul(machine.write_buffer))),
            free: Nanos::ZERO,
            next: [None; 2],
            seeks: 0,
        }
    }

    /// Reads so many pages in a row, the first of which is at a place, and returns the end.
    pub(super) fn read(&mut self, now: Nanos, place: u64, pages: u64) -> Nanos {
        let service = self.service(false, place, pages);
        self.serve(now, service)
    }

    /// Writes the page at a place while the writer waits, and returns the end.
    pub(super) fn write_through(&mut self, now: Nanos, place: u64) -> Nanos {
        let service = self.service(true, place, 1);
        self.serve(now, service)
    }

    /// Writes the page at a place in the background, and returns when the writer goes on.
    pub(super) fn write_back(&mut self, now: Nanos, place: u64) -> Nanos {
        let service = self.service(true, place, 1);
        self.station.write(now, service)
    }

    fn serve(&mut self, now: Nanos, service: Nanos) -> Nanos {
        self.free = self.station.read(self.free.max(now), service);
        self.free
    }

    fn service(&mut self, write: bool, place: u64, pages: u64) -> Nanos {
        let next = self.next[usize::from(write)].replace(place.wrapping_add(pages));
        let transfer = Nanos(self.transfer.0.saturating_mul(pages));
        match next == Some(place) {
            true => transfer,
            false => {
                self.seeks += 1;
                self.seek + transfer
            }
        }
    }
}

/// Returns the time of a page's transfer.
fn transfer(rate: Bytes) -> Nanos {
    let nanos = (u128::from(PAGE_BYTES) * 1_000_000_000).div_ceil(u128::from(rate.0.max(1)));
    Nanos(nanos as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_is_transferred_without_a_seek() {
        let machine = FilesMachine {
            disk_latency: Nanos(1000),
            disk_rate: Bytes(4096 * 10_000_000),
            ..FilesMachine::default()
        };
        let mut disk = Disk::new(&machine);
        assert_eq!(disk.read(Nanos(0), 7, 1), Nanos(1100));
        assert_eq!(disk.read(Nanos(2000), 8, 1), Nanos(2100));
        assert_eq!(
            disk.write_through(Nanos(3000), 9),
            Nanos(4100),
            "another kind"
        );
        assert_eq!(disk.read(Nanos(5000), 9, 1), Nanos(5100));
        assert_eq!(disk.read(Nanos(6000), 9, 1), Nanos(7100), "again");
        assert_eq!(disk.seeks, 3);
    }

    #[test]
    fn a_read_in_flight_goes_first() {
        let machine = FilesMachine {
            disk_latency: Nanos(1000),
            disk_rate: Bytes(4096 * 10_000_000),
            ..FilesMachine::default()
        };
        let mut disk = Disk::new(&machine);
        assert_eq!(disk.read(Nanos(0), 7, 4), Nanos(1400), "four pages");
        assert_eq!(disk.read(Nanos(100), 11, 1), Nanos(1500), "behind them");
        assert_eq!(disk.write_through(Nanos(200), 9), Nanos(2600));
        assert_eq!(disk.read(Nanos(9000), 12, 1), Nanos(9100), "idle since");
        assert_eq!(disk.seeks, 2);
        // Without a buffer who writes waits.
        assert_eq!(disk.read(Nanos(10_000), 13, 4), Nanos(10_400));
        assert_eq!(disk.write_back(Nanos(10_000), 10), Nanos(10_500));
    }
}
