//! Machines as people name them, and all combinations of what they name.

use std::fmt;

use serde::Serialize;
use terrace_base::{Bytes, Error, Nanos, Result};
use terrace_device::{Catalogue, Deadlines, Energy, Order, Unit};
use terrace_policy::replacement;
use terrace_policy::{PAGE_BYTES, prefetch};

use super::{FaultCost, Inclusion, Prefetch, Settings, Shootdown, Tier, Work};

/// How much DRAM there is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Dram {
    /// So many bytes.
    Bytes(Bytes),
    /// So many pages.
    Pages(u64),
    /// A share of the tier, in which the footprint lies: the DRAM:NVM ratio of Awad 2016, 5.2. At
    /// 25 % an inclusive tier holds all of the footprint, and DRAM a quarter of it; an exclusive
    /// one holds what DRAM does not, and DRAM a fifth.
    Ratio(f64),
}

impl Dram {
    /// Reads `25%`, `1000p` (pages), or a size as [`Bytes::parse`] does.
    ///
    /// # Errors
    /// A usage error where it is none of them, or nothing.
    pub fn parse(text: &str) -> Result<Self> {
        let wrong = || {
            Error::usage(format!(
                "`{text}` is no amount of DRAM; write it as 64M, 1000p (pages) or 25% (of the tier)"
            ))
        };
        if let Some(share) = text.strip_suffix('%') {
            let share: f64 = share.trim().parse().map_err(|_| wrong())?;
            return match share > 0.0 && share <= 1000.0 {
                true => Ok(Self::Ratio(share / 100.0)),
                false => Err(wrong()),
            };
        }
        if let Some(pages) = text.strip_suffix('p') {
            let pages = pages.trim().parse().map_err(|_| wrong())?;
            return if pages > 0 {
                Ok(Self::Pages(pages))
            } else {
                Err(wrong())
            };
        }
        Bytes::parse(text).map(Self::Bytes)
    }

    /// In pages, at least one.
    fn pages(self, footprint: u64, inclusion: Inclusion) -> u64 {
        let pages = match (self, inclusion) {
            (Self::Bytes(bytes), _) => bytes.0 / PAGE_BYTES,
            (Self::Pages(pages), _) => pages,
            (Self::Ratio(ratio), Inclusion::Inclusive) => (footprint as f64 * ratio) as u64,
            (Self::Ratio(ratio), Inclusion::Exclusive) => {
                (footprint as f64 * ratio / (1.0 + ratio)) as u64
            }
        };
        pages.max(1)
    }
}

impl fmt::Display for Dram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => bytes.fmt(f),
            Self::Pages(pages) => write!(f, "{pages}p"),
            Self::Ratio(ratio) => write!(f, "{}%", ratio * 100.0),
        }
    }
}

/// The time of an instruction: `0.5ns`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Picos(pub u64);

impl Picos {
    /// Reads nanoseconds with a fraction, with or without `ns`.
    ///
    /// # Errors
    /// A usage error where it is no such time.
    pub fn parse(text: &str) -> Result<Self> {
        let nanos: Option<f64> = text.trim().trim_end_matches("ns").trim_end().parse().ok();
        match nanos {
            Some(nanos) if (0.0..=1e6).contains(&nanos) => {
                Ok(Self((nanos * 1000.0).round() as u64))
            }
            _ => Err(Error::usage(format!(
                "`{text}` is no time of an instruction; write it as 0.5ns"
            ))),
        }
    }
}

/// Reads the name of an order in which a device serves requests.
///
/// # Errors
/// A usage error where there is none of this name.
pub fn parse_order(name: &str) -> Result<Order> {
    match name {
        "plain" => Ok(Order::Plain),
        "round-robin" => Ok(Order::RoundRobin),
        "deadline" => Ok(Order::Deadline(Deadlines::default())),
        _ => Err(Error::usage(format!(
            "there is no order `{name}`; there are: plain, round-robin, deadline"
        ))),
    }
}

/// Reads the name of a way of prefetching; `cluster` is for readahead.
///
/// # Errors
/// A usage error where there is none of this name.
pub fn parse_prefetch(name: &str, cluster: u32) -> Result<Prefetch> {
    match (name, prefetch::by_name(name)) {
        ("off", _) => Ok(Prefetch::Off),
        ("readahead", _) => Ok(Prefetch::Readahead { cluster }),
        (_, Some(entry)) => Ok(Prefetch::Predictor(entry)),
        _ => Err(Error::usage(format!(
            "there is no way of prefetching called `{name}`; there are: off, readahead, {}",
            prefetch::REGISTRY
                .iter()
                .map(|entry| entry.name)
                .collect::<Vec<_>>()
                .join(", ")
        ))),
    }
}

/// Reads the name of a replacement policy.
///
/// # Errors
/// A usage error where there is none of this name.
pub fn parse_replacement(name: &str) -> Result<&'static replacement::Entry> {
    replacement::by_name(name).ok_or_else(|| {
        Error::usage(format!(
            "there is no replacement policy `{name}`; there are: {}",
            replacement::REGISTRY
                .iter()
                .map(|entry| entry.name)
                .collect::<Vec<_>>()
                .join(", ")
        ))
    })
}

