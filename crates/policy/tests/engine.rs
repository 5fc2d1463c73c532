//! The engine with predictors worked out by hand, and with arbitrary ones.

use std::collections::HashMap;

use proptest::prelude::*;
use terrace_policy::prefetch::{
    Engine, EngineSettings, Entry, LifeStory, Make, Order, Outcome, Params, Prediction, Predictor,
    Source, Throttle, Trigger,
};
use terrace_policy::{Fault, Location, Memory, Page, Residence, Space, Thread};

const SPACE: Space = Space(1);

fn at(page: u64) -> Location {
    Location::new(SPACE, Page(page))
}

fn fault(page: u64) -> Fault {
    Fault {
        thread: Thread(1),
        at: at(page),
        offset: 0,
    }
}

/// A memory whose pages lie in the tier, apart from those in the map.
#[derive(Default)]
struct Map(HashMap<u64, Residence>);

impl Memory for Map {
    fn residence(&mut self, at: Location) -> Residence {
        *self.0.get(&at.page.0).unwrap_or(&Residence::InTier)
    }
}

/// Predicts the `degree` pages behind the one that faulted or was reached; every fault is a
/// source of its own, and `a`, `b` and both name them in turn.
struct Next {
    source: Source,
    degree: u64,
    goes_on: bool,
    last: u64,
    exhausted: std::sync::Arc<std::sync::atomic::AtomicUsize>,
}

impl Next {
    fn boxed(degree: u64) -> Box<Self> {
        Box::new(Self {
            source: Source(0),
            degree,
            goes_on: true,
            last: 0,
            exhausted: Default::default(),
        })
    }

    fn predict(&mut self) -> Option<Prediction> {
        let pages = (self.last + 1..=self.last + self.degree).map(at).collect();
        self.last += self.degree;
        Some(Prediction {
            source: self.source,
            pages,
            goes_on: self.goes_on,
        })
    }
}

impl Predictor for Next {
    fn fault(&mut self, fault: &Fault, _: &mut dyn Memory, predictions: &mut Vec<Prediction>) {
        self.source = Source(fault.at.page.0);
        self.last = fault.at.page.0;
        predictions.extend(self.predict());
    }

    fn advance(&mut self, source: Source, _: Option<Location>) -> Option<Prediction> {
        self.source = source;
        self.predict()
    }

    fn on_exhausted(&mut self, _: Source) {
        self.exhausted
            .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }

    fn constituents(&self) -> Vec<&'static str> {
        vec!["a", "b"]
    }

    fn named_by(&self, source: Source) -> u8 {
        1 + (source.0 % 3) as u8
    }
}

fn issued(engine: &mut Engine, memory: &mut Map) -> Vec<u64> {
    std::iter::from_fn(|| engine.next(memory).map(|at| at.page.0)).collect()
}

#[test]
fn best_first_and_the_newest_fault_before_older_ones() {
    let mut engine = Engine::new(Next::boxed(3), EngineSettings::default());
    let mut memory = Map::default();
    engine.fault(&fault(10), &mut memory);
    engine.fault(&fault(50), &mut memory);
    assert_eq!(issued(&mut engine, &mut memory), [51, 52, 53, 11, 12, 13]);
}

/// Returns an engine around `spatial`, which names the `degree` pages behind each fault.
fn spatial(degree: u64, settings: EngineSettings) -> Engine {
    let spatial = Entry::by_name("spatial").unwrap();
    let Make::Online(make) = spatial.make else {
        panic!("it does not know the future");
    };
    let degree = Params::parse(&format!("degree={degree}"));
    Engine::new(make(&mut degree.unwrap()).unwrap(), settings)
}

/// A source that names pages anew at every fault, as most predictors do, is no stream.
#[test]
fn the_newest_fault_goes_first_even_where_all_are_of_one_source() {
    let mut engine = spatial(3, EngineSettings::default());
    let mut memory = Map::default();
    engine.fault(&fault(10), &mut memory);
    engine.fault(&fault(50), &mut memory);
    assert_eq!(issued(&mut engine, &mut memory), [51, 52, 53, 11, 12, 13]);
}

