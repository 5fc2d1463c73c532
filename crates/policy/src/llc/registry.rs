//! Every policy for last-level caches, by the name that users write.

use super::make::{Entry, Make};
use super::{
    Geometry, ari, dblk, density, dip, drrip, fifo, hawkeye, lru, mockingjay, nhm, nru, opt, plru,
    random, rlr, ship,
};
use crate::params::Params;
use crate::registry;

/// Every policy, by name.
pub const REGISTRY: &[Entry] = &[
    ari::ENTRY,
    dip::ENTRY,
    drrip::ENTRY,
    dblk::ENTRY,
    density::ENTRY,
    fifo::ENTRY,
    hawkeye::ENTRY,
    lru::ENTRY,
    mockingjay::ENTRY,
    nhm::ENTRY,
    nru::ENTRY,
    opt::ENTRY,
    plru::ENTRY,
    random::ENTRY,
    rlr::ENTRY,
    ship::ENTRY,
];

impl registry::Kind for Make {
    const NOUN: &'static str = "policy";
    const ENTRIES: &'static [Entry] = REGISTRY;

    /// Declares the settings with their defaults for a cache of 2 MiB in 16 ways.
    fn declare(&self, params: &mut Params) -> Result<(), String> {
        let (sets, ways) = (2048, 16);
        self.maker()(Geometry { sets, ways }, params, 1).map(drop)
    }

    fn check(&self, _: Params) -> Result<(), String> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llc::Spec;

    #[test]
    fn every_policy_is_documented_and_made_of_its_name() {
        registry::check::<Make>();
        for entry in REGISTRY {
            for ways in [1, 2, 12, 16, 64] {
                let made = Spec::from(entry).policy(Geometry { sets: 96, ways }, 1);
                made.map(drop).unwrap_or_else(|problem| panic!("{problem}"));
            }
        }
    }

    fn make(text: &str) -> Result<String, String> {
        let spec = Spec::parse(text)?;
        spec.policy(Geometry { sets: 4, ways: 16 }, 1)?;
        Ok(spec.to_string())
    }

    #[test]
    fn a_name_with_settings() {
        assert_eq!(make("lru").unwrap(), "lru");
        assert_eq!(make("nhm:n=8, insert=lh").unwrap(), "nhm:n=8,insert=lh");
    }

    #[test]
    fn errors_name_the_problem() {
        for (text, why) in [
            ("best", "there are: "),
            ("lru:n=2", "no setting `n`"),
            ("nhm:n=17", "from 0 to 16"),
            ("nhm:insert=low", "one of mru, lh"),
        ] {
            let error = make(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
