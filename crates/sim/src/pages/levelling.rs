//! Wear levelling of the simulated memory, as options name it: `start-gap:psi=50`.

use terrace_device::{Levelling, start_gap, swaps};
use terrace_policy::params::{OFF_ON, Params};
use terrace_policy::registry::{self, Entry, Kind};

/// Wear levelling with its settings.
pub type Spec = registry::Spec<Make>;

/// Makes wear levelling of its settings.
#[derive(Clone, Copy, Debug)]
pub struct Make(fn(&mut Params) -> Result<Levelling, String>);

/// A levelling, and what is in spare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) levelling: Levelling,
    /// Lines that take the place of those that fail.
    pub(crate) spares: u64,
}

impl Kind for Make {
    const NOUN: &'static str = "wear levelling";
    const ENTRIES: &'static [Entry<Self>] = &[
        Entry {
            name: "none",
            summary: "every line keeps its place",
            paper: "none: the baseline",
            when: "To see how unevenly a program writes.",
            evidence: terrace_policy::registry::Evidence::NONE,
            make: Self(|_| Ok(Levelling::None)),
        },
        Entry {
            name: "start-gap",
            summary: "all lines of a region move on by one place, one at a time, through a line more",
            paper: "Qureshi et al., MICRO 2009",
            when: "Memory on the memory bus. It has worked once the gap has been everywhere, after psi writes \
                   of each line; a short run shows nothing of it, and of many lines a hot one can wear out before. \
                   Regions are gone around sooner, and the random mapping spreads hot neighbours over them.",
            evidence: terrace_policy::registry::Evidence::NONE,
            make: Self(start_gap),
        },
        Entry {
            name: "randomised",
            summary: "once in some writes, the line written and a random one change places",
            paper: "Seznec, IEEE Computer Architecture Letters 9(1), 2010",
            when: "Memory whose controller has a table of places; it works within a short run.",
            evidence: terrace_policy::registry::Evidence::NONE,
            make: Self(randomised),
        },
    ];

    fn declare(&self, params: &mut Params) -> Result<(), String> {
        self.plan(params).map(drop)
    }
}

impl Make {
    /// Makes the levelling that a specification describes.
    ///
    /// # Errors
    /// Returns a message if a setting has a wrong value.
    pub(crate) fn of(spec: &Spec) -> Result<Plan, String> {
        spec.make(Self::plan)
    }

    fn plan(&self, params: &mut Params) -> Result<Plan, String> {
        let levelling = self.0(params)?;
        let spares =
            "lines in spare, each for one that fails; a lifetime ends with the line after that";
        Ok(Plan {
            levelling,
            spares: params.take("spare", spares, 0, 0..=1 << 30)?,
        })
    }
}

fn start_gap(params: &mut Params) -> Result<Levelling, String> {
    let writes = "writes of lines of a region between two movements of its gap";
    let random = "whether lines are mapped at random before";
    Ok(Levelling::StartGap {
        psi: params.take("psi", writes, start_gap::PSI, 1..=1 << 20)?,
        regions: params.take(
            "regions",
            "regions of lines, each with a gap",
            1,
            1..=1 << 20,
        )?,
        random: params.take("random", random, false, OFF_ON)?,
    })
}

fn randomised(params: &mut Params) -> Result<Levelling, String> {
    let writes = "mean writes of lines between two swaps, which are drawn; a swap writes two lines";
    let psi = params.take("psi", writes, swaps::PSI, 1..=1 << 20)?;
    Ok(Levelling::Randomised { psi })
}
