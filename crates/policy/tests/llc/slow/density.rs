//! Times of touches in place of ages, and what a line is worth from the counts of an epoch's end.

use std::collections::HashMap;

use terrace_policy::llc::{Evicted, Geometry, Outcome, Request};
use terrace_policy::params::Params;

use super::chance::drawn_sets;
use super::{Slow, is, number};

const AGES: usize = 64;

/// After how long a line was touched again, as a power of two, if it was there; whether that wrote.
type Class = (Option<u32>, bool);

struct Line {
    held: Evicted,
    class: Class,
    touched: usize,
}

struct Touch {
    time: usize,
    tag: u64,
    class: Class,
}

/// How touches of a class ended: reads and writes by age, and those that were forgotten.
#[derive(Clone)]
struct Ends {
    reads: Vec<u64>,
    writes: Vec<u64>,
    forgotten: u64,
    rewritten: u64,
}

pub struct Density {
    ways: usize,
    unit: usize,
    bypass: bool,
    writeback: u64,
    epoch: usize,
    sets: Vec<Vec<Line>>,
    requests: Vec<usize>,
    /// Past touches by sampled set.
    pasts: HashMap<usize, Vec<Touch>>,
    touches: usize,
    ends: HashMap<Class, Ends>,
    /// Ends at the end of the last epoch.
    learnt: HashMap<Class, Ends>,
    values: HashMap<(Class, usize, bool), u64>,
}

impl Density {
    pub fn new(geometry: Geometry, params: &mut Params, seed: u64) -> Self {
        let sets = number(params, "sets", geometry.sets.min(32));
        let drawn = drawn_sets(geometry.sets, sets, seed).into_iter();
        let wwb: f64 = params.take("wwb", "", 1.0, 0.0..=4.0).unwrap();
        Self {
            ways: geometry.ways,
            unit: (geometry.ways / 4).max(1),
            bypass: !is(params, "bypass", "off"),
            writeback: (256.0 * wwb).round() as u64,
            epoch: number(params, "epoch", EPOCH),
            sets: (0..geometry.sets).map(|_| Vec::new()).collect(),
            requests: vec![0; geometry.sets],
            pasts: drawn.map(|set| (set, Vec::new())).collect(),
            touches: 0,
            ends: HashMap::new(),
            learnt: HashMap::new(),
            values: HashMap::new(),
        }
    }

    fn age(&self, set: usize, touched: usize) -> usize {
        let units = self.requests[set] / self.unit - touched / self.unit;
        units.min(AGES - 1)
    }

    fn learn(&mut self, set: usize, request: &Request, class: Class) {
        let (now, oldest) = (self.requests[set], AGES * self.unit);
        let Some(past) = self.pasts.get_mut(&set) else {
            return;
        };
        let whole = request.line / self.sets.len() as u64;
        let parts = (0..4).map(|part| whole >> (16 * part));
        let tag = parts.fold(0, |all, part| (all ^ part) % (1 << 16));
        for touch in past.extract_if(.., |touch| now - touch.time == oldest) {
            ends(&mut self.ends, touch.class).forgotten += 16;
        }
        for touch in past.extract_if(.., |touch| touch.tag == tag) {
            let ends = ends(&mut self.ends, touch.class);
            let age = (now - touch.time) / self.unit;
            match request.kind.writes() {
                true => ends.writes[age] += 16,
                false => ends.reads[age] += 16,
            }
        }
        past.push(Touch {
            time: now,
            tag,
            class,
        });
        self.touches += 1;
        if self.touches.is_multiple_of(self.epoch) {
            self.end_epoch();
        }
    }

    fn end_epoch(&mut self) {
        let before = rewritten(&self.ends);
        for ends in self.ends.values_mut() {
            let mut again = 256 * ends.writes.iter().sum::<u64>();
            for (age, reads) in ends.reads.iter().enumerate() {
                again += reads * before[octave(age) as usize];
            }
            ends.rewritten = again / ends.after(0).max(1);
        }
        self.learnt = self.ends.clone();
        self.values.clear();
        for ends in self.ends.values_mut() {
            let counts = ends.reads.iter_mut().chain(&mut ends.writes);
            for count in counts.chain([&mut ends.forgotten]) {
                *count = *count * 7 / 8;
            }
        }
    }

