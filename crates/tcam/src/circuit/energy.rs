//! The energy of a search: capacitances that are charged again.

use super::block::{Block, Cell};
use super::match_line::MatchLine;
use super::port_line::PortLine;
use super::technology::Technology;

/// Returns the energy (pJ) of a search in the TCAM cells. All sections of all rows are discharged,
/// but for the one row that may match, and of each pair of search lines one rises if its bit
/// changes.
pub(super) fn of_cells_pj(block: &Block, line: &MatchLine, technology: &Technology) -> f64 {
    let supply_v = technology.supply_v;
    let sections = (block.rows * block.sections) as f64;
    let match_fj = sections * line.section_ff * supply_v.powi(2);
    let swing_v = match block.cell {
        Cell::Flash => supply_v - block.levels.low_gate_v,
        Cell::Cmos => supply_v,
    };
    let rising = block.columns as f64 * technology.activity;
    let search_fj = rising * line.search_ff * supply_v * swing_v;
    (match_fj + search_fj) / 1e3
}

/// Returns the energy (pJ) of reading the port: one select line, and bitlines. A flash cell
/// discharges half of them whole; of the two of an SRAM cell, one falls from half of the supply.
pub(super) fn of_ports_pj(block: &Block, line: &PortLine, technology: &Technology) -> f64 {
    let square = technology.supply_v.powi(2);
    let bitline = block.port_columns as f64 * line.bitline_ff * square / 2.0;
    (line.select_ff * square + bitline) / 1e3
}
