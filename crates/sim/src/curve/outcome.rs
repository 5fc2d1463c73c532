//! Curves, and the figures that follow from them.

/// Curves of the same workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Curves {
    /// Touches of pages; an access that crosses a page border makes two.
    pub touches: u64,
    /// Most pages at once: those that were touched and not given back.
    pub footprint_pages: u64,
    /// Different pages that were touched.
    pub pages: u64,
    /// Seed of the samples.
    pub seed: u64,
    /// A curve for each policy.
    pub curves: Vec<Curve>,
}

/// Misses of a policy over the sizes of DRAM.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// The policy with its settings.
    pub policy: String,
    /// Share of the pages that was simulated; 1: the misses are exact.
    pub rate: f64,
    /// Disjoint samples into which these pages were dealt out.
    pub samples: u32,
    /// Pages of the smallest sample.
    pub sampled_pages: u64,
    /// Sizes and misses, the smallest size first.
    pub points: Vec<Point>,
}

/// A size of DRAM and the misses there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Pages of DRAM.
    pub dram_pages: u64,
    /// Touches of pages that were not in DRAM, first touches among them; estimated where the rate
    /// is below 1.
    pub misses: u64,
    /// Those as a share of all touches.
    pub miss_ratio: f64,
    /// Standard error of the miss ratio, by the spread of the samples; `None` where some of the
    /// pages are in one sample.
    pub error: Option<f64>,
}

impl Curve {
    /// Returns the error to expect of the miss ratios of the whole curve: the root of the mean of
    /// their errors' squares.
    pub fn error(&self) -> Option<f64> {
        let squares = self
            .points
            .iter()
            .map(|point| point.error.map(|it| it * it));
        let sum: Option<f64> = squares.sum();
        sum.map(|sum| (sum / self.points.len().max(1) as f64).sqrt())
    }

    /// Returns the pages of DRAM of the smallest miniature; `None` where all pages were simulated.
    pub fn least_miniature(&self) -> Option<f64> {
        let first = self.points.first().filter(|_| self.rate < 1.0)?;
        Some(first.dram_pages as f64 * self.rate / f64::from(self.samples))
    }
}
