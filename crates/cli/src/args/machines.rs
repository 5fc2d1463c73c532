//! The machines that are simulated: every option takes a list, and all combinations are run.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use terrace_base::{Bytes, Error, Nanos, Result};
use terrace_device::{Catalogue, Order};
use terrace_policy::prefetch::Spec;
use terrace_policy::replacement::{self, Entry};
use terrace_sim::pages::names::{
    Picos, parse_latency, parse_order, parse_prefetch, parse_replacement,
};
use terrace_sim::pages::{Dram, FaultCost, Grid, Inclusion, Machine, Shootdown, Work};

use super::prefetch;

/// Lists of settings, with commas; all their combinations are simulated.
#[derive(Args)]
#[command(next_help_heading = "Machine (each takes a list: a,b,c)")]
pub struct Machines {
    /// DRAM: 64M, 1000p (pages), or 25%: the DRAM:NVM ratio, where the tier has the footprint's size
    #[arg(long, value_name = "SIZE", value_parser = Dram::parse, value_delimiter = ',',
          required = true, allow_hyphen_values = true)]
    pub dram: Vec<Dram>,

    /// The memory behind DRAM, by its technology: see the list below
    #[arg(long, value_name = "NAME", value_delimiter = ',', default_value = "pcm",
          long_help = memory_help())]
    pub memory: Vec<String>,

    /// What stays in DRAM: see the list below
    #[arg(long, value_name = "NAME", value_parser = parse_replacement, value_delimiter = ',',
          default_value = "lru", long_help = replacement_help())]
    pub replacement: Vec<&'static Entry>,

    /// What is fetched ahead: see the list below
    #[arg(long, value_name = "NAME[:KEY=VALUE,..]", default_value = "off",
          long_help = prefetch_help())]
    pub prefetch: String,

    /// Pages that `readahead` reads at once, as a power of two (vm.page-cluster)
    #[arg(long, value_name = "N", default_value_t = 3,
          value_parser = clap::value_parser!(u32).range(0..=10))]
    pub page_cluster: u32,

    /// Pages of DRAM that are kept for what is fetched ahead until it is used; with 0, it goes where
    /// all pages are
    #[arg(long, value_name = "PAGES", value_delimiter = ',', default_value = "0",
          value_parser = clap::value_parser!(u32))]
    pub prefetch_cache: Vec<u32>,

    /// Who waits for what is fetched ahead: nobody, or the fault that called for it
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "asynchronous"
    )]
    pub prefetch_work: Vec<WorkName>,

    /// Whether a fetched page keeps its copy in the tier, so that it need not be written if it
    /// stays clean
    #[arg(long, value_enum, value_delimiter = ',', default_value = "inclusive")]
    pub inclusion: Vec<InclusionName>,

    /// Evicted pages that wait in DRAM to be written in the background; with 0, faults wait
    #[arg(long, value_name = "PAGES", value_delimiter = ',', default_value = "64",
          value_parser = clap::value_parser!(u32).range(0..=65536))]
    pub eviction_buffer: Vec<u32>,

    /// What a fault costs beyond the device: see the list below
    #[arg(long, value_name = "NAME", value_parser = FaultCost::parse, value_delimiter = ',',
          default_value = "linux", long_help = fault_help(), allow_hyphen_values = true)]
    pub fault_cost: Vec<FaultCost>,

    /// How other processors are told of an evicted page [default: the fault cost's]
    #[arg(long, value_enum, value_delimiter = ',')]
    pub shootdown: Vec<ShootdownName>,

    /// Threads that a shoot-down reaches [default: those of the program]
    #[arg(long, value_name = "N", value_delimiter = ',')]
    pub threads: Vec<u32>,

    /// Latency of a page read, as 25us [default: the memory's]
    #[arg(long, value_name = "TIME", value_parser = parse_latency, value_delimiter = ',',
          allow_hyphen_values = true)]
    pub read_latency: Vec<Nanos>,

    /// Latency of a page write [default: the memory's]
    #[arg(long, value_name = "TIME", value_parser = parse_latency, value_delimiter = ',',
          allow_hyphen_values = true)]
    pub write_latency: Vec<Nanos>,

    /// Requests that a device serves at the same time [default: the memory's]
    #[arg(long, value_name = "N", value_delimiter = ',',
          value_parser = clap::value_parser!(u32).range(1..=65536))]
    pub channels: Vec<u32>,

    /// Devices of that kind, each with a queue of its own; evicted pages go to them in turn
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "1",
          value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub devices: Vec<u32>,

    /// Which waiting request goes next: plain (first come, first served), round-robin (over the
    /// classes), elevator (by place, as Linux's deadline scheduler), deadline (faults before
    /// prefetches before writes)
    #[arg(long, value_name = "NAME", value_parser = parse_order, value_delimiter = ',',
          default_value = "deadline")]
    pub order: Vec<Order>,

    /// Size of the tier, for its lifetime [default: the footprint]
    #[arg(long, value_name = "SIZE", value_parser = Bytes::parse, value_delimiter = ',',
          allow_hyphen_values = true)]
    pub tier_size: Vec<Bytes>,

    /// Time of an instruction, page faults aside
    #[arg(long, value_name = "TIME", value_parser = Picos::parse, value_delimiter = ',',
          default_value = "0.5ns", allow_hyphen_values = true)]
    pub instruction_time: Vec<Picos>,

    /// Time between two accesses of a trace that does not count instructions
    #[arg(long, value_name = "TIME", value_parser = parse_latency, value_delimiter = ',',
          default_value = "100ns", allow_hyphen_values = true)]
    pub access_time: Vec<Nanos>,

    /// Accesses before figures are taken
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "0")]
    pub warmup: Vec<u64>,

    /// For what a policy leaves to chance
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "1")]
    pub seed: Vec<u64>,

    /// A machine that was measured: a file that `terrace calibrate --machine` wrote. Its tier and
    /// its fault cost are taken
    #[arg(long, value_name = "FILE", conflicts_with_all = ["memory", "memories", "fault_cost"])]
    pub machine: Option<PathBuf>,

    /// A TOML file of memories of your own
    #[arg(long, value_name = "FILE")]
    pub memories: Option<PathBuf>,
}

