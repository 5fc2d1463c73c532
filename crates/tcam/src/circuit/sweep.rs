//! Sweeps over one figure of a block, as in Fedorov 2016, 4.3.4 and 4.4.

use super::block::Block;
use super::figures::Figures;
use super::flash::Flash;
use super::technology::Technology;

/// What is swept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// Rows of a block.
    Rows,
    /// Sections of a match line.
    Sections,
    /// The lower threshold, T_L.
    LowThreshold,
    /// The higher threshold, T_H.
    HighThreshold,
    /// The lower level of search lines, R_L.
    LowGate,
}

impl Axis {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Rows,
        Self::Sections,
        Self::LowThreshold,
        Self::HighThreshold,
        Self::LowGate,
    ];

    /// Returns the name, with the unit.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rows => "rows",
            Self::Sections => "sections",
            Self::LowThreshold => "T_L (V)",
            Self::HighThreshold => "T_H (V)",
            Self::LowGate => "R_L (V)",
        }
    }

    /// Returns the values: those at which a block works, around the thesis's.
    pub fn values(self) -> Vec<f64> {
        let powers = |from: i32, to: i32| (from..=to).map(|power| 2f64.powi(power)).collect();
        let volts = |from: u32, to: u32| {
            (from..=to)
                .step_by(50)
                .map(|mv| f64::from(mv) / 1e3)
                .collect()
        };
        match self {
            Self::Rows => powers(5, 11),
            Self::Sections => powers(0, 8),
            Self::LowThreshold => volts(10, 560),
            Self::HighThreshold => volts(610, 1060),
            Self::LowGate => volts(250, 750),
        }
    }

    /// Returns the block with this value.
    fn set(self, mut block: Block, value: f64) -> Block {
        match self {
            Self::Rows => block.rows = value as usize,
            Self::Sections => block.sections = value as usize,
            Self::LowThreshold => block.levels.low_threshold_v = value,
            Self::HighThreshold => block.levels.high_threshold_v = value,
            Self::LowGate => block.levels.low_gate_v = value,
        }
        block
    }
}

/// A value, and what the block takes with it.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// The value.
    pub value: f64,
    /// What the block takes.
    pub figures: Figures,
}

/// Returns what the block takes with each value of an axis.
pub fn sweep(block: &Block, axis: Axis, flash: &Flash, technology: &Technology) -> Vec<Point> {
    let values = axis.values().into_iter();
    let point = |value| Point {
        value,
        figures: axis.set(*block, value).figures(flash, technology),
    };
    values.map(point).collect()
}