/// The newest fault goes first with all that it names, also with what an older one named before.
#[test]
fn what_the_newest_fault_names_again_goes_first_with_it() {
    for (order, expected) in [
        (Order::Lifo, [12, 13, 14, 11]),
        (Order::Fifo, [11, 12, 13, 14]),
    ] {
        let settings = EngineSettings {
            order,
            ..EngineSettings::default()
        };
        let mut engine = spatial(3, settings);
        let mut memory = Map::default();
        engine.fault(&fault(10), &mut memory);
        engine.fault(&fault(11), &mut memory);
        let story = *engine.story();
        assert_eq!((story.predicted, story.filtered), (6, 2), "{order:?}");
        assert_eq!(issued(&mut engine, &mut memory), expected, "{order:?}");
    }
}

#[test]
fn what_is_in_memory_or_nowhere_or_foretold_already_is_filtered() {
    let mut engine = Engine::new(Next::boxed(4), EngineSettings::default());
    let mut memory = Map::default();
    memory.0.insert(12, Residence::Nowhere);
    engine.fault(&fault(10), &mut memory); // 11 13 14
    engine.fault(&fault(9), &mut memory); // 10; 11 and 13 wait already
    assert_eq!(issued(&mut engine, &mut memory), [10, 11, 13, 14]);
    assert_eq!(engine.story().filtered, 4);
}

#[test]
fn what_came_into_memory_while_it_waited_is_not_fetched() {
    let mut engine = Engine::new(Next::boxed(2), EngineSettings::default());
    let mut memory = Map::default();
    engine.fault(&fault(1), &mut memory);
    memory.0.insert(2, Residence::InMemory);
    assert_eq!(issued(&mut engine, &mut memory), [3]);
    assert_eq!(engine.story().in_memory, 1);
}

#[test]
fn pages_in_memory_are_looked_past() {
    let mut engine = Engine::new(Next::boxed(2), EngineSettings::default());
    let mut memory = Map::default();
    for page in 2..=5 {
        memory.0.insert(page, Residence::InMemory);
    }
    engine.fault(&fault(1), &mut memory);
    assert_eq!(issued(&mut engine, &mut memory), [6, 7]);
}

#[test]
fn a_prediction_of_pages_in_memory_exhausts_its_source() {
    let next = Next::boxed(2);
    let exhausted = next.exhausted.clone();
    let mut engine = Engine::new(next, EngineSettings::default());
    let mut memory = Map((0..1000).map(|page| (page, Residence::InMemory)).collect());
    engine.fault(&fault(1), &mut memory);
    assert_eq!(exhausted.load(std::sync::atomic::Ordering::Relaxed), 1);
    assert_eq!(issued(&mut engine, &mut memory), []);
}

#[test]
fn the_first_page_of_a_prediction_asks_for_the_next() {
    let mut engine = Engine::new(Next::boxed(2), EngineSettings::default());
    let mut memory = Map::default();
    engine.fault(&fault(1), &mut memory);
    assert_eq!(issued(&mut engine, &mut memory), [2, 3]);
    assert_eq!(engine.triggers(), [at(2)]);
    engine.touched(at(3), Outcome::Used, &mut memory);
    assert_eq!(issued(&mut engine, &mut memory), []);
    engine.touched(at(2), Outcome::Used, &mut memory);
    assert_eq!(issued(&mut engine, &mut memory), [4, 5]);
    assert_eq!(engine.triggers(), [at(4)]);
}

#[test]
fn in_a_fifo_the_oldest_fault_goes_first() {
    for order in [Order::Fifo, Order::Direct] {
        let settings = EngineSettings {
            order,
            hints: 5,
            ..EngineSettings::default()
        };
        let mut engine = Engine::new(Next::boxed(3), settings);
        let mut memory = Map::default();
        engine.fault(&fault(10), &mut memory);
        engine.fault(&fault(50), &mut memory);
        assert_eq!(issued(&mut engine, &mut memory), [11, 12, 13, 51, 52]);
        assert_eq!(engine.story().wiped, 1);
        assert_eq!(engine.is_direct(), order == Order::Direct);
    }
}

/// Returns the settings of an engine that is throttled by the occupancy of a queue of `hints`.
fn throttled(hints: usize) -> EngineSettings {
    EngineSettings {
        hints,
        throttle: Throttle::Occupancy,
        ..EngineSettings::default()
    }
}

