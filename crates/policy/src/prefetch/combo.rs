//! `combo`: several predictors at once, those weighed more that have served better.
//!
//! Fedorov 2016, 5.4.4.5. Pages that several children name go first: those that most name before
//! others. Of `degree` pages what is then left, n, is shared by what the children name alone, and
//! the more accurate a child is, the earlier its pages go ([`shares`] has the equations).
//!
//! Accuracy is an average over the outcomes of the pages that a child named, alone or with others;
//! it decays, so it is that of the preceding period. All begin with the same.
//!
//! A child's prediction that goes on is never cut, for the child would not name again what was
//! cut; it has its own bound and takes no part of n. Where others agree on some of it, what is left
//! of it goes on, or if nothing is left, the last part that they agree on.
//!
//! In `of=spatial+temporal` names stand with a `+` between them, of which the longest that fits is
//! taken: `stride+markov` is one child, `markov+stride` are two. Children have their default
//! settings. What knows the future cannot be a child, nor can a combination: both would need the
//! upper half of a [`Source`](super::Source), where the children's part is kept.

mod shares;
mod tag;

use std::cmp::Reverse;
use std::ops::Range;

use super::accuracy::Accuracy;
use super::sketch::Sketch;
use super::{Costs, Outcome, Params, Prediction, Predictor, Source, Spec};
use crate::page::{Fault, Location, Memory, Space};
use shares::shares;
use tag::Tag;

/// The most children.
const MOST_CHILDREN: usize = 8;
/// Accuracy before anything is known.
const ASSUMED: f64 = 0.5;
/// Room for so many pages is made at once.
const USUAL: usize = 16;
/// The names of predictors that are made of others.
const COMBINATIONS: [&str; 2] = ["auto", "combo"];

/// The predictor.
pub struct Combo {
    /// Most pages after a fault, without those of predictions that go on.
    degree: usize,
    /// This part of the others' shares goes to the most accurate child.
    overweight: f64,
    children: Vec<Child>,
    /// Room for what is made at one fault, kept: what children said, what that comes to, and our
    /// own answer.
    heard: Vec<Prediction>,
    named: Vec<Named>,
    /// Where in `named` those pages are that several named.
    agreed: Vec<usize>,
    answer: Vec<Prediction>,
}

struct Child {
    name: &'static str,
    predictor: Box<dyn Predictor>,
    accuracy: Accuracy,
    /// Where in `named` those pages are that it named first.
    first: Range<usize>,
}

/// A page that a child named, or several.
#[derive(Clone, Copy)]
struct Named {
    at: Location,
    tag: Tag,
    /// Whether the prediction goes on that its owner named it in.
    goes_on: bool,
}

impl Combo {
    /// Takes its settings.
    ///
    /// # Errors
    /// A sentence where one is out of range, or children cannot be combined.
    pub fn new(params: &mut Params) -> Result<Self, String> {
        let of = params.text("of");
        let children = children(of.as_deref().unwrap_or("spatial+temporal"))?;
        Ok(Self {
            degree: params.number("degree", 16, 1..=512)?,
            overweight: params.number("overweight", 10.0, 0.0..=100.0)? / 100.0,
            children,
            heard: Vec::new(),
            named: Vec::new(),
            agreed: Vec::new(),
            answer: Vec::new(),
        })
    }

    /// Asks all children; a page that several name is noted once.
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

    /// Answers with what several named, within the degree; returns how many more pages there may be.
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

    /// Answers with what children named alone: `room` pages, and all of what goes on.
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

/// Looks for pages among those that earlier children named.
struct Known {
    sketch: Sketch,
    /// How many those are.
    count: usize,
    /// The place after that of the last page that was found.
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

    /// Where a page is. Children often name the same pages in the same order, so the next one is
    /// looked at before all others.
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
    /// Another child names the page too. It is the owner's whose prediction goes on, so that it is
    /// told what became of it, else the first's.
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

    /// Adds the page to the last prediction, if that is of the same source, or to a new one.
    fn append_to(&self, predictions: &mut Vec<Prediction>) {
        let source = self.tag.source();
        match predictions.last_mut() {
            Some(last) if last.source == source => last.pages.push(self.at),
            _ => {
                let mut pages = Vec::with_capacity(USUAL);
                pages.push(self.at);
                predictions.push(Prediction {
                    source,
                    pages,
                    goes_on: self.goes_on,
                });
            }
        }
    }
}

/// Of a prediction that was split, the last part alone goes on.
fn go_on_once(predictions: &mut [Prediction]) {
    for index in 1..predictions.len() {
        let (earlier, rest) = predictions.split_at_mut(index);
        let later = Tag::from(rest[0].source);
        for prediction in earlier {
            prediction.goes_on &= !Tag::from(prediction.source).is_same_prediction(later);
        }
    }
}

/// The children called so.
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
        predictor: spec.predictor(None)?,
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

    fn futile(&mut self, source: Source) {
        let tag = Tag::from(source);
        if let Some(child) = self.children.get_mut(tag.owner()) {
            child.predictor.futile(tag.own());
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

    fn price(&mut self, costs: Costs) {
        for child in &mut self.children {
            child.predictor.price(costs);
        }
    }

    fn limit(&mut self, window: u64) {
        for child in &mut self.children {
            child.predictor.limit(window);
        }
    }

    fn constituents(&self) -> Vec<&'static str> {
        self.children.iter().map(|child| child.name).collect()
    }

    fn named_by(&self, source: Source) -> u8 {
        Tag::from(source).by()
    }

    fn forget(&mut self, space: Space) {
        for child in &mut self.children {
            child.predictor.forget(space);
        }
    }
}

#[cfg(test)]
mod tests;
