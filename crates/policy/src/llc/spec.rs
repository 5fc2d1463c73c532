//! A policy with its settings, as people write it.

use std::fmt;

use super::Geometry;
use super::registry::{Entry, Made, REGISTRY, by_name};
use crate::params::Params;

/// A policy by name, with settings: `nhm:n=8,insert=lh`.
#[derive(Clone, Debug)]
pub struct Spec {
    entry: &'static Entry,
    params: Params,
}

impl Spec {
    /// Reads `name` or `name:key=value,...`. Whether the settings suit a cache is known when one
    /// is made.
    ///
    /// # Errors
    /// A sentence where there is no such policy.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (name, params) = text.split_once(':').unwrap_or((text, ""));
        let entry = by_name(name).ok_or_else(|| {
            let names: Vec<&str> = REGISTRY.iter().map(|entry| entry.name).collect();
            format!(
                "there is no policy `{name}`; there are: {}",
                names.join(", ")
            )
        })?;
        let params = Params::parse(params).map_err(|problem| format!("{name}: {problem}"))?;
        Ok(Self { entry, params })
    }

    /// Makes the policy for a cache of this shape.
    ///
    /// # Errors
    /// A sentence where it has no such setting, or not with this value.
    pub fn policy(&self, geometry: Geometry, seed: u64) -> Made {
        let of = |problem| format!("{}: {problem}", self.entry.name);
        let mut params = self.params.clone();
        let policy = (self.entry.make)(geometry, &mut params, seed).map_err(of)?;
        params.finish(self.entry.keys).map_err(of)?;
        Ok(policy)
    }

    /// What it is.
    pub fn entry(&self) -> &'static Entry {
        self.entry
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.entry.name)?;
        match self.params.to_string() {
            params if params.is_empty() => Ok(()),
            params => write!(f, ":{params}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GEOMETRY: Geometry = Geometry { sets: 4, ways: 16 };

    fn make(text: &str) -> Result<String, String> {
        let spec = Spec::parse(text)?;
        spec.policy(GEOMETRY, 1)?;
        Ok(spec.to_string())
    }

    #[test]
    fn a_name_with_settings() {
        assert_eq!(make("lru").unwrap(), "lru");
        assert_eq!(make("nhm:n=8, insert=lh").unwrap(), "nhm:n=8,insert=lh");
    }

    #[test]
    fn what_is_wrong_is_said() {
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

    #[test]
    fn every_policy_is_made_of_nothing_but_its_name() {
        for entry in REGISTRY {
            for ways in [1, 2, 12, 16, 64] {
                let spec = Spec::parse(entry.name).unwrap();
                let made = spec.policy(Geometry { sets: 96, ways }, 1);
                made.map(drop).unwrap_or_else(|problem| panic!("{problem}"));
            }
        }
    }
}
