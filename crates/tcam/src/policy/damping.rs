//! Prefixes that flap stay in shadow, by the figure of merit of RFC 2439, «BGP Route Flap Damping».
//!
//! A withdrawal raises a prefix's penalty by 1 and a changed route by a half (4.4.2 and 4.4.3
//! there); it decays with a half-life. Above the cutoff a prefix counts as flapping, until it is
//! below the reuse threshold. The RFC suppresses such a route; here it is used as ever, and only
//! its row does not leave shadow. Defaults are those of common routers: 15 minutes, 2 and 0.75. An
//! announcement that replaces a route counts as a change, whether or not its port does: the RFC
//! judges attributes that the TCAM does not have.

use rustc_hash::FxHashMap;
use terrace_base::Nanos;
use terrace_policy::settings;

use super::make::{Entry, Make};
use super::{Held, UpdatePolicy};
use crate::prefix::Prefix;
use crate::route::Port;
use crate::update::Change;

/// The policy in the registry.
pub const ENTRY: Entry = Entry {
    name: "damping",
    summary: "rows of prefixes that flap stay in shadow, by the penalties of route flap damping",
    paper: "RFC 2439, 4.2 to 4.4",
    when: "Some prefixes change all the time. Unlike coalesce it tells one that flaps from one that changed once.",
    evidence: terrace_policy::registry::Evidence::NONE,
    make: Make(&|params| Ok(Box::new(Damping::new(Settings::take(params)?)))),
};

/// Penalty of a withdrawal; the unit of the thresholds.
const WITHDRAWN: f64 = 1.0;
/// Penalty of an announcement that replaces a route.
const REPLACED: f64 = 0.5;

settings! {
    /// Settings of the policy.
    struct Settings {
        /// seconds in which a penalty halves
        half_life as "half-life": f64 = 900.0, 1.0..=86_400.0;
        /// penalty above which a prefix counts as flapping; a withdrawal is 1
        cutoff: f64 = 2.0, 0.5..=100.0;
        /// penalty below which it does not any more
        reuse: f64 = 0.75_f64.min(cutoff), 0.1..=cutoff;
    }
}

/// What a prefix has come to.
#[derive(Clone, Copy, Default)]
struct Flaps {
    penalty: f64,
    /// When it was that.
    at: Nanos,
    is_flapping: bool,
}

/// Penalties of all prefixes that changed.
struct Damping {
    settings: Settings,
    flaps: FxHashMap<Prefix, Flaps>,
}

impl Damping {
    fn new(settings: Settings) -> Self {
        Self {
            settings,
            flaps: FxHashMap::default(),
        }
    }

    /// Lets a penalty decay until now, and adds to it.
    fn judge(settings: &Settings, flaps: &mut Flaps, now: Nanos, more: f64) {
        let passed = now.saturating_sub(flaps.at).seconds();
        flaps.penalty = flaps.penalty * (-passed / settings.half_life).exp2() + more;
        flaps.at = now;
        flaps.is_flapping = match flaps.is_flapping {
            true => flaps.penalty >= settings.reuse,
            false => flaps.penalty > settings.cutoff,
        };
    }
}

impl UpdatePolicy for Damping {
    fn observe(&mut self, at: Nanos, change: Change, before: Option<Port>) {
        let penalty = match (change, before) {
            (Change::Withdraw(_), Some(_)) => WITHDRAWN,
            (Change::Announce(_), Some(_)) => REPLACED,
            (_, None) => return,
        };
        let flaps = self.flaps.entry(change.prefix()).or_default();
        Self::judge(&self.settings, flaps, at, penalty);
    }

    fn keep(&mut self, now: Nanos, rows: &[Held], stays: &mut [bool]) {
        for (row, stays) in rows.iter().zip(stays) {
            if let Some(flaps) = self.flaps.get_mut(&row.route.prefix) {
                Self::judge(&self.settings, flaps, now, 0.0);
                *stays |= flaps.is_flapping;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::route::Route;

    #[test]
    fn a_prefix_flaps_from_the_cutoff_until_the_reuse_threshold() {
        let minutes = |minutes: u64| Nanos(minutes * 60_000_000_000);
        let mut damping = Damping::new(Settings::default());
        let route = Route {
            prefix: "10.0.0.0/8".parse().unwrap(),
            port: Port(1),
        };
        let stays = |damping: &mut Damping, now| {
            let mut stays = [false];
            damping.keep(minutes(now), &[Held { route, order: 0 }], &mut stays);
            stays[0]
        };
        for _ in 0..2 {
            damping.observe(minutes(0), Change::Withdraw(route.prefix), Some(Port(1)));
            damping.observe(minutes(0), Change::Announce(route), None);
        }
        assert!(!stays(&mut damping, 0), "2 is not above the cutoff");
        damping.observe(minutes(0), Change::Announce(route), Some(Port(1)));
        assert!(stays(&mut damping, 0), "2.5 is");
        assert!(stays(&mut damping, 15), "1.25 after a half-life");
        assert!(!stays(&mut damping, 30), "0.625 after two");
        damping.observe(minutes(30), Change::Announce(route), Some(Port(1)));
        assert!(
            !stays(&mut damping, 30),
            "1.125 is above reuse, but not above the cutoff"
        );
    }
}
