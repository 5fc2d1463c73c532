mod twin;

use super::*;
use crate::page::Page;
use crate::prefetch::testing::{Everywhere, SPACE, fault, pages, predictions};

fn new(params: &str) -> Combo {
    Combo::new(&mut Params::parse(params).unwrap()).unwrap()
}

/// Names the same pages at every fault, and notes what it is told.
struct Script {
    answer: Vec<Prediction>,
    told: std::sync::mpsc::Sender<(Source, Outcome)>,
}

impl Predictor for Script {
    fn fault(&mut self, _: &Fault, _: &mut dyn Memory, predictions: &mut Vec<Prediction>) {
        predictions.extend(self.answer.iter().cloned());
    }

    fn advance(&mut self, source: Source, _: Option<Location>) -> Option<Prediction> {
        Some(prediction(source.0 + 1, &[source.0], true))
    }

    fn outcome(&mut self, source: Source, outcome: Outcome) {
        self.told.send((source, outcome)).unwrap();
    }
}

fn prediction(source: u64, pages: &[u64], goes_on: bool) -> Prediction {
    let at = |page: &u64| Location::new(SPACE, Page(*page));
    Prediction {
        source: Source(source),
        pages: pages.iter().map(at).collect(),
        goes_on,
    }
}

type Told = std::sync::mpsc::Receiver<(Source, Outcome)>;

fn script(answers: Vec<Vec<Prediction>>) -> (Combo, Vec<Told>) {
    let scripted = |answer| {
        let (told, heard) = std::sync::mpsc::channel();
        let child = Child {
            name: "script",
            predictor: Box::new(Script { answer, told }) as Box<dyn Predictor>,
            accuracy: Accuracy::assumed(ASSUMED),
            first: 0..0,
        };
        (child, heard)
    };
    let (children, heard) = answers.into_iter().map(scripted).unzip();
    let combo = Combo {
        children,
        ..new("degree=6")
    };
    (combo, heard)
}

/// The pages of each prediction, and whether it goes on.
fn named(predictions: &[Prediction]) -> Vec<(Vec<u64>, bool)> {
    let numbers = |p: &Prediction| p.pages.iter().map(|at| at.page.0).collect();
    predictions
        .iter()
        .map(|p| (numbers(p), p.goes_on))
        .collect()
}

#[test]
fn where_spatial_and_temporal_agree_goes_first() {
    // Places and pages are in the same order: the eight behind are named by both.
    let mut combo = new("");
    let named = pages(&mut combo, &fault(1, 100), &mut Everywhere);
    let all: Vec<u64> = (101..=108).chain((92..=99).rev()).collect();
    assert_eq!(named, all);
}

#[test]
fn what_is_left_is_shared_by_accuracy() {
    let (mut combo, heard) = script(vec![
        vec![prediction(7, &[1, 2, 3, 4, 5], false)],
        vec![prediction(9, &[11, 2, 12, 13, 14], false)],
    ]);
    let answer = predictions(&mut combo, &fault(1, 50), &mut Everywhere);
    let (agreed, alone) = (vec![2], vec![11, 12]);
    assert_eq!(named(&answer)[0], (agreed, false));
    assert_eq!(named(&answer)[1], (vec![1, 3, 4], false));
    assert_eq!(named(&answer)[2], (alone, false));
    // Both hear of the agreed page by their accuracy, its owner in its own words as well.
    combo.outcome(answer[0].source, Outcome::Used);
    assert_eq!(heard[0].try_recv(), Ok((Source(7), Outcome::Used)));
    assert!(heard[1].try_recv().is_err());
    let share = |combo: &Combo, child: usize| combo.children[child].accuracy.share();
    assert!(share(&combo, 0) > ASSUMED && share(&combo, 0) == share(&combo, 1));
    for _ in 0..200 {
        combo.outcome(answer[1].source, Outcome::Wasted);
    }
    assert!(share(&combo, 0) < 0.05);
    // The second is the better one now: nearly all five are its, but the first keeps two.
    let answer = predictions(&mut combo, &fault(1, 50), &mut Everywhere);
    assert_eq!(named(&answer)[1].0, [11, 12, 13]);
    assert_eq!(named(&answer)[2].0, [1, 3]);
}

#[test]
fn what_goes_on_is_not_cut_and_goes_on_once() {
    let stream: Vec<u64> = (1..=10).collect();
    let (mut combo, heard) = script(vec![
        vec![prediction(0, &[2, 1, 50], false)],
        vec![prediction(5, &stream, true)],
    ]);
    let answer = predictions(&mut combo, &fault(1, 90), &mut Everywhere);
    assert_eq!(
        named(&answer),
        [
            (vec![2, 1], false),
            (vec![50], false),
            (vec![3, 4, 5, 6, 7, 8, 9, 10], true)
        ]
    );
    // The stream owns what others named too.
    combo.outcome(answer[0].source, Outcome::Late);
    assert_eq!(heard[1].try_recv(), Ok((Source(5), Outcome::Late)));
    let next = combo.advance(answer[2].source, None).unwrap();
    assert_eq!(named(std::slice::from_ref(&next)), [(vec![5], true)]);
    let after = combo.advance(next.source, None).unwrap();
    assert_eq!(named(&[after]), [(vec![6], true)]);
}

#[test]
fn a_stream_on_which_all_agree_goes_on() {
    let (mut combo, _heard) = script(vec![
        vec![prediction(0, &[1, 2], false)],
        vec![prediction(5, &[1, 2], true)],
    ]);
    let answer = predictions(&mut combo, &fault(1, 90), &mut Everywhere);
    assert_eq!(named(&answer), [(vec![1, 2], true)]);
}

#[test]
fn of_three_those_that_most_name_go_first() {
    let (mut combo, _heard) = script(vec![
        vec![prediction(0, &[1, 2, 3], false)],
        vec![prediction(0, &[2, 3, 4], false)],
        vec![prediction(0, &[3, 4, 5], false)],
    ]);
    let answer = pages(&mut combo, &fault(1, 90), &mut Everywhere);
    assert_eq!(answer, [3, 2, 4, 1, 5]);
}

#[test]
fn names_with_a_plus_are_one() {
    let names = |of| -> Vec<&str> {
        let specs = Spec::parse_sum(of).unwrap();
        specs.iter().map(|spec| spec.entry().name).collect()
    };
    assert_eq!(names("stride+markov+spatial"), ["stride+markov", "spatial"]);
    assert_eq!(names("markov+stride"), ["markov", "stride"]);
    assert_eq!(names("vldp+stride+leap"), ["vldp", "stride", "leap"]);
}

#[test]
fn what_cannot_be_combined_is_said() {
    for (of, why) in [
        ("stride+markov", "2 to 8 predictors, not 1"),
        ("spatial+best", "no predictor `best`"),
        ("spatial+", "no predictor ``"),
        ("spatial+spatial", "named twice"),
        ("spatial+combo", "cannot be part of one"),
        ("spatial+oracle", "knows the future"),
    ] {
        let problem = Combo::new(&mut Params::parse(&format!("of={of}")).unwrap());
        let problem = problem.err().unwrap();
        assert!(problem.contains(why), "{of}: {problem}");
    }
}
