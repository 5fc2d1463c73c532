//! Policies that work together: `unchanged+coalesce:share=0.25`.

use std::fmt;

use terrace_base::{Error, Nanos, Result};

use super::make::Spec;
use super::{Admission, Announced, Held, UpdatePolicy};
use crate::route::Port;
use crate::update::Change;

/// The largest part of a shadow block that stays in shadow; the others must leave, or nothing would
/// be won.
const MOST_KEPT: f64 = 0.9;

/// Policies by name, with `+` between them. The first one that does not want an announcement
/// written decides; a row stays in shadow if one of them wants that.
pub struct Sum {
    specs: Vec<Spec>,
    policies: Vec<Box<dyn UpdatePolicy>>,
}

impl Sum {
    /// Reads policies with their settings: `unchanged+damping:half-life=600`.
    ///
    /// # Errors
    /// Returns a usage error if there is no such policy, or a setting of it is wrong.
    pub fn parse(text: &str) -> Result<Self> {
        let specs: std::result::Result<Vec<Spec>, String> =
            text.split('+').map(Spec::parse).collect();
        let specs = specs.map_err(Error::usage)?;
        let made = specs
            .iter()
            .map(|spec| spec.make(|make, params| make.0(params)));
        let policies: std::result::Result<_, String> = made.collect();
        let policies = policies.map_err(Error::usage)?;
        Ok(Self { specs, policies })
    }

    /// Tells all policies of a change.
    pub fn observe(&mut self, at: Nanos, change: Change, before: Option<Port>) {
        for policy in &mut self.policies {
            policy.observe(at, change, before);
        }
    }

    /// Returns what happens to an announcement.
    pub fn admit(&self, announced: Announced) -> Admission {
        let decisions = self.policies.iter().map(|policy| policy.admit(announced));
        let mut others = decisions.filter(|admission| *admission != Admission::Write);
        others.next().unwrap_or_default()
    }

    /// Tells which rows of a full shadow block stay in shadow. Of too many those stay that were
    /// written last.
    pub fn keep(&mut self, now: Nanos, rows: &[Held]) -> Vec<bool> {
        let mut stays = vec![false; rows.len()];
        for policy in &mut self.policies {
            policy.keep(now, rows, &mut stays);
        }
        let most = (rows.len() as f64 * MOST_KEPT) as usize;
        let mut kept: Vec<usize> = (0..rows.len()).filter(|row| stays[*row]).collect();
        kept.sort_unstable_by_key(|row| std::cmp::Reverse(rows[*row].order));
        for row in kept.into_iter().skip(most) {
            stays[row] = false;
        }
        stays
    }

    /// Whether one of them revives invalid rows.
    pub fn revives(&self) -> bool {
        self.policies.iter().any(|policy| policy.revives())
    }
}

impl fmt::Display for Sum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let specs: Vec<String> = self.specs.iter().map(Spec::to_string).collect();
        f.write_str(&specs.join("+"))
    }
}

impl fmt::Debug for Sum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sum({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::REGISTRY;
    use crate::route::Route;

    #[test]
    fn every_policy_is_documented_and_made_of_its_name() {
        for entry in REGISTRY {
            assert_eq!(Sum::parse(entry.name).unwrap().to_string(), entry.name);
            for text in [entry.summary, entry.paper, entry.when] {
                assert!(!text.is_empty(), "{}", entry.name);
            }
            for setting in entry.settings() {
                assert!(!setting.meaning.is_empty(), "{}", entry.name);
            }
        }
    }

    #[test]
    fn policies_are_added_up_with_their_settings() {
        let sum = Sum::parse("unchanged+coalesce:share=0.25").unwrap();
        assert_eq!(sum.to_string(), "unchanged+coalesce:share=0.25");
        for (text, why) in [
            ("", "there is no update policy ``"),
            (
                "thesis+best",
                "there is no update policy `best`; there are: thesis, unchanged",
            ),
            ("coalesce:share=2", "from 0 to 0.9"),
            ("lazy:share=2", "has no setting `share`"),
        ] {
            let error = Sum::parse(text).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn a_tenth_of_the_rows_always_leaves() {
        struct All;
        impl UpdatePolicy for All {
            fn keep(&mut self, _: Nanos, _: &[Held], stays: &mut [bool]) {
                stays.fill(true);
            }
        }
        let (specs, policies) = (Vec::new(), vec![Box::new(All) as Box<dyn UpdatePolicy>]);
        let route = Route {
            prefix: "::/0".parse().unwrap(),
            port: Port(1),
        };
        let held = |order| Held { route, order };
        let rows: Vec<Held> = (0..10).map(|row| held(row ^ 1)).collect();
        let stays = Sum { specs, policies }.keep(Nanos::ZERO, &rows);
        let leaving: Vec<usize> = (0..10).filter(|row| !stays[*row]).collect();
        assert_eq!(leaving, [1], "the one that was written first");
    }
}
