//! Every answer at every instant is that of the golden copy: by a chip that compares all rows
//! beside one that hashes, over random updates of both families.

use std::cell::RefCell;
use std::collections::HashMap;
use std::net::IpAddr;

use proptest::prelude::*;
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use terrace_base::Nanos;

use super::Router;
use crate::chip::{Chip, Location, Match};
use crate::functional::Functional;
use crate::length::Length;
use crate::levelling;
use crate::policy::Sum;
use crate::pool::Allocation;
use crate::prefix::Prefix;
use crate::route::{Port, Route};
use crate::settings::Settings;
use crate::structural::Structural;
use crate::testing::{addresses, changes};
use crate::update::Change;

/// Two models of one chip, which must agree, and a count of all that was written to flash by
/// prefix.
struct Both {
    structural: Structural,
    functional: Functional,
    /// Writes of each prefix to flash.
    programmed: RefCell<HashMap<Prefix, u64>>,
}

impl Both {
    fn new(settings: &Settings) -> Self {
        let (blocks, rows, shadow_rows) = (settings.blocks, settings.rows, settings.shadow_rows);
        Self {
            structural: Structural::new(blocks, rows, shadow_rows),
            functional: Functional::default(),
            programmed: RefCell::default(),
        }
    }
}

impl Chip for Both {
    fn lookup(&self, address: IpAddr) -> Option<Match> {
        let answer = self.structural.lookup(address);
        assert_eq!(answer, self.functional.lookup(address), "{address}");
        answer
    }

    fn find(&self, prefix: Prefix) -> Option<Location> {
        let found = self.structural.find(prefix);
        assert_eq!(found, self.functional.find(prefix), "{prefix}");
        found
    }

    fn write(&mut self, block: u32, row: u32, route: Route) {
        self.structural.write(block, row, route);
        self.functional.write(block, row, route);
    }

    fn invalidate(&mut self, location: Location, prefix: Prefix) {
        self.structural.invalidate(location, prefix);
        self.functional.invalidate(location, prefix);
    }

    fn revive(&mut self, block: u32, row: u32, route: Route) {
        self.structural.revive(block, row, route);
        self.functional.revive(block, row, route);
    }

    fn program(&mut self, block: u32, length: Length, routes: &[Route]) {
        for route in routes {
            *self
                .programmed
                .borrow_mut()
                .entry(route.prefix)
                .or_default() += 1;
        }
        self.structural.program(block, length, routes);
        self.functional.program(block, length, routes);
    }

    fn start(&mut self, block: u32, routes: &[Route], valid: &[bool]) {
        self.structural.start(block, routes, valid);
        self.functional.start(block, routes, valid);
    }

    fn stop(&mut self, block: u32) {
        self.structural.stop(block);
        self.functional.stop(block);
    }
}

const POLICIES: [&str; 8] = [
    "thesis",
    "unchanged",
    "coalesce",
    "coalesce:share=0.9",
    "damping:cutoff=0.5,reuse=0.4",
    "lazy",
    "unchanged+lazy",
    "unchanged+coalesce+damping:half-life=1+lazy",
];

const LEVELLINGS: [&str; 4] = ["none", "round-robin", "randomised", "start-gap:psi=3"];

/// Small chips, whose blocks are all used again and again. Where lengths have blocks of their own,
/// these are large enough for all prefixes that are tried.
fn settings() -> impl Strategy<Value = Settings> {
    let sizes = (1u32..5, 1u32..7, prop::option::of(0u32..3));
    let levelling = prop::sample::select(&LEVELLINGS[..]);
    (sizes, levelling, any::<bool>()).prop_map(
        |((rows, shadow_rows, buffers), levelling, shared)| {
            let (rows, blocks, allocation) = match shared {
                true => (rows, 150, Allocation::Shared),
                false => (rows + 36, Length::COUNT as u32 * 3, Allocation::Static),
            };
            Settings {
                rows,
                blocks,
                shadow_rows,
                buffers,
                writes_per_second: 4.0,
                allocation,
                levelling: levelling::Spec::parse(levelling).unwrap(),
                seed: 3,
            }
        },
    )
}

/// Times between updates, many shorter than a flush.
fn gaps() -> impl Strategy<Value = u64> {
    prop_oneof![3 => 0u64..100_000_000, 1 => 0u64..1_000_000_000]
}

/// The routes that are announced, and one of each family, so that static shares have blocks for
/// both.
fn table(changes: &[Change]) -> Vec<Route> {
    let routes = changes.iter().filter_map(|change| match change {
        Change::Announce(route) => Some(*route),
        Change::Withdraw(_) => None,
    });
    let ends = ["0.0.0.0/0", "::/0"].map(|text| text.parse().unwrap());
    let ends = ends.map(|prefix| Route {
        prefix,
        port: Port(9),
    });
    routes.chain(ends).collect()
}

