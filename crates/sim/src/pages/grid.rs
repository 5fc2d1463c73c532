//! Values for every setting, and the machines that are all their combinations.

use terrace_base::{Bytes, Error, Nanos, Result};
use terrace_device::{Catalogue, Energy, Order, Unit};
use terrace_policy::{PAGE_BYTES, replacement};

use super::names::Picos;
use super::run::Foresight;
use super::{Dram, FaultCost, Inclusion, Machine, Prefetch, Settings, Shootdown, Tier, Work};

/// Values for every setting; the machines are all their combinations.
#[derive(Clone, Debug)]
pub struct Grid {
    /// A measured machine, instead of a technology and a fault cost by name.
    pub measured: Option<Machine>,
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
    /// Devices.
    pub devices: Vec<u32>,
    /// Orders in which the device serves.
    pub order: Vec<Order>,
    /// The size of the tier; the footprint where there is none.
    pub capacity: Vec<Bytes>,
    /// Replacement policies.
    pub replacement: Vec<&'static replacement::Entry>,
    /// Ways of prefetching.
    pub prefetch: Vec<Prefetch>,
    /// Pages of the prefetch cache.
    pub prefetch_cache: Vec<usize>,
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
        let (tiers, faults) = match &self.measured {
            Some(machine) => (vec![machine.tier()], vec![machine.fault.clone()]),
            None => {
                let tiers = self.memory.iter().map(|name| tier(catalogue, name));
                (tiers.collect::<Result<_>>()?, self.fault.clone())
            }
        };
        let Some(mut machines) = self.first(&tiers).map(|first| vec![first]) else {
            return Ok(Vec::new());
        };
        let all = &mut machines;
        vary(all, &tiers, |m, v| m.settings.tier = v.clone());
        vary(all, &self.dram, |m, v| m.dram = *v);
        vary(all, &self.replacement, |m, v| m.settings.replacement = v);
        vary(all, &self.prefetch, |m, v| m.settings.prefetch = v.clone());
        vary(all, &self.prefetch_cache, |m, v| {
            m.settings.prefetch_cache = *v
        });
        vary(all, &self.work, |m, v| m.settings.work = *v);
        vary(all, &self.inclusion, |m, v| m.settings.inclusion = *v);
        vary(all, &self.eviction_buffer, |m, v| {
            m.settings.eviction_buffer = *v
        });
        vary(all, &self.devices, |m, v| m.settings.tier.devices = *v);
        vary(all, &self.order, |m, v| m.settings.tier.timing.order = *v);
        vary(all, &faults, |m, v| m.settings.fault = v.clone());
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
                prefetch_cache: *self.prefetch_cache.first()?,
                tier: tiers.first()?.clone(),
                replacement: self.replacement.first()?,
                prefetch: self.prefetch.first()?.clone(),
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
        devices: 1,
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

    /// What has to be known of the future.
    pub fn foresight(&self) -> Foresight {
        self.settings.foresight()
    }

    /// DRAM as it was asked for.
    pub fn dram(&self) -> Dram {
        self.dram
    }

    /// The machine for programs of `footprint` pages, which matters only where
    /// [`Choice::needs_footprint`].
    ///
    /// # Errors
    /// A usage error where DRAM has more pages than can be simulated, or the prefetch cache leaves
    /// nothing of it.
    pub fn settings(&self, footprint: u64) -> Result<Settings> {
        let pages = self.dram.pages(footprint, self.settings.inclusion);
        let dram_pages = usize::try_from(pages)
            .ok()
            .filter(|_| pages < u64::from(u32::MAX));
        let settings = Settings {
            dram_pages: dram_pages.ok_or_else(|| {
                Error::usage(format!(
                    "DRAM of {} is more than can be simulated (16 TiB)",
                    self.dram
                ))
            })?,
            // Where nothing is fetched ahead nothing is set aside for it.
            prefetch_cache: match self.settings.prefetch {
                Prefetch::Off => 0,
                Prefetch::Readahead { .. } | Prefetch::Predictor(_) => self.settings.prefetch_cache,
            },
            ..self.settings.clone()
        };
        settings.main_pages()?;
        Ok(settings)
    }
}