/// Fedorov 2016, 5.4.5: of 16 places 0, 8, 12, 14, 15 and 16 are taken as the faults come.
#[test]
fn an_occupied_queue_takes_fewer_hints_of_a_fault() {
    let mut engine = spatial(8, throttled(16));
    let mut memory = Map::default();
    for page in [100, 200, 300, 400, 500, 600] {
        engine.fault(&fault(page), &mut memory);
    }
    let story = *engine.story();
    assert_eq!((story.predicted, story.filtered, story.wiped), (48, 32, 0));
    let mut expected = vec![501, 401, 301, 302];
    expected.extend((201..=204).chain(101..=108));
    assert_eq!(issued(&mut engine, &mut memory), expected);
}

/// The first of several predictions is the best.
#[test]
fn an_occupied_queue_takes_the_best_hints() {
    struct Twice;
    impl Predictor for Twice {
        fn fault(&mut self, fault: &Fault, _: &mut dyn Memory, found: &mut Vec<Prediction>) {
            let near = |by: u64| (1..=2).map(|k| at(fault.at.page.0 + by + k)).collect();
            found.extend([0, 10].map(|by| Prediction::of(Source(by), near(by))));
        }
    }
    let mut engine = Engine::new(Box::new(Twice), throttled(8));
    let mut memory = Map::default();
    engine.fault(&fault(100), &mut memory);
    engine.fault(&fault(200), &mut memory); // Half of the queue is free: 201 202
    engine.fault(&fault(300), &mut memory); // A quarter: 301
    assert_eq!(
        issued(&mut engine, &mut memory),
        [301, 201, 202, 101, 102, 111, 112]
    );
}

#[test]
fn what_goes_on_is_not_throttled() {
    let mut engine = Engine::new(Next::boxed(4), throttled(5));
    let mut memory = Map::default();
    engine.fault(&fault(10), &mut memory);
    engine.fault(&fault(50), &mut memory);
    assert_eq!((engine.story().filtered, engine.story().wiped), (0, 3));
    assert_eq!(issued(&mut engine, &mut memory), [51, 52, 53, 54, 11]);
}

#[test]
fn the_first_use_of_a_fetched_page_may_count_as_a_fault() {
    let settings = EngineSettings {
        trigger: Trigger::FirstUse,
        ..EngineSettings::default()
    };
    let mut engine = Engine::new(Next::boxed(2), settings);
    let mut memory = Map::default();
    engine.fault(&fault(1), &mut memory);
    assert_eq!(issued(&mut engine, &mut memory), [2, 3]);
    memory.0.insert(3, Residence::InMemory);
    engine.touched(at(3), Outcome::Used, &mut memory);
    assert_eq!(issued(&mut engine, &mut memory), [4, 5]);
}

#[test]
fn what_was_fetched_with_an_evicted_page_may_be_predicted_anew() {
    let mut engine = Engine::new(Next::boxed(3), EngineSettings::default());
    let mut memory = Map::default();
    engine.fault(&fault(1), &mut memory);
    issued(&mut engine, &mut memory);
    engine.fault(&fault(2), &mut memory); // 3 and 4 are outstanding, 5 is new
    assert_eq!(issued(&mut engine, &mut memory), [5]);
    engine.evicted(at(3));
    assert_eq!(engine.story().wasted, 1);
    engine.fault(&fault(3), &mut memory);
    assert_eq!(issued(&mut engine, &mut memory), [4, 6]);
    assert_eq!(engine.story().wasted, 2);
    engine.touched(at(4), Outcome::Used, &mut memory);
    assert_eq!(engine.story().used, 1);
}

#[test]
fn an_address_space_that_ends_takes_its_hints_along() {
    let mut engine = Engine::new(Next::boxed(3), EngineSettings::default());
    let mut memory = Map::default();
    engine.fault(&fault(1), &mut memory);
    engine.next(&mut memory);
    engine.forget(SPACE);
    assert_eq!((engine.story().wiped, engine.story().wasted), (2, 1));
    assert_eq!(issued(&mut engine, &mut memory), []);
}

#[test]
fn what_constituents_name_is_told_apart() {
    let mut engine = Engine::new(Next::boxed(2), EngineSettings::default());
    let mut memory = Map::default();
    for (page, outcome) in [
        (30, Outcome::Used),
        (20, Outcome::Wasted),
        (7, Outcome::Used),
    ] {
        engine.fault(&fault(page), &mut memory);
        let at = engine.next(&mut memory).unwrap();
        engine.end(at, outcome);
    }
    let found = engine.constituents();
    let told = |index: usize| {
        let story = found[index].story;
        (found[index].names.as_str(), story.used, story.wasted)
    };
    assert_eq!(
        [told(0), told(1), told(2)],
        [("a", 1, 0), ("b", 1, 0), ("a+b", 0, 1)]
    );
    assert!(found.iter().all(|part| part.story.predicted == 2));
}

