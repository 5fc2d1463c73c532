//! The match line of a row: sections; each discharges the next (Fedorov 2016, figure 4.3).

use super::block::{Block, Cell};
use super::flash::Flash;
use super::halved_ps;
use super::layout::Layout;
use super::technology::Technology;

/// A match line, and the search lines of its cells.
#[derive(Clone, Copy, Debug)]
pub(super) struct MatchLine {
    /// Capacitance of a section, in fF.
    pub section_ff: f64,
    /// Resistance of a section's wire, in kohm.
    pub section_kohm: f64,
    /// Capacitance of a search line, in fF.
    pub search_ff: f64,
    sections: f64,
    cells: f64,
}

/// Parts of the delay, in ps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parts {
    /// The search lines are driven.
    pub search_ps: f64,
    /// A cell that does not match discharges its section.
    pub cell_ps: f64,
    /// Each section discharges the next.
    pub cascade_ps: f64,
}

impl MatchLine {
    pub fn of(block: &Block, technology: &Technology) -> Self {
        let layout = Layout::of(block.cell);
        let cells = block.columns as f64 / block.sections as f64;
        // Two flash transistors in series are one drain on the line; the compare of a CMOS cell are
        // two paths.
        let (drains_um, gate_um) = match block.cell {
            Cell::Flash => (technology.flash_width_um, technology.flash_width_um),
            Cell::Cmos => (2.0 * technology.cmos_width_um, technology.cmos_width_um),
        };
        let cell_ff =
            drains_um * technology.drain_ff_um + layout.cell_width_um * technology.wire_ff_um;
        let search_ff = gate_um * technology.gate_ff_um + layout.height_um * technology.wire_ff_um;
        Self {
            section_ff: cells * cell_ff + Self::overhead_ff(technology),
            section_kohm: cells * layout.cell_width_um * technology.wire_ohm_um / 1e3,
            search_ff: search_ff * block.rows as f64,
            sections: block.sections as f64,
            cells,
        }
    }

    /// Returns the delay of the worst case: one cell, of the first section, does not match.
    pub fn parts(&self, block: &Block, flash: &Flash, technology: &Technology) -> Parts {
        let layout = Layout::of(block.cell);
        // Driven from the middle of the block.
        let half_kohm = block.rows as f64 / 2.0 * layout.height_um * technology.wire_ohm_um / 1e3;
        let search_ps =
            technology.buffer_ps(self.search_ff) + halved_ps(half_kohm / 2.0, self.search_ff / 2.0);
        Parts {
            search_ps,
            cell_ps: halved_ps(
                cell_kohm(block, flash, technology) + self.section_kohm / 2.0,
                self.section_ff,
            ),
            cascade_ps: (self.sections - 1.0) * self.step_ps(technology),
        }
    }

    /// Returns the time (ps) from one section to the next: the inverter at its end turns on the
    /// device M of the next section, which discharges it.
    fn step_ps(&self, technology: &Technology) -> f64 {
        let width_um = technology.cmos_width_um;
        let inverter_ps = halved_ps(
            technology.pmos_kohm(2.0 * width_um),
            Self::driven_ff(technology),
        );
        let line_kohm = technology.nmos_kohm(width_um) + self.section_kohm / 2.0;
        inverter_ps + halved_ps(line_kohm, self.section_ff)
    }

    /// Returns the capacitance (fF) that a section has beside its cells: the drains of the device
    /// M, the keeper K and the precharge transistor, and the gate of the inverter, whose PMOS
    /// transistor is twice as wide.
    pub fn overhead_ff(technology: &Technology) -> f64 {
        technology.cmos_width_um * (3.0 * technology.drain_ff_um + 3.0 * technology.gate_ff_um)
    }

    /// Returns the capacitance (fF) that this inverter drives: its own drains, the gates of the
    /// keeper and of M.
    pub fn driven_ff(technology: &Technology) -> f64 {
        technology.cmos_width_um * (3.0 * technology.drain_ff_um + 2.0 * technology.gate_ff_um)
    }

    /// Returns by how many volts the cells of a section that match discharge it in the meantime
    /// (ps): their weaker transistor is below its threshold.
    pub fn droop_v(&self, block: &Block, meanwhile_ps: f64, technology: &Technology) -> f64 {
        match block.cell {
            Cell::Flash => {
                let below_v = block.levels.high_threshold_v - block.levels.low_gate_v;
                let leak_na = self.cells * technology.flash_leak_na(below_v);
                // nA ps / fF is uV.
                leak_na * meanwhile_ps / self.section_ff * 1e-6
            }
            Cell::Cmos => 0.0,
        }
    }
}

/// Returns the resistance (kohm) of a cell that does not match: one of two flash transistors with
/// T_L at its gate's R_L and the other with T_H at R_H, in series; or two CMOS transistors.
fn cell_kohm(block: &Block, flash: &Flash, technology: &Technology) -> f64 {
    match block.cell {
        Cell::Flash => {
            let levels = block.levels;
            flash.kohm(levels.low_gate_v - levels.low_threshold_v, technology)
                + flash.kohm(technology.supply_v - levels.high_threshold_v, technology)
        }
        Cell::Cmos => 2.0 * technology.nmos_kohm(technology.cmos_width_um),
    }
}
