//! Settings of a simulated machine with a page cache, flash and a disk.

use std::fmt;

use terrace_base::{Bytes, Error, Nanos, Result};
use terrace_policy::admission::{self, Chain};
use terrace_policy::replacement;

use crate::named::named;
use crate::pages::levelling;

named! {
    /// How flash stands to DRAM (Koob 2010, "Extended Memory Hierarchies").
    pub enum Organisation {
        /// Flash is filled with what DRAM evicts, and keeps what is read again.
        #[default]
        Extended = "extended"
            "Flash is filled with what DRAM evicts: the extended buffer cache",
        /// Flash is filled with what the disk delivers.
        Multilevel = "multilevel"
            "Flash is filled with what the disk delivers: the multilevel buffer cache",
        /// A page is in DRAM or on flash.
        Memory = "memory"
            "A page is in DRAM or on flash: multilevel main memory",
    }
}

named! {
    /// When written pages go to the disk.
    pub enum Writes {
        /// At once; the writer waits.
        #[default]
        Through = "through"
            "At once, and the writer waits",
        /// When DRAM evicts them.
        Back = "back"
            "When DRAM evicts them",
        /// At once, and DRAM does not keep them: what `terrace mount --mode exact` does.
        Around = "around"
            "At once, and DRAM does not keep them, as terrace mount --mode exact",
    }
}

/// Factors by which an emulated flash is slower than its technology.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlowDown {
    /// Of reads.
    pub read: f64,
    /// Of writes.
    pub write: f64,
}

impl SlowDown {
    /// Reads `5`, or `2:10` for reads and writes.
    ///
    /// # Errors
    /// A usage error where these are no numbers from 0 to a million.
    pub fn parse(text: &str) -> Result<Self> {
        let factor = |text: &str| {
            let factor = text.trim().parse().ok();
            factor.filter(|factor| (0.0..=1e6).contains(factor))
        };
        let (read, write) = text.split_once(':').unwrap_or((text, text));
        let both = factor(read).zip(factor(write));
        let (read, write) = both.ok_or_else(|| {
            Error::usage(format!(
                "`{text}` is no slow-down; write it as 5, or as 2:10 for reads and writes"
            ))
        })?;
        Ok(Self { read, write })
    }
}

impl Default for SlowDown {
    fn default() -> Self {
        Self {
            read: 1.0,
            write: 1.0,
        }
    }
}

impl fmt::Display for SlowDown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.read == self.write {
            true => self.read.fmt(f),
            false => write!(f, "{}:{}", self.read, self.write),
        }
    }
}

/// What flash is made of.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Technology {
    /// Name in the catalogue.
    pub name: String,
    /// Time of a page's read.
    pub read: Nanos,
    /// Time of a page's write.
    pub write: Nanos,
    /// Writes that are served at the same time.
    pub channels: u32,
    /// Writes that a cell endures, if known.
    pub endurance: Option<f64>,
}

/// A machine.
#[derive(Clone, Debug, Default)]
pub struct FilesMachine {
    /// How flash stands to DRAM.
    pub organisation: Organisation,
    /// Pages of the page cache.
    pub dram_pages: usize,
    /// Pages of the kernel's read-ahead of files at most; 0: there is none.
    pub readahead_pages: u64,
    /// What stays in the page cache.
    pub replacement: replacement::Spec,
    /// Pages of flash; 0: there is none.
    pub flash_pages: usize,
    /// What stays on flash.
    pub flash_replacement: replacement::Spec,
    /// What is written to flash.
    pub admission: Chain,
    /// Bytes that may be written to flash in a day.
    pub budget: Option<Bytes>,
    /// What flash is made of.
    pub technology: Technology,
    /// Factors by which it is slower.
    pub slow_down: SlowDown,
    /// How its wear is levelled.
    pub levelling: levelling::Spec,
    /// Pages that wait to be written before their writer waits, of flash and of the disk.
    pub write_buffer: u64,
    /// When written pages go to the disk.
    pub writes: Writes,
    /// Time of a seek of the disk.
    pub disk_latency: Nanos,
    /// Bytes a second that the disk transfers.
    pub disk_rate: Bytes,
    /// Time in which a page is copied from or to DRAM.
    pub copy: Nanos,
    /// Least time from the beginning of a request to that of the next.
    pub interval: Nanos,
    /// Requests before figures are taken.
    pub warmup: u64,
    /// Seed of random choices.
    pub seed: u64,
}

impl FilesMachine {
    /// Returns the policies that decide what is written to flash.
    ///
    /// # Errors
    /// A usage error where the budget is less than can be kept.
    pub fn chain(&self) -> Result<Chain> {
        let chain = self.admission.clone();
        let Some(Bytes(budget)) = self.budget else {
            return Ok(chain);
        };
        let spec = admission::Spec::parse(&format!("write-budget:bytes-per-day={budget}"));
        Ok(chain.with(spec.map_err(Error::usage)?))
    }

    /// Checks that all parts can be made.
    ///
    /// # Errors
    /// A usage error that names what cannot be made.
    pub fn check(&self) -> Result<()> {
        for spec in [&self.replacement, &self.flash_replacement] {
            if spec.entry().knows_future() {
                return Err(Error::usage(format!(
                    "{spec} needs to know the future, and files are simulated without; take another"
                )));
            }
            spec.policy(1, self.seed, None).map_err(Error::usage)?;
        }
        let known = self.known();
        self.chain()?.policy(&known).map(drop).map_err(Error::usage)
    }

    /// Returns what admission policies know of the machine.
    pub(super) fn known(&self) -> admission::Machine {
        admission::Machine {
            flash: self.flash_pages as u64,
            dram: self.dram_pages as u64,
        }
    }
}
