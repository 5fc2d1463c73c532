//! The energy that a memory takes.
//!
//! A transfer takes the power of its kind for as long as it lasts, and opening its row the power
//! of an activation for as long as the first read of a row lasts (the powers and latencies of
//! Fedorov 2016, table 2.2). Standby and refresh go on all the time, for all of the capacity.

use std::ops::Add;

use terrace_base::{Bytes, Nanos};

use crate::technology::{Figure, Technology};

/// Cells of a page of 4 KiB, one a bit.
const PAGE_CELLS: f64 = 8.0 * 4096.0;

/// Unit of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// 64 bytes, in a row that is not open: the traffic of a last-level cache.
    Line,
    /// A further 64 bytes in the row that is open.
    LineInRow,
    /// 4 KiB.
    Page,
}

/// The energy that transfers and time cost, in joules and watts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Energy {
    /// Joules a read, without opening its row.
    pub read: f64,
    /// Joules a write, without opening its row.
    pub write: f64,
    /// Joules to open a row, once for each transfer that opens one.
    pub activate: f64,
    /// Watts a byte of capacity, all the time.
    pub standby: f64,
    /// Watts a byte of capacity, all the time, for refreshing.
    pub refresh: f64,
}

/// Energy by use, in joules.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Consumed {
    /// Reads.
    pub read: f64,
    /// Writes.
    pub write: f64,
    /// Opening rows.
    pub activate: f64,
    /// Standby.
    pub standby: f64,
    /// Refresh.
    pub refresh: f64,
}

impl Energy {
    /// Computes the energies from the powers and latencies of a technology; `None` if it lacks one.
    pub fn of(technology: &Technology, unit: Unit) -> Option<Self> {
        let (read, write) = match unit {
            Unit::Line => (&technology.line_read, &technology.line_write),
            Unit::LineInRow => (&technology.same_row, &technology.same_row),
            Unit::Page => (&technology.page_read, &technology.page_write),
        };
        let power = technology.power.as_ref()?;
        let a_byte = 1e-3 / power.chip.0 as f64;
        Some(Self {
            read: joules(power.row_read, read)?,
            write: joules(power.row_write, write)?,
            activate: match unit {
                Unit::LineInRow => 0.0,
                Unit::Line | Unit::Page => joules(power.activate, &technology.line_read)?,
            },
            standby: power.standby * a_byte,
            refresh: power.refresh * a_byte,
        })
    }

    /// Returns the energy of `reads` and `writes`, and of a memory of `capacity` during `elapsed`.
    pub fn consumed(&self, reads: u64, writes: u64, capacity: Bytes, elapsed: Nanos) -> Consumed {
        let byte_seconds = capacity.0 as f64 * elapsed.seconds();
        Consumed {
            read: self.read * reads as f64,
            write: self.write * writes as f64,
            activate: self.activate * (reads as f64 + writes as f64),
            standby: self.standby * byte_seconds,
            refresh: self.refresh * byte_seconds,
        }
    }

    /// Returns the joules of programming `cells` cells, one a bit, and of opening `rows` rows for
    /// that. A write, of a page here, programs all its cells; data-comparison write saves the
    /// energy of those that it leaves as they are (Yang et al., ISCAS 2007).
    pub fn programming(&self, cells: u64, rows: u64) -> f64 {
        self.write * cells as f64 / PAGE_CELLS + self.activate * rows as f64
    }
}

/// Returns the energy of a power in milliwatts over a latency.
fn joules(milliwatts: f64, latency: &Option<Figure<Nanos>>) -> Option<f64> {
    Some(milliwatts * 1e-3 * latency.as_ref()?.value.seconds())
}

impl Consumed {
    /// Returns the sum.
    pub fn total(&self) -> f64 {
        self.read + self.write + self.activate + self.standby + self.refresh
    }
}

impl Add for Consumed {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            read: self.read + other.read,
            write: self.write + other.write,
            activate: self.activate + other.activate,
            standby: self.standby + other.standby,
            refresh: self.refresh + other.refresh,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::Catalogue;

    const SECOND: Nanos = Nanos(1_000_000_000);

    fn energy(name: &str, unit: Unit) -> Option<Energy> {
        Energy::of(Catalogue::builtin().get(name).unwrap(), unit)
    }

    fn close(a: f64, b: f64) -> bool {
        (a / b - 1.0).abs() < 1e-9
    }

    #[test]
    fn a_line_takes_the_table_s_power_for_the_table_s_time() {
        let dram = energy("dram", Unit::Line).unwrap();
        assert!(close(dram.read, 210e-3 * 15e-9), "{dram:?}");
        assert!(close(dram.write, 195e-3 * 22e-9), "{dram:?}");
        assert!(close(dram.activate, 75e-3 * 15e-9), "{dram:?}");
        let pcm = energy("pcm-row", Unit::Line).unwrap();
        assert!(close(pcm.write, 773e-3 * 150e-9), "{pcm:?}");
        let times = pcm.write / dram.write;
        assert!(
            (20.0..43.0).contains(&times),
            "up to 43 by Awad 2016, 5.1: {times}"
        );
    }

    #[test]
    fn a_line_in_the_open_row_takes_less_and_opens_none() {
        let pcm = energy("pcm-row", Unit::LineInRow).unwrap();
        assert!(close(pcm.read, 78e-3 * 15e-9), "{pcm:?}");
        assert!(close(pcm.write, 773e-3 * 15e-9), "{pcm:?}");
        assert_eq!(pcm.activate, 0.0);
    }

    #[test]
    fn a_gibibyte_that_stands_by_for_a_second() {
        let idle = |name| {
            let energy = energy(name, Unit::Page).unwrap();
            energy.consumed(0, 0, Bytes(1 << 30), SECOND)
        };
        assert!(close(idle("dram").total(), 94e-3), "{:?}", idle("dram"));
        assert!(close(idle("pcm-row").total(), 45e-3));
        assert_eq!(idle("pcm-row").refresh, 0.0);
    }

    #[test]
    fn it_adds_up() {
        let energy = energy("dram", Unit::Page).unwrap();
        let one = energy.consumed(1, 0, Bytes(0), SECOND) + energy.consumed(0, 1, Bytes(0), SECOND);
        assert_eq!(one, energy.consumed(1, 1, Bytes(0), SECOND));
        let expected = energy.read + energy.write + 2.0 * energy.activate;
        assert!(close(one.total(), expected), "{one:?}");
    }

    #[test]
    fn a_page_takes_what_its_cells_take() {
        let energy = energy("pcm-row", Unit::Page).unwrap();
        let page = energy.programming(8 * 4096, 1);
        assert!(close(page, energy.consumed(0, 1, Bytes(0), SECOND).total()));
        let half = energy.programming(4 * 4096, 0);
        assert!(close(half, energy.write / 2.0), "{half}");
    }

    #[test]
    fn where_no_source_gives_powers_there_is_no_energy() {
        for name in ["pcm", "flash", "nvme-flash", "fram"] {
            assert_eq!(energy(name, Unit::Page), None, "{name}");
        }
    }
}