proptest! {
    #[test]
    fn every_answer_at_every_instant_is_the_golden_copy_s(
        settings in settings(),
        policy in prop::sample::select(&POLICIES[..]),
        before in prop::collection::vec(changes(), 0..40),
        updates in prop::collection::vec((gaps(), changes(), prop::collection::vec(addresses(), 3)), 0..120),
    ) {
        let both = Both::new(&settings);
        let policy = Sum::parse(policy).unwrap();
        let mut router = Router::load(both, settings, policy, table(&before)).unwrap();
        let mut now = 0;
        for (gap, change, addresses) in updates {
            // In the middle of flushes as well.
            router.advance(Nanos(now + gap / 2)).unwrap();
            for address in &addresses {
                prop_assert_eq!(router.lookup(*address), router.golden.lookup(*address));
            }
            now += gap;
            router.update(Nanos(now), change).unwrap();
            for address in addresses.into_iter().chain([change.prefix().address()]) {
                prop_assert_eq!(router.lookup(address), router.golden.lookup(address));
            }
        }
        router.finish().unwrap();
        prop_assert!(router.lanes.iter().all(|lane| lane.waiting.is_empty()), "nothing waits for ever");
        prop_assert_eq!(router.queue.now, 0);
    }

    /// The proof by count: entries are written to flash when they are loaded, when they leave
    /// shadow, and when a block is erased for its holes. If one had been moved for order, there
    /// would be more.
    #[test]
    fn no_entry_is_moved_for_order(
        settings in settings(),
        policy in prop::sample::select(&POLICIES[..]),
        before in prop::collection::vec(changes(), 0..40),
        updates in prop::collection::vec((gaps(), changes()), 0..120),
    ) {
        let both = Both::new(&settings);
        let policy = Sum::parse(policy).unwrap();
        let mut router = Router::load(both, settings, policy, table(&before)).unwrap();
        let loaded = router.golden.len() as u64;
        let (mut now, mut by_hand) = (0, 0);
        for (gap, change) in updates {
            now += gap;
            router.update(Nanos(now), change).unwrap();
            by_hand += 1;
        }
        router.finish().unwrap();
        let counts: crate::count::Counts = Length::all().map(|length| router.counts(length)).sum();
        let programmed: u64 = router.chip.programmed.borrow().values().sum();
        prop_assert_eq!(programmed, loaded + counts.flushed + counts.copied);
        prop_assert_eq!(counts.announcements + counts.withdrawals, by_hand);
        prop_assert_eq!(
            counts.announcements, counts.skipped + counts.revived + counts.replaced + counts.added
        );
        prop_assert!(counts.flushed >= router.bound.entries(), "no policy writes less than the bound");
        let valid: u64 = Length::all().map(|length| router.occupied(length).0).sum();
        prop_assert!(valid <= router.golden.len() as u64);
    }

    /// The thesis's rule as one reads it: a set of prefixes for each length.
    #[test]
    fn the_thesis_writes_each_full_set(
        shadow_rows in 1u32..5, updates in prop::collection::vec(changes(), 0..200),
    ) {
        let settings = Settings { rows: 2, blocks: 400, shadow_rows, ..Settings::default() };
        let mut router =
            Router::load(Functional::default(), settings, Sum::parse("thesis").unwrap(), []).unwrap();
        let mut sets: HashMap<Length, std::collections::HashSet<Prefix>> = HashMap::new();
        let mut written = 0;
        for (at, change) in (0..).zip(updates) {
            router.update(Nanos(at * 1_000_000_000), change).unwrap();
            let set = sets.entry(Length::of(change.prefix())).or_default();
            match change {
                Change::Announce(route) => set.insert(route.prefix),
                Change::Withdraw(prefix) => set.remove(&prefix),
            };
            if set.len() == shadow_rows as usize {
                written += u64::from(shadow_rows);
                set.clear();
            }
        }
        let flushed: u64 = Length::all().map(|length| router.counts(length).flushed).sum();
        prop_assert_eq!(flushed, written);
    }
}

/// Thousands of updates of a chip that is nearly full, by every policy under every levelling:
/// blocks are copied, updates wait, rows are kept and revived, and all answers are right.
#[test]
fn long_runs_on_a_chip_that_is_nearly_full() {
    let mut all = crate::count::Counts::default();
    for (index, policy) in POLICIES.into_iter().enumerate() {
        for levelling in LEVELLINGS {
            let counts = long_run(policy, levelling, index as u64 % 3);
            assert!(
                counts.copied > 0 && counts.erased > 0,
                "{policy} {levelling}: {counts:?}"
            );
            all += counts;
        }
    }
    assert!(
        all.skipped > 0 && all.revived > 0 && all.kept > 0 && all.waited > 0,
        "{all:?}"
    );
}

