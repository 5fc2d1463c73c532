//! Options of `terrace trace`.

use std::path::PathBuf;

use super::reading::{Reading, Table};
use super::results::STANDARD;
use super::{Results, format};
use clap::{Args, Subcommand};
use terrace_base::{Error, Result};
use terrace_sim::pages::PageSimulation;
use terrace_trace::objects::Extent;
use terrace_trace::{Format, Level, Selection, Source, generate};

use terrace_base::count::{parse_count, whole};

/// Inspect, convert and generate traces of memory accesses
#[derive(Args)]
pub struct Trace {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    Info(Info),
    Convert(Convert),
    Gen(Gen),
}

/// Show accesses, footprint, threads and reuse distances of a trace
///
/// The trace is read once. The reuse distance of a touch is the number of other pages touched since
/// the last touch of the same page; an LRU memory of n pages hits exactly the touches with a
/// distance below n. From that follow the misses of an LRU DRAM with a share of the footprint.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  terrace trace info gcc.parquet
  terrace trace info --json=- gcc.parquet | jq .lru
  terrace trace info --format champsim gcc.bin")]
pub struct Info {
    /// Trace
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    #[command(flatten)]
    pub reading: Reading<PageSimulation>,

    #[command(flatten)]
    pub results: Results,

    /// Show no progress bar
    #[arg(short, long)]
    pub quiet: bool,
}

/// Write a trace in another format, a part of it, or a coarser view
///
/// At the level of lines or pages, consecutive accesses of one thread to the same line of 64 bytes
/// or page of 4 KiB become one row, which is a write if any of them was. The trace is smaller and
/// serves simulations at that level.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  terrace trace convert gcc.champsimtrace.xz gcc.parquet
  terrace trace convert --level pages gcc.parquet gcc-pages.parquet
  terrace trace convert --thread 0 --limit 1M --to csv gcc.parquet head.txt

An existing file OUT is replaced when the new trace is complete.")]
pub struct Convert {
    /// Trace to read
    #[arg(value_name = "IN")]
    pub input: PathBuf,

    /// Trace to write
    #[arg(value_name = "OUT")]
    pub output: PathBuf,

    /// Format of IN, if neither content nor name tells
    #[arg(long, value_name = "FORMAT", value_parser = format::READ)]
    pub from: Option<Format>,

    #[command(flatten)]
    pub table: Table,

    /// Take addresses for the names of objects; each gets pages by its size
    #[arg(long)]
    pub keys: bool,

    /// Format of OUT, if its name does not tell
    #[arg(long, value_name = "FORMAT", value_parser = format::WRITTEN)]
    pub to: Option<Format>,

    /// Keep only accesses of thread N, as the trace numbers threads
    #[arg(long, value_name = "N", value_parser = whole(0..=u16::MAX))]
    pub thread: Option<u16>,

    /// Level of a row: accesses, lines or pages
    ///
    /// A row stands for an access, or for a run of accesses to one line or page.
    #[arg(long, value_name = "LEVEL", default_value = "accesses",
          value_parser = parse_level)]
    pub level: Level,

    /// Skip the first N accesses of IN: 1000000, 1M
    ///
    /// These may be the initialisation of a program.
    #[arg(long, value_name = "N", value_parser = parse_count,
          allow_hyphen_values = true)]
    pub skip: Option<u64>,

    /// Stop after N rows: 1000000, 1M
    #[arg(long, value_name = "N", value_parser = parse_count,
          allow_hyphen_values = true)]
    pub limit: Option<u64>,

    /// Write what was counted as JSON to FILE; without FILE, print it
    ///
    /// What was read otherwise than it stands in IN, and what the format of OUT has no room for.
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = STANDARD,
          hide_short_help = true)]
    pub json: Option<PathBuf>,

    /// Show no progress bar
    #[arg(short, long)]
    pub quiet: bool,
}

impl Convert {
    /// Returns where what was counted goes.
    pub fn results(&self) -> Results {
        Results {
            json: self.json.clone(),
            ..Results::default()
        }
    }

    pub fn reading(&self) -> terrace_trace::Reading {
        terrace_trace::Reading {
            format: self.from,
            objects: self.keys.then_some(Extent::Sized),
            layout: self.table.columns.clone(),
            ..terrace_trace::Reading::default()
        }
    }

    pub fn selection(&self) -> Selection {
        Selection {
            skip: self.skip.unwrap_or(0),
            thread: self.thread,
            level: self.level,
            limit: self.limit,
        }
    }
}

/// Generate a trace of a well-known access pattern
///
/// Each kind is the loop of a real kernel, which records its loads and stores, counts instructions
/// and has a few instruction addresses. The same options and seed give the same trace on every
/// machine.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  terrace trace gen zipf --exponent 0.9 --footprint 4G --accesses 20M -o zipf.parquet
  terrace trace gen matmul --footprint 24M --block 64 -o matmul.parquet
  terrace trace gen bfs --footprint 256M --seed 7 -o bfs.parquet")]
pub struct Gen {
    #[command(subcommand)]
    pub kernel: Kernel,
}

/// Makes the subcommands of `gen`, one a kernel.
macro_rules! subcommands {
    ($($kernel:ident),*) => {
        #[derive(Subcommand)]
        pub enum Kernel {
            $($kernel(Options<generate::$kernel>),)*
        }

        impl Kernel {
            pub fn common(&self) -> &Common {
                match self {
                    $(Self::$kernel(options) => &options.common,)*
                }
            }

            pub fn source(&self) -> Result<Box<dyn Source>> {
                match self {
                    $(Self::$kernel(options) => options.kernel.source(&options.common.settings),)*
                }
            }
        }
    };
}

terrace_trace::kernels!(subcommands);

// Its documentation would be the help of every kernel.
#[derive(Args)]
pub struct Options<K: Args> {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    kernel: K,
}

/// Options of every kernel.
#[derive(Args)]
pub struct Common {
    /// Trace to write; a file with this name is replaced when the trace is complete
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,

    /// Format of the trace, if its name does not tell
    #[arg(long, value_name = "FORMAT", value_parser = format::WRITTEN)]
    pub to: Option<Format>,

    #[command(flatten)]
    pub settings: generate::KernelSettings,

    /// Show no progress bar
    #[arg(short, long)]
    pub quiet: bool,
}

pub fn parse_level(name: &str) -> Result<Level> {
    let level = Level::ALL.into_iter().find(|level| level.name() == name);
    level.ok_or_else(|| {
        let names = Level::ALL.map(Level::name).join(", ");
        Error::usage(format!("`{name}` is no level; there are {names}"))
    })
}
