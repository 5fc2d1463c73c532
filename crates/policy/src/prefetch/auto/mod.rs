//! `auto`: fetches with the predictors that pay, or not at all.
//!
//! The first predictor leads: it is active until its fetches have lost more time than they saved,
//! and becomes active again after a pause that grows each time. The others start as shadows: their
//! predictions are recorded and not fetched, and a fault on a page soon after it was named counts
//! as a hit, so a shadow costs the program nothing. A shadow whose hits would have saved time
//! becomes active; one that is far from it, or was active and lost, pauses and then starts as a
//! shadow again.
//!
//! Time saved and lost is that of [`Worth`], at the machine's [`Costs`]. Fedorov 2016, 5.4.4.5
//! weighs predictors by their observed accuracy; Awad 2016, 5.3 leaves turning prefetching on and
//! off to others.

mod shadow;

use super::make::PREDICTORS;
use super::{
    Costs, Entry, Lesson, Made, Make, Outcome, Params, Prediction, Predictor, Source, Spec, Worth,
};
use crate::page::{Fault, Location, Memory, Space};
use shadow::Shadow;

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "auto",
    summary: "the predictors that pay, by the time that they save and lose; or nothing",
    paper: "Terrace's own; that predictors are weighed by their record is Fedorov 2016, 5.4.4.5",
    when: "The default of `terrace run`. If no predictor pays it leaves the kernel alone, so it is safe for unknown programs.",
    evidence: crate::registry::Evidence::NONE,
    make: Make::Online(&Auto::make),
};

/// Default of the setting `of`.
const CHILDREN: &str = "stream+replay+temporal";
/// Ended fetches after which an active predictor is judged. It is many times what a stream may
/// fetch past its end: that alone is no reason to give up predicting the next one.
const PERIOD: u64 = 4096;
/// Shortest pause in faults of a predictor that lost, or failed as a shadow. The pause is as long
/// as it took to find out, if that is longer, and doubles each time, at most [`DOUBLINGS`] times.
const PROBATION: u64 = 1024;
const DOUBLINGS: u32 = 5;
/// Bit position of a child's number in a source.
const CHILD_SHIFT: u32 = 56;

/// The `auto` predictor.
pub struct Auto {
    costs: Costs,
    children: Vec<Child>,
    shadow: Shadow,
    /// Number of faults so far.
    faults: u64,
}

/// One of the predictors.
struct Child {
    predictor: Box<dyn Predictor>,
    /// Whether its predictions are fetched.
    active: bool,
    /// Worth of the fetched pages of this period.
    worth: Worth,
    /// Whether the page that ends next is redundant.
    redundant: bool,
    /// Number of faults when this period began.
    since: u64,
    /// Number of faults until which it stays inactive.
    until: u64,
    /// Number of periods lost.
    losses: u32,
}

impl Auto {
    /// Takes the settings and makes the predictors.
    ///
    /// # Errors
    /// Returns a message if a setting has a wrong value.
    pub fn make(params: &mut Params) -> Made {
        let meaning = "predictors to choose from; the first is active from the start";
        let of = params.text("of", meaning, CHILDREN, PREDICTORS);
        let children = Spec::parse_sum(&of)?;
        if children.iter().any(|spec| spec.entry().name == "auto") {
            return Err(format!("of={of}: `auto` does not choose itself"));
        }
        let predictors = children.iter().map(Spec::predictor);
        Ok(Box::new(Self::new(predictors.collect::<Result<_, _>>()?)))
    }

    fn new(predictors: Vec<Box<dyn Predictor>>) -> Self {
        let child = |(index, predictor)| Child {
            predictor,
            active: index == 0,
            worth: Worth::default(),
            redundant: false,
            since: 0,
            until: 0,
            losses: 0,
        };
        let children: Vec<_> = predictors.into_iter().enumerate().map(child).collect();
        Self {
            costs: Costs::DISK,
            shadow: Shadow::new(children.len()),
            children,
            faults: 0,
        }
    }

    /// Returns the child that a source belongs to, and the child's own source.
    fn child(&mut self, source: Source) -> Option<(&mut Child, Source)> {
        let child = self.children.get_mut((source.0 >> CHILD_SHIFT) as usize)?;
        Some((child, Source(source.0 & ((1 << CHILD_SHIFT) - 1))))
    }