fn long_run(policy: &str, levelling: &str, buffers: u64) -> crate::count::Counts {
    let settings = Settings {
        rows: 4,
        blocks: 14,
        shadow_rows: 6,
        buffers: (buffers < 2).then_some(buffers as u32),
        levelling: levelling::Spec::parse(levelling).unwrap(),
        ..Settings::default()
    };
    let both = Both::new(&settings);
    let mut router = Router::load(both, settings, Sum::parse(policy).unwrap(), []).unwrap();
    let mut random = SplitMix64::seed_from_u64(buffers);
    let mut draw = |below: u64| random.next_u64() % below;
    let mut now = Nanos::ZERO;
    for _ in 0..1500 {
        now += Nanos(draw(60_000_000));
        let length = if draw(5) == 0 { 8 } else { 24 };
        let prefix = Prefix::new([10, 0, draw(38) as u8, 0].into(), length).unwrap();
        let change = match draw(4) {
            0 => Change::Withdraw(prefix),
            port => Change::Announce(Route {
                prefix,
                port: Port(port as u32 / 3),
            }),
        };
        router.update(now, change).unwrap();
        let address = [10, 0, draw(38) as u8, 1].into();
        assert_eq!(
            router.lookup(address),
            router.golden.lookup(address),
            "{policy} {levelling}"
        );
    }
    router.finish().unwrap();
    let worn = router.worn();
    let counts: crate::count::Counts = Length::all().map(|length| router.counts(length)).sum();
    let writes = counts.programmed + router.moved_blocks();
    assert_eq!(
        worn.cells(),
        writes * u64::from(terrace_device::LINE_CELLS),
        "all writes wear"
    );
    counts
}

#[test]
fn a_table_that_does_not_fit_is_refused() {
    let route = |index: u8| Route {
        prefix: Prefix::new([index, 0, 0, 0].into(), 8).unwrap(),
        port: Port(0),
    };
    let settings = |allocation| Settings {
        rows: 2,
        blocks: 2,
        allocation,
        ..Settings::default()
    };
    let load = |allocation, routes| {
        let policy = Sum::parse("thesis").unwrap();
        Router::load(
            Functional::default(),
            settings(allocation),
            policy,
            (0..routes).map(route),
        )
    };
    assert!(load(Allocation::Shared, 4).is_ok());
    let error = load(Allocation::Shared, 5).unwrap_err().to_string();
    assert!(
        error.contains("takes 3 flash blocks of 2 rows, and the TCAM has 2"),
        "{error}"
    );
    let error = load(Allocation::Static, 4).unwrap_err().to_string();
    assert!(error.contains("for every prefix length"), "{error}");
}

#[test]
fn a_full_flash_is_a_sentence() {
    let settings = Settings {
        rows: 1,
        blocks: 2,
        shadow_rows: 1,
        ..Settings::default()
    };
    let policy = Sum::parse("thesis").unwrap();
    let mut router = Router::load(Functional::default(), settings, policy, []).unwrap();
    let mut update = |index: u8| {
        let prefix = Prefix::new([index, 0, 0, 0].into(), 8).unwrap();
        let at = Nanos(u64::from(index) * 1_000_000_000);
        router.update(
            at,
            Change::Announce(Route {
                prefix,
                port: Port(0),
            }),
        )
    };
    assert_eq!((update(1), update(2)), (Ok(()), Ok(())));
    let error = update(3).unwrap_err().to_string();
    assert!(error.contains("all 2 flash blocks are in use"), "{error}");
}

/// A worked example: two rows a shadow block, two a flash block.
#[test]
fn a_withdrawn_route_is_revived_and_an_unchanged_one_is_not_written() {
    let settings = Settings {
        rows: 2,
        blocks: 10,
        shadow_rows: 2,
        ..Settings::default()
    };
    let route = |index: u8, port| Route {
        prefix: Prefix::new([index, 0, 0, 0].into(), 8).unwrap(),
        port: Port(port),
    };
    let table = [route(1, 1), route(2, 1)];
    let policy = Sum::parse("unchanged+lazy").unwrap();
    let mut router = Router::load(Functional::default(), settings, policy, table).unwrap();
    let length = Length::of(table[0].prefix);
    for (at, change) in (0..).zip([
        Change::Announce(route(1, 1)),
        Change::Withdraw(route(1, 1).prefix),
        Change::Announce(route(1, 1)),
        Change::Announce(route(1, 2)),
        Change::Announce(route(1, 1)),
        Change::Withdraw(route(9, 1).prefix),
    ]) {
        router.update(Nanos(at * 1_000_000_000), change).unwrap();
    }
    let counts = router.counts(length);
    assert_eq!(
        (counts.skipped, counts.revived, counts.added, counts.flushed),
        (1, 2, 1, 0)
    );
    assert_eq!(counts.withdrawals_of_nothing, 1);
    assert_eq!(router.occupied(length), (2, 1));
}
