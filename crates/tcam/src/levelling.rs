//! Wear levelling of flash blocks: which free block is written next, and whether blocks move by
//! themselves.
//!
//! The chapter levels «for blocks of a particular prefix size» and estimates lifetime for
//! randomised levelling over free blocks (Fedorov 2016, 4.3.3 and 4.4.1).

use terrace_base::{Error, Result};
use terrace_device::{Levelling as Moving, start_gap};
use terrace_policy::params::Params;
use terrace_policy::registry::{self, Entry, Kind};

/// Wear levelling with its settings: `start-gap:psi=50`.
pub type Spec = registry::Spec<Make>;

/// The order in which free blocks are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The one with the lowest number.
    Lowest,
    /// The one behind the last that was taken.
    Next,
    /// Any, drawn at random.
    Random,
}

/// How wear is spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Levelling {
    /// The order in which free blocks are taken.
    pub order: Order,
    /// How blocks move from time to time, free or not.
    pub moving: Moving,
}

/// Makes wear levelling of its settings.
#[derive(Clone, Copy, Debug)]
pub struct Make(fn(&mut Params) -> std::result::Result<Levelling, String>);

impl Kind for Make {
    const NOUN: &'static str = "wear levelling";
    const ENTRIES: &'static [Entry<Self>] = &[
        Entry {
            name: "randomised",
            summary: "any free block, drawn at random",
            paper: "Fedorov 2016, 4.4.1, assumption 4",
            when: "The chapter's estimate of the lifetime. Blocks whose routes never change keep others from theirs.",
            evidence: terrace_policy::registry::Evidence::NONE,
            make: Make(|_| Ok(free(Order::Random))),
        },
        Entry {
            name: "round-robin",
            summary: "the free block behind the last one that was taken",
            paper: "none: the usual order of a log",
            when: "As even as it gets over free blocks, without a random number.",
            evidence: terrace_policy::registry::Evidence::NONE,
            make: Make(|_| Ok(free(Order::Next))),
        },
        Entry {
            name: "none",
            summary: "the free block with the lowest number",
            paper: "none: the baseline",
            when: "To see how unevenly blocks wear.",
            evidence: terrace_policy::registry::Evidence::NONE,
            make: Make(|_| Ok(free(Order::Lowest))),
        },
        Entry {
            name: "start-gap",
            summary: "the lowest free block, and all blocks move on by one place, one at a time, through a spare one",
            paper: "Qureshi et al., MICRO 2009",
            when: "To level blocks as well whose routes never change. It has worked once the gap has been everywhere.",
            evidence: terrace_policy::registry::Evidence::NONE,
            make: Make(start_gap),
        },
    ];

    fn declare(&self, params: &mut Params) -> std::result::Result<(), String> {
        self.0(params).map(drop)
    }
}

/// Makes the levelling that a specification describes.
///
/// # Errors
/// Returns a usage error if a setting has a wrong value.
pub fn make(spec: &Spec) -> Result<Levelling> {
    spec.make(|make, params| make.0(params))
        .map_err(Error::usage)
}

/// Levelling over free blocks alone.
fn free(order: Order) -> Levelling {
    Levelling {
        order,
        moving: Moving::None,
    }
}

fn start_gap(params: &mut Params) -> std::result::Result<Levelling, String> {
    let writes = "writes of blocks between two movements of the gap";
    let psi = params.take("psi", writes, start_gap::PSI, 1..=1 << 20)?;
    Ok(Levelling {
        order: Order::Lowest,
        moving: Moving::StartGap {
            psi,
            regions: 1,
            random: false,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_levelling_is_documented_and_made_of_its_name() {
        for entry in Make::ENTRIES {
            let spec = Spec::parse(entry.name).unwrap();
            make(&spec).unwrap();
            for text in [entry.summary, entry.paper, entry.when] {
                assert!(!text.is_empty(), "{}", entry.name);
            }
        }
    }
}
