//! Wear levelling of the simulated memory, as options name it: `start-gap:psi=50`.

use terrace_device::{Levelling, start_gap, swaps};
use terrace_policy::params::Params;
use terrace_policy::registry::{self, Entry, Kind};

/// Wear levelling with its settings.
pub type Spec = registry::Spec<Make>;

/// Makes wear levelling of its settings.
#[derive(Clone, Copy, Debug)]
pub struct Make(fn(&mut Params) -> Result<Levelling, String>);

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
            summary: "all lines move on by one place, one at a time, through a spare line",
            paper: "Qureshi et al., MICRO 2009",
            when: "Memory on the memory bus. It has worked once the gap has been everywhere, after psi writes \
                   of each line; a short run shows nothing of it.",
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
        self.0(params).map(drop)
    }
}

impl Make {
    /// Makes the levelling that a specification describes.
    ///
    /// # Errors
    /// Returns a message if a setting has a wrong value.
    pub(crate) fn levelling(spec: &Spec) -> Result<Levelling, String> {
        spec.make(|make, params| make.0(params))
    }
}

fn start_gap(params: &mut Params) -> Result<Levelling, String> {
    let writes = "writes of lines between two movements of the gap";
    let psi = params.take("psi", writes, start_gap::PSI, 1..=1 << 20)?;
    Ok(Levelling::StartGap { psi })
}

fn randomised(params: &mut Params) -> Result<Levelling, String> {
    let writes = "mean writes of lines between two swaps, which are drawn; a swap writes two lines";
    let psi = params.take("psi", writes, swaps::PSI, 1..=1 << 20)?;
    Ok(Levelling::Randomised { psi })
}
