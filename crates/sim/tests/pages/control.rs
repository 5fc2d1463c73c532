//! Control policies: a slow twin of the driver, and what each policy has to achieve.

use std::collections::{HashMap, HashSet};
use std::sync::Once;
use std::time::Duration;

use proptest::prelude::*;
use terrace_base::{Bytes, Nanos};
use terrace_policy::control::{Control, Controller, Entry, Make, Moved, Reason, Seen, Spec, Step};
use terrace_policy::registry::{Evidence, register};
use terrace_policy::replacement;
use terrace_sim::pages::{Initial, Outcome, PageMachine, run};
use terrace_sim::workload::Workload;
use terrace_trace::Access;

use crate::machine::{predictor, settings, simulate, stream, touch, trace};

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

/// What the thread of the twin does at a look.
#[derive(Clone, Copy)]
enum Doing {
    /// It computes until its next touch.
    Computes,
    /// It handles a fault, whose time it has counted beforehand.
    Handles,
    /// It has waited for memory since its clock.
    Waits,
}

/// A page of the twin.
#[derive(Clone, Copy, Default)]
struct Page {
    dirty: bool,
    copy: bool,
    /// It was given back and not touched since.
    given: bool,
    /// End of its read, and of its write.
    read: u64,
    write: u64,
    /// It waits for the end of its write to be written again.
    waits: bool,
}

/// One thread, LRU, DRAM for everything, and a device that serves one request after the other.
struct Twin {
    controller: Controller,
    every: u64,
    next: u64,
    /// The page that was used last is last.
    lru: Vec<u64>,
    pages: HashMap<u64, Page>,
    /// Pages that left by control and are out, the last one last.
    left: Vec<u64>,
    now: u64,
    lost: u64,
    free: u64,
    written: u64,
    /// Lost time, time and writes at the look before.
    before: (u64, u64, u64),
    looks: Vec<Looked>,
    /// A touch was made at the very moment of something else, and either may be first.
    ties: bool,
}

impl Twin {
    fn new(control: &str) -> Self {
        let controller = spec(control).unwrap().controller().unwrap();
        let every = controller.every().as_nanos() as u64;
        Self {
            controller,
            every,
            next: every,
            lru: Vec::new(),
            pages: HashMap::new(),
            left: Vec::new(),
            now: 0,
            lost: 0,
            free: 0,
            written: 0,
            before: (0, 0, 0),
            looks: Vec::new(),
            ties: false,
        }
    }

    /// Serves a request behind all others.
    fn serve(&mut self, at: u64, takes: u64) -> u64 {
        self.free = self.free.max(at) + takes;
        self.free
    }

    /// Makes all looks before a moment.
    fn look_until(&mut self, moment: u64, doing: Doing) {
        while self.next < moment {
            self.look(doing);
        }
    }

    fn look(&mut self, doing: Doing) {
        let at = self.next;
        self.next += self.every;
        let since = at.saturating_sub(self.now);
        let (lost, ran) = match doing {
            Doing::Computes => (self.lost, self.now + since),
            Doing::Handles => (self.lost, self.now),
            Doing::Waits => (self.lost + since, self.now + since),
        };
        let (lost_before, ran_before, written_before) = self.before;
        let share = match ran - ran_before {
            0 => 0,
            ran => u128::from(self.every) * u128::from(lost - lost_before) / u128::from(ran),
        };
        let resident = self.lru.len() as u64;
        let seen = Seen {
            time: Duration::from_nanos(at),
            resident: resident * 4096,
            swapped: (self.pages.len() as u64 - resident) * 4096,
            stalled: Duration::from_nanos((share as u64).min(self.every)),
            written: (self.written - written_before) * 4096,
            short: false,
        };
        self.before = (lost, ran, self.written);
        let (mut reclaimed, mut given) = (0, 0);
        match self.controller.look(&seen, None).step {
            Step::Reclaim(bytes) => {
                while reclaimed < bytes / 4096 && !self.lru.is_empty() {
                    self.reclaim(at);
                    reclaimed += 1;
                }
            }
            Step::GiveBack(bytes) => {
                while given < bytes / 4096
                    && let Some(page) = self.left.pop()
                {
                    self.give_back(page, at);
                    given += 1;
                }
            }
            Step::Hold => {}
        }
        self.controller.came(Moved {
            bytes: (reclaimed + given) * 4096,
            tried: 0,
        });
        self.looks
            .push((at, resident, seen.written / 4096, reclaimed, given));
    }

