//! From the misses of samples to those of all pages.

use terrace_base::{Error, Result};

use super::outcome::Point;
use super::sample::Sampling;

/// What samples stand for.
pub(super) struct Estimate {
    /// Pages of each sample.
    samples: Vec<u64>,
    /// All pages, and the share of them that is in a sample.
    pages: u64,
    rate: f64,
    /// Touches of all pages.
    touches: u64,
}

impl Estimate {
    /// # Errors
    /// A usage error if a sample has no page.
    pub(super) fn new(sampling: Sampling, pages: u64, touches: u64) -> Result<Self> {
        let samples = sampling.pages(pages);
        if samples.contains(&0) {
            return Err(Error::usage(format!(
                "of {pages} pages, a rate of {} in {} samples leaves one of them without a page; give a higher ‘rate’",
                sampling.rate(),
                sampling.samples
            )));
        }
        Ok(Self {
            samples,
            pages,
            rate: sampling.rate(),
            touches,
        })
    }

    /// Returns the pages of the smallest sample.
    pub(super) fn least_pages(&self) -> u64 {
        self.samples.iter().copied().min().unwrap_or(0)
    }

    /// Returns the pages of DRAM that a sample gets of this number, at least one and no more than
    /// are of use.
    pub(super) fn miniature(&self, sample: usize, dram_pages: u64) -> u64 {
        let share = dram_pages as f64 / self.pages as f64 * self.samples[sample] as f64;
        (share.round() as u64).clamp(1, self.samples[sample])
    }

    /// Returns the size of DRAM that gives a sample this number of pages.
    pub(super) fn full_size(&self, sample: usize, miniature: u64) -> u64 {
        let share = miniature as f64 / self.samples[sample] as f64;
        (share * self.pages as f64).round() as u64
    }

    /// Returns a point, given the misses of each sample.
    pub(super) fn point(&self, dram_pages: u64, misses: &[u64]) -> Point {
        if self.rate == 1.0 {
            return Point {
                dram_pages,
                misses: misses[0],
                miss_ratio: misses[0] as f64 / self.touches as f64,
                error: Some(0.0),
            };
        }
        let estimates = misses.iter().zip(&self.samples);
        let estimates: Vec<f64> = estimates
            .map(|(misses, pages)| *misses as f64 / *pages as f64 * self.pages as f64)
            .collect();
        let number = estimates.len() as f64;
        let mean = (estimates.iter().sum::<f64>() / number).min(self.touches as f64);
        let squares = estimates.iter().map(|estimate| (estimate - mean).powi(2));
        let variance = squares.sum::<f64>() / (number - 1.0);
        let error = (variance / number * (1.0 - self.rate)).sqrt();
        Point {
            dram_pages,
            misses: mean.round() as u64,
            miss_ratio: mean / self.touches as f64,
            error: (number > 1.0).then(|| error / self.touches as f64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four samples of 25 of 1000 pages: each page of theirs stands for 40.
    #[test]
    fn a_mean_and_its_error_by_hand() {
        let sampling = Sampling {
            every: 10,
            samples: 4,
            seed: 1,
        };
        let estimate = Estimate::new(sampling, 1000, 100_000).unwrap();
        assert_eq!(
            (estimate.miniature(0, 100), estimate.miniature(0, 1)),
            (3, 1)
        );
        assert_eq!(
            (estimate.miniature(0, 99), estimate.miniature(0, 5000)),
            (2, 25)
        );
        assert_eq!(estimate.full_size(0, 25), 1000);
        let point = estimate.point(100, &[100, 110, 90, 100]);
        // Estimates of 4000, 4400, 3600 and 4000: their variance is 320,000 / 3, that of their
        // mean a quarter of it.
        assert_eq!((point.misses, point.miss_ratio), (4000, 0.04));
        let expected = (320_000.0_f64 / 12.0 * 0.9).sqrt() / 100_000.0;
        assert!((point.error.unwrap() - expected).abs() < 1e-12);
    }

    #[test]
    fn a_sample_without_pages_is_refused() {
        let sampling = Sampling {
            every: 10,
            samples: 4,
            seed: 1,
        };
        let error = Estimate::new(sampling, 25, 100)
            .err()
            .map(|error| error.to_string());
        assert!(error.is_some_and(|error| error.contains("higher ‘rate’")));
    }
}
