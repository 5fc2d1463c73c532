//! A bounded sample of many values, evenly over their order.

/// Values that are kept at most.
const MOST: usize = 8192;

/// A sample, with the exact number, sum and maximum.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    kept: Vec<f64>,
    /// One value in so many is kept.
    every: u64,
    count: u64,
    sum: f64,
    most: f64,
}

impl Default for Sample {
    fn default() -> Self {
        Self {
            kept: Vec::new(),
            every: 1,
            count: 0,
            sum: 0.0,
            most: 0.0,
        }
    }
}

impl Sample {
    /// Adds a value.
    pub fn add(&mut self, value: f64) {
        if self.count.is_multiple_of(self.every) {
            if self.kept.len() == MOST {
                let mut index = 0;
                self.kept.retain(|_| {
                    index += 1;
                    index % 2 == 1
                });
                self.every *= 2;
            }
            if self.count.is_multiple_of(self.every) {
                self.kept.push(value);
            }
        }
        self.count += 1;
        self.sum += value;
        self.most = self.most.max(value);
    }

    /// Returns the number of values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the mean; `None` without values.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }

    /// Returns the largest value; `None` without values.
    pub fn most(&self) -> Option<f64> {
        (self.count > 0).then_some(self.most)
    }

    /// Returns the value below which this share of the values are, by the sample; `None` without
    /// values.
    pub fn quantile(&self, share: f64) -> Option<f64> {
        let mut sorted = self.kept.clone();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len().checked_sub(1)?;
        sorted.get((share * last as f64).round() as usize).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_many_values_are_near_those_of_all() {
        let mut sample = Sample::default();
        assert_eq!(
            (sample.mean(), sample.quantile(0.5), sample.most()),
            (None, None, None)
        );
        for value in 0..100_000 {
            sample.add(f64::from(value));
        }
        assert!(sample.kept.len() <= MOST);
        assert_eq!(sample.count(), 100_000);
        assert_eq!(sample.most(), Some(99_999.0));
        assert_eq!(sample.mean(), Some(49_999.5));
        for share in [0.5, 0.99] {
            let found = sample.quantile(share).unwrap();
            assert!((found / 100_000.0 - share).abs() < 0.001, "{found}");
        }
    }
}
