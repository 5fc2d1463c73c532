//! `combo`: several predictors at once, weighted by their accuracy.
//!
//! Fedorov 2016, 5.4.4.5. Pages that several children name go first, those that most children name
//! before others. The rest of `degree`, n pages, is shared by the pages that single children name;
//! pages of more accurate children go earlier (`combo/shares.rs` has the equations).
//!
//! Accuracy is a decaying average over the outcomes of the pages that a child named, alone or with
//! others. All children start with the same accuracy.
//!
//! A child's prediction that goes on is never cut, because the child would not name again what was
//! cut; it has its own bound and takes no part of n. If other children agree on some of its pages,
//! the remaining pages go on, or if none remain, the last part that they agree on.
//!
//! In `of=spatial+temporal` names are joined by `+`, and the longest name that fits is taken:
//! `stride+markov` is one child, `markov+stride` are two. Children have their default settings. A
//! predictor that knows the future cannot be a child, nor can a combination: both need the upper
//! half of a [`Source`], which holds the children's part.

mod shares;
mod tag;

use std::cmp::Reverse;
use std::ops::Range;

use super::accuracy::Accuracy;
use super::make::PREDICTORS;
use super::sketch::Sketch;
use super::{Costs, Entry, Make, Outcome, Params, Prediction, Predictor, Source, Spec};
use crate::page::{Fault, Location, Memory, Space};
use crate::settings;
use shares::shares;
use tag::Tag;

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "combo",
    summary: "several at once: pages that they agree on first, the rest weighed by accuracy (Fedorov 2016, 5.4.4.5)",
    paper: "Fedorov 2016, 5.4.4.5",
    when: "Programs in which several kinds of locality are mixed. It fetches more than `auto`, which only uses predictors that pay.",
    evidence: crate::registry::Evidence::NONE,
    make: Make::Online(&|params| Ok(Box::new(Combo::new(params)?))),
};

settings! {
    /// Settings of `combo` besides its predictors.
    pub struct ComboSettings {
        /// pages that are named at a fault, at most
        degree: usize = 16, 1..=512;
        /// percent of the others' shares that goes to the most accurate one
        overweight: f64 = 10.0, 0.0..=100.0;
    }
}

/// Default of the setting `of`.
const CHILDREN: &str = "spatial+temporal";
/// Most children.
const MOST_CHILDREN: usize = 8;
/// Accuracy of a child before any outcome is known.
const ASSUMED: f64 = 0.5;
/// Initial capacity of a prediction, in pages.
const USUAL: usize = 16;
/// Names of predictors that are made of others.
const COMBINATIONS: [&str; 2] = ["auto", "combo"];

/// The `combo` predictor.
pub struct Combo {
    /// Most pages named after a fault, apart from predictions that go on.
    degree: usize,
    /// Share of the other children's pages that goes to the most accurate child.
    overweight: f64,
    children: Vec<Child>,
    /// Buffers for one fault: the children's predictions, the distinct pages in them, and the
    /// answer.
    heard: Vec<Prediction>,
    named: Vec<Named>,
    /// Indices in `named` of the pages that several children named.
    agreed: Vec<usize>,
    answer: Vec<Prediction>,
}

struct Child {
    name: &'static str,
    predictor: Box<dyn Predictor>,
    accuracy: Accuracy,
    /// Range in `named` of the pages that this child named first.
    first: Range<usize>,
}

/// A page that one or several children named.
#[derive(Clone, Copy)]
struct Named {
    at: Location,
    tag: Tag,
    /// Whether the owner's prediction of the page goes on.
    goes_on: bool,
}

impl Combo {
    /// Makes a predictor with the given settings.
    ///
    /// # Errors
    /// Returns a message if a setting has a wrong value, or children cannot be combined.
    pub fn new(params: &mut Params) -> Result<Self, String> {
        let meaning = "predictors that are asked, each with its default settings";
        let children = children(&params.text("of", meaning, CHILDREN, PREDICTORS))?;
        let settings = ComboSettings::take(params)?;
        Ok(Self {
            degree: settings.degree,
            overweight: settings.overweight / 100.0,
            children,
            heard: Vec::new(),
            named: Vec::new(),
            agreed: Vec::new(),
            answer: Vec::new(),
        })
    }