/// See [`Work`].
#[derive(Clone, Copy, ValueEnum)]
pub enum WorkName {
    Asynchronous,
    Synchronous,
}

/// See [`Inclusion`].
#[derive(Clone, Copy, ValueEnum)]
pub enum InclusionName {
    Inclusive,
    Exclusive,
}

/// See [`Shootdown`].
#[derive(Clone, Copy, ValueEnum)]
pub enum ShootdownName {
    Interrupt,
    Hardware,
    Free,
}

impl Machines {
    /// The memories that there are.
    pub fn catalogue(&self) -> Result<Catalogue> {
        match &self.memories {
            Some(path) => Catalogue::load(path),
            None => Ok(Catalogue::builtin()),
        }
    }

    /// All values of all settings.
    pub fn grid(&self) -> Result<Grid> {
        if self.threads.contains(&0) {
            return Err(Error::usage(
                "a program has at least one thread; --threads 0 is none",
            ));
        }
        let prefetch = Spec::parse_list(&self.prefetch, |name| {
            parse_prefetch(name, self.page_cluster).map_err(|e| e.to_string())
        });
        let work = |name: &WorkName| match name {
            WorkName::Asynchronous => Work::Asynchronous,
            WorkName::Synchronous => Work::Synchronous,
        };
        let inclusion = |name: &InclusionName| match name {
            InclusionName::Inclusive => Inclusion::Inclusive,
            InclusionName::Exclusive => Inclusion::Exclusive,
        };
        let shootdown = |name: &ShootdownName| match name {
            ShootdownName::Interrupt => Shootdown::Interrupt,
            ShootdownName::Hardware => Shootdown::Hardware,
            ShootdownName::Free => Shootdown::Free,
        };
        Ok(Grid {
            measured: self.machine.as_deref().map(Machine::load).transpose()?,
            dram: self.dram.clone(),
            memory: self.memory.clone(),
            read: self.read_latency.clone(),
            write: self.write_latency.clone(),
            channels: self.channels.clone(),
            devices: self.devices.clone(),
            order: self.order.clone(),
            capacity: self.tier_size.clone(),
            replacement: self.replacement.clone(),
            prefetch: prefetch.map_err(Error::usage)?,
            prefetch_cache: pages(&self.prefetch_cache),
            work: self.prefetch_work.iter().map(work).collect(),
            inclusion: self.inclusion.iter().map(inclusion).collect(),
            eviction_buffer: pages(&self.eviction_buffer),
            fault: self.fault_cost.clone(),
            shootdown: self.shootdown.iter().map(shootdown).collect(),
            threads: self.threads.clone(),
            instruction: self.instruction_time.clone(),
            access: self.access_time.clone(),
            warmup: self.warmup.clone(),
            seed: self.seed.clone(),
        })
    }
}

/// Numbers of pages.
fn pages(numbers: &[u32]) -> Vec<usize> {
    numbers.iter().map(|pages| *pages as usize).collect()
}

/// A title and a line for each name.
fn list<'a>(title: &str, entries: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    entries.fold(title.to_owned(), |text, (name, summary)| {
        text + &format!("\n- {name}: {summary}")
    })
}

fn memory_help() -> String {
    let catalogue = Catalogue::builtin();
    let known = catalogue
        .iter()
        .filter(|technology| technology.timing().is_ok());
    let entries = known.map(|technology| (&*technology.name, &*technology.summary));
    list("The memory behind DRAM, by its technology:", entries)
}

fn replacement_help() -> String {
    let entries = replacement::REGISTRY
        .iter()
        .map(|entry| (entry.name, entry.summary));
    list("What stays in DRAM:", entries)
}

fn prefetch_help() -> String {
    let kernel = [
        ("off", "nothing"),
        (
            "readahead",
            "the aligned block of the tier around each fault, as the kernel does",
        ),
    ];
    prefetch::help("What is fetched ahead:", &kernel)
}

fn fault_help() -> String {
    let text = list(
        "What a fault costs beyond the device:",
        FaultCost::PRESETS.into_iter(),
    );
    text + "\n- a number: so many cycles at 1.9 GHz for all of it (Oskin & Loh 2015, figure 2)"
}