    fn reclaim(&mut self, at: u64) {
        let page = self.lru.remove(0);
        self.left.push(page);
        let mut state = self.pages[&page];
        state.given = false;
        if state.dirty || !state.copy {
            if state.write > at {
                state.waits = true;
            } else {
                state.write = self.serve(at, WRITE);
                (state.dirty, state.copy) = (false, true);
                self.written += 1;
            }
        }
        self.pages.insert(page, state);
    }

    fn give_back(&mut self, page: u64, at: u64) {
        self.lru.push(page);
        let mut state = self.pages[&page];
        state.given = true;
        if state.write > at || state.waits {
            state.waits = false;
        } else if state.read <= at {
            state.read = self.serve(at, READ);
        }
        self.pages.insert(page, state);
    }

    /// Spends time that DRAM for everything would not take.
    fn lose(&mut self, time: u64) {
        self.now += time;
        self.lost += time;
    }

    /// Waits for the read of a page, and maps it.
    fn wait(&mut self, page: u64) {
        let end = self.pages[&page].read;
        self.look_until(end, Doing::Waits);
        // Its read may have ended before the thread got here.
        self.lose(end.saturating_sub(self.now));
        self.lose(4 + 8);
    }

    fn touch(&mut self, page: u64, write: bool, pause: u64) {
        let at = self.now + pause;
        let ends = self
            .pages
            .values()
            .any(|page| [page.read, page.write].contains(&at));
        self.ties |= at > 0 && (ends || at.is_multiple_of(self.every));
        self.look_until(at, Doing::Computes);
        self.now = at;
        let known = self.pages.get(&page).copied();
        let resident = self.lru.contains(&page);
        self.lru.retain(|other| *other != page);
        self.left.retain(|other| *other != page);
        self.lru.push(page);
        let state = self.pages.entry(page).or_default();
        state.dirty |= write;
        state.given = false;
        let waited = std::mem::take(&mut state.waits);
        let Some(before) = known else {
            self.now += 1;
            self.look_until(self.now + 1, Doing::Handles);
            self.now += 4 + 8;
            return;
        };
        let coming = before.read > at;
        match (resident, coming) {
            (true, false) if !before.given => {}
            (true, false) => self.lose(1 + 8),
            (_, true) => {
                self.lose(1);
                self.wait(page);
            }
            (false, false) if before.write > at || waited => {
                self.lose(1);
                self.look_until(self.now + 1, Doing::Handles);
                self.lose(8);
            }
            (false, false) => {
                self.lose(1 + 2);
                self.look_until(self.now + 1, Doing::Handles);
                let end = self.serve(self.now, READ);
                self.pages.entry(page).or_default().read = end;
                self.wait(page);
            }
        }
    }

    fn run(mut self, touches: &[(u64, bool, u64)]) -> Self {
        for &(page, write, pause) in touches {
            self.touch(page, write, pause);
        }
        self.look_until(self.now + 1, Doing::Handles);
        self
    }
}

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

