//! The searches on a profile, and what they found.

use std::time::{Duration, Instant};

use terrace_policy::placement::{Evaluation, Found, Room, climb, exhaustive, knapsack};

use super::incremental::Incremental;
use super::memory::Memories;
use super::profile::{Profile, time};

/// Times of a program, in picoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// With all memory slow.
    pub all_slow: u64,
    /// With all memory fast.
    pub all_fast: u64,
}

/// A site, by what it gains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// The number of the site.
    pub site: usize,
    /// The time that it gains by itself, in picoseconds.
    pub alone: u64,
    /// The time that the program gains where it is chosen, with those that were chosen before; none
    /// if it is not.
    pub gain: Option<u64>,
}

/// What the searches found.
#[derive(Clone, Debug, PartialEq)]
pub struct Placed {
    /// The bytes of fast memory, and those of each site.
    pub room: Room,
    /// The times of the extremes.
    pub times: Times,
    /// The placement by hill climbing.
    pub climbed: Found,
    /// The time that the climb took.
    pub climbing: Duration,
    /// The placement by a knapsack of the gains of each site by itself.
    pub packed: Found,
    /// The best placement of all, where there are few sites.
    pub best: Option<Found>,
    /// The sites of the placement that is shown, at first that of the climb.
    pub shown: Vec<usize>,
    /// All sites: those in the order of the placement that is shown, then those that gain most for
    /// their size.
    pub shares: Vec<Share>,
}

impl Placed {
    /// Lets the shares be those of another placement.
    pub fn show(&mut self, profile: &Profile, memories: &Memories, found: &Found) {
        let slow = Incremental::new(profile, memories);
        self.shares = shares(&self.room, found, slow);
        self.shown = found.chosen.clone();
    }
}

/// Places the sites of a program in this many bytes of fast memory.
pub fn place(profile: &Profile, memories: &Memories, fast: u64) -> Placed {
    let bytes = profile.sites.iter().map(|site| site.bytes).collect();
    let room = Room { bytes, fast };
    let slow = Incremental::new(profile, memories);
    let started = Instant::now();
    let climbed = climb(&room, &mut slow.clone());
    let climbing = started.elapsed();
    let waits =
        (profile.groups.iter()).map(|(group, count)| count * time(memories, group, |_| true));
    Placed {
        times: Times {
            all_slow: slow.clone().time(),
            all_fast: profile.compute() + waits.sum::<u64>(),
        },
        packed: knapsack(&room, &mut slow.clone()),
        best: exhaustive(&room, &mut slow.clone()),
        shares: shares(&room, &climbed, slow),
        shown: climbed.chosen.clone(),
        room,
        climbed,
        climbing,
    }
}

/// Returns the time of a program with these sites in fast memory, in picoseconds.
pub fn time_of(profile: &Profile, memories: &Memories, sites: &[usize]) -> u64 {
    let mut evaluation = Incremental::new(profile, memories);
    sites.iter().for_each(|site| evaluation.toggle(*site));
    evaluation.time()
}

fn shares(room: &Room, shown: &Found, mut evaluation: Incremental<'_>) -> Vec<Share> {
    let slow = evaluation.time();
    let mut alone = |site: usize| {
        evaluation.toggle(site);
        let time = evaluation.time();
        evaluation.toggle(site);
        slow.saturating_sub(time)
    };
    let mut shares: Vec<Share> = (0..room.bytes.len())
        .map(|site| Share {
            site,
            alone: alone(site),
            gain: None,
        })
        .collect();
    let mut before = slow;
    for site in &shown.chosen {
        evaluation.toggle(*site);
        let now = evaluation.time();
        shares[*site].gain = Some(before.saturating_sub(now));
        before = now;
    }
    let place = |share: &Share| shown.chosen.iter().position(|site| *site == share.site);
    let for_size = |share: &Share| share.alone as f64 / room.bytes[share.site].max(1) as f64;
    shares.sort_by(|a, b| {
        let order = |share: &Share| place(share).unwrap_or(usize::MAX);
        order(a)
            .cmp(&order(b))
            .then(for_size(b).total_cmp(&for_size(a)))
    });
    shares
}
