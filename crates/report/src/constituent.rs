//! What became of predictions, by the parts of a combination that made them.

use serde::{Deserialize, Serialize};
use terrace_policy::prefetch::{self, LifeStory};
use terrace_sim::pages;

/// The story of the pages that some predictors of a combination named, and no others of it
/// (Fedorov 2016, figure 5.10). Fields are those of the whole story; a page that was named anew in
/// doubt whether it is still there is counted again.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Constituent {
    /// Who named them, with `+` between the names: `spatial`, `spatial+temporal`.
    pub names: String,
    /// Pages named.
    pub predicted: u64,
    /// Dropped at once: in memory, on their way, not in the tier, or named already.
    pub filtered: u64,
    /// Pushed out of the secondary queue.
    pub wiped: u64,
    /// Found in memory when their turn came.
    pub in_memory: u64,
    /// Fetched.
    pub issued: u64,
    /// Touched after they had arrived.
    pub used: u64,
    /// Touched before they had arrived.
    pub late: u64,
    /// Evicted untouched.
    pub wasted: u64,
    /// The share of those with a known end that were touched; null where there are none.
    pub accuracy: Option<f64>,
}

impl Constituent {
    fn new(names: &str, story: LifeStory) -> Self {
        Self {
            names: names.to_owned(),
            predicted: story.predicted,
            filtered: story.filtered,
            wiped: story.wiped,
            in_memory: story.in_memory,
            issued: story.issued,
            used: story.used,
            late: story.late,
            wasted: story.wasted,
            accuracy: story.accuracy(),
        }
    }
}

impl From<&prefetch::Constituent> for Constituent {
    fn from(live: &prefetch::Constituent) -> Self {
        Self::new(&live.names, live.story)
    }
}

impl From<&pages::Constituent> for Constituent {
    fn from(simulated: &pages::Constituent) -> Self {
        Self::new(&simulated.names, simulated.story)
    }
}