    /// Activates children that have proved as shadows that they pay. The leader needs no proof,
    /// because a predictor that runs ahead of the program cannot be judged by faults alone.
    fn activate(&mut self) {
        let enough = self.costs.break_even();
        for (index, child) in self.children.iter_mut().enumerate() {
            if child.active || self.faults < child.until {
                continue;
            }
            match self.shadow.accuracy(index) {
                _ if index == 0 => child.active = true,
                Some(accuracy) if accuracy > enough => child.active = true,
                Some(accuracy) if accuracy < enough / 2.0 => child.deactivate(self.faults),
                _ => continue,
            }
            child.since = self.faults;
            self.shadow.begin(index);
        }
    }
}

impl Child {
    /// Counts the end of a fetched page; deactivates the child at the end of a period in which it
    /// lost.
    fn judge(&mut self, outcome: Outcome, costs: &Costs, now: u64) {
        self.worth
            .count(outcome, std::mem::take(&mut self.redundant));
        if self.worth.pages() < PERIOD {
            return;
        }
        let worth = std::mem::take(&mut self.worth);
        let (won, lost) = (worth.won(costs), worth.lost(costs));
        if lost > won && self.active {
            self.deactivate(now);
        } else if lost <= won {
            self.losses = self.losses.saturating_sub(1);
        }
        self.since = now;
    }

    /// Stops fetching the child's predictions for a while.
    fn deactivate(&mut self, now: u64) {
        self.active = false;
        let took = PROBATION.max(now - self.since);
        self.until = now + (took << self.losses.min(DOUBLINGS));
        self.losses += 1;
    }
}

impl Predictor for Auto {
    fn fault(&mut self, fault: &Fault, memory: &mut dyn Memory, predictions: &mut Vec<Prediction>) {
        self.faults += 1;
        self.shadow.faulted(fault.at);
        self.activate();
        for (index, child) in self.children.iter_mut().enumerate() {
            if index > 0 && self.faults < child.until {
                continue;
            }
            let before = predictions.len();
            child.predictor.fault(fault, memory, predictions);
            if child.active {
                let (earlier, own) = predictions.split_at_mut(before);
                for prediction in own {
                    prediction.source.0 |= (index as u64) << CHILD_SHIFT;
                    let known =
                        |at: &Location| earlier.iter().any(|other| other.pages.contains(at));
                    prediction.pages.retain(|at| !known(at));
                }
            } else {
                self.shadow.note(index, &predictions[before..], memory);
                predictions.truncate(before);
            }
        }
    }

    fn advance(&mut self, source: Source, reached: Option<Location>) -> Option<Prediction> {
        let (child, own) = self.child(source)?;
        if !child.active {
            return None;
        }
        let mut prediction = child.predictor.advance(own, reached)?;
        prediction.source = source;
        Some(prediction)
    }

    fn on_exhausted(&mut self, source: Source) {
        if let Some((child, own)) = self.child(source) {
            child.predictor.on_exhausted(own);
        }
    }

    fn outcome(&mut self, source: Source, outcome: Outcome) {
        let (costs, now) = (self.costs, self.faults);
        let Some((child, own)) = self.child(source) else {
            return;
        };
        child.predictor.outcome(own, outcome);
        let was_active = child.active;
        child.judge(outcome, &costs, now);
        if was_active && !child.active {
            self.shadow.begin((source.0 >> CHILD_SHIFT) as usize);
        }
    }

    fn redundant(&mut self, source: Source) {
        if let Some((child, own)) = self.child(source) {
            child.redundant = true;
            child.predictor.redundant(own);
        }
    }

    fn set_costs(&mut self, costs: Costs) {
        self.costs = costs;
        let children = self.children.iter_mut();
        children.for_each(|child| child.predictor.set_costs(costs));
    }

    fn set_window(&mut self, window: u64) {
        let children = self.children.iter_mut();
        children.for_each(|child| child.predictor.set_window(window));
    }

    fn cannot_pay(&self) -> bool {
        !self.costs.can_pay()
    }

    fn may_rest(&self) -> bool {
        true
    }

    /// Has the predictors that can learn active from the start.
    fn learn(&mut self, lesson: &Lesson) -> bool {
        let mut some = false;
        for child in &mut self.children {
            let learns = child.predictor.learn(lesson);
            child.active |= learns && lesson.misses() > 0;
            some |= learns;
        }
        some
    }

