//! `slowdown`: the least DRAM with which a service stands still for at most a share of its time.
//!
//! The share is an income. Each second the service earns the time that it may lose, and pays what
//! it loses; what it has saved is bounded by what comes in within a window. It is reclaimed from
//! only once half of that is there, so over any long time it loses no more than its share, and one
//! that is new loses nothing at first.
//!
//! Reclaim begins gently, and goes faster while nothing stalls (as Weiner et al., TMO, ASPLOS 2022,
//! section 3.3, but their step has one size). Where the last eight looks together stalled for more
//! than half of the share, nothing leaves and the next step is half as large, which is where a
//! service with many lukewarm pages settles: a mean, as stalls come in lumps.
//!
//! When its savings are spent, or a look has stalls of several times the share (a burst), it gets
//! back what left last, twice as much at each further look, or four times what it has fetched by
//! its own faults since the look before, and rests. It rests as well where what leaves comes
//! straight back: a 32nd of the DRAM has left by its steps, and less than a quarter of that is
//! still in the tier. Then the service uses all that it has, and steps only wear the drive. The
//! rest doubles each time that one begins again at the same size, as the pauses of a sender that
//! finds the network full; so the number of probes grows with the logarithm of time.

use std::collections::VecDeque;
use std::time::Duration;

use super::{Control, Entry, Make, Reason, Seen, Step};
use crate::page::PAGE_BYTES;
use crate::settings;
use crate::times::Times;

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "slowdown",
    summary: "the least DRAM with which a service stands still for at most a share of its time",
    paper: "Terrace; steps by pressure as in TMO (Weiner et al., ASPLOS 2022, section 3.3)",
    when: "A service may be slower by so much, and nobody knows how much DRAM that is.",
    evidence: crate::registry::Evidence::NONE,
    make: Make(&|params| Ok(Box::new(Slowdown::new(Settings::take(params)?)))),
};

/// Share of the time as a whole number, so that all sums are exact.
const PARTS: i128 = 1_000_000;
/// Multiple of the share of stalls above which a look is a burst.
const BURST: i128 = 4;
/// The first step, as a part of the largest.
const GENTLE: u64 = 16;
/// Part by which a step grows after a look without stalls.
const GROWTH: u64 = 8;
/// Looks whose mean tells whether it stalls enough.
const LOOKS: usize = 8;
/// First amount that is given back, as a part of the DRAM in use; at least a page.
const BACK: u64 = 64;
/// Multiple of what a service fetched by its own faults that is given back. A fault reads a page
/// and waits for it; several are read at once, by another processor.
const AHEAD: u64 = 4;
/// Part of the DRAM after which it is seen whether what left has stayed away.
const PROBE: u64 = 32;
/// Part of what left that has to stay away.
const STAYS: u64 = 4;
/// Part of the size at which it rested by which a service has to be smaller, so that this was
/// another phase.
const ELSEWHERE: u64 = 16;
/// The largest part of the DRAM, so that steps are exact.
const SCALE: f64 = (1_u64 << 32) as f64;

settings! {
    /// Settings of `slowdown`.
    pub struct Settings {
        /// share of the time that the service may stand still for memory
        goal: f64 = 0.02, 0.000_1..=1.0;
        /// time whose share may be lost at once
        window: Duration = Duration::from_secs(60), Times::micros(1_000..=3_600_000_000);
        /// largest share of the DRAM in use that is reclaimed at a look
        most: f64 = 1.0 / 256.0, 0.000_001..=1.0;
        /// first rest
        rest: Duration = Duration::from_secs(30), Times::micros(0..=3_600_000_000);
        /// longest rest
        longest: Duration = Duration::from_secs(600), Times::micros(0..=86_400_000_000);
        /// time between two looks
        every: Duration = Duration::from_millis(500), Times::micros(1_000..=3_600_000_000);
    }
}

struct Slowdown {
    settings: Settings,
    last: Duration,
    /// Time that may be lost, in nanoseconds by [`PARTS`]; negative if more was lost.
    saved: i128,
    /// Whether half of the most that it can save has to come in first.
    saving: bool,
    /// The last looks: time that stalled, and that may, as in `saved`.
    recent: VecDeque<(i128, i128)>,
    /// Next step, in parts of the DRAM by [`SCALE`].
    pace: u64,
    /// Bytes given back at the last look; 0 if it did not hurt.
    back: u64,
    /// Bytes in the tier at the last look.
    swapped: u64,
    /// Steps that are not judged yet.
    probe: Option<Probe>,
    /// Size at which the last rest began, and why it did.
    floor: u64,
    why: Reason,
    /// End of the rest, and its length.
    until: Duration,
    rest: Duration,
}

/// Steps to reclaim, by which it is seen whether what leaves stays away: in bytes.
#[derive(Clone, Copy)]
struct Probe {
    /// In the tier when the first of them was taken.
    swapped: u64,
    /// Has left by them.
    left: u64,
}

/// How a service fares at a look.
enum Pain {
    /// Stalls of at most half the share, on average.
    None,
    /// Stalls about as allowed, or above and paid by savings.
    Enough,
    /// Too many.
    Hurts,
}

impl Slowdown {
    fn new(settings: Settings) -> Self {
        let mut new = Self {
            settings,
            last: Duration::ZERO,
            saved: 0,
            saving: true,
            recent: VecDeque::with_capacity(LOOKS + 1),
            pace: 0,
            back: 0,
            swapped: 0,
            probe: None,
            floor: 0,
            why: Reason::Resting,
            until: Duration::ZERO,
            rest: settings.rest,
        };
        new.slow_down();
        new
    }

