//! A block of the TCAM.

use terrace_base::{Error, Result};

use super::technology::Technology;

/// What cells are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cell {
    /// Two flash transistors, and one for a bit of the port.
    Flash,
    /// 17 transistors, and six for a bit of the port.
    Cmos,
}

/// Voltages of the flash cells (Fedorov 2016, 4.3.4.1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Levels {
    /// The lower threshold, T_L.
    pub low_threshold_v: f64,
    /// The higher threshold, T_H.
    pub high_threshold_v: f64,
    /// The lower level of search lines, R_L, between the thresholds; the higher one is the supply.
    pub low_gate_v: f64,
}

impl Default for Levels {
    /// Those of the thesis (Fedorov 2016, 4.4).
    fn default() -> Self {
        Self {
            low_threshold_v: 0.21,
            high_threshold_v: 0.76,
            low_gate_v: 0.6,
        }
    }
}

/// A block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Block {
    /// What its cells are.
    pub cell: Cell,
    /// Entries.
    pub rows: usize,
    /// TCAM cells of a row.
    pub columns: usize,
    /// Port cells of a row.
    pub port_columns: usize,
    /// Sections of a match line, each with as many cells.
    pub sections: usize,
    /// Voltages, if the cells are of flash.
    pub levels: Levels,
}

impl Default for Block {
    /// The flash block of the thesis.
    fn default() -> Self {
        Self {
            cell: Cell::Flash,
            rows: 256,
            columns: 256,
            port_columns: 512,
            sections: 32,
            levels: Levels::default(),
        }
    }
}

impl Block {
    /// Returns the CMOS block of the thesis.
    pub fn cmos() -> Self {
        Self {
            cell: Cell::Cmos,
            sections: 4,
            ..Self::default()
        }
    }

    /// Checks that lookups work: a cell that matches has a transistor that is off, and one that
    /// does not has two that conduct (Fedorov 2016, 4.3.4.1).
    ///
    /// # Errors
    /// Returns a usage error that says which levels contradict each other.
    pub fn check(&self, technology: &Technology) -> Result<()> {
        let Levels {
            low_threshold_v,
            high_threshold_v,
            low_gate_v,
        } = self.levels;
        let in_order = 0.0 < low_threshold_v
            && low_threshold_v < low_gate_v
            && low_gate_v < high_threshold_v
            && high_threshold_v < technology.supply_v;
        if !in_order {
            return Err(Error::usage(format!(
                "these levels do not make a TCAM: 0 < T_L ({low_threshold_v}) < R_L ({low_gate_v}) < T_H \
                 ({high_threshold_v}) < {} V must hold",
                technology.supply_v
            )));
        }
        match self.columns % self.sections {
            0 => Ok(()),
            _ => Err(Error::usage(format!(
                "{} sections cannot have as many cells each; a match line has {}",
                self.sections, self.columns
            ))),
        }
    }
}
