//! What a block takes: its delay, energy and area.

use super::block::Block;
use super::energy;
use super::flash::Flash;
use super::layout::Layout;
use super::match_line::{MatchLine, Parts};
use super::port_line::PortLine;
use super::technology::Technology;

impl Block {
    /// Returns what the block takes.
    pub fn figures(&self, flash: &Flash, technology: &Technology) -> Figures {
        let match_line = MatchLine::of(self, technology);
        let port_line = PortLine::of(self, technology);
        let parts = match_line.parts(self, flash, technology);
        let read_ps = port_line.read_ps(self, flash, technology);
        let layout = Layout::of(self.cell);
        let rows_um = self.rows as f64 * layout.height_um;
        let mut figures = Figures {
            parts,
            port_ps: port_line.select_ps(technology) + read_ps,
            read_ps,
            tcam_pj: energy::of_cells_pj(self, &match_line, technology),
            port_pj: energy::of_ports_pj(self, &port_line, technology),
            tcam_um2: rows_um * self.columns as f64 * layout.cell_width_um,
            port_um2: rows_um * self.port_columns as f64 * layout.port_width_um,
            droop_v: 0.0,
        };
        figures.droop_v = match_line.droop_v(self, figures.tcam_ps(), technology);
        figures
    }

    /// Returns the lowest and the highest delay (ps) of the whole block when both thresholds are
    /// off by as much as `by_v`, independently.
    pub fn delay_range_ps(&self, by_v: f64, flash: &Flash, technology: &Technology) -> (f64, f64) {
        let off = [-by_v, 0.0, by_v];
        let delays = off.iter().flat_map(|low| {
            off.iter().map(move |high| {
                let mut block = *self;
                block.levels.low_threshold_v += low;
                block.levels.high_threshold_v += high;
                block.figures(flash, technology).delay_ps()
            })
        });
        delays.fold((f64::INFINITY, 0.0), |(least, most), ps| {
            (ps.min(least), ps.max(most))
        })
    }
}

/// What a block takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    /// The delay of the TCAM cells.
    pub parts: Parts,
    /// Delay of the port memory, in ps.
    pub port_ps: f64,
    /// Its part after the row is selected, in ps.
    pub read_ps: f64,
    /// Energy of a search in the TCAM cells, in pJ.
    pub tcam_pj: f64,
    /// Energy of reading the port, in pJ.
    pub port_pj: f64,
    /// Area of the TCAM cells, in um2.
    pub tcam_um2: f64,
    /// Area of the port cells, in um2.
    pub port_um2: f64,
    /// By how much the cells of a section that match discharge it during the search, in V.
    pub droop_v: f64,
}

impl Figures {
    /// Delay of the TCAM cells, in ps.
    pub fn tcam_ps(&self) -> f64 {
        self.parts.search_ps + self.parts.cell_ps + self.parts.cascade_ps
    }

    /// Delay of the block, in ps.
    pub fn delay_ps(&self) -> f64 {
        self.tcam_ps() + self.port_ps
    }

    /// Time between lookups when the TCAM cells and the port memory work on different ones, in ps.
    pub fn pipelined_ps(&self) -> f64 {
        self.tcam_ps().max(self.port_ps)
    }

    /// Energy of a search, in pJ.
    pub fn pj(&self) -> f64 {
        self.tcam_pj + self.port_pj
    }

    /// Area, in um2.
    pub fn um2(&self) -> f64 {
        self.tcam_um2 + self.port_um2
    }
}

/// Returns the rate (Gb/s) of a line whose packets, of the smallest size, are looked up one in each
/// period; the clock is rounded down to tenths of a GHz, as in Fedorov 2016, 4.4.
pub fn line_rate_gbps(period_ps: f64, technology: &Technology) -> f64 {
    let clock_ghz = (1e4 / period_ps).floor() / 10.0;
    clock_ghz * technology.packet_bytes * 8.0
}
