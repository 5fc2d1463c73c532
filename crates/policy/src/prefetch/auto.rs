//! `auto`: fetches by whichever predictors pay, and not at all where none does.
//!
//! The first predictor leads: it is trusted until its fetches have lost more time than they won,
//! and then again after a while, a longer one each time. The others are on trial: what they name
//! is noted and not fetched, and a page that faults soon after it was named counts for them, so a
//! trial costs the program nothing. One whose hits would have won time is hired; one that is far
//! from it, or was hired and lost, is not even asked for a while, and then tried anew.
//!
//! Time won and lost is that of [`Costs`]. Fedorov 2016, 5.4.4.5 weighs predictors by their
//! observed accuracy; Awad 2016, 5.3 leaves turning prefetching on and off by its use to others.

mod trial;

use super::{Costs, Made, Outcome, Params, Prediction, Predictor, Source, Spec};
use crate::page::{Fault, Location, Memory, Space};
use trial::Trial;

/// What `of` is where it is not given.
const CHILDREN: &str = "stream+temporal";
/// Fetched pages whose end is known before a predictor that fetches is judged. It is many times what
/// a stream may fetch past its end: that alone is no reason to give up foreseeing the next one.
const PERIOD: u64 = 4096;
/// Faults for which a predictor that lost, or failed on trial, is left alone at least. It is as many
/// as it took to find out, if those are more, and doubles each time, up to so often.
const PROBATION: u64 = 1024;
const DOUBLINGS: u32 = 5;
/// Where a child's number stands in a source.
const CHILD_SHIFT: u32 = 56;

/// The predictor.
pub struct Auto {
    costs: Costs,
    children: Vec<Child>,
    trial: Trial,
    /// Faults so far.
    faults: u64,
}

/// One predictor among several.
struct Child {
    predictor: Box<dyn Predictor>,
    /// Whether its pages are fetched.
    hired: bool,
    /// Fetched pages of this period that were touched, and that were not.
    used: u64,
    wasted: u64,
    /// Faults when this period began.
    since: u64,
    /// It is not hired before so many faults.
    until: u64,
    /// How often it has lost.
    losses: u32,
}

impl Auto {
    /// Takes its settings and makes the predictors that it chooses from.
    ///
    /// # Errors
    /// A sentence where one is out of range, or there is no such predictor.
    pub fn make(params: &mut Params) -> Made {
        let of = params.text("of").unwrap_or_else(|| CHILDREN.to_owned());
        let children = Spec::parse_sum(&of)?;
        if children.iter().any(|spec| spec.entry().name == "auto") {
            return Err(format!("of={of}: `auto` does not choose itself"));
        }
        let predictors = children.iter().map(|spec| spec.predictor(None));
        Ok(Box::new(Self::new(predictors.collect::<Result<_, _>>()?)))
    }

    fn new(predictors: Vec<Box<dyn Predictor>>) -> Self {
        let child = |(index, predictor)| Child {
            predictor,
            hired: index == 0,
            used: 0,
            wasted: 0,
            since: 0,
            until: 0,
            losses: 0,
        };
        let children: Vec<Child> = predictors.into_iter().enumerate().map(child).collect();
        Self {
            costs: Costs::DISK,
            trial: Trial::new(children.len()),
            children,
            faults: 0,
        }
    }

    /// The child that a source belongs to, and the source as the child knows it.
    fn child(&mut self, source: Source) -> Option<(&mut Child, Source)> {
        let child = self.children.get_mut((source.0 >> CHILD_SHIFT) as usize)?;
        Some((child, Source(source.0 & ((1 << CHILD_SHIFT) - 1))))
    }

    /// Hires whoever has proved on trial that it pays; the leader needs no proof, for what runs
    /// ahead of the program cannot be judged by faults alone.
    fn hire(&mut self) {
        let enough = self.costs.break_even();
        for (index, child) in self.children.iter_mut().enumerate() {
            if child.hired || self.faults < child.until {
                continue;
            }
            match self.trial.accuracy(index) {
                _ if index == 0 => child.hired = true,
                Some(accuracy) if accuracy > enough => child.hired = true,
                Some(accuracy) if accuracy < enough / 2.0 => child.dismiss(self.faults),
                _ => continue,
            }
            child.since = self.faults;
            self.trial.begin(index);
        }
    }
}

impl Child {
    /// Counts the end of a fetched page; sends it home where a period ends in which it lost.
    fn judge(&mut self, outcome: Outcome, costs: &Costs, now: u64) {
        match outcome {
            Outcome::Used | Outcome::Late => self.used += 1,
            Outcome::Wasted => self.wasted += 1,
        }
        if self.used + self.wasted < PERIOD {
            return;
        }
        let won = costs.saved().as_secs_f64() * self.used as f64;
        let lost = costs.lost().as_secs_f64() * self.wasted as f64;
        (self.used, self.wasted) = (0, 0);
        if lost > won && self.hired {
            self.dismiss(now);
        } else if lost <= won {
            self.losses = self.losses.saturating_sub(1);
        }
        self.since = now;
    }

