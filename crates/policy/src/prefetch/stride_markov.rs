//! `stride+markov`: the successors of the page, then the pages at known distances.
//!
//! Oskin & Loh 2015, V.B: a Markov state is tagged with its page, so its edges are more specific
//! than strides, which fit any page. [`markov`](super::markov) and [`stride`](super::stride) are
//! used unchanged; no page is named twice, and both together stay within `degree`.

use super::markov::Markov;
use super::stride::Stride;
use super::{Entry, Make, Params, Prediction, Predictor, Source};
use crate::page::{Fault, Location, Memory, Space};

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "stride+markov",
    summary: "both: the edges of markov before strides (Oskin & Loh 2015, V.B)",
    paper: "Oskin & Loh 2015, V.B",
    when: "To repeat the paper, and for programs that mix walks over arrays with irregular walks that recur.",
    evidence: crate::registry::Evidence::NONE,
    make: Make::Online(&|params| Ok(Box::new(StrideMarkov::new(params)?))),
};

/// The `stride+markov` predictor.
pub struct StrideMarkov {
    /// Most pages named after a fault.
    degree: usize,
    markov: Markov,
    stride: Stride,
}

/// Source of the pages predicted by strides; 0 is that of the edges.
const STRIDE: Source = Source(1);

impl StrideMarkov {
    /// Makes a predictor with the settings of both.
    ///
    /// # Errors
    /// Returns a message if a setting has a wrong value.
    pub fn new(params: &mut Params) -> Result<Self, String> {
        let markov = Markov::new(params)?;
        let stride = Stride::new(params)?;
        Ok(Self {
            degree: stride.degree(),
            markov,
            stride,
        })
    }
}

impl Predictor for StrideMarkov {
    fn fault(&mut self, fault: &Fault, memory: &mut dyn Memory, predictions: &mut Vec<Prediction>) {
        let before = predictions.len();
        self.markov.fault(fault, memory, predictions);
        let strides = predictions.len();
        self.stride.fault(fault, memory, predictions);
        let mut room = self.degree;
        for index in before..predictions.len() {
            let (earlier, rest) = predictions.split_at_mut(index);
            let named = &mut rest[0];
            if index >= strides {
                named.source = STRIDE;
            }
            let known = |at: &Location| earlier[before..].iter().any(|p| p.pages.contains(at));
            named.pages.retain(|at| !known(at));
            named.pages.truncate(room);
            room -= named.pages.len();
        }
        predictions.retain(|prediction| !prediction.pages.is_empty());
    }

    fn forget(&mut self, space: Space) {
        self.markov.forget(space);
        self.stride.forget(space);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prefetch::testing::{Everywhere, answers, fault, predictions};

    fn new(params: &str) -> StrideMarkov {
        StrideMarkov::new(&mut Params::parse(params).unwrap()).unwrap()
    }

    #[test]
    fn edges_before_strides() {
        let mut both = new("");
        answers(&mut both, &[10, 13, 20, 10, 11]);
        let named = predictions(&mut both, &fault(1, 10), &mut Everywhere);
        // 11 and 13 followed; the strides seen last are -1, 1, -10 and 7, and 11 is named already.
        let pages = |index: usize| -> Vec<u64> {
            let named: &Vec<_> = &named;
            named[index].pages.iter().map(|at| at.page.0).collect()
        };
        assert_eq!((named.len(), named[1].source), (2, STRIDE));
        assert_eq!(pages(0), [11, 13]);
        assert_eq!(pages(1), [9, 0, 17]);
    }

    #[test]
    fn both_share_the_degree() {
        let mut both = new("degree=3");
        let answers = answers(&mut both, &[10, 13, 20, 10, 11, 10]);
        assert_eq!(answers[5], [11, 13, 9]);
        assert_eq!(answers[1], [16]);
    }
}