    /// Asks all children, and records each page once.
    fn ask(&mut self, fault: &Fault, memory: &mut dyn Memory) {
        let named = &mut self.named;
        named.clear();
        for (index, child) in self.children.iter_mut().enumerate() {
            child.predictor.fault(fault, memory, &mut self.heard);
            let mut known = Known::of(named);
            for prediction in self.heard.drain(..) {
                let tag = Tag::of(index, prediction.source);
                let goes_on = prediction.goes_on;
                let new = |at| Named { at, tag, goes_on };
                if known.count == 0 {
                    named.extend(prediction.pages.into_iter().map(new));
                    continue;
                }
                for at in prediction.pages {
                    match known.place(named, at) {
                        Some(place) => named[place].agree(tag, goes_on),
                        None => named.push(new(at)),
                    }
                }
            }
            child.first = known.count..named.len();
        }
    }

    /// Adds the pages that several children named to the answer, at most `degree`; returns the room
    /// left.
    fn agreed(&mut self) -> usize {
        let (named, agreed) = (&self.named, &mut self.agreed);
        agreed.clear();
        agreed.extend((0..named.len()).filter(|&place| named[place].tag.is_shared()));
        if agreed
            .windows(2)
            .any(|pair| named[pair[0]].tag != named[pair[1]].tag)
        {
            let tag = |place: &usize| named[*place].tag;
            agreed.sort_by_key(|place| (Reverse(tag(place).children()), tag(place).source().0));
        }
        let mut room = self.degree;
        for named in agreed.iter().map(|place| &named[*place]) {
            if named.goes_on || room > 0 {
                named.append_to(&mut self.answer);
                room -= usize::from(!named.goes_on);
            }
        }
        room
    }

    /// Adds the pages that single children named to the answer: `room` pages, and all that go on.
    fn rest(&mut self, room: usize) {
        let mut available = [0; MOST_CHILDREN];
        let mut accuracies = [0.0; MOST_CHILDREN];
        for (index, child) in self.children.iter().enumerate() {
            let first = &self.named[child.first.clone()];
            available[index] = first.iter().filter(|named| named.is_cuttable()).count();
            accuracies[index] = child.accuracy.share();
        }
        let count = self.children.len();
        let mut shares = shares(room, &accuracies[..count], &available, self.overweight);
        let mut best_first = [0, 1, 2, 3, 4, 5, 6, 7];
        best_first[..count].sort_by(|a, b| accuracies[*b].total_cmp(&accuracies[*a]));
        for &child in &best_first[..count] {
            let first = &self.named[self.children[child].first.clone()];
            for named in first.iter().filter(|named| !named.tag.is_shared()) {
                if named.goes_on {
                    named.append_to(&mut self.answer);
                } else if shares[child] > 0 {
                    shares[child] -= 1;
                    named.append_to(&mut self.answer);
                }
            }
        }
    }
}

/// Index of the pages that earlier children named.
struct Known {
    sketch: Sketch,
    /// Number of pages that earlier children named.
    count: usize,
    /// Index after that of the last page found.
    next: usize,
}

impl Known {
    fn of(named: &[Named]) -> Self {
        let mut sketch = Sketch::default();
        named.iter().for_each(|n| sketch.add(n.at.page.0));
        Self {
            sketch,
            count: named.len(),
            next: 0,
        }
    }

    /// Returns the index of a page. Children often name the same pages in the same order, so the
    /// next page is compared first.
    fn place(&mut self, named: &[Named], at: Location) -> Option<usize> {
        if !self.sketch.may_have(at.page.0) {
            return None;
        }
        let known = &named[..self.count];
        let place = match known.get(self.next) {
            Some(next) if next.at == at => self.next,
            _ => known.iter().position(|n| n.at == at)?,
        };
        self.next = place + 1;
        Some(place)
    }
}

impl Named {
    /// Records that another child names the page too. The owner, which hears outcomes, is the
    /// child whose prediction goes on, or else the first child.
    fn agree(&mut self, tag: Tag, goes_on: bool) {
        self.tag = match goes_on && !self.goes_on {
            true => tag.with(self.tag),
            false => self.tag.with(tag),
        };
        self.goes_on |= goes_on;
    }

    fn is_cuttable(&self) -> bool {
        !self.tag.is_shared() && !self.goes_on
    }