/// Values for every setting; the machines are all their combinations.
#[derive(Clone, Debug)]
pub struct Grid {
    /// DRAM.
    pub dram: Vec<Dram>,
    /// Technologies of the tier, by name.
    pub memory: Vec<String>,
    /// Reads of a page, instead of the technology's.
    pub read: Vec<Nanos>,
    /// Writes of a page, instead of the technology's.
    pub write: Vec<Nanos>,
    /// Requests served at the same time, instead of the technology's.
    pub channels: Vec<u32>,
    /// Orders in which the device serves.
    pub order: Vec<Order>,
    /// The size of the tier; the footprint where there is none.
    pub capacity: Vec<Bytes>,
    /// Replacement policies.
    pub replacement: Vec<&'static replacement::Entry>,
    /// Ways of prefetching.
    pub prefetch: Vec<Prefetch>,
    /// Who waits for prefetches.
    pub work: Vec<Work>,
    /// Inclusion.
    pub inclusion: Vec<Inclusion>,
    /// Pages of the eviction buffer.
    pub eviction_buffer: Vec<usize>,
    /// Costs of a fault.
    pub fault: Vec<FaultCost>,
    /// Ways of shooting down, instead of the cost's.
    pub shootdown: Vec<Shootdown>,
    /// Threads that a shoot-down reaches, instead of the program's.
    pub threads: Vec<u32>,
    /// Times of an instruction.
    pub instruction: Vec<Picos>,
    /// Times of an access, where instructions are not counted.
    pub access: Vec<Nanos>,
    /// Touches before figures are taken.
    pub warmup: Vec<u64>,
    /// Seeds.
    pub seed: Vec<u64>,
}

/// One combination: a machine before the footprint of its programs is known.
#[derive(Clone, Debug)]
pub struct Choice {
    dram: Dram,
    settings: Settings,
}

/// Each value, or none where there are none.
fn or_none<T: Clone>(values: &[T]) -> Vec<Option<T>> {
    match values {
        [] => vec![None],
        _ => values.iter().cloned().map(Some).collect(),
    }
}

/// Replaces each machine by one for each value.
fn vary<T>(machines: &mut Vec<Choice>, values: &[T], set: impl Fn(&mut Choice, &T)) {
    *machines = machines
        .iter()
        .flat_map(|machine| {
            values.iter().map(|value| {
                let mut machine = machine.clone();
                set(&mut machine, value);
                machine
            })
        })
        .collect();
}

impl Grid {
    /// All combinations, the first setting slowest.
    ///
    /// # Errors
    /// A usage error where a memory is not in the catalogue, or too little is known of it.
    pub fn machines(&self, catalogue: &Catalogue) -> Result<Vec<Choice>> {
        let tiers = self.memory.iter().map(|name| tier(catalogue, name));
        let tiers = tiers.collect::<Result<Vec<_>>>()?;
        let Some(mut machines) = self.first(&tiers).map(|first| vec![first]) else {
            return Ok(Vec::new());
        };
        let all = &mut machines;
        vary(all, &tiers, |m, v| m.settings.tier = v.clone());
        vary(all, &self.dram, |m, v| m.dram = *v);
        vary(all, &self.replacement, |m, v| m.settings.replacement = v);
        vary(all, &self.prefetch, |m, v| m.settings.prefetch = *v);
        vary(all, &self.work, |m, v| m.settings.work = *v);
        vary(all, &self.inclusion, |m, v| m.settings.inclusion = *v);
        vary(all, &self.eviction_buffer, |m, v| {
            m.settings.eviction_buffer = *v
        });
        vary(all, &self.order, |m, v| m.settings.tier.timing.order = *v);
        vary(all, &self.fault, |m, v| m.settings.fault = v.clone());
        vary(all, &self.instruction, |m, v| {
            m.settings.instruction_ps = v.0
        });
        vary(all, &self.access, |m, v| m.settings.access = *v);
        vary(all, &self.warmup, |m, v| m.settings.warmup = *v);
        vary(all, &self.seed, |m, v| m.settings.seed = *v);
        vary(all, &or_none(&self.read), |m, v| {
            m.settings.tier.timing.read = v.unwrap_or(m.settings.tier.timing.read);
        });
        vary(all, &or_none(&self.write), |m, v| {
            m.settings.tier.timing.write = v.unwrap_or(m.settings.tier.timing.write);
        });
        vary(all, &or_none(&self.channels), |m, v| {
            m.settings.tier.timing.channels = v.unwrap_or(m.settings.tier.timing.channels);
        });
        vary(all, &or_none(&self.capacity), |m, v| {
            m.settings.tier.pages = v.map(|bytes| bytes.0.div_ceil(PAGE_BYTES));
        });
        vary(all, &or_none(&self.shootdown), |m, v| {
            m.settings.fault.shootdown = v.unwrap_or(m.settings.fault.shootdown);
        });
        vary(all, &or_none(&self.threads), |m, v| m.settings.threads = *v);
        Ok(machines)
    }