    /// Its pages are fetched no more, for a while.
    fn dismiss(&mut self, now: u64) {
        self.hired = false;
        let took = PROBATION.max(now - self.since);
        self.until = now + (took << self.losses.min(DOUBLINGS));
        self.losses += 1;
    }
}

impl Predictor for Auto {
    fn fault(&mut self, fault: &Fault, memory: &mut dyn Memory, predictions: &mut Vec<Prediction>) {
        self.faults += 1;
        self.trial.faulted(fault.at);
        self.hire();
        for (index, child) in self.children.iter_mut().enumerate() {
            if index > 0 && self.faults < child.until {
                continue;
            }
            let before = predictions.len();
            child.predictor.fault(fault, memory, predictions);
            if child.hired {
                let (earlier, own) = predictions.split_at_mut(before);
                for prediction in own {
                    prediction.source.0 |= (index as u64) << CHILD_SHIFT;
                    let known =
                        |at: &Location| earlier.iter().any(|other| other.pages.contains(at));
                    prediction.pages.retain(|at| !known(at));
                }
            } else {
                self.trial.note(index, &predictions[before..], memory);
                predictions.truncate(before);
            }
        }
    }

    fn advance(&mut self, source: Source, reached: Option<Location>) -> Option<Prediction> {
        let (child, own) = self.child(source)?;
        if !child.hired {
            return None;
        }
        let mut prediction = child.predictor.advance(own, reached)?;
        prediction.source = source;
        Some(prediction)
    }

    fn futile(&mut self, source: Source) {
        if let Some((child, own)) = self.child(source) {
            child.predictor.futile(own);
        }
    }

    fn outcome(&mut self, source: Source, outcome: Outcome) {
        let (costs, now) = (self.costs, self.faults);
        let Some((child, own)) = self.child(source) else {
            return;
        };
        child.predictor.outcome(own, outcome);
        let was_hired = child.hired;
        child.judge(outcome, &costs, now);
        if was_hired && !child.hired {
            self.trial.begin((source.0 >> CHILD_SHIFT) as usize);
        }
    }

    fn price(&mut self, costs: Costs) {
        self.costs = costs;
        for child in &mut self.children {
            child.predictor.price(costs);
        }
    }

    fn limit(&mut self, window: u64) {
        for child in &mut self.children {
            child.predictor.limit(window);
        }
    }

    fn is_in_vain(&self) -> bool {
        !self.costs.can_pay()
    }

    fn forget(&mut self, space: Space) {
        self.trial.forget(space);
        for child in &mut self.children {
            child.predictor.forget(space);
        }
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
        let degree = |n| Params::parse(&format!("degree={n}")).unwrap();
        Auto::new(vec![
            Box::new(Spatial::new(&mut degree(2)).unwrap()),
            Box::new(Temporal::new(&mut degree(2)).unwrap()),
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

    /// Of faults that go backwards by one `stride` proves right every time.
    #[test]
    fn who_proves_right_on_trial_is_hired() {
        let mut auto = Auto::new(vec![
            Box::new(Spatial::new(&mut Params::parse("degree=2").unwrap()).unwrap()),
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
    fn faults_at_random_hire_nobody() {
        let mut auto = spatial_then_temporal();
        for k in 0..20_000u64 {
            let page = k.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
            let named = pages(&mut auto, &fault(1, page), &mut Everywhere);
            assert_eq!(named.len(), 2, "at fault {k}");
        }
    }

    #[test]
    fn a_leader_that_loses_time_is_dismissed_for_a_while() {
        let spatial = Spatial::new(&mut Params::default()).unwrap();
        let mut auto = Auto::new(vec![Box::new(spatial)]);
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

    /// Everywhere, `temporal` names the pages before and behind the fault, and faults that go
    /// backwards by one prove it right half of the time. It takes a little more.
    #[test]
    fn half_right_is_not_enough() {
        let mut auto = spatial_then_temporal();
        for page in (0..20_000u64).rev() {
            let named = pages(&mut auto, &fault(1, page), &mut Everywhere);
            assert_eq!(named.len(), 2, "at {page}");
        }
    }

    /// It takes as long again as it took to find that out.
    #[test]
    fn who_fetches_little_rests_longer() {
        let spatial = Spatial::new(&mut Params::default()).unwrap();
        let mut auto = Auto::new(vec![Box::new(spatial)]);
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
    fn where_fetches_cost_as_much_as_faults_all_is_in_vain() {
        let mut auto = spatial_then_temporal();
        assert!(!auto.is_in_vain());
        auto.price(Costs {
            demand: Duration::from_micros(8),
            first_use: Duration::from_micros(3),
            fetch: Duration::from_micros(6),
        });
        assert!(auto.is_in_vain());
    }
}
