//! How DRAM is divided.

/// Pages of the shares of DRAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shares {
    /// Those that the replacement policy decides over.
    pub policy: usize,
    /// Those that it has evicted and that are resident still, so that several leave at once.
    pub leaving: usize,
    /// Slots of the staging range.
    pub staging: usize,
}

impl Shares {
    /// Divides DRAM: a sixteenth is for staging, and a quarter of that for pages that leave. More
    /// would take pages from the policy, and fewer would make batches small.
    pub fn of(dram: usize) -> Self {
        let staging = (dram / 16).clamp(2, 512);
        let leaving = (staging / 4).max(1);
        Self {
            policy: dram - staging - leaving,
            leaving,
            staging,
        }
    }

    /// Returns the pages that have left for the policy and are in DRAM still: what `sim pages
    /// --staging` takes.
    pub fn left(self) -> usize {
        self.leaving + self.staging
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Settings;

    #[test]
    fn shares_add_up_and_leave_most_to_the_policy() {
        for dram in Settings::LEAST_DRAM as usize..100_000 {
            let Shares {
                policy,
                leaving,
                staging,
            } = Shares::of(dram);
            assert_eq!(policy + leaving + staging, dram);
            assert!(policy >= dram / 2 && leaving < staging.max(2), "{dram}");
        }
    }
}
