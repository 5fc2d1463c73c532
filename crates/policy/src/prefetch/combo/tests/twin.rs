//! The combination as section 5.4.4.5 puts it, page by page, against the one that is fast.

use proptest::prelude::*;

use super::*;

/// The children that named a page, in turn: the child, its source, and whether that prediction goes
/// on.
type Namers = Vec<(usize, Source, bool)>;

/// Every page once, in the order in which they were named first.
fn pages_named(heard: &[Vec<Prediction>]) -> Vec<(Location, Namers)> {
    let mut pages: Vec<(Location, Namers)> = Vec::new();
    for (child, answer) in heard.iter().enumerate() {
        for prediction in answer {
            for &at in &prediction.pages {
                let namer = (child, prediction.source, prediction.goes_on);
                match pages.iter_mut().find(|(known, _)| *known == at) {
                    Some((_, namers)) => namers.push(namer),
                    None => pages.push((at, vec![namer])),
                }
            }
        }
    }
    pages
}

/// A prediction of one page.
fn alone((at, namers): &(Location, Namers)) -> Prediction {
    let owner = namers.iter().find(|(_, _, goes_on)| *goes_on);
    let (child, own, goes_on) = owner.unwrap_or(&namers[0]);
    let others = namers.iter().map(|(child, own, _)| Tag::of(*child, *own));
    let tag = others.fold(Tag::of(*child, *own), Tag::with);
    Prediction {
        source: tag.source(),
        pages: vec![*at],
        goes_on: *goes_on,
    }
}

fn slow(combo: &Combo, heard: &[Vec<Prediction>]) -> Vec<Prediction> {
    let accuracies: Vec<f64> = combo.children.iter().map(|c| c.accuracy.share()).collect();
    let pages = pages_named(heard);
    let (mut agreed, rest): (Vec<_>, Vec<_>) = pages.iter().partition(|(_, by)| by.len() > 1);
    agreed.sort_by_key(|page| (Reverse(page.1.len()), alone(page).source.0));
    let mut room = combo.degree;
    let mut all = Vec::new();
    let mut add = |page: &(Location, Namers), room: &mut usize| {
        let page = alone(page);
        if page.goes_on || *room > 0 {
            *room -= usize::from(!page.goes_on);
            all.push(page);
        }
    };
    agreed.iter().for_each(|page| add(page, &mut room));

    let of_child = |child: usize| rest.iter().filter(move |(_, by)| by[0].0 == child);
    let mut available = [0; MOST_CHILDREN];
    for (child, available) in available.iter_mut().enumerate() {
        *available = of_child(child).filter(|(_, by)| !by[0].2).count();
    }
    let mut shares = shares(room, &accuracies, &available, combo.overweight);
    let mut best_first: Vec<usize> = (0..accuracies.len()).collect();
    best_first.sort_by(|a, b| accuracies[*b].total_cmp(&accuracies[*a]));
    for child in best_first {
        of_child(child).for_each(|page| add(page, &mut shares[child]));
    }
    joined(all)
}

/// Neighbours of one source are one prediction, and what goes on goes on once, at its end.
fn joined(pages: Vec<Prediction>) -> Vec<Prediction> {
    let mut all: Vec<Prediction> = Vec::new();
    for page in pages {
        match all.last_mut().filter(|last| last.source == page.source) {
            Some(last) => last.pages.extend(page.pages),
            None => all.push(page),
        }
    }
    let is_kin = |a: &Prediction, b: &Prediction| {
        Tag::from(a.source).is_same_prediction(Tag::from(b.source))
    };
    for index in 0..all.len() {
        let again = all[index + 1..].iter().any(|b| is_kin(&all[index], b));
        all[index].goes_on &= !again;
    }
    all
}

/// Draws an answer of a child: up to three predictions, no page twice.
fn answer() -> impl Strategy<Value = Vec<Prediction>> {
    let run = (0..30u64, 1..4u64, 0..12u64);
    let said = (0..3u64, proptest::collection::vec(run, 1..3), any::<bool>());
    proptest::collection::vec(said, 0..4).prop_map(|predictions| {
        let mut known = std::collections::HashSet::new();
        let mut answer = Vec::new();
        for (source, runs, goes_on) in predictions {
            let pages = runs
                .iter()
                .flat_map(|(first, step, count)| (0..*count).map(move |k| first + k * step));
            let pages: Vec<u64> = pages.filter(|page| known.insert(*page)).collect();
            answer.push(prediction(source, &pages, goes_on));
        }
        answer
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2048))]
    #[test]
    fn as_page_by_page(
        children in proptest::collection::vec((answer(), 0.0..=1.0f64), 2..5),
        alike in any::<bool>(),
        degree in 1..40usize,
    ) {
        let (heard, accuracies): (Vec<_>, Vec<_>) = children.into_iter().unzip();
        let (mut combo, _told) = script(heard.clone());
        combo.degree = degree;
        for (child, accuracy) in combo.children.iter_mut().zip(accuracies) {
            child.accuracy = Accuracy::assumed(if alike { ASSUMED } else { accuracy });
        }
        let expected = slow(&combo, &heard);
        for _ in 0..2 {
            let answer = predictions(&mut combo, &fault(1, 90), &mut Everywhere);
            prop_assert_eq!(&answer, &expected);
        }
    }
}
