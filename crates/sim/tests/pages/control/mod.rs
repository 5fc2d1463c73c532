//! Control policies: a slow twin of their driver, laws, and what each has to achieve.

mod achieved;
mod laws;
mod twin;

use std::sync::Once;
use std::time::Duration;

use proptest::prelude::*;
use terrace_base::{Bytes, Nanos};
use terrace_policy::control::{Control, Entry, Make, Reason, Seen, Spec, Step};
use terrace_policy::registry::{Evidence, register};
use terrace_sim::pages::{Outcome, PageMachine};
use terrace_trace::Access;

use crate::machine::{settings, touch};

const READ: u64 = 100_000;
const WRITE: u64 = 300_000;

fn spec(text: &str) -> Option<Spec> {
    Some(Spec::parse(text).unwrap_or_else(|problem| panic!("{problem}")))
}

/// The machine of other tests with a slower tier, an eviction buffer and a control policy.
fn machine(dram: usize, control: &str) -> PageMachine {
    let mut machine = PageMachine {
        control: spec(control),
        eviction_buffer: 64,
        ..settings(dram)
    };
    machine.tier.timing.read = Nanos(READ);
    machine.tier.timing.write = Nanos(WRITE);
    machine
}

/// A look: time, pages in DRAM, lost and run time so far, pages written, reclaimed, given back.
type Looked = (u64, u64, u64, u64, u64);

/// Reclaims and gives back without a reason.
struct Seesaw(u64);

impl Control for Seesaw {
    fn every(&self) -> Duration {
        Duration::from_millis(1)
    }

    fn look(&mut self, seen: &Seen) -> (Step, Reason) {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let part = |bytes: u64| bytes * ((self.0 >> 40) % 8) / 7;
        let step = match self.0 >> 61 {
            0 => Step::Hold,
            1..=3 => Step::Reclaim(part(seen.resident)),
            _ => Step::GiveBack(part(seen.swapped)),
        };
        (step, Reason::Quiet)
    }
}

/// Makes it known by its name, once.
fn know_seesaw() {
    const ENTRY: Entry = Entry {
        name: "seesaw",
        summary: "up and down",
        paper: "none",
        when: "in tests",
        evidence: Evidence::NONE,
        make: Make(&|_| Ok(Box::new(Seesaw(1)))),
    };
    static KNOWN: Once = Once::new();
    KNOWN.call_once(|| {
        register(ENTRY, "1").expect("it has all that a policy needs");
    });
}

/// Policies that act on few pages within milliseconds.
const POLICIES: [&str; 4] = [
    "seesaw",
    "fixed:dram=24K,every=1ms",
    "senpai:pressure=0.6,ratio=0.4,every=1ms",
    "slowdown:goal=0.1,window=10ms,most=0.5,rest=3ms,longest=12ms,every=1ms",
];

fn looked(outcome: &Outcome) -> Vec<Looked> {
    let pages = |bytes: Bytes| bytes.0 / 4096;
    let looks = outcome.looks.iter();
    looks
        .map(|look| {
            let moved = (pages(look.reclaimed), pages(look.given_back));
            (
                look.time_ns.0,
                pages(look.dram),
                pages(look.written),
                moved.0,
                moved.1,
            )
        })
        .collect()
}

fn program(touches: &[(u64, bool, u64)]) -> Vec<Access> {
    let accesses = touches
        .iter()
        .scan(0, |instruction, &(page, write, pause)| {
            *instruction += pause;
            Some(touch(0, *instruction, page, write))
        });
    accesses.collect()
}

/// Touches of few pages in phases: a fifth of a millisecond apart on average, of which some are
/// used more than others, or all at once; and in some phases other pages.
fn steps() -> impl Strategy<Value = Vec<(u64, bool, u64)>> {
    let touch = (0..24_u64, 0..24_u64, any::<bool>(), 1..400_000_u64);
    let phase = (
        prop::collection::vec(touch, 1..120),
        0..2_u64,
        any::<bool>(),
    );
    let phases = prop::collection::vec(phase, 1..5);
    phases.prop_map(|phases| {
        let moved = phases.into_iter().flat_map(|(touches, which, burst)| {
            let place = move |(one, other, write, pause): (u64, u64, bool, u64)| match burst {
                true => (one + 12 * which, write, pause / 100),
                false => (one.min(other) + 12 * which, write, pause),
            };
            touches.into_iter().map(place)
        });
        moved.collect()
    })
}

/// Touches of one thread, so many a second.
struct Load {
    accesses: Vec<Access>,
    now: u64,
    pause: u64,
    random: u64,
}

impl Load {
    fn new(a_second: u64) -> Self {
        Self {
            accesses: Vec::new(),
            now: 0,
            pause: 1_000_000_000 / a_second,
            random: 7,
        }
    }

    fn touch(&mut self, page: u64) {
        self.accesses.push(touch(0, self.now, page, false));
        self.now += self.pause;
    }

    /// Draws a number below a bound.
    fn draw(&mut self, bound: u64) -> u64 {
        self.random = self
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.random >> 33) % bound
    }

    /// Touches the first pages at random, for so many seconds.
    fn hot(&mut self, pages: u64, seconds: u64) {
        let end = self.now + seconds * 1_000_000_000;
        while self.now < end {
            let page = self.draw(pages);
            self.touch(page);
        }
    }

    /// Touches pages one after the other.
    fn scan(&mut self, pages: std::ops::Range<u64>) {
        pages.for_each(|page| self.touch(page));
    }
}

/// A machine with room for everything, whose tier is like a drive.
fn server(control: &str) -> PageMachine {
    let mut machine = machine(100_000, control);
    machine.tier.timing.write = Nanos(20_000);
    machine.tier.timing.channels = 8;
    machine
}
