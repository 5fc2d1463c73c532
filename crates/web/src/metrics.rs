//! Metrics for Prometheus, in its text format (OpenMetrics 1.0).
//!
//! The only label is the name of a target, of which the administrator's configuration has as many
//! as it has. What counts events ends in `_total`; all units are base units.

use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Metric, Registry, Unit};
use terrace_daemon::protocol::{State, Status, Target};

use crate::source::Known;

/// What the text is called in HTTP.
pub const TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Base units, which end the names.
const BYTES: Option<&str> = Some("bytes");
const SECONDS: Option<&str> = Some("seconds");
const RATIO: Option<&str> = Some("ratio");

const DAY: f64 = 86_400.0;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    target: String,
}

type Number = Gauge<f64, AtomicU64>;
type Sum = Counter<f64, AtomicU64>;

/// A figure of a target: its name, what it is, its unit and its value; nothing if it has none.
type Figure = (
    &'static str,
    &'static str,
    Option<&'static str>,
    fn(&Target) -> Option<f64>,
);

/// Figures that rise and fall.
const GAUGES: &[Figure] = &[
    ("up", "Whether the target is there", None, |it| {
        Some(f64::from(u8::from(it.state == State::Running)))
    }),
    ("dram", "Memory of the target in DRAM", BYTES, |it| {
        Some(it.instances.iter().map(|it| it.resident as f64).sum())
    }),
    ("swapped", "Memory of the target in the tier", BYTES, |it| {
        Some(it.instances.iter().map(|it| it.swapped as f64).sum())
    }),
    (
        "stall_limit",
        "Share of its time that the target may stand still for memory",
        RATIO,
        |it| it.limit,
    ),
    (
        "write_share",
        "What the target's share of the budget of writes holds; negative if it owes",
        BYTES,
        |it| it.share.map(|share| share as f64),
    ),
];

/// Figures that only grow while the daemon runs.
const COUNTERS: &[Figure] = &[
    (
        "stall",
        "Time in which the target stood still for memory",
        SECONDS,
        |it| Some(it.counts.stalled_s),
    ),
    (
        "watched",
        "Time over which that was looked at",
        SECONDS,
        |it| Some(it.counts.watched_s),
    ),
    (
        "written",
        "Written to the tier for the target",
        BYTES,
        |it| Some(it.counts.written as f64),
    ),
    ("looks", "Looks at the target", None, |it| {
        Some(it.counts.looks as f64)
    }),
    ("reclaims", "Decisions to reclaim", None, |it| {
        Some(it.counts.reclaims as f64)
    }),
    ("reclaimed", "Left DRAM by these decisions", BYTES, |it| {
        Some(it.counts.reclaimed as f64)
    }),
    ("returns", "Decisions to give back", None, |it| {
        Some(it.counts.returns as f64)
    }),
    ("returned", "Came back by these decisions", BYTES, |it| {
        Some(it.counts.returned as f64)
    }),
    (
        "major_faults",
        "Major faults of its processes: memory came back from the tier or from files",
        None,
        |it| Some(it.counts.major_faults as f64),
    ),
    (
        "oom_kills",
        "Processes of its groups that the kernel has killed for want of memory",
        None,
        |it| Some(it.counts.oom_kills as f64),
    ),
    (
        "unpaid_looks",
        "Looks at which the budget of writes was spent",
        None,
        |it| Some(it.counts.unpaid as f64),
    ),
    (
        "short_looks",
        "Looks at which the machine was short of memory by itself",
        None,
        |it| Some(it.counts.short as f64),
    ),
    ("failures", "Looks and steps that failed", None, |it| {
        Some(it.counts.failures as f64)
    }),
    (
        "found",
        "Times that the target was found, at first and after restarts",
        None,
        |it| Some(it.counts.found as f64),
    ),
];

/// Returns the text of all metrics. Figures that are not known are left out.
pub fn text(known: &Known) -> String {
    let mut registry = Registry::with_prefix("terrace");
    let up = known.trouble.is_none() && known.status.is_some();
    gauge(
        &mut registry,
        "up",
        "Whether terraced answers",
        None,
        f64::from(u8::from(up)),
    );
    let lost = "Events of terraced that were lost before they were read";
    counter(&mut registry, "events_lost", lost, known.lost);
    let older = "Events that are too old to be shown on the page";
    counter(&mut registry, "events_not_shown", older, known.older);
    // Of a daemon that does not answer nothing is known now.
    if let Some(status) = known.status.as_ref().filter(|_| up) {
        tier(&mut registry, status);
        targets(&mut registry, status);
    }
    let mut text = String::new();
    encode(&mut text, &registry).expect("text can be written");
    text
}

fn tier(registry: &mut Registry, status: &Status) {
    let started = status.started_ms as f64 / 1000.0;
    gauge(
        registry,
        "start_time",
        "Start of terraced, since 1970",
        SECONDS,
        started,
    );
    let kills = "Processes of the machine that the kernel has killed for want of memory";
    counter(registry, "oom_kills", kills, status.oom_kills);
    let tier = &status.tier;
    gauge(
        registry,
        "tier_size",
        "Size of the swap areas",
        BYTES,
        tier.size as f64,
    );
    let used = "What of the swap areas is in use, by whomever";
    gauge(registry, "tier_used", used, BYTES, tier.used as f64);
    let Some(budget) = &tier.budget else { return };
    let a_day = "What may be written to the tier a day";
    gauge(
        registry,
        "tier_write_budget_per_day",
        a_day,
        BYTES,
        budget.a_day as f64,
    );
    let common = "What the common part of the budget of writes holds";
    gauge(
        registry,
        "tier_write_common",
        common,
        BYTES,
        budget.common as f64,
    );
    if let Some(days) = budget.life_days {
        let life = "Time that a new drive lasts at the mean rate of writes since terraced began";
        gauge(registry, "tier_life", life, SECONDS, days * DAY);
    }
}

fn gauge(registry: &mut Registry, name: &str, help: &str, unit: Option<&str>, value: f64) {
    let gauge = Number::default();
    gauge.set(value);
    register(registry, name, help, unit, gauge);
}

fn counter(registry: &mut Registry, name: &str, help: &str, value: u64) {
    let counter = Sum::default();
    counter.inc_by(value as f64);
    register(registry, name, help, None, counter);
}

fn register(
    registry: &mut Registry,
    name: &str,
    help: &str,
    unit: Option<&str>,
    metric: impl Metric,
) {
    match unit {
        Some(unit) => registry.register_with_unit(name, help, Unit::Other(unit.into()), metric),
        None => registry.register(name, help, metric),
    }
}

fn targets(registry: &mut Registry, status: &Status) {
    let registry = registry.sub_registry_with_prefix("target");
    families(registry, status, GAUGES, |gauge: &Number, value| {
        gauge.set(value);
    });
    families(registry, status, COUNTERS, |sum: &Sum, value| {
        sum.inc_by(value);
    });
}

/// Registers a metric for each figure, with a value for each target that has one.
fn families<M: Default>(
    registry: &mut Registry,
    status: &Status,
    figures: &[Figure],
    set: fn(&M, f64),
) where
    Family<Labels, M>: Metric,
{
    for (name, help, unit, of) in figures {
        let family = Family::<Labels, M>::default();
        for target in &status.targets {
            let labels = Labels {
                target: target.name.clone(),
            };
            if let Some(value) = of(target) {
                set(&family.get_or_create(&labels), value);
            }
        }
        register(registry, name, help, *unit, family);
    }
}
