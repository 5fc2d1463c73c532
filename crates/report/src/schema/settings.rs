//! Effective settings of runs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use terrace_live::machine::view::View;
use terrace_live::measure::compare::Effective;

use crate::run::names;
use terrace_results::lifetime::Endurance;

/// Effective settings and machine. All figures of the document are measured.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RunSettings {
    /// The DRAM budget in bytes.
    pub dram_bytes: u64,
    /// The program's footprint in bytes, or null if it was neither given nor measured.
    pub footprint_bytes: Option<u64>,
    /// Whether the footprint was measured: by a run without a limit, or in this one
    /// (`measured_after_s`).
    pub footprint_measured: bool,
    /// Time from the start in seconds for which the program ran without a limit, which measured its
    /// footprint (`--measure`); missing if it had its limit from the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured_after_s: Option<f64>,
    /// Tier, described for people.
    pub tier: String,
    /// The largest size that the tier might have had, in bytes; missing for a memory node, the
    /// machine's own swap, and in older results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier_bound_bytes: Option<u64>,
    /// zswap in front of the tier, as `--zswap` would name it; missing in older results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zswap: Option<String>,
    /// The predictor with its settings, or `off`; several are separated by commas.
    pub prefetch: String,
    /// The eviction policy with its settings; several are separated by commas. Missing in older
    /// results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eviction: Option<String>,
    /// The migration policy with its settings, where the tier is a memory node; missing otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub migration: Option<String>,
    /// `vm.page-cluster` as found: the readahead of the way `kernel`.
    pub page_cluster: String,
    /// The device's endurance in bytes, or null if it was not given.
    pub endurance_bytes: Option<u64>,
    /// The version of the memory cgroup controller: 1 or 2.
    pub cgroup_version: u32,
    /// What the program saw of memory limits: `machine` for those that hold for terrace, as without
    /// it, or `limit` for that of its own group. Missing if it was not started, and in older
    /// results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_view: Option<View>,
    /// The kernel's release.
    pub kernel: String,
    /// The machine's DRAM in bytes.
    pub machine_memory_bytes: u64,
    /// CPUs that may be used.
    pub cpus: usize,
    /// The version of terrace.
    pub terrace: String,
}

impl RunSettings {
    pub(super) fn of(effective: &Effective, endurance: Option<Endurance>) -> Self {
        Self {
            dram_bytes: effective.dram.0,
            footprint_bytes: effective.footprint.map(|f| f.0),
            footprint_measured: effective.footprint_measured,
            measured_after_s: effective.measured_after.map(|time| time.as_secs_f64()),
            tier: effective.tier.clone(),
            tier_bound_bytes: effective.tier_bound.map(|bound| bound.0),
            zswap: Some(effective.zswap.clone()),
            prefetch: names(&effective.prefetch),
            eviction: Some(effective.eviction.join(", ")),
            migration: effective.migration.clone(),
            page_cluster: effective.page_cluster.clone(),
            endurance_bytes: endurance.map(|e| e.bytes().0),
            cgroup_version: effective.cgroup.number(),
            memory_view: effective.view,
            kernel: effective.kernel.clone(),
            machine_memory_bytes: effective.machine_memory.0,
            cpus: effective.cpus,
            terrace: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}
