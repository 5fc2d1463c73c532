//! Samples of each page, and what they say of how often it is accessed.
//!
//! A page has few samples by the time when it should move, and those that happen to be seen often
//! are not those that are accessed often. So a page is taken to be as its neighbours are (of
//! consecutive numbers, which come to memory together, and mostly belong to one object), but for as
//! much of what it differs from them as samples would not differ by chance: the empirical Bayes
//! estimate, as in James and Stein 1961, where counts have the variance of Poisson's distribution.

use super::sides::Sides;
use crate::replacement::PageId;

/// Pages that are neighbours.
const NEIGHBOURS: usize = 32;
/// Differences of this part are those of rounding.
const ROUNDING: f64 = 1e-9;

/// The samples of each page.
#[derive(Default)]
pub(super) struct Counts(Vec<f64>);

impl Counts {
    /// Has a count for each page numbered below `end`.
    pub(super) fn cover(&mut self, end: usize) {
        self.0.resize(end, 0.0);
    }

    /// Counts a sample of a page.
    pub(super) fn add(&mut self, page: PageId) {
        self.0[page.index()] += 1.0;
    }

    /// Forgets the samples of a page.
    pub(super) fn forget(&mut self, page: PageId) {
        self.0[page.index()] = 0.0;
    }

    /// Multiplies all counts by a factor.
    pub(super) fn scale(&mut self, factor: f64) {
        self.0.iter_mut().for_each(|count| *count *= factor);
    }

    /// Returns what each page's count would be by more samples, 0 for unknown pages.
    pub(super) fn estimates(&self, sides: &Sides) -> Vec<f64> {
        let mut estimates = vec![0.0; self.0.len()];
        let blocks = self.0.chunks(NEIGHBOURS).enumerate();
        for (block, counts) in blocks {
            let pages = (block * NEIGHBOURS..).zip(counts);
            let known = pages.filter(|(page, _)| sides.of(PageId(*page as u32)).is_some());
            let known: Vec<(usize, f64)> = known.map(|(page, count)| (page, *count)).collect();
            let counts: Vec<f64> = known.iter().map(|(_, count)| *count).collect();
            for ((page, _), estimate) in known.iter().zip(shrunk(&counts)) {
                estimates[*page] = estimate;
            }
        }
        estimates
    }
}

/// Returns what is expected of counts of samples: their mean, and of what each differs from it the
/// share of the variance that is more than that of samples, which is the mean.
fn shrunk(counts: &[f64]) -> Vec<f64> {
    let number = counts.len() as f64;
    if number < 2.0 {
        return counts.to_vec();
    }
    let mean = counts.iter().sum::<f64>() / number;
    let squares = counts.iter().map(|count| (count - mean).powi(2));
    let variance = squares.sum::<f64>() / (number - 1.0);
    let share = match variance > mean * (1.0 + ROUNDING) {
        true => (variance - mean) / variance,
        false => 0.0,
    };
    // Rounding must not decide between pages that are alike.
    let shrink = |count: &f64| f64::from((mean + (count - mean) * share) as f32);
    counts.iter().map(shrink).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_samples_say_more_of_neighbours_than_of_a_page() {
        // Both have a mean of 3. The variance of the first is 3, as that of samples, and of the
        // others 9.
        assert_eq!(shrunk(&[2.0, 5.0, 2.0]), [3.0; 3]);
        assert_eq!(shrunk(&[0.0, 6.0, 3.0]), [1.0, 5.0, 3.0]);
        assert_eq!(shrunk(&[7.0]), [7.0]);
        assert_eq!(shrunk(&[]), []);
    }
}
