//! The settings of a machine with everything filled in, as results show them.

use serde::Serialize;
use terrace_device::Order;

use super::{FaultCost, Inclusion, Prefetch, Settings, Work};

/// The effective settings of a machine, flat, as results show them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Effective {
    /// Pages of DRAM.
    pub dram_pages: u64,
    /// Those of them that are kept for pages fetched ahead.
    pub prefetch_cache: u64,
    /// The technology of the tier.
    pub memory: String,
    /// Latency of a page read, in nanoseconds.
    pub read_ns: u64,
    /// Latency of a page write, in nanoseconds.
    pub write_ns: u64,
    /// Requests that a device serves at the same time.
    pub channels: u32,
    /// Devices of that kind.
    pub devices: u32,
    /// Bytes a second over all channels of a device; none: no limit.
    pub bandwidth: Option<u64>,
    /// The order in which the device serves.
    pub order: &'static str,
    /// Pages of the tier; none: the footprint.
    pub tier_pages: Option<u64>,
    /// The replacement policy.
    pub replacement: &'static str,
    /// What is fetched ahead.
    pub prefetch: String,
    /// For readahead: `vm.page-cluster`.
    pub page_cluster: Option<u32>,
    /// Who waits for prefetches.
    pub work: Work,
    /// Whether fetched pages keep their copy in the tier.
    pub inclusion: Inclusion,
    /// Pages of the eviction buffer.
    pub eviction_buffer: u64,
    /// What a fault costs.
    pub fault: FaultCost,
    /// Threads that a shoot-down reaches; none: those of the program.
    pub threads: Option<u32>,
    /// Picoseconds an instruction.
    pub instruction_ps: u64,
    /// Nanoseconds an access, where instructions are not counted.
    pub access_ns: u64,
    /// Accesses before figures were taken.
    pub warmup: u64,
    /// For what a policy leaves to chance.
    pub seed: u64,
}

impl Effective {
    /// Those of a machine.
    pub fn of(settings: &Settings) -> Self {
        let timing = &settings.tier.timing;
        Self {
            dram_pages: settings.dram_pages as u64,
            prefetch_cache: settings.prefetch_cache as u64,
            memory: settings.tier.name.clone(),
            read_ns: timing.read.0,
            write_ns: timing.write.0,
            channels: timing.channels,
            devices: settings.tier.devices.max(1),
            bandwidth: timing.bandwidth,
            order: match timing.order {
                Order::Plain => "plain",
                Order::RoundRobin => "round-robin",
                Order::Elevator => "elevator",
                Order::Deadline(_) => "deadline",
            },
            tier_pages: settings.tier.pages,
            replacement: settings.replacement.name,
            prefetch: settings.prefetch.to_string(),
            page_cluster: match settings.prefetch {
                Prefetch::Readahead { cluster } => Some(cluster),
                Prefetch::Off | Prefetch::Predictor(_) => None,
            },
            work: settings.work,
            inclusion: settings.inclusion,
            eviction_buffer: settings.eviction_buffer as u64,
            fault: settings.fault.clone(),
            threads: settings.threads,
            instruction_ps: settings.instruction_ps,
            access_ns: settings.access.0,
            warmup: settings.warmup,
            seed: settings.seed,
        }
    }
}