    fn value(&mut self, class: Class, age: usize, dirty: bool) -> u64 {
        if let Some(&value) = self.values.get(&(class, age, dirty)) {
            return value;
        }
        let value = self.highest_density(class, age, dirty);
        self.values.insert((class, age, dirty), value);
        value
    }

    /// Returns the saving divided by the time; half of the first age is over.
    fn highest_density(&self, class: Class, age: usize, dirty: bool) -> u64 {
        let Some(ends) = self.learnt.get(&class) else {
            return 0;
        };
        let rewritten = rewritten(&self.learnt);
        let saved = |age: usize| match dirty {
            true => {
                let again = rewritten[octave(age) as usize];
                let read = 256 + self.writeback * again / 256;
                read * ends.reads[age] + self.writeback * ends.writes[age]
            }
            false => 256 * ends.reads[age],
        };
        let (mut gain, mut time, mut highest) = (0, 0, 0);
        let mut after = ends.after(age);
        for horizon in age..AGES {
            let before = after;
            after -= ends.reads[horizon] + ends.writes[horizon];
            if horizon == age {
                gain += 4 * saved(horizon);
                time += before + 3 * after;
            } else {
                gain += 8 * saved(horizon);
                time += 4 * before + 4 * after;
            }
            highest = highest.max((gain * 65_536).checked_div(time).unwrap_or(0));
        }
        highest
    }
}

const EPOCH: usize = 2048;

impl Ends {
    /// Touches that have not ended before this age.
    fn after(&self, age: usize) -> u64 {
        let ends = self.reads[age..].iter().chain(&self.writes[age..]);
        ends.sum::<u64>() + self.forgotten
    }
}

fn ends(all: &mut HashMap<Class, Ends>, class: Class) -> &mut Ends {
    all.entry(class).or_insert_with(|| Ends {
        reads: vec![0; AGES],
        writes: vec![0; AGES],
        forgotten: 0,
        rewritten: 0,
    })
}

/// The chances that lines are written again which were read last, by the octave of their age then.
fn rewritten(ends: &HashMap<Class, Ends>) -> Vec<u64> {
    let of = |octave| ends.get(&(Some(octave), false));
    let of = |octave| of(octave).map_or(0, |ends| ends.rewritten);
    (0..=octave(AGES)).map(of).collect()
}

/// Returns the class of ages below 4, 8, 16, 32, or of all others.
fn octave(age: usize) -> u32 {
    [4, 8, 16, 32]
        .into_iter()
        .filter(|&bound| age >= bound)
        .count() as u32
}

impl Slow for Density {
    fn access(&mut self, request: &Request) -> Outcome {
        let set = (request.line % self.sets.len() as u64) as usize;
        let writes = request.kind.writes();
        self.requests[set] += 1;
        let is_it = |line: &Line| line.held.line == request.line;
        if let Some(way) = self.sets[set].iter().position(is_it) {
            let age = self.age(set, self.sets[set][way].touched);
            let class = (Some(octave(age)), writes);
            self.learn(set, request, class);
            let line = &mut self.sets[set][way];
            line.held.dirty |= writes;
            (line.class, line.touched) = (class, self.requests[set]);
            return Outcome::Hit { position: None };
        }
        let class = (None, writes);
        let new = Line {
            held: Evicted {
                line: request.line,
                dirty: writes,
            },
            class,
            touched: self.requests[set],
        };
        if self.sets[set].len() < self.ways {
            self.learn(set, request, class);
            self.sets[set].push(new);
            return Outcome::Miss { evicted: None };
        }
        let candidates: Vec<(u64, usize, usize)> = (0..self.ways)
            .map(|way| {
                let line = &self.sets[set][way];
                let (of, dirty) = (line.class, line.held.dirty);
                let age = self.age(set, line.touched);
                (self.value(of, age, dirty), AGES - age, way)
            })
            .collect();
        let (least, _, way) = candidates.into_iter().min().unwrap();
        let passes = self.bypass && !writes && self.value(class, 0, false) < least;
        self.learn(set, request, class);
        if passes {
            return Outcome::Bypassed { written: false };
        }
        let gone = std::mem::replace(&mut self.sets[set][way], new);
        Outcome::Miss {
            evicted: Some(gone.held),
        }
    }
}
