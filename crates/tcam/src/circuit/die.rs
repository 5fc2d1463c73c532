//! A whole chip: flash blocks, the CMOS shadow blocks beside them, and the CMOS chip that they
//! replace.

use super::block::{Block, Cell};
use super::flash::Flash;
use super::published::Published;
use super::technology::Technology;

/// Share of the die that is wires and control (Fedorov 2016, 4.4.1).
const WIRES_AND_CONTROL: f64 = 0.37;
/// Rows of the blocks of table 4.1.
const ROWS: f64 = 256.0;

/// What a chip is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Die {
    /// Flash blocks.
    pub blocks: usize,
    /// Rows of each.
    pub rows: usize,
    /// CMOS shadow blocks.
    pub shadow_blocks: usize,
    /// Rows of each.
    pub shadow_rows: usize,
}

/// Area, in cm2.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Area {
    /// The flash blocks.
    pub flash_cm2: f64,
    /// The shadow blocks.
    pub shadow_cm2: f64,
    /// The die, with wires and control.
    pub die_cm2: f64,
}

impl Die {
    /// Returns the area, from that of blocks of 256 rows: in proportion to rows.
    pub fn area(&self, flash: &Published, cmos: &Published) -> Area {
        let flash_cm2 = cm2(self.flash_blocks() * flash.um2());
        let shadow_cm2 = cm2(self.cmos_blocks() * cmos.um2());
        Area {
            flash_cm2,
            shadow_cm2,
            die_cm2: (flash_cm2 + shadow_cm2) / (1.0 - WIRES_AND_CONTROL),
        }
    }

    /// Returns the area (cm2) of a die of CMOS blocks alone with as many entries; they need no
    /// shadow blocks.
    pub fn cmos_die_cm2(&self, cmos: &Published) -> f64 {
        cm2(self.flash_blocks() * cmos.um2()) / (1.0 - WIRES_AND_CONTROL)
    }

    /// Returns the power (W) when every block is searched in every cycle, as figure 4.4 has it.
    pub fn power_w(&self, flash: &Published, cmos: &Published) -> f64 {
        (self.flash_blocks() * flash.mw() + self.cmos_blocks() * cmos.mw()) / 1e3
    }

    /// Returns the power (W) of the CMOS chip with as many entries.
    pub fn cmos_power_w(&self, cmos: &Published) -> f64 {
        self.flash_blocks() * cmos.mw() / 1e3
    }

    /// Returns the energy (nJ) of a lookup by the model, which searches every block; of the flash
    /// chip, and of the CMOS chip with as many entries.
    pub fn lookup_nj(&self, flash: &Flash, technology: &Technology) -> (f64, f64) {
        let of_blocks = |blocks: usize, cell: Cell, rows: usize| {
            let block = match cell {
                Cell::Flash => Block::default(),
                Cell::Cmos => Block::cmos(),
            };
            let figures = Block { rows, ..block }.figures(flash, technology);
            blocks as f64 * figures.pj() / 1e3
        };
        let shadow = of_blocks(self.shadow_blocks, Cell::Cmos, self.shadow_rows);
        (
            of_blocks(self.blocks, Cell::Flash, self.rows) + shadow,
            of_blocks(self.blocks, Cell::Cmos, self.rows),
        )
    }

    /// Returns the flash blocks in blocks of 256 rows.
    fn flash_blocks(&self) -> f64 {
        self.blocks as f64 * self.rows as f64 / ROWS
    }

    /// Returns the shadow blocks in blocks of 256 rows.
    fn cmos_blocks(&self) -> f64 {
        self.shadow_blocks as f64 * self.shadow_rows as f64 / ROWS
    }
}

fn cm2(um2: f64) -> f64 {
    um2 / 1e8
}
