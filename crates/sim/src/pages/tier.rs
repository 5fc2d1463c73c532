//! The memories behind DRAM.

use std::fmt;

use terrace_base::Bytes;
use terrace_device::lifetime::Endurance;
use terrace_device::{Energy, Timing};

/// The slower tier.
#[derive(Clone, Debug, Default)]
pub struct Tier {
    /// Name of the technology.
    pub name: String,
    /// Timing of each device.
    pub timing: Timing,
    /// Number of devices, all alike; pages are assigned to them in turn when they are first
    /// written, as to Linux swap areas of equal priority (Fedorov 2016, 5.5.2). 0 counts as 1.
    pub devices: u32,
    /// Energy of its operations, if known.
    pub energy: Option<Energy>,
    /// Energy of reading and writing lines, if known.
    pub line_energy: Option<Energy>,
    /// Writes that a cell endures, if known.
    pub endurance: Option<f64>,
    /// Bytes that may be written to all devices together, as their manufacturer states it, in place
    /// of `endurance`.
    pub rated: Option<Endurance>,
    /// Size in pages; `None` for the footprint.
    pub pages: Option<u64>,
    /// Time of an access to a line in picoseconds, if the memory serves lines.
    pub line_ps: Option<u64>,
    /// Time of one that writes the line; `None` if it is that of a read.
    pub line_write_ps: Option<u64>,
    /// Whether nothing of it takes time: the machine has no clock, and only counts.
    pub untimed: bool,
}

impl Tier {
    /// Returns the tier of a machine that counts alone.
    pub fn untimed() -> Self {
        Self {
            name: Self::UNTIMED.to_owned(),
            devices: 1,
            untimed: true,
            ..Self::default()
        }
    }

    /// The name of [`Tier::untimed`].
    pub const UNTIMED: &str = "none";

    /// Returns its size, for programs of this footprint.
    pub fn capacity(&self, footprint_pages: u64) -> Bytes {
        Bytes::of_pages(self.pages.unwrap_or(footprint_pages).max(1))
    }

    /// Returns the time of an access that writes a line in picoseconds, if the memory serves lines.
    pub fn written_line_ps(&self) -> Option<u64> {
        Some(self.line_write_ps.unwrap_or(self.line_ps?))
    }
}

/// A memory between DRAM and the tier, which holds pages that have left DRAM until it has no room
/// for them.
#[derive(Clone, Debug, Default)]
pub struct Middle {
    /// Name of the technology.
    pub name: String,
    /// Timing of its one device.
    pub timing: Timing,
    /// Its size in pages, at least one.
    pub pages: usize,
}

impl fmt::Display for Middle {
    /// Writes the memory and its size as on the command line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}p", self.name, self.pages)
    }
}
