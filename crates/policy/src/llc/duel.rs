//! Set duelling: two policies compete in a few leader sets each, and all other sets follow the
//! policy with fewer misses (Qureshi et al., "Adaptive insertion policies for high performance
//! caching", ISCA 2007, section 5.2).
//!
//! The leader sets are drawn at random, so that any number of sets is possible. A saturating
//! counter goes up at each miss of the first policy's leaders and down at each of the second's; its
//! highest bit selects the policy. It starts just below, with the first policy.

use super::{Geometry, Sampled};
use crate::params::Params;
use crate::settings;

settings! {
    /// Settings of a duel.
    pub struct DuelSettings(geometry: Geometry) {
        /// leader sets of each of the two policies that duel
        leaders: usize = (geometry.sets / 2).min(32), 0..=geometry.sets / 2;
        /// bits of the counter that says who wins
        bits as "psel": u32 = 10, 1..=31;
    }
}

/// State of a duel.
#[derive(Clone, Debug)]
pub struct Duel {
    leaders: Sampled,
    selector: u32,
    bits: u32,
}

impl Duel {
    /// Takes the settings, and draws the leader sets.
    ///
    /// # Errors
    /// Returns a message if a setting has a wrong value.
    pub fn new(geometry: Geometry, params: &mut Params, seed: u64) -> Result<Self, String> {
        let DuelSettings { leaders, bits, .. } = DuelSettings::take(params, geometry)?;
        Ok(Self {
            leaders: Sampled::new(geometry.sets, 2 * leaders, seed),
            selector: (1 << (bits - 1)) - 1,
            bits,
        })
    }

    /// Counts a miss if the set is a leader; returns whether the set follows the second policy.
    #[inline]
    pub fn missed(&mut self, set: usize) -> bool {
        match self.leaders.number(set) {
            None => self.selector >> (self.bits - 1) == 1,
            Some(number) if number % 2 == 0 => {
                self.selector = (self.selector + 1).min((1 << self.bits) - 1);
                false
            }
            Some(_) => {
                self.selector = self.selector.saturating_sub(1);
                true
            }
        }
    }

    /// Bits of the counter.
    pub fn storage_bits(&self) -> u64 {
        u64::from(self.bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn followers_do_what_misses_less() {
        let geometry = Geometry { sets: 4, ways: 1 };
        let mut params = Params::parse("leaders=1,psel=3").unwrap();
        let mut duel = Duel::new(geometry, &mut params, 1).unwrap();
        let set = |wanted| {
            let leaders = duel.leaders.clone();
            (0..4).find(|&set| leaders.number(set) == wanted).unwrap()
        };
        let (first, second, follower) = (set(Some(0)), set(Some(1)), set(None));
        assert!(!duel.missed(follower));
        assert!(!duel.missed(first), "a leader keeps to its policy");
        assert!(duel.missed(follower), "four of seven");
        for _ in 0..9 {
            duel.missed(first);
        }
        for _ in 0..3 {
            assert!(duel.missed(second));
        }
        assert!(duel.missed(follower), "it went no higher than seven");
        duel.missed(second);
        assert!(!duel.missed(follower));
    }
}
