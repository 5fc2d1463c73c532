//! Division of the pages among the children of a combination.

use super::MOST_CHILDREN;

/// Least pages of each child, if there is room: without any, an improvement of the child could not
/// be observed.
const FEW: usize = 2;
/// Least accuracy, so that no weight is zero.
const LEAST: f64 = 0.01;

/// Shares `n` pages among children that name `available` pages each.
///
/// Fedorov 2016, 5.4.4.5: child i gets W(i) = n p(i) / (p(1) + p(2) + ...) (equations 5.1, 5.2). If
/// one child is more accurate than all others, each other child's share shrinks by the part
/// `overweight`, which goes to the most accurate child (equations 5.5, 5.6, for two children). Then
/// each child gets a few pages at the expense of the largest share. Fractions of pages are rounded
/// so that the sum is kept, the largest fraction first. Pages that a child cannot fill go to the
/// others, the most accurate first.
pub(super) fn shares(
    n: usize,
    accuracies: &[f64],
    available: &[usize; MOST_CHILDREN],
    overweight: f64,
) -> [usize; MOST_CHILDREN] {
    match available[..accuracies.len()].iter().sum::<usize>() <= n {
        true => *available,
        false => divide(n, accuracies, available, overweight),
    }
}

/// Same as [`shares`] when there may not be room for all.
fn divide(
    n: usize,
    accuracies: &[f64],
    available: &[usize; MOST_CHILDREN],
    overweight: f64,
) -> [usize; MOST_CHILDREN] {
    let weights = weights(n, accuracies, overweight);
    let mut shares = rounded(n, &weights[..accuracies.len()]);
    keep_a_few(&mut shares[..accuracies.len()], n);
    hand_on(&mut shares[..accuracies.len()], accuracies, available);
    shares
}

fn weights(n: usize, accuracies: &[f64], overweight: f64) -> [f64; MOST_CHILDREN] {
    let sum: f64 = accuracies.iter().map(|p| p.max(LEAST)).sum();
    let mut weights = [0.0; MOST_CHILDREN];
    for (weight, p) in weights.iter_mut().zip(accuracies) {
        *weight = n as f64 * p.max(LEAST) / sum;
    }
    if let Some(best) = most_accurate(accuracies) {
        let others: f64 = n as f64 - weights[best];
        let more = weights[best] + overweight * others;
        weights.iter_mut().for_each(|w| *w *= 1.0 - overweight);
        weights[best] = more;
    }
    weights
}

/// Returns the child that is more accurate than every other.
fn most_accurate(accuracies: &[f64]) -> Option<usize> {
    let best = (0..accuracies.len()).max_by(|a, b| accuracies[*a].total_cmp(&accuracies[*b]))?;
    let as_good = accuracies.iter().filter(|p| **p >= accuracies[best]);
    (as_good.count() == 1).then_some(best)
}

fn rounded(n: usize, weights: &[f64]) -> [usize; MOST_CHILDREN] {
    let mut shares = [0; MOST_CHILDREN];
    for (share, weight) in shares.iter_mut().zip(weights) {
        *share = *weight as usize;
    }
    let given: usize = shares.iter().sum();
    for _ in given..n {
        let missing = |child: &usize| weights[*child] - shares[*child] as f64;
        let most = (0..weights.len()).rev();
        if let Some(child) = most.max_by(|a, b| missing(a).total_cmp(&missing(b))) {
            shares[child] += 1;
        }
    }
    shares
}

fn keep_a_few(shares: &mut [usize], n: usize) {
    let few = FEW.min(n / shares.len());
    while let Some(poor) = shares.iter().position(|share| *share < few) {
        let rich = (0..shares.len()).max_by_key(|child| shares[*child]);
        let Some(rich) = rich.filter(|rich| shares[*rich] > few) else {
            return;
        };
        shares[rich] -= 1;
        shares[poor] += 1;
    }
}

fn hand_on(shares: &mut [usize], accuracies: &[f64], available: &[usize; MOST_CHILDREN]) {
    let mut left = 0;
    for (share, available) in shares.iter_mut().zip(available) {
        left += share.saturating_sub(*available);
        *share = (*share).min(*available);
    }
    while left > 0 {
        let hungry = (0..shares.len())
            .rev()
            .filter(|i| shares[*i] < available[*i]);
        let Some(best) = hungry.max_by(|a, b| accuracies[*a].total_cmp(&accuracies[*b])) else {
            return;
        };
        let more = left.min(available[best] - shares[best]);
        shares[best] += more;
        left -= more;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PLENTY: [usize; MOST_CHILDREN] = [1000; MOST_CHILDREN];

    fn two(n: usize, p1: f64, p2: f64, overweight: f64) -> [usize; 2] {
        let shares = shares(n, &[p1, p2], &PLENTY, overweight);
        [shares[0], shares[1]]
    }

    #[test]
    fn fedorov_2016_equations_5_1_to_5_6() {
        assert_eq!(two(16, 0.3, 0.5, 0.0), [6, 10]);
        assert_eq!(two(100, 0.2, 0.6, 0.0), [25, 75]);
        assert_eq!(two(1000, 0.2, 0.6, 0.1), [225, 775]);
        assert_eq!(two(16, 0.4, 0.4, 0.1), [8, 8]);
    }

    #[test]
    fn three_children_give_to_the_best() {
        // 20, 30 and 50 of 100; the others lose a tenth.
        let shares = shares(100, &[0.2, 0.3, 0.5], &PLENTY, 0.1);
        assert_eq!(shares[..3], [18, 27, 55]);
    }

    #[test]
    fn a_child_that_never_serves_keeps_a_few() {
        assert_eq!(two(16, 0.0, 0.9, 0.1), [2, 14]);
        assert_eq!(two(3, 0.0, 0.9, 0.1), [1, 2]);
        assert_eq!(two(0, 0.0, 0.9, 0.1), [0, 0]);
    }

    #[test]
    fn what_a_child_cannot_fill_the_others_do() {
        let mut available = PLENTY;
        available[1] = 3;
        let shares = shares(16, &[0.2, 0.6, 0.3], &available, 0.0);
        assert_eq!(shares[..3], [3, 3, 10]); // 2.9, 8.7 and 4.4
    }

    proptest! {
        #[test]
        fn all_is_given_that_can_be(
            n in 0..600usize,
            accuracies in proptest::collection::vec(0.0..=1.0f64, 2..=MOST_CHILDREN),
            available in proptest::array::uniform8(0..200usize),
            overweight in 0.0..=1.0f64,
        ) {
            let shares = shares(n, &accuracies, &available, overweight);
            let count = accuracies.len();
            prop_assert!((0..count).all(|i| shares[i] <= available[i]));
            let most = n.min(available[..count].iter().sum());
            prop_assert_eq!(shares[..count].iter().sum::<usize>(), most);
            let divided = divide(n, &accuracies, &available, overweight);
            prop_assert_eq!(&shares[..count], &divided[..count]);
        }
    }
}
