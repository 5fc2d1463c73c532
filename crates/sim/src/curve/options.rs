//! The settings of curves: options of `sim curve`.
//!
//! To add one: a field in [`CurveSettings`], an entry here, and its use in the simulation.

use terrace_base::Error;
use terrace_base::count::parse_count;
use terrace_policy::replacement::Spec;

use super::outcome::Curves;
use super::settings::{CurveSettings, Sizes, parse_rate};
use crate::setting::{self, Machine, settings};

/// One value of a setting.
type Set = setting::Set<CurveSettings>;

/// A setting with its option.
type Setting = setting::Setting<CurveSettings>;

impl Machine for CurveSettings {
    type Choice = Self;
    type Known = ();
    type Record = Curves;

    fn of(choice: &mut Self) -> &mut Self {
        choice
    }

    fn settings() -> Vec<(Option<&'static str>, Vec<Setting>)> {
        vec![(None, sizes())]
    }
}

/// Settings of policies, sizes and samples.
fn sizes() -> Vec<Setting> {
    settings! { CurveSettings;
        /// replacement policies, a curve each
        "replacement" "NAME,...": parsed(policies), default("lru"), single(), common(),
            details("`terrace list policies` names them. Settings follow a name, as in \
                     cflru:window=0.3.");
        /// sizes of DRAM: 64M, 1000p (pages), 25% of the footprint; all
        "dram" "SIZE,...": quantity(Sizes::parse, |curve, sizes| curve.sizes = sizes),
            otherwise("each 5%"), single(), common(),
            details("With commas. `all` is each size at which the misses of lru change.");
        /// share of the pages that is simulated
        "rate" "SHARE": quantity(parse_rate, |curve, rate| curve.rate = Some(rate)),
            otherwise("1 for lru, or 0.1"), single(), common(),
            details("From more than 0 to 1, where all are. One page in a whole number is: 0.3 is a \
                     third.");
        /// samples into which these pages are dealt out
        "samples" "N": number(1..=1000, |curve, samples| curve.samples = samples), default("4"),
            single(),
            details("From their spread follows the error; more of them know it better, and are \
                     smaller each.");
        /// seed of the samples, and of random numbers of policies
        "seed" "N": read(parse_count, |curve, seed| curve.seed = seed), default("1"), single();
    }
}

/// Takes a list of policies. An unknown one is an error of its own, in one sentence.
fn policies(text: &str) -> terrace_base::Result<Set> {
    let text = text.to_owned();
    Ok(Set::new(move |curve: &mut CurveSettings, ()| {
        let policies = Spec::parse_list(&text);
        curve.policies =
            policies.map_err(|error| Error::usage(format!("‘replacement’: {error}")))?;
        Ok(())
    }))
}
