//! The flash transistor's resistance, fitted to the published block.

use super::block::Block;
use super::flash::Flash;
use super::halved_ps;
use super::port_line::PortLine;
use super::published::PUBLISHED_FLASH;
use super::technology::Technology;

impl Flash {
    /// Fits the resistance so that the flash port memory takes the 306 ps of table 4.1: there one
    /// transistor discharges a line whose length is known.
    pub fn fitted(technology: &Technology) -> Self {
        let block = Block::default();
        let line = PortLine::of(&block, technology);
        let left_ps = PUBLISHED_FLASH.port_ps - line.select_ps(technology);
        let kohm = left_ps / halved_ps(1.0, line.bitline_ff);
        let overdrive_v = block.levels.low_gate_v - block.levels.low_threshold_v;
        Self {
            kohm_at_a_volt: kohm * overdrive_v.powf(technology.alpha),
        }
    }
}
