//! The slow twin: two hash maps, and the comparison of both.

use proptest::prelude::*;
use rustc_hash::FxHashMap;
use terrace_policy::{Location, Page, Slot, Space};

use super::Slots;

/// Places by page and pages by place, as hash maps.
#[derive(Default)]
struct Twin {
    of: FxHashMap<Location, Slot>,
    at: FxHashMap<Slot, Location>,
}

impl Twin {
    fn note(&mut self, at: Location, slot: Slot) {
        if let Some(before) = self.of.insert(at, slot)
            && before != slot
        {
            self.at.remove(&before);
        }
        if let Some(other) = self.at.insert(slot, at)
            && other != at
        {
            self.of.remove(&other);
        }
    }

    fn forget(&mut self, space: Space) {
        self.of.retain(|at, _| at.space != space);
        self.at.retain(|_, at| at.space != space);
    }
}

#[derive(Clone, Debug)]
enum Event {
    Note(Location, Slot),
    /// Pages side by side with places at a distance, upwards or downwards, as a survey reads them.
    Run(Location, Slot, u64, bool),
    Forget(Space),
    Tidy(u64),
}

fn space() -> impl Strategy<Value = Space> {
    (1..4u32).prop_map(Space)
}

/// Pages around the ends of leaves and spans, and far up.
fn page() -> impl Strategy<Value = Page> {
    let start = prop_oneof![Just(0u64), Just(65_000), Just((1 << 44) - 6000)];
    (start, 0..3000u64).prop_map(|(start, page)| Page(start + page))
}

fn location() -> impl Strategy<Value = Location> {
    (space(), page()).prop_map(|(space, page)| Location::new(space, page))
}

fn slot() -> impl Strategy<Value = Slot> {
    let area = prop_oneof![Just(0u64), Just(3), Just(31)];
    (area, 0..4000u64).prop_map(|(area, offset)| Slot(area << 56 | offset))
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        6 => (location(), slot()).prop_map(|(at, slot)| Event::Note(at, slot)),
        3 => (location(), slot(), 1..4u64, any::<bool>())
            .prop_map(|(at, slot, step, up)| Event::Run(at, slot, step, up)),
        1 => space().prop_map(Event::Forget),
        1 => (0..3000u64).prop_map(Event::Tidy),
    ]
}

/// Pages in a run: more than a leaf holds.
const RUN: u64 = 2500;

fn apply(event: &Event, mut note: impl FnMut(Location, Slot)) {
    match *event {
        Event::Note(at, slot) => note(at, slot),
        Event::Run(at, slot, step, up) => {
            for k in 0..RUN {
                let k = if up { k } else { RUN - 1 - k };
                let at = Location::new(at.space, Page(at.page.0 + k));
                note(at, Slot(slot.0 + k * step));
            }
        }
        Event::Forget(_) | Event::Tidy(_) => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn places_are_as_in_hash_maps(events in proptest::collection::vec(event(), 1..30)) {
        let (mut fast, mut slow) = (Slots::default(), Twin::default());
        let mut asked: Vec<(Location, Slot)> = Vec::new();
        for event in &events {
            apply(event, |at, slot| {
                fast.note(at, slot);
                slow.note(at, slot);
                asked.push((at, slot));
            });
            match *event {
                Event::Forget(space) => {
                    fast.forget(space);
                    slow.forget(space);
                }
                Event::Tidy(pages) => fast.tidy(pages),
                Event::Note(..) | Event::Run(..) => {}
            }
            for (at, slot) in &asked {
                prop_assert_eq!(fast.slot(*at), slow.of.get(at).copied());
                prop_assert_eq!(fast.page_in(*slot), slow.at.get(slot).copied());
            }
        }
        // An ended process leaves no entry behind.
        for space in 1..4 {
            fast.forget(Space(space));
        }
        fast.tidy(u64::MAX);
        prop_assert!(fast.is_empty());
    }
}