    /// Share of the time that may be lost, in parts.
    fn goal(&self) -> i128 {
        (self.settings.goal * PARTS as f64).round() as i128
    }

    /// The most that can be saved.
    fn full(&self) -> i128 {
        nanos(self.settings.window) * self.goal()
    }

    /// Earns and pays for the time that passed, of which a part stalled. No more than a window is
    /// owed.
    fn account(&mut self, passed: Duration, stalled: Duration) {
        let income = nanos(passed) * self.goal() - nanos(stalled) * PARTS;
        let owed = nanos(self.settings.window) * PARTS;
        self.saved = (self.saved + income).clamp(-owed, self.full());
        self.saving = match self.saving {
            true => self.saved < self.full() / 2,
            false => self.saved < 0,
        };
    }

    fn pain(&mut self, passed: Duration, stalled: Duration) -> Pain {
        let (lost, goal) = (nanos(stalled) * PARTS, nanos(passed) * self.goal());
        self.recent.push_back((lost, goal));
        if self.recent.len() > LOOKS {
            self.recent.pop_front();
        }
        let twice: i128 = self.recent.iter().map(|(lost, goal)| 2 * lost - goal).sum();
        match () {
            () if lost > BURST * goal || lost > goal && self.saved < 0 => Pain::Hurts,
            () if twice > 0 => Pain::Enough,
            () => Pain::None,
        }
    }

    /// The largest step, in parts of the DRAM.
    fn fastest(&self) -> u64 {
        (self.settings.most * SCALE) as u64
    }

    fn slow_down(&mut self) {
        self.pace = (self.fastest() / GENTLE).max(1);
    }

    /// Begins a rest, which is longer if the last one has ended and began at this size.
    fn rest(&mut self, seen: &Seen, why: Reason) {
        let rests = seen.time < self.until;
        if !rests && self.floor > 0 && seen.resident >= self.floor - self.floor / ELSEWHERE {
            self.rest = (self.rest * 2).min(self.settings.longest);
        }
        self.floor = seen.resident.max(1);
        self.until = seen.time + self.rest;
        self.why = why;
        self.probe = None;
        self.slow_down();
    }

    /// Gives back, twice as much as at the look before or ahead of the service's own faults, and
    /// rests. Before this look it had so much in the tier.
    fn give_back(&mut self, seen: &Seen, swapped: u64) -> (Step, Reason) {
        self.rest(seen, Reason::Resting);
        let came = swapped.saturating_sub(seen.swapped);
        let fetched = came.saturating_sub(self.back);
        let more = match self.back {
            0 => (seen.resident / BACK).max(PAGE_BYTES),
            back => back.saturating_mul(2),
        };
        self.back = more.max(fetched.saturating_mul(AHEAD));
        (Step::GiveBack(self.back), Reason::Stalls)
    }

    /// Whether what has left comes straight back, each time that enough has left to tell.
    fn comes_back(&mut self, seen: &Seen) -> bool {
        let begun = Probe {
            swapped: seen.swapped,
            left: 0,
        };
        let probe = self.probe.get_or_insert(begun);
        if probe.left <= seen.resident / PROBE {
            return false;
        }
        let stayed = seen.swapped.saturating_sub(probe.swapped);
        let comes_back = stayed < probe.left / STAYS;
        *probe = begun;
        comes_back
    }

    /// Takes a step that is larger than the one before, or rests if what leaves comes straight
    /// back.
    fn reclaim(&mut self, seen: &Seen) -> (Step, Reason) {
        if self.comes_back(seen) {
            self.rest(seen, Reason::Used);
            return (Step::Hold, Reason::Used);
        }
        let bytes = u128::from(seen.resident) * u128::from(self.pace) / SCALE as u128;
        self.pace = (self.pace + self.pace.div_ceil(GROWTH)).min(self.fastest());
        if seen.resident < self.floor - self.floor / ELSEWHERE {
            self.rest = self.settings.rest;
        }
        (Step::Reclaim(bytes as u64), Reason::Quiet)
    }
}

impl Control for Slowdown {
    fn every(&self) -> Duration {
        self.settings.every
    }

    fn look(&mut self, seen: &Seen) -> (Step, Reason) {
        let passed = seen.time.saturating_sub(self.last);
        if passed.is_zero() {
            return (Step::Hold, Reason::Saving);
        }
        self.last = seen.time;
        let stalled = seen.stalled.min(passed);
        self.account(passed, stalled);
        let swapped = std::mem::replace(&mut self.swapped, seen.swapped);
        let pain = self.pain(passed, stalled);
        if matches!(pain, Pain::Hurts) {
            return self.give_back(seen, swapped);
        }
        self.back = 0;
        match () {
            () if seen.time < self.until => (Step::Hold, self.why),
            () if matches!(pain, Pain::Enough) => {
                self.pace = (self.pace / 2).max(1);
                (Step::Hold, Reason::Settled)
            }
            () if self.saving => (Step::Hold, Reason::Saving),
            () => self.reclaim(seen),
        }
    }

    fn reclaimed(&mut self, bytes: u64) {
        if let Some(probe) = &mut self.probe {
            probe.left = probe.left.saturating_add(bytes);
        }
    }
}

/// Nanoseconds, some centuries at most, so that products of them fit.
fn nanos(time: Duration) -> i128 {
    time.as_nanos().min(u128::from(u64::MAX)) as i128
}
