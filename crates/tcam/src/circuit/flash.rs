//! The flash transistor: a resistance by how far its gate is above its threshold.

use super::block::Block;
use super::halved_ps;
use super::port_line::PortLine;
use super::published::PUBLISHED_FLASH;
use super::technology::Technology;

/// A flash transistor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flash {
    /// Its resistance (kohm) when the gate is a volt above the threshold.
    pub kohm_at_a_volt: f64,
}

impl Flash {
    /// Fits the resistance so that the flash port memory takes the 306 ps of table 4.1: there one transistor
    /// discharges a line whose length is known.
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

    /// Returns the resistance (kohm) of a transistor whose gate is `overdrive_v` above its threshold; infinite if it
    /// is not above it.
    pub fn kohm(&self, overdrive_v: f64, technology: &Technology) -> f64 {
        self.kohm_at_a_volt / overdrive_v.max(0.0).powf(technology.alpha)
    }
}