    /// A machine of the first values, if each setting has one.
    fn first(&self, tiers: &[Tier]) -> Option<Choice> {
        Some(Choice {
            dram: *self.dram.first()?,
            settings: Settings {
                dram_pages: 1,
                tier: tiers.first()?.clone(),
                replacement: self.replacement.first()?,
                prefetch: *self.prefetch.first()?,
                work: *self.work.first()?,
                inclusion: *self.inclusion.first()?,
                eviction_buffer: *self.eviction_buffer.first()?,
                fault: self.fault.first()?.clone(),
                threads: None,
                instruction_ps: self.instruction.first()?.0,
                access: *self.access.first()?,
                warmup: *self.warmup.first()?,
                seed: *self.seed.first()?,
            },
        })
    }
}

/// The tier of a technology.
fn tier(catalogue: &Catalogue, name: &str) -> Result<Tier> {
    let technology = catalogue.get(name)?;
    Ok(Tier {
        name: technology.name.clone(),
        timing: technology.timing()?,
        energy: Energy::of(technology, Unit::Page),
        endurance: technology.endurance.as_ref().map(|figure| figure.value),
        pages: None,
    })
}

impl Choice {
    /// Whether the footprint has to be known to say how much DRAM there is.
    pub fn needs_footprint(&self) -> bool {
        matches!(self.dram, Dram::Ratio(_))
    }

    /// Whether the policy has to know the future.
    pub fn needs_future(&self) -> bool {
        matches!(
            self.settings.replacement.make,
            replacement::Make::Offline(_)
        )
    }

    /// DRAM as it was asked for.
    pub fn dram(&self) -> Dram {
        self.dram
    }

    /// The machine for programs of `footprint` pages, which matters only where
    /// [`Choice::needs_footprint`].
    ///
    /// # Errors
    /// A usage error where DRAM has more pages than can be simulated.
    pub fn settings(&self, footprint: u64) -> Result<Settings> {
        let pages = self.dram.pages(footprint, self.settings.inclusion);
        let dram_pages = usize::try_from(pages)
            .ok()
            .filter(|_| pages < u64::from(u32::MAX));
        Ok(Settings {
            dram_pages: dram_pages.ok_or_else(|| {
                Error::usage(format!(
                    "DRAM of {} is more than can be simulated (16 TiB)",
                    self.dram
                ))
            })?,
            ..self.settings.clone()
        })
    }
}

/// The effective settings of a machine, flat, as results show them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Effective {
    /// Pages of DRAM.
    pub dram_pages: u64,
    /// The technology of the tier.
    pub memory: String,
    /// Latency of a page read, in nanoseconds.
    pub read_ns: u64,
    /// Latency of a page write, in nanoseconds.
    pub write_ns: u64,
    /// Requests served at the same time.
    pub channels: u32,
    /// Bytes a second over all channels; none: no limit.
    pub bandwidth: Option<u64>,
    /// The order in which the device serves.
    pub order: &'static str,
    /// Pages of the tier; none: the footprint.
    pub tier_pages: Option<u64>,
    /// The replacement policy.
    pub replacement: &'static str,
    /// What is fetched ahead.
    pub prefetch: &'static str,
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
            memory: settings.tier.name.clone(),
            read_ns: timing.read.0,
            write_ns: timing.write.0,
            channels: timing.channels,
            bandwidth: timing.bandwidth,
            order: match timing.order {
                Order::Plain => "plain",
                Order::RoundRobin => "round-robin",
                Order::Deadline(_) => "deadline",
            },
            tier_pages: settings.tier.pages,
            replacement: settings.replacement.name,
            prefetch: settings.prefetch.name(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dram_as_people_write_it() {
        assert_eq!(Dram::parse("25%"), Ok(Dram::Ratio(0.25)));
        assert_eq!(Dram::parse("12.5 %"), Ok(Dram::Ratio(0.125)));
        assert_eq!(Dram::parse("1000p"), Ok(Dram::Pages(1000)));
        assert_eq!(Dram::parse("64M"), Ok(Dram::Bytes(Bytes(64 << 20))));
        for text in ["", "0%", "-1%", "nan%", "0p", "1.5p", "p", "%", "much"] {
            assert!(Dram::parse(text).is_err(), "{text}");
        }
    }

    /// Awad 2016, 5.2: at 25 % up to 20 % (exclusive) or 25 % (inclusive) of the footprint may be
    /// in DRAM.
    #[test]
    fn a_ratio_is_of_the_tier() {
        let ratio = Dram::Ratio(0.25);
        assert_eq!(ratio.pages(1000, Inclusion::Inclusive), 250);
        assert_eq!(ratio.pages(1000, Inclusion::Exclusive), 200);
        assert_eq!(ratio.pages(1, Inclusion::Inclusive), 1);
    }

    #[test]
    fn the_time_of_an_instruction() {
        assert_eq!(Picos::parse("0.5ns"), Ok(Picos(500)));
        assert_eq!(Picos::parse("1"), Ok(Picos(1000)));
        for text in ["", "-1", "fast", "1s", "nan"] {
            assert!(Picos::parse(text).is_err(), "{text}");
        }
    }
}
