//! PLACEHOLDER

mod class;
mod history;
mod reuse;

use super::{Choice, Geometry, LlcPolicy, Place, Request, Sampled};
use crate::params::Params;
use class::Class;
use history::History;
use reuse::{AGES, Reuse};

/// The policy.
pub struct Density {
    geometry: Geometry,
    bypass: bool,
    /// Requests to a set that make its lines older by one.
    unit: u8,
    /// Requests to each set, modulo the unit.
    requests: Vec<u8>,
    /// Of the line in each place: units since it was touched.
    ages: Vec<u8>,
    classes: Vec<Class>,
    sampled: Sampled,
    histories: Vec<History>,
    reuse: Reuse,
}

impl Density {
    /// For a cache of this shape; the same seed samples the same sets.
    ///
    /// # Errors
    /// A sentence where a setting is out of range.
    pub fn new(geometry: Geometry, params: &mut Params, seed: u64) -> Result<Self, String> {
        let sets = params.number("sets", geometry.sets.min(32), 1..=geometry.sets)?;
        let epoch = params.number("epoch", 2048, 1..=1 << 14)?;
        let writeback = params.number("wwb", 1.5, 0.0..=16.0)?;
        let unit = (geometry.ways / 4).max(1);
        Ok(Self {
            geometry,
            bypass: params.choice("bypass", true, &[("on", true), ("off", false)])?,
            unit: unit as u8,
            requests: vec![0; geometry.sets],
            ages: vec![0; geometry.lines()],
            classes: vec![Class::default(); geometry.lines()],
            sampled: Sampled::new(geometry.sets, sets, seed),
            histories: vec![History::new(geometry, unit); sets],
            reuse: Reuse::new(epoch, writeback),
        })
    }

    fn lines(&self, set: usize) -> std::ops::Range<usize> {
        let first = set * self.geometry.ways;
        first..first + self.geometry.ways
    }

    #[cold]
    fn grow_older(&mut self, set: usize) {
        let lines = self.lines(set);
        for age in &mut self.ages[lines] {
            *age = (*age + 1).min(AGES as u8 - 1);
        }
    }

    /// A sampled set remembers what the request has made of its line.
    #[inline]
    fn learn(&mut self, set: usize, request: &Request, class: Class) {
        if let Some(number) = self.sampled.number(set) {
            self.histories[number].touch(request, class, &mut self.reuse);
            self.reuse.count();
        }
    }

    #[inline]
    fn put(&mut self, place: Place, request: &Request, class: Class) {
        self.learn(place.set, request, class);
        let line = place.index(self.geometry);
        self.ages[line] = 0;
        self.classes[line] = class;
    }
}

impl LlcPolicy for Density {
    #[inline]
    fn request(&mut self, set: usize, _: &Request) {
        if let Some(number) = self.sampled.number(set) {
            self.histories[number].tick();
        }
        self.requests[set] += 1;
        if self.requests[set] == self.unit {
            self.requests[set] = 0;
            self.grow_older(set);
        }
    }

    fn hit(&mut self, place: Place, request: &Request) {
        let age = self.ages[place.index(self.geometry)];
        let class = Class::hit(age.into(), request.kind.writes());
        self.put(place, request, class);
    }

    fn choose(&mut self, set: usize, dirty: u64, request: &Request) -> Choice {
        let (mut way, mut least, mut oldest) = (0, u32::MAX, 0);
        for (other, line) in self.lines(set).enumerate() {
            let (class, age) = (self.classes[line], self.ages[line]);
            let value = self.reuse.value(class, age.into(), dirty >> other & 1 == 1);
            if value < least || value == least && age > oldest {
                (way, least, oldest) = (other, value, age);
            }
        }
        let new = Class::new(request);
        if self.bypass && !request.kind.writes() && self.reuse.value(new, 0, false) < least {
            self.learn(set, request, new);
            return Choice::Bypass;
        }
        Choice::Evict(way)
    }

    fn fill(&mut self, place: Place, request: &Request) {
        self.put(place, request, Class::new(request));
    }

    /// Age and class of each line, the requests of each set, and what is learnt.
    fn storage_bits(&self) -> u64 {
        let bits = |values: usize| u64::from(values.next_power_of_two().ilog2());
        let lines = self.ages.len() as u64 * (bits(AGES) + bits(Class::COUNT));
        let sets = self.requests.len() as u64 * bits(self.unit.into());
        let histories: u64 = self.histories.iter().map(History::storage_bits).sum();
        lines + sets + histories + self.reuse.storage_bits()
    }
}
