//! How the targets fare.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How all targets fare.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Status {
    /// Version of the daemon.
    pub daemon: String,
    /// Start of the daemon: milliseconds since 1970.
    pub started_ms: u64,
    /// Time of the answer: milliseconds since 1970.
    pub time_ms: u64,
    /// Processes of this machine, of whatever group, that the kernel has killed for want of memory
    /// since the daemon began. A target whose group is removed right after a kill may not have
    /// counted it.
    pub oom_kills: u64,
    /// The tier.
    pub tier: Tier,
    /// The targets, by name.
    pub targets: Vec<Target>,
}

/// The tier.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tier {
    /// The slower memory, as the configuration names it.
    pub memory: String,
    /// Size of the machine's swap areas.
    #[schemars(extend("unit" = "bytes"))]
    pub size: u64,
    /// What of them is in use, by whomever.
    #[schemars(extend("unit" = "bytes"))]
    pub used: u64,
    /// The budget of writes; `null` if there is none.
    pub budget: Option<Budget>,
}

/// The budget of writes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Budget {
    /// What may be written a day.
    #[schemars(extend("unit" = "bytes"))]
    pub a_day: u64,
    /// What the common part holds, on which each target can draw.
    #[schemars(extend("unit" = "bytes"))]
    pub common: i64,
    /// What a share holds when it is full, and the common part as well.
    #[schemars(extend("unit" = "bytes"))]
    pub full: u64,
    /// Days that a new drive lasts at the mean rate of writes since the daemon began; `null` while
    /// nothing was written.
    pub life_days: Option<f64>,
}

/// A target.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Target {
    /// Its name.
    pub name: String,
    /// What it means.
    pub means: String,
    /// What should hold for it.
    pub goal: String,
    /// The policy that keeps the goal.
    pub policy: String,
    /// The share of its time that it may stand still for memory; `null` if the goal is none of
    /// that.
    pub limit: Option<f64>,
    /// Whether it is there.
    pub state: State,
    /// What failed last, while it lasts.
    pub trouble: Option<String>,
    /// What its share of the budget of writes holds, negative if it owes; `null` without a budget.
    #[schemars(extend("unit" = "bytes"))]
    pub share: Option<i64>,
    /// Sums since the daemon began, over all its instances.
    pub counts: Counts,
    /// Its groups that are there: several, where a target means several pods.
    pub instances: Vec<Instance>,
}

/// Whether a target is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// It is not there, and is waited for.
    #[default]
    Waiting,
    /// It is there.
    Running,
}

/// Sums since the daemon began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    /// Looks at it.
    pub looks: u64,
    /// Time in which it stood still for memory.
    #[schemars(extend("unit" = "seconds"))]
    pub stalled_s: f64,
    /// Time over which that was looked at.
    #[schemars(extend("unit" = "seconds"))]
    pub watched_s: f64,
    /// What was written to the tier for it.
    #[schemars(extend("unit" = "bytes"))]
    pub written: u64,
    /// Decisions to reclaim.
    pub reclaims: u64,
    /// What left DRAM by them.
    #[schemars(extend("unit" = "bytes"))]
    pub reclaimed: u64,
    /// Decisions to give back.
    pub returns: u64,
    /// What came back by them.
    #[schemars(extend("unit" = "bytes"))]
    pub returned: u64,
    /// Major faults of its processes, by which memory came back from the tier or from files.
    pub major_faults: u64,
    /// Processes of its groups that the kernel has killed for want of memory.
    pub oom_kills: u64,
    /// Looks at which the budget of writes was spent.
    pub unpaid: u64,
    /// Looks at which the machine was short of memory.
    pub short: u64,
    /// Looks and steps that failed.
    pub failures: u64,
    /// Times that it was found: at first, and after each restart.
    pub found: u64,
}

/// A group of a target.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Instance {
    /// Its control group.
    pub group: String,
    /// Since when it is known: milliseconds since 1970.
    pub since_ms: u64,
    /// What it has in DRAM.
    #[schemars(extend("unit" = "bytes"))]
    pub resident: u64,
    /// What it has in the tier.
    #[schemars(extend("unit" = "bytes"))]
    pub swapped: u64,
    /// The share of the last ten seconds that it stood still for memory.
    pub stalled: f64,
    /// The last decision in words.
    pub doing: String,
}

/// What a new configuration has changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reloaded {
    /// Targets that are new.
    pub added: Vec<String>,
    /// Targets that are left alone from now on.
    pub removed: Vec<String>,
    /// Targets that begin anew, because they mean something else or have another goal.
    pub changed: Vec<String>,
    /// Targets that go on as they were.
    pub kept: u64,
}