    /// Adds the page to the last prediction if that has the same source, or to a new prediction.
    fn append_to(&self, predictions: &mut Vec<Prediction>) {
        let source = self.tag.source();
        match predictions.last_mut() {
            Some(last) if last.source == source => last.pages.push(self.at),
            _ => {
                let mut new = Prediction::of(source, Vec::with_capacity(USUAL));
                new.pages.push(self.at);
                new.goes_on = self.goes_on;
                predictions.push(new);
            }
        }
    }
}

/// Lets only the last part of a split prediction go on.
fn go_on_once(predictions: &mut [Prediction]) {
    for index in 1..predictions.len() {
        let (earlier, rest) = predictions.split_at_mut(index);
        let later = Tag::from(rest[0].source);
        for prediction in earlier {
            prediction.goes_on &= !Tag::from(prediction.source).is_same_prediction(later);
        }
    }
}

/// Makes the children named in `of`.
fn children(of: &str) -> Result<Vec<Child>, String> {
    let specs = Spec::parse_sum(of).map_err(|problem| format!("of={of}: {problem}"))?;
    let names: Vec<&str> = specs.iter().map(|spec| spec.entry().name).collect();
    let twice = |(index, name)| names[..index].contains(name);
    if let Some(index) = names.iter().enumerate().position(twice) {
        return Err(format!("of={of}: {} is named twice", names[index]));
    }
    if !(2..=MOST_CHILDREN).contains(&names.len()) {
        return Err(format!(
            "of={of}: it combines 2 to {MOST_CHILDREN} predictors, not {}; write their names with + between them",
            names.len()
        ));
    }
    specs.iter().map(child).collect()
}

fn child(spec: &Spec) -> Result<Child, String> {
    let entry = spec.entry();
    if COMBINATIONS.contains(&entry.name) {
        return Err("a combination cannot be part of one; name its parts instead".to_owned());
    }
    if entry.knows_future() {
        return Err(format!(
            "{} knows the future and cannot be part of a combination",
            entry.name
        ));
    }
    Ok(Child {
        name: entry.name,
        predictor: spec.predictor()?,
        accuracy: Accuracy::assumed(ASSUMED),
        first: 0..0,
    })
}

impl Predictor for Combo {
    fn fault(&mut self, fault: &Fault, memory: &mut dyn Memory, predictions: &mut Vec<Prediction>) {
        self.ask(fault, memory);
        let room = self.agreed();
        self.rest(room);
        go_on_once(&mut self.answer);
        predictions.append(&mut self.answer);
    }

    fn advance(&mut self, source: Source, reached: Option<Location>) -> Option<Prediction> {
        let tag = Tag::from(source);
        let child = self.children.get_mut(tag.owner())?;
        let prediction = child.predictor.advance(tag.own(), reached)?;
        let source = Tag::of(tag.owner(), prediction.source).source();
        Some(Prediction {
            source,
            ..prediction
        })
    }

    fn on_exhausted(&mut self, source: Source) {
        let tag = Tag::from(source);
        if let Some(child) = self.children.get_mut(tag.owner()) {
            child.predictor.on_exhausted(tag.own());
        }
    }

    fn outcome(&mut self, source: Source, outcome: Outcome) {
        let tag = Tag::from(source);
        for (index, child) in self.children.iter_mut().enumerate() {
            if tag.has(index) {
                child.accuracy.count(outcome);
            }
        }
        if let Some(child) = self.children.get_mut(tag.owner()) {
            child.predictor.outcome(tag.own(), outcome);
        }
    }

    fn set_costs(&mut self, costs: Costs) {
        let children = self.children.iter_mut();
        children.for_each(|child| child.predictor.set_costs(costs));
    }

    fn set_window(&mut self, window: u64) {
        let children = self.children.iter_mut();
        children.for_each(|child| child.predictor.set_window(window));
    }

    fn constituents(&self) -> Vec<&'static str> {
        self.children.iter().map(|child| child.name).collect()
    }

    fn named_by(&self, source: Source) -> u8 {
        Tag::from(source).by()
    }

    fn forget(&mut self, space: Space) {
        let children = self.children.iter_mut();
        children.for_each(|child| child.predictor.forget(space));
    }
}

#[cfg(test)]
mod tests;
