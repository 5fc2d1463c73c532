//! The chip, from the published figures of blocks.

use schemars::JsonSchema;
use serde::Serialize;
use terrace_tcam::circuit::{Die, PUBLISHED_CMOS, PUBLISHED_FLASH};

/// The chip of Fedorov 2016, 4.4.1.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DieFigures {
    /// Flash blocks.
    pub blocks: usize,
    /// CMOS shadow blocks.
    pub shadow_blocks: usize,
    /// Rows of these.
    pub shadow_rows: usize,
    /// Area of the flash blocks, in cm2.
    pub flash_cm2: f64,
    /// Area of the shadow blocks, in cm2.
    pub shadow_cm2: f64,
    /// Area of the die, in cm2.
    pub die_cm2: f64,
    /// Power if each block is searched in each cycle, in W.
    pub power_w: f64,
    /// Area of a CMOS die with as many entries, in cm2.
    pub cmos_die_cm2: f64,
    /// Its power, in W.
    pub cmos_power_w: f64,
}

impl DieFigures {
    pub(super) fn of_the_thesis() -> Self {
        let die = Die {
            blocks: 6000,
            rows: 256,
            shadow_blocks: 47,
            shadow_rows: 512,
        };
        let area = die.area(&PUBLISHED_FLASH, &PUBLISHED_CMOS);
        Self {
            blocks: die.blocks,
            shadow_blocks: die.shadow_blocks,
            shadow_rows: die.shadow_rows,
            flash_cm2: area.flash_cm2,
            shadow_cm2: area.shadow_cm2,
            die_cm2: area.die_cm2,
            power_w: die.power_w(&PUBLISHED_FLASH, &PUBLISHED_CMOS),
            cmos_die_cm2: die.cmos_die_cm2(&PUBLISHED_CMOS),
            cmos_power_w: die.cmos_power_w(&PUBLISHED_CMOS),
        }
    }
}
