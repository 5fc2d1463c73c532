//! The flash transistor: a resistance by how far its gate is above its threshold.

use super::technology::Technology;

/// A flash transistor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flash {
    /// Its resistance (kohm) when the gate is a volt above the threshold.
    pub kohm_at_a_volt: f64,
}

impl Flash {
    /// Returns the resistance (kohm) of a transistor whose gate is `overdrive_v` above its
    /// threshold; infinite if it is not above it.
    pub fn kohm(&self, overdrive_v: f64, technology: &Technology) -> f64 {
        self.kohm_at_a_volt / overdrive_v.max(0.0).powf(technology.alpha)
    }
}
