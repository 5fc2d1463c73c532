//! Random calls of a predictor by a driver, and a memory for them.

use proptest::prelude::*;
use terrace_policy::prefetch::{Outcome, Prediction, Predictor, Source};
use terrace_policy::{Fault, Location, Memory, Page, Residence, Slot, Space, Thread};

#[derive(Clone, Copy, Debug)]
pub enum Step {
    Fault(Fault),
    /// Outcome for the source of an earlier prediction, counted back from the latest.
    Outcome(usize, Outcome),
    Advance(usize),
    Exhausted(usize),
    Forget(Space),
}

/// Steps over pages among which distances come again, and now and then the first or last there are.
pub fn steps() -> impl Strategy<Value = Vec<Step>> {
    let extreme = prop_oneof![0..3u64, u64::MAX - 3..=u64::MAX, any::<u64>()];
    let page = prop_oneof![20 => 100..112u64, 5 => 100..200u64, 1 => extreme];
    let fault = (0..3u32, 0..8u32, page, 0..4096u16).prop_map(|(thread, space, page, offset)| {
        Step::Fault(Fault {
            thread: Thread(thread),
            at: Location::new(Space(space / 6), Page(page)),
            offset,
        })
    });
    let outcome = prop_oneof![
        3 => Just(Outcome::Used),
        1 => Just(Outcome::Late),
        1 => Just(Outcome::Reissued),
        1 => Just(Outcome::Wasted),
    ];
    let step = prop_oneof![
        30 => fault,
        20 => (0..4usize, outcome).prop_map(|(ago, outcome)| Step::Outcome(ago, outcome)),
        4 => (0..4usize).prop_map(Step::Advance),
        2 => (0..4usize).prop_map(Step::Exhausted),
        1 => (0..2u32).prop_map(|space| Step::Forget(Space(space))),
    ];
    proptest::collection::vec(step, 1..200)
}

/// The sources named, the latest last.
#[derive(Default)]
pub struct Sources(Vec<Source>);

impl Sources {
    /// Takes a step with a predictor; returns what that answers.
    pub fn step(&mut self, predictor: &mut dyn Predictor, step: &Step) -> Vec<Prediction> {
        let ago = |ago: usize| self.0.iter().rev().nth(ago).copied();
        let mut answer = Vec::new();
        match *step {
            Step::Fault(fault) => predictor.fault(&fault, &mut Pages, &mut answer),
            Step::Outcome(n, outcome) => {
                ago(n)
                    .into_iter()
                    .for_each(|s| predictor.outcome(s, outcome));
            }
            Step::Advance(n) => answer.extend(ago(n).and_then(|s| predictor.advance(s, None))),
            Step::Exhausted(n) => ago(n).into_iter().for_each(|s| predictor.on_exhausted(s)),
            Step::Forget(space) => predictor.forget(space),
        }
        self.0
            .extend(answer.iter().map(|prediction| prediction.source));
        answer
    }
}

/// Every third page is in memory; the pages of space 0 lie in the tier in their order.
struct Pages;

impl Memory for Pages {
    fn residence(&mut self, at: Location) -> Residence {
        match at.page.0 % 3 {
            0 => Residence::InMemory,
            _ => Residence::InTier,
        }
    }

    fn slot(&mut self, at: Location) -> Option<Slot> {
        (at.space == Space(0)).then_some(Slot(at.page.0))
    }

    fn page_in(&mut self, slot: Slot) -> Option<Location> {
        Some(Location::new(Space(0), Page(slot.0)))
    }
}
