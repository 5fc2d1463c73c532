//! Set duelling: two policies compete in a few leader sets each, and all other sets follow the
//! policy with fewer misses (Qureshi et al., "Adaptive insertion policies for high performance
//! caching", ISCA 2007, section 5.2).
//!
//! The leader sets are drawn at random, so that any number of sets is possible. A saturating
//! counter goes up at each miss of the first policy's leaders and down at each of the second's; its
//! highest bit selects the policy. It starts just below, with the first policy.
//!
//! The second policy is bimodal (section 4.2): it keeps a new line like the first one only now and
//! then. The paper draws that at random; here it is every nth time, as hardware counts it (Jaleel
//! et al., ISCA 2010, section 4.2).

use super::{Geometry, Sampled};
use crate::params::Params;
use crate::settings;

settings! {
    /// Settings of a duel.
    pub struct DuelSettings(geometry: Geometry) {
        /// leader sets of each of the two policies that duel
        leaders: usize = (geometry.sets / 2).min(32), 0..=geometry.sets / 2;
        /// bits of the counter that selects the policy
        bits as "psel": u32 = 10, 1..=31;
        /// one new line in this many is kept like a common one
        every: u32 = 32, 1..=u32::MAX;
    }
}

/// State of a duel.
#[derive(Clone, Debug)]
pub struct Duel {
    settings: DuelSettings,
    leaders: Sampled,
    selector: u32,
    /// Misses that the second policy has served, modulo `every`.
    bimodal: u32,
}

impl Duel {
    /// Takes the settings, and draws the leader sets.
    ///
    /// # Errors
    /// Returns a message if a setting has a wrong value.
    pub fn new(geometry: Geometry, params: &mut Params, seed: u64) -> Result<Self, String> {
        let settings = DuelSettings::take(params, geometry)?;
        Ok(Self {
            leaders: Sampled::new(geometry.sets, 2 * settings.leaders, seed),
            selector: (1 << (settings.bits - 1)) - 1,
            bimodal: 0,
            settings,
        })
    }

    /// Counts a miss, and returns whether the new line is one that the second policy does not keep
    /// like the first.
    #[inline]
    pub fn missed(&mut self, set: usize) -> bool {
        self.follows_second(set) && self.is_uncommon()
    }

    /// Counts a miss of an exclusive cache, which brings no line in.
    pub fn passed(&mut self, set: usize) {
        self.follows_second(set);
    }

    /// Same as [`Duel::missed`] for a line that comes into an exclusive cache: its miss was counted
    /// before, by [`Duel::passed`].
    pub fn came(&mut self, set: usize) -> bool {
        let (selector, bits) = (self.selector, self.settings.bits);
        let second = match self.leaders.number(set) {
            None => selector >> (bits - 1) == 1,
            Some(number) => number % 2 == 1,
        };
        second && self.is_uncommon()
    }

    /// Counts a line that the second policy brings in, and returns whether it is not kept.
    #[inline]
    fn is_uncommon(&mut self) -> bool {
        self.bimodal = (self.bimodal + 1) % self.settings.every;
        self.bimodal != 0
    }

    /// Counts a miss if the set is a leader; returns whether the set follows the second policy.
    #[inline]
    fn follows_second(&mut self, set: usize) -> bool {
        let bits = self.settings.bits;
        match self.leaders.number(set) {
            None => self.selector >> (bits - 1) == 1,
            Some(number) if number % 2 == 0 => {
                self.selector = (self.selector + 1).min((1 << bits) - 1);
                false
            }
            Some(_) => {
                self.selector = self.selector.saturating_sub(1);
                true
            }
        }
    }

    /// Bits of both counters.
    pub fn storage_bits(&self) -> u64 {
        let DuelSettings { bits, every, .. } = self.settings;
        u64::from(bits + u32::BITS - (every - 1).leading_zeros())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In an exclusive cache misses count when they are made, and lines that come in do not.
    #[test]
    fn what_comes_into_an_exclusive_cache_counts_for_neither() {
        let geometry = Geometry { sets: 4, ways: 1 };
        let mut params = Params::parse("leaders=1,psel=3,every=2").unwrap();
        let mut duel = Duel::new(geometry, &mut params, 1).unwrap();
        let leaders = duel.leaders.clone();
        let set = |wanted| (0..4).find(|&set| leaders.number(set) == wanted).unwrap();
        let (first, second, follower) = (set(Some(0)), set(Some(1)), set(None));
        assert_eq!([first, follower].map(|set| duel.came(set)), [false; 2]);
        assert_eq!(
            [second; 4].map(|set| duel.came(set)),
            [true, false, true, false]
        );
        duel.passed(first);
        assert!(duel.came(follower), "four of seven");
        duel.passed(second);
        assert!(!duel.came(follower), "three");
    }

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
        assert!(!duel.follows_second(follower));
        assert!(!duel.follows_second(first), "a leader keeps to its policy");
        assert!(duel.follows_second(follower), "four of seven");
        for _ in 0..9 {
            duel.follows_second(first);
        }
        for _ in 0..3 {
            assert!(duel.follows_second(second));
        }
        assert!(
            duel.follows_second(follower),
            "it went no higher than seven"
        );
        duel.follows_second(second);
        assert!(!duel.follows_second(follower));
    }
}
