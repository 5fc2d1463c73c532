//! The port memory: a row's match selects it, and its cells discharge the bitlines.

use super::block::{Block, Cell};
use super::flash::Flash;
use super::halved_ps;
use super::layout::Layout;
use super::technology::Technology;

/// The lines of the port memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct PortLine {
    /// Capacitance of the line that selects a row, in fF.
    pub select_ff: f64,
    /// Capacitance of a bitline, in fF.
    pub bitline_ff: f64,
}

impl PortLine {
    pub fn of(block: &Block, technology: &Technology) -> Self {
        let layout = Layout::of(block.cell);
        // A flash cell is one transistor; an SRAM cell has two, one on each of two bitlines.
        let (gates_um, drain_um) = match block.cell {
            Cell::Flash => (technology.flash_width_um, technology.flash_width_um),
            Cell::Cmos => (2.0 * technology.cmos_width_um, technology.cmos_width_um),
        };
        let select =
            gates_um * technology.gate_ff_um + layout.port_width_um * technology.wire_ff_um;
        let bitline = drain_um * technology.drain_ff_um + layout.height_um * technology.wire_ff_um;
        Self {
            select_ff: select * block.port_columns as f64,
            bitline_ff: bitline * block.rows as f64,
        }
    }

    /// Returns the time (ps) from the match to the selected row.
    pub fn select_ps(&self, technology: &Technology) -> f64 {
        technology.buffer_ps(self.select_ff)
    }

    /// Returns the time (ps) from the selected row to the port.
    pub fn read_ps(&self, block: &Block, flash: &Flash, technology: &Technology) -> f64 {
        match block.cell {
            Cell::Flash => {
                let overdrive_v = block.levels.low_gate_v - block.levels.low_threshold_v;
                halved_ps(flash.kohm(overdrive_v, technology), self.bitline_ff)
            }
            // Two transistors in series discharge a bitline as far as the sense amplifier needs.
            Cell::Cmos => {
                let kohm = 2.0 * technology.nmos_kohm(technology.cmos_width_um);
                let begun_v = technology.supply_v / 2.0;
                let share_left = (begun_v - technology.sense_v) / begun_v;
                let sensed_ps = -kohm * self.bitline_ff * share_left.ln();
                sensed_ps + technology.sense_fan_outs * technology.fan_out_4_ps
            }
        }
    }
}
