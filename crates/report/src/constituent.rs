//! What became of predictions, by the parts of a combination that made them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use terrace_policy::prefetch::{self, LifeStory};

use crate::story::Story;

/// The story of the pages that exactly some predictors of a combination named (Fedorov 2016, figure
/// 5.10). A page that was named again because it may have been evicted is counted again.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Constituent {
    /// Names of the predictors with `+` between them: `spatial`, `spatial+temporal`.
    pub names: String,
    /// The counts.
    #[serde(flatten)]
    #[schemars(with = "Story")]
    pub story: LifeStory,
    /// Share of the fetched pages with a known end that were touched; null where there is none.
    pub accuracy: Option<f64>,
}

impl From<&prefetch::Constituent> for Constituent {
    fn from(found: &prefetch::Constituent) -> Self {
        Self {
            names: found.names.clone(),
            story: found.story,
            accuracy: found.story.accuracy(),
        }
    }
}
