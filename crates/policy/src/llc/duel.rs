//! Set duelling: two policies compete in a few leader sets each, and all others follow the one
//! that misses less (Qureshi et al., "Adaptive insertion policies for high performance caching",
//! ISCA 2007, section 5.2).
//!
//! The leader sets are drawn by chance, so that any number of sets will do. A saturating counter
//! goes up at each miss of the first policy's leaders, down at each of the second's; its highest
//! bit says whom to follow. It starts just below, with the first policy.

use super::{Geometry, Sampled};
use crate::params::Params;

/// The competition.
#[derive(Clone, Debug)]
pub struct Duel {
    leaders: Sampled,
    selector: u32,
    bits: u32,
}

impl Duel {
    /// The settings that it reads, with their defaults.
    ///
    /// # Errors
    /// A sentence where a setting is out of range.
    pub fn new(geometry: Geometry, params: &mut Params, seed: u64) -> Result<Self, String> {
        let most = geometry.sets / 2;
        let leaders = params.number("leaders", most.min(32), 0..=most)?;
        let bits = params.number("psel", 10, 1..=31)?;
        Ok(Self {
            leaders: Sampled::new(geometry.sets, 2 * leaders, seed),
            selector: (1 << (bits - 1)) - 1,
            bits,
        })
    }

    /// A miss in a set: keeps the score where it is a leader's. Whether the set follows the second
    /// policy.
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