proptest! {
    #[test]
    fn as_its_slow_twin(mut steps in steps(), block in 1..60_usize) {
        // A trace begins with its first instruction.
        steps[0].2 = 0;
        know_seesaw();
        for policy in POLICIES {
            let outcome = simulate(machine(99, policy), &[program(&steps)], block);
            let twin = Twin::new(policy).run(&steps);
            if twin.ties {
                continue;
            }
            prop_assert_eq!(looked(&outcome), twin.looks, "{}", policy);
            prop_assert_eq!(outcome.time().0, twin.now, "{}", policy);
        }
    }

    /// No more is held than there is, whatever else moves pages, and every look is told.
    #[test]
    fn looks_add_up(
        steps in steps(),
        dram in 1..12_usize,
        buffer in 0..4_usize,
        fetches in any::<bool>(),
        linux in any::<bool>(),
    ) {
        know_seesaw();
        for policy in POLICIES {
            let mut machine = PageMachine {
                eviction_buffer: buffer,
                ..machine(dram, policy)
            };
            if fetches {
                machine.prefetch = stream();
            }
            if linux {
                machine.replacement = replacement::Spec::parse("linux").unwrap();
            }
            let outcome = simulate(machine, &[program(&steps)], 99);
            let controlled = outcome.control.clone().expect("there is a policy");
            let sum = |part: fn(&Looked) -> u64| looked(&outcome).iter().map(part).sum::<u64>();
            prop_assert_eq!(controlled.looks, outcome.time().0 / 1_000_000);
            prop_assert_eq!(controlled.reclaimed, Bytes::of_pages(sum(|look| look.3)));
            prop_assert_eq!(controlled.given_back, Bytes::of_pages(sum(|look| look.4)));
            prop_assert!(looked(&outcome).iter().all(|look| look.1 <= dram as u64));
            prop_assert!(controlled.dram_least <= Bytes::of_pages(dram as u64));
            prop_assert!(outcome.counts.evictions >= sum(|look| look.3));
            prop_assert!((0.0..=1.0).contains(&controlled.stalls));
        }
    }
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

const MIB: f64 = (1 << 20) as f64;

#[test]
fn a_cold_part_leaves_and_the_program_hardly_stalls() {
    let mut load = Load::new(2_000);
    load.scan(0..1_500);
    load.hot(500, 400);
    let outcome = simulate(server("slowdown:goal=0.02"), &[load.accesses], 4096);
    let controlled = outcome.control.expect("there is a policy");
    let last = outcome.looks.last().expect("there were looks");
    let held = last.dram.0 / 4096;
    assert!(held <= 1_000, "half of the cold part is out: {held} pages");
    assert!(controlled.stalls < 0.02, "{controlled:?}");
    let by_hand: f64 = outcome
        .looks
        .iter()
        .map(|look| look.dram.0 as f64 * look.looks as f64)
        .sum();
    let mean = by_hand / controlled.looks as f64 / MIB;
    let told = controlled.dram_mean.0 as f64 / MIB;
    assert!((mean - told).abs() < 0.05 * told, "{mean} {told}");
}

#[test]
fn a_burst_ends_in_a_second() {
    let mut load = Load::new(2_000);
    load.scan(0..8_000);
    load.hot(500, 400);
    let begin = load.now;
    // All of the cold table at once, as fast as the machine can: for longer than between looks.
    load.pause = 1_000;
    load.scan(500..8_000);
    load.pause = 500_000;
    load.hot(500, 60);
    let outcome = simulate(server("slowdown"), &[load.accesses], 4096);
    let worst = outcome.control.as_ref().and_then(|one| one.stalls_worst);
    assert!(worst > Some(0.1), "the burst stalls: {worst:?}");
    let behind = |look: &&terrace_sim::pages::Look| look.time_ns.0 > begin;
    let behind: Vec<_> = outcome.looks.iter().filter(behind).collect();
    assert!(
        behind.iter().any(|look| look.given_back > Bytes(0)),
        "something is given back"
    );
    let hurts = behind.iter().filter(|look| look.stalls() > Some(0.02));
    let until = hurts.map(|look| look.time_ns.0).max().unwrap_or(begin);
    assert!(
        until - begin <= 2_000_000_000,
        "it is over after {} ms",
        (until - begin) / 1_000_000
    );
}

#[test]
fn a_steady_program_is_left_alone() {
    let returns = |seconds| {
        let mut load = Load::new(500);
        load.scan(0..600);
        // Most pages are lukewarm: each is used every six seconds.
        load.hot(600, seconds);
        let outcome = simulate(server("slowdown:goal=0.02"), &[load.accesses], 4096);
        outcome.control.expect("there is a policy").returns
    };
    let (short, long) = (returns(500), returns(4_000));
    assert!(long <= short + 9, "{short} returns, then {long}");
}

#[test]
fn the_budget_of_writes_is_kept() {
    let mut load = Load::new(2_000);
    load.scan(0..3_000);
    load.hot(500, 300);
    let run = |writes| {
        let machine = PageMachine {
            control_writes: writes,
            ..server("fixed:dram=1M")
        };
        simulate(machine, &[load.accesses.clone()], 4096)
    };
    let written = |outcome: &Outcome| outcome.counts.writebacks;
    let (free, bound) = (run(None), run(Some(1 << 20)));
    assert!(written(&free) > 2_000);
    // A day's amount is there at the start; what comes in meanwhile is less than a page.
    assert_eq!(written(&bound), 256);
    let controlled = bound.control.expect("there is a policy");
    assert!(controlled.unpaid > 200, "{controlled:?}");
    assert_eq!(free.control.expect("there is a policy").unpaid, 0);
}

#[test]
fn the_worst_second_is_a_whole_one() {
    // Half a second without a stall, then pages that left, one in a millisecond.
    let mut load = Load::new(1_000);
    load.scan(0..1_000);
    load.hot(1, 2);
    let quiet = load.now;
    load.scan(1..1_000);
    load.hot(1, 2);
    let outcome = simulate(server("fixed:dram=4K,every=100ms"), &[load.accesses], 999);
    let controlled = outcome.control.expect("there is a policy");
    let worst = controlled.stalls_worst.expect("there are whole seconds");
    // 1 ms and 115 us a touch, from 3 s on.
    let lost = (READ + 1 + 2 + 4 + 8) as f64;
    let expected = lost / (1e6 + lost);
    assert_eq!(quiet / 1_000_000_000, 3);
    assert!((worst - expected).abs() < 0.003, "{worst} {expected}");
}

/// What is refused, as a sentence.
fn refused(machine: PageMachine) -> String {
    let traces = vec![trace(&[touch(0, 1, 1, true)], 9)];
    let workload = Workload::new(traces, None).unwrap();
    run(workload, vec![machine], None, |_| {})
        .unwrap_err()
        .to_string()
}

#[test]
fn what_cannot_be_controlled_is_refused() {
    let staged = PageMachine {
        staging: 4,
        ..machine(9, "senpai")
    };
    assert!(refused(staged).contains("‘staging’"));
}

#[test]
fn several_threads_are_judged_by_those_that_run() {
    // One of two threads reads page after page, the other computes: half of both is lost, and all
    // of the only one that is left.
    let program = |pages: u64| {
        let reader = (0..pages).map(|at| touch(1, at, at, false));
        let other = (0..100).map(|at| touch(0, at * 1_000_000, 1 << 20, false));
        let accesses: Vec<Access> = other
            .zip(reader)
            .flat_map(|(one, other)| [one, other])
            .collect();
        let machine = PageMachine {
            initial: Initial::Tier,
            ..machine(1 << 16, "fixed:dram=1G,every=1ms")
        };
        simulate(machine, &[accesses], 64)
    };
    let outcome = program(1_000);
    let shares: Vec<f64> = outcome
        .looks
        .iter()
        .filter_map(|look| look.stalls())
        .collect();
    assert_eq!(shares.len(), 99);
    let near = |share: f64, expected: f64| (share - expected).abs() < 0.01;
    assert!(
        shares[1..9].iter().all(|share| near(*share, 0.5)),
        "{shares:?}"
    );
    assert!(shares[12..].iter().all(|share| *share == 0.0), "{shares:?}");
}

#[test]
fn predictors_and_control_go_together() {
    let mut load = Load::new(1_000);
    load.scan(0..600);
    load.hot(1, 3);
    load.scan(0..600);
    let mut machine = server("fixed:dram=40K,every=100ms");
    machine.prefetch = predictor("stream");
    let outcome = simulate(machine, &[load.accesses], 64);
    let known: HashSet<u64> = outcome.looks.iter().map(|look| look.looks).collect();
    assert_eq!(known, HashSet::from([1]));
    assert!(outcome.story.used > 100, "{:?}", outcome.story);
}