/// Returns the sum of the constituents' stories.
fn sum(engine: &Engine) -> LifeStory {
    let parts = engine.constituents();
    let of = |part: fn(&LifeStory) -> u64| parts.iter().map(|one| part(&one.story)).sum();
    LifeStory {
        predicted: of(|story| story.predicted),
        filtered: of(|story| story.filtered),
        wiped: of(|story| story.wiped),
        in_memory: of(|story| story.in_memory),
        issued: of(|story| story.issued),
        used: of(|story| story.used),
        late: of(|story| story.late),
        reissued: of(|story| story.reissued),
        wasted: of(|story| story.wasted),
    }
}

/// A call of an engine by a driver.
#[derive(Clone, Debug)]
enum Event {
    Fault(u64),
    Next,
    Touched(u64),
    Late(u64),
    Reissued(u64),
    Evicted(u64),
    Moves(u64, bool),
    Forget,
}

fn event() -> impl Strategy<Value = Event> {
    let page = 0..200u64;
    prop_oneof![
        3 => page.clone().prop_map(Event::Fault),
        6 => Just(Event::Next),
        3 => page.clone().prop_map(Event::Touched),
        1 => page.clone().prop_map(Event::Late),
        1 => page.clone().prop_map(Event::Reissued),
        1 => page.clone().prop_map(Event::Evicted),
        2 => (page, any::<bool>()).prop_map(|(page, here)| Event::Moves(page, here)),
        1 => Just(Event::Forget),
    ]
}

proptest! {
    /// Every prediction is counted once and ends once, in any order of calls.
    #[test]
    fn no_prediction_is_lost_or_counted_twice(
        events in proptest::collection::vec(event(), 1..300),
        degree in 1..20u64,
        queue in 1..40usize,
        order in prop_oneof![Just(Order::Lifo), Just(Order::Fifo), Just(Order::Direct)],
        trigger in prop_oneof![Just(Trigger::Faults), Just(Trigger::FirstUse)],
        throttle in prop_oneof![Just(Throttle::Off), Just(Throttle::Occupancy)],
        goes_on: bool,
    ) {
        let mut next = Next::boxed(degree);
        next.goes_on = goes_on;
        let settings = EngineSettings { hints: queue, rounds: 3, order, trigger, throttle };
        let mut engine = Engine::new(next, settings);
        let mut memory = Map::default();
        let mut outstanding = std::collections::HashSet::new();
        for event in events {
            match event {
                Event::Fault(page) => engine.fault(&fault(page), &mut memory),
                Event::Next => if let Some(at) = engine.next(&mut memory) {
                    prop_assert_eq!(memory.residence(at), Residence::InTier);
                    prop_assert!(outstanding.insert(at), "fetched twice");
                },
                Event::Touched(page) => engine.touched(at(page), Outcome::Used, &mut memory),
                Event::Late(page) => engine.end(at(page), Outcome::Late),
                Event::Reissued(page) => engine.end(at(page), Outcome::Reissued),
                Event::Evicted(page) => engine.evicted(at(page)),
                Event::Moves(page, here) => {
                    let now = if here { Residence::InMemory } else { Residence::InTier };
                    memory.0.insert(page, now);
                }
                Event::Forget => engine.forget(SPACE),
            }
            outstanding.retain(|&at| engine.is_outstanding(at));
            let story = *engine.story();
            prop_assert_eq!(sum(&engine), story);
            prop_assert_eq!(story.outstanding(), outstanding.len() as u64);
            prop_assert!(story.queued() <= queue as u64);
            prop_assert!(engine.triggers().iter().all(|at| outstanding.contains(at)));
        }
        engine.finish();
        let story = *engine.story();
        prop_assert_eq!(story.issued, story.used + story.late + story.reissued + story.wasted);
        while engine.next(&mut memory).is_some() {}
        let story = *engine.story();
        prop_assert_eq!(
            story.predicted,
            story.filtered + story.wiped + story.in_memory + story.issued
        );
    }
}
