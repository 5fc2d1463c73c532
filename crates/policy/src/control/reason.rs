//! Why a policy or a controller answered as it did.

use std::fmt;

/// Why a policy or a controller answered as it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The service stands still less than it may.
    Quiet,
    /// The service stands still too much.
    Stalls,
    /// It did a while ago, at about this size.
    Resting,
    /// What leaves comes straight back: the service uses all that it has.
    Used,
    /// It has not yet run for long enough without stalls to lose some time.
    Saving,
    /// It has the DRAM that it should have.
    Settled,
    /// The last steps found nothing that could leave.
    Barren,
    /// The budget of writes is spent.
    Writes,
    /// The machine is short of memory by itself.
    Short,
}

impl Reason {
    /// Every reason.
    pub const ALL: [Self; 9] = [
        Self::Quiet,
        Self::Stalls,
        Self::Resting,
        Self::Used,
        Self::Saving,
        Self::Settled,
        Self::Barren,
        Self::Writes,
        Self::Short,
    ];

    /// Returns its name in results, which stays.
    pub fn name(self) -> &'static str {
        match self {
            Self::Quiet => "quiet",
            Self::Stalls => "stalls",
            Self::Resting => "resting",
            Self::Used => "used",
            Self::Saving => "saving",
            Self::Settled => "settled",
            Self::Barren => "barren",
            Self::Writes => "writes",
            Self::Short => "short",
        }
    }
}

/// In words, as they follow a colon.
impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Quiet => "few stalls",
            Self::Stalls => "too many stalls",
            Self::Resting => "it stalled a while ago at this size",
            Self::Used => "what leaves comes straight back",
            Self::Saving => "it has to run with few stalls for a while first",
            Self::Settled => "it is where it should be",
            Self::Barren => "there is nothing to reclaim",
            Self::Writes => "the budget of writes is spent",
            Self::Short => "the machine is short of memory by itself",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_words_tell_reasons_apart() {
        for (at, reason) in Reason::ALL.into_iter().enumerate() {
            assert_eq!(reason as usize, at, "all are there, in their order");
            for other in &Reason::ALL[..at] {
                assert_ne!(reason.name(), other.name());
                assert_ne!(reason.to_string(), other.to_string());
            }
        }
    }
}
