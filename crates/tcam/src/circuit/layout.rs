//! Where cells lie: their sides, which are the lengths of wires, and their areas.

use super::block::Cell;
use super::technology::Technology;

/// The sides of cells in a block, in um. Search lines and bitlines run along the height, match
/// lines along the width.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Layout {
    /// Width of a TCAM cell.
    pub cell_width_um: f64,
    /// Width of a port cell.
    pub port_width_um: f64,
    /// Height of a row.
    pub height_um: f64,
}

impl Layout {
    /// Returns the thesis's layouts, from the sides of its blocks of 256 rows: 190.72 um by 187.44
    /// um of flash, 46 % of it ports, and 311.04 um by 921.6 um of CMOS, 55 % of it ports (Fedorov
    /// 2016, 4.4).
    pub fn of(cell: Cell) -> Self {
        match cell {
            Cell::Flash => Self {
                cell_width_um: 190.72 * 0.54 / 256.0,
                port_width_um: 190.72 * 0.46 / 512.0,
                height_um: 187.44 / 256.0,
            },
            Cell::Cmos => Self {
                cell_width_um: 921.6 * 0.45 / 256.0,
                port_width_um: 921.6 * 0.55 / 512.0,
                height_um: 311.04 / 256.0,
            },
        }
    }

    /// Returns the areas (um2) of a TCAM cell and a port cell as dense memories have them, which
    /// the thesis's layouts were not: a NOR flash cell takes 10 F2 (Koob 2010, Memory Technology
    /// Comparison), an SRAM cell of six transistors 0.346 um2 at 45 nm (Mistry et al., IEDM 2007);
    /// the 17 transistors of a CMOS TCAM cell are taken to be as dense.
    pub fn dense_um2(cell: Cell, technology: &Technology) -> (f64, f64) {
        const SRAM_UM2: f64 = 0.346;
        let flash_um2 = 10.0 * technology.feature_um.powi(2);
        match cell {
            Cell::Flash => (2.0 * flash_um2, flash_um2),
            Cell::Cmos => (SRAM_UM2 * 17.0 / 6.0, SRAM_UM2),
        }
    }
}
