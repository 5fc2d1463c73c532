//! What a simulated TCAM is like.

use terrace_base::{Error, Nanos, Result};

use crate::levelling;
use crate::pool::Allocation;

/// A chip and its firmware, without the policy. Defaults are the chapter's.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Rows of a flash block.
    pub rows: u32,
    /// Flash blocks.
    pub blocks: u32,
    /// Rows of a shadow block.
    pub shadow_rows: u32,
    /// Shadow blocks beside one for each prefix length; `None`: as many as are needed.
    pub buffers: Option<u32>,
    /// Writes of a flash block in a second: erasing and programming it, with all blocks of one
    /// flush at a time.
    pub writes_per_second: f64,
    /// Who may use a free block.
    pub allocation: Allocation,
    /// Which free block is written next.
    pub levelling: levelling::Spec,
    /// Seed of random levelling.
    pub seed: u64,
}

/// Largest numbers of blocks, and of rows of a block.
const MOST: u32 = 1 << 20;

impl Default for Settings {
    fn default() -> Self {
        Self {
            rows: 256,
            blocks: 6000,
            shadow_rows: 512,
            buffers: None,
            writes_per_second: 4.0,
            allocation: Allocation::Shared,
            levelling: levelling::Spec::default(),
            seed: 1,
        }
    }
}

impl Settings {
    /// Checks the numbers.
    ///
    /// # Errors
    /// Returns a usage error that names the one that is wrong.
    pub fn check(&self) -> Result<()> {
        for (what, number) in [
            ("rows of a flash block", self.rows),
            ("flash blocks", self.blocks),
            ("rows of a shadow block", self.shadow_rows),
        ] {
            if !(1..=MOST).contains(&number) {
                return Err(Error::usage(format!("{number} {what}: it is 1 to {MOST}")));
            }
        }
        if u64::from(self.rows) * u64::from(self.blocks) > 1 << 28 {
            return Err(Error::usage(format!(
                "{} blocks of {} rows have more than {} rows in all, the most that are simulated",
                self.blocks,
                self.rows,
                1 << 28
            )));
        }
        match self.writes_per_second {
            writes if (0.001..=1e6).contains(&writes) => Ok(()),
            writes => Err(Error::usage(format!(
                "{writes} writes of a block in a second: it is 0.001 to 1000000"
            ))),
        }
    }

    /// Returns the time in which blocks are erased and programmed.
    pub fn write_time(&self) -> Nanos {
        Nanos((1e9 / self.writes_per_second) as u64)
    }

    /// Returns the flash blocks that a full shadow block fills.
    pub fn blocks_a_flush(&self) -> u32 {
        self.shadow_rows.div_ceil(self.rows)
    }
}