    fn forget(&mut self, space: Space) {
        self.shadow.forget(space);
        let children = self.children.iter_mut();
        children.for_each(|child| child.predictor.forget(space));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::prefetch::spatial::Spatial;
    use crate::prefetch::stride::Stride;
    use crate::prefetch::temporal::Temporal;
    use crate::prefetch::testing::{Everywhere, fault, pages, predictions};

    fn spatial_then_temporal() -> Auto {
        Auto::new(vec![
            Box::new(Spatial { degree: 2 }),
            Box::new(Temporal { degree: 2 }),
        ])
    }

    fn source(auto: &mut Auto, page: u64) -> Source {
        predictions(auto, &fault(1, page), &mut Everywhere)[0].source
    }

    #[test]
    fn the_first_leads() {
        let mut auto = spatial_then_temporal();
        assert_eq!(pages(&mut auto, &fault(1, 10), &mut Everywhere), [11, 12]);
    }

    /// Faults go backwards by one, which `stride` predicts every time.
    #[test]
    fn a_shadow_that_proves_right_becomes_active() {
        let mut auto = Auto::new(vec![
            Box::new(Spatial { degree: 2 }),
            Box::new(Stride::new(&mut Params::parse("degree=1").unwrap()).unwrap()),
        ]);
        let mut last = Vec::new();
        for page in (0..4000u64).rev() {
            last = pages(&mut auto, &fault(1, page), &mut Everywhere);
            if last.len() > 2 {
                break;
            }
        }
        let page = 4000 - auto.faults;
        assert_eq!(last, [page + 1, page + 2, page - 1]);
    }

    #[test]
    fn random_faults_activate_nothing() {
        let mut auto = spatial_then_temporal();
        for k in 0..20_000u64 {
            let page = k.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
            let named = pages(&mut auto, &fault(1, page), &mut Everywhere);
            assert_eq!(named.len(), 2, "at fault {k}");
        }
    }

    #[test]
    fn a_leader_that_loses_time_is_deactivated_for_a_while() {
        let mut auto = Auto::new(vec![Box::new(Spatial::default())]);
        let spatial = source(&mut auto, 10);
        for _ in 0..PERIOD {
            auto.outcome(spatial, Outcome::Wasted);
        }
        let mut faults = 0;
        while pages(&mut auto, &fault(1, faults), &mut Everywhere).is_empty() {
            faults += 1;
            assert!(faults < 3 * PROBATION);
        }
        assert_eq!(faults, PROBATION - 1);
    }

    /// `temporal` names the pages before and behind each fault. Faults that go backwards by one
    /// prove half of them right; a shadow must be right a little more often.
    #[test]
    fn half_right_is_not_enough() {
        let mut auto = spatial_then_temporal();
        for page in (0..20_000u64).rev() {
            let named = pages(&mut auto, &fault(1, page), &mut Everywhere);
            assert_eq!(named.len(), 2, "at {page}");
        }
    }

    /// Seventeen in eighteen of what `spatial` fetches would have come by the kernel's readahead.
    #[test]
    fn what_the_kernel_brings_saves_nothing() {
        let mut auto = Auto::new(vec![Box::new(Spatial::default())]);
        let spatial = source(&mut auto, 10);
        for k in 0..PERIOD {
            if k % 18 != 0 {
                auto.redundant(spatial);
            }
            auto.outcome(spatial, Outcome::Used);
        }
        assert_eq!(auto.children[0].worth.pages(), 0);
        assert!(!auto.children[0].active);
        let mut auto = Auto::new(vec![Box::new(Spatial::default())]);
        let spatial = source(&mut auto, 10);
        for _ in 0..PERIOD {
            auto.outcome(spatial, Outcome::Used);
        }
        assert!(auto.children[0].active);
    }

    /// The pause is as long as it took to find out.
    #[test]
    fn a_predictor_that_fetches_little_rests_longer() {
        let mut auto = Auto::new(vec![Box::new(Spatial::default())]);
        let from = source(&mut auto, 10);
        for page in 0..3 * PROBATION {
            pages(&mut auto, &fault(1, page), &mut Everywhere);
        }
        for _ in 0..PERIOD {
            auto.outcome(from, Outcome::Wasted);
        }
        assert_eq!(auto.children[0].until, 2 * auto.faults);
    }

    #[test]
    fn a_little_waste_is_worth_it() {
        let mut auto = spatial_then_temporal();
        let spatial = source(&mut auto, 10);
        for k in 0..10 * PERIOD {
            let outcome = if k % 5 != 0 {
                Outcome::Used
            } else {
                Outcome::Wasted
            };
            auto.outcome(spatial, outcome);
        }
        assert_eq!(pages(&mut auto, &fault(1, 20), &mut Everywhere), [21, 22]);
    }

    #[test]
    fn where_fetches_cost_as_much_as_faults_all_cannot_pay() {
        let mut auto = spatial_then_temporal();
        assert!(!auto.cannot_pay());
        auto.set_costs(Costs {
            demand: Duration::from_micros(8),
            first_use: Duration::from_micros(3),
            fetch: Duration::from_micros(6),
            redundant: Duration::from_micros(6),
        });
        assert!(auto.cannot_pay());
    }
}
