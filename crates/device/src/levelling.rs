//! How a device spreads writes over its lines.

/// How a device spreads writes over its lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Levelling {
    /// No levelling: every line keeps its place.
    #[default]
    None,
    /// Start-gap in regions ([`crate::regions`]).
    StartGap {
        /// Writes of lines of a region between two movements of its gap; 0 counts as 1.
        psi: u32,
        /// Regions; 0 counts as 1, and more than lines as that many.
        regions: u32,
        /// Whether lines are mapped at random before.
        random: bool,
    },
    /// Random swaps ([`crate::swaps`]).
    Randomised {
        /// Mean writes of lines between two swaps, which are drawn; 0 counts as 1.
        psi: u32,
    },
}

impl Levelling {
    /// Returns the number of gaps of start-gap in a memory of `lines` lines: one a region.
    pub fn gaps(self, lines: u64) -> u64 {
        match self {
            Self::StartGap { regions, .. } => u64::from(regions).clamp(1, lines.max(1)),
            Self::None | Self::Randomised { .. } => 0,
        }
    }
}
