//! Fast and slow memory, as a core sees them.

use terrace_base::{Error, Nanos, Result};
use terrace_device::{Figure, Technology};

/// Lines of a page, of whose latency in sequence a line has its part.
const LINES_A_PAGE: u64 = 64;

/// The longest time of a page that can be summed up over any trace, in picoseconds.
const SLOWEST: u64 = 10_000_000_000;

/// A memory; times are in picoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    /// The name of its technology.
    pub name: String,
    /// The time of the first line of a group.
    pub latency: u64,
    /// The time of each further line: a line's part of a page that is read in sequence.
    pub transfer: u64,
}

/// Both memories of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memories {
    /// The fast one.
    pub fast: Memory,
    /// The slow one.
    pub slow: Memory,
}

impl Memory {
    /// Returns the memory of a technology. Where nothing says how long a line takes by itself, it
    /// takes as long as in sequence.
    ///
    /// # Errors
    /// A usage error where nothing says how long a page takes.
    pub fn of(technology: &Technology) -> Result<Self> {
        let picos = |figure: &Option<Figure<Nanos>>| {
            let nanos = figure.as_ref().map(|of| of.value.0);
            nanos.map(|nanos| nanos.saturating_mul(1000))
        };
        let name = &technology.name;
        let page = picos(&technology.page_read).ok_or_else(|| {
            Error::usage(format!(
                "nothing says how long `{name}` takes for a page; give page_read in a file of your own, with like = \
                 \"{name}\""
            ))
        })?;
        let transfer = page / LINES_A_PAGE;
        let latency = picos(&technology.line_read).unwrap_or(transfer);
        if page.max(latency) > SLOWEST {
            return Err(Error::usage(format!(
                "`{name}` takes longer than {} for a page, which no core waits for; place programs on faster memories",
                Nanos(SLOWEST / 1000)
            )));
        }
        Ok(Self {
            name: name.clone(),
            latency,
            transfer,
        })
    }

    /// Returns the time of lines that are requested together: reads, and dirty lines that are
    /// written.
    pub fn time(&self, reads: u64, writes: u64) -> u64 {
        match reads {
            0 => writes * self.transfer,
            _ => self.latency + (reads - 1 + writes) * self.transfer,
        }
    }
}
