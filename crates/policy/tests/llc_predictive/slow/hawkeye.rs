//! OPT over all requests that a set has ever seen.

use std::collections::{HashMap, HashSet};

use terrace_policy::llc::{Choice, Geometry, Kind, LlcPolicy, Place, Request};
use terrace_policy::params::Params;

use super::{Instruction, first_highest, instruction, sampled};

/// An instruction, and whether it asks ahead.
type By = (Instruction, bool);

pub struct Hawkeye {
    ways: usize,
    sampled: Vec<usize>,
    history: usize,
    lines: usize,
    highest: u32,
    counters: HashMap<By, u32>,
    seen: HashMap<usize, Seen>,
    ages: HashMap<Place, u32>,
    touched: HashMap<Place, By>,
}

/// All requests to a set, and how many lines OPT has held across each.
#[derive(Default)]
struct Seen {
    requests: Vec<(u64, By)>,
    held: Vec<usize>,
}

impl Hawkeye {
    pub fn new(geometry: Geometry, params: &mut Params) -> Self {
        let count = params.take("sampled", "", 64, 1..=64).unwrap();
        let history = geometry.ways * params.take("history", "", 8, 1..=64).unwrap();
        Self {
            ways: geometry.ways,
            sampled: sampled(geometry.sets, count),
            history,
            lines: params.take("lines", "", history, 1..=4096).unwrap(),
            highest: 2u32.pow(params.take("counter", "", 3, 1..=7).unwrap()) - 1,
            counters: HashMap::new(),
            seen: HashMap::new(),
            ages: HashMap::new(),
            touched: HashMap::new(),
        }
    }

    fn counter(&mut self, by: By) -> &mut u32 {
        self.counters.entry(by).or_insert(self.highest.div_ceil(2))
    }

    fn learn(&mut self, by: By, friendly: bool) {
        let highest = self.highest;
        let counter = self.counter(by);
        *counter = match friendly {
            true => (*counter + 1).min(highest),
            false => counter.saturating_sub(1),
        };
    }

    fn touch(&mut self, place: Place, request: &Request, new: bool) {
        let by = by(request);
        let friendly = *self.counter(by) > self.highest / 2;
        if friendly && new {
            for (other, age) in &mut self.ages {
                if other.set == place.set && *age < 6 {
                    *age += 1;
                }
            }
        }
        self.ages.insert(place, if friendly { 0 } else { 7 });
        self.touched.insert(place, by);
    }
}

fn by(request: &Request) -> By {
    (instruction(request), request.kind == Kind::Prefetch)
}

impl Seen {
    /// The instruction that asked for the line before, and whether OPT has kept it since.
    fn verdict(&mut self, request: &Request, hawkeye: (usize, usize, usize)) -> Option<(By, bool)> {
        let (line, ahead) = (request.line, request.kind == Kind::Prefetch);
        let (ways, history, lines) = hawkeye;
        let since = self
            .requests
            .iter()
            .rposition(|(other, _)| *other == line)?;
        let between: HashSet<u64> = self.requests[since + 1..]
            .iter()
            .map(|(line, _)| *line)
            .collect();
        let late = ahead && self.requests.len() - since >= 5;
        if between.len() >= lines || late {
            return None;
        }
        let held = &mut self.held[since..];
        let kept = held.len() <= history && held.iter().all(|held| *held < ways);
        if kept {
            held.iter_mut().for_each(|held| *held += 1);
        }
        (kept || !ahead).then_some((self.requests[since].1, kept))
    }
}

impl LlcPolicy for Hawkeye {
    fn request(&mut self, set: usize, request: &Request) {
        if !request.kind.reads() || !self.sampled.contains(&set) {
            return;
        }
        let seen = self.seen.entry(set).or_default();
        let verdict = seen.verdict(request, (self.ways, self.history, self.lines));
        seen.requests.push((request.line, by(request)));
        seen.held.push(0);
        if let Some((by, kept)) = verdict {
            self.learn(by, kept);
        }
    }

    fn hit(&mut self, place: Place, request: &Request) {
        if !request.kind.writes() {
            self.touch(place, request, false);
        }
    }

    fn choose(&mut self, set: usize, _: u64, _: &Request) -> Choice {
        let way = first_highest(self.ways, |way| self.ages[&Place { set, way }]);
        let place = Place { set, way };
        if self.ages[&place] < 7
            && self.sampled.contains(&set)
            && let Some(by) = self.touched.get(&place)
        {
            self.learn(*by, false);
        }
        Choice::Evict(way)
    }

    fn fill(&mut self, place: Place, request: &Request) {
        if request.kind.writes() {
            self.ages.insert(place, 7);
            self.touched.remove(&place);
        } else {
            self.touch(place, request, true);
        }
    }

    fn go_exclusive(&mut self) -> bool {
        true
    }

    fn take(&mut self, place: Place, _: &Request) {
        self.ages.remove(&place);
        self.touched.remove(&place);
    }
}
