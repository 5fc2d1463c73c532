//! Arguments of `terrace place`.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use terrace_base::apart::Named;
use terrace_base::count::parse_count;
use terrace_base::{Bytes, Result};
use terrace_device::Catalogue;
use terrace_policy::llc::Spec;
use terrace_sim::llc::{Llc, LlcMachine, Size};
use terrace_sim::place::{Amount, Memories, Memory, PlaceMachine, Recording};

use super::Results;
use super::settings::catalogue;

/// Find out which allocations of a program belong in fast memory
///
/// The trace says what the program allocated, where in its source, and how it used it. Caches are
/// simulated, and for each allocation site what the program gains if its objects are in a small
/// fast memory and the rest in a slow one. Results are the sites by their gain, the times with all
/// memory slow, with this placement and with all memory fast, and a placement file.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  terrace record -o p.parquet --allocations -- ./program     # compiled with -g, for names
  terrace place p.parquet --fast 20%
  terrace place p.parquet --fast 64M -o program.toml
  terrace place p.parquet --memory cxl --fast-memory dram --memories mine.toml
  terrace place other-input.parquet --try program.toml       # does it hold for another input?

How it is searched (Oskin & Loh 2015, III): all sites are in slow memory at first; each is tried in fast memory, and
the one that gains most for its size stays there; repeated until nothing that fits gains. Where another search finds
a better placement, that is shown and written (--search climb keeps to the paper's). The paper runs the program
for each trial (--search runs simulates it anew each time); here the requests to memory are counted once, by the
sites that they go to together, and a trial looks only at those that change. The two find the same.

A site is the calls that lead to an allocation. It needs the most bytes that its objects had at a time. Memory of no
recorded object (data, stacks, small objects) stays slow in any placement. Requests to memory that follow each other
closely overlap, and the memory that takes longer for its part is waited for. All threads share a core. All times are
simulated.

Exit code: 0; 2 for wrong usage, such as a placement file of another program; 1 where terrace failed.")]
pub struct Place {
    /// The trace, of terrace record --allocations
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,

    /// Fast memory: a share of the program's memory, or a size
    #[arg(long, value_name = "AMOUNT", default_value = "20%", value_parser = Amount::parse, allow_hyphen_values = true)]
    pub fast: Amount,

    /// The slow memory
    #[arg(long, value_name = "NAME", default_value = "dram")]
    pub memory: String,

    /// The fast memory
    #[arg(long, value_name = "NAME", default_value = "stacked-dram")]
    pub fast_memory: String,

    /// A TOML file of memories of your own
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub memories: Option<PathBuf>,

    /// Size of the last-level cache, of 16 ways, LRU
    #[arg(long, value_name = "SIZE", default_value = "2M", value_parser = Bytes::parse)]
    pub llc: Bytes,

    /// How the placement is searched
    #[arg(long, value_enum, default_value_t)]
    pub search: Search,

    /// Write the placement to FILE, as TOML
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Also try the placement of FILE on this trace
    #[arg(long = "try", value_name = "FILE")]
    pub tried: Option<PathBuf>,

    /// Simulate only the first accesses of the trace
    #[arg(long, value_name = "N", value_parser = parse_count, hide_short_help = true)]
    pub limit: Option<u64>,

    #[command(flatten)]
    pub results: Results,

    /// Print only errors and results: no progress bar
    #[arg(short, long)]
    pub quiet: bool,
}

/// How a placement is searched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Search {
    /// The best that climb, knapsack and, of 20 sites at most, exhaustive find
    #[default]
    Best,
    /// Hill climbing, by what each trial changes
    Climb,
    /// Hill climbing, by a simulation of the program for each trial (slow)
    Runs,
    /// The largest sum of the gains of each site alone
    Knapsack,
    /// All placements, of 20 sites at most
    Exhaustive,
}

impl Place {
    /// Returns the files that are read, by the options that name them.
    pub fn inputs(&self) -> Vec<Named<'_>> {
        let files = [("--memories", &self.memories), ("--try", &self.tried)];
        let given = files.into_iter();
        let given = given.filter_map(|(option, path)| Some((option, path.as_deref()?)));
        [("TRACE", &*self.trace)].into_iter().chain(given).collect()
    }

    /// Returns the files that are written beside results.
    pub fn outputs(&self) -> Vec<Named<'_>> {
        let output = self.output.as_deref().map(|path: &Path| ("--output", path));
        output.into_iter().collect()
    }

    /// Returns the trace.
    pub fn recording(&self) -> Recording {
        Recording {
            path: self.trace.clone(),
            limit: self.limit,
        }
    }

    /// Returns the caches and memories.
    ///
    /// # Errors
    /// A usage error where a memory is not known, not known well enough, or the cache is none.
    pub fn machine(&self) -> Result<PlaceMachine> {
        let catalogue = catalogue(self.memories.as_deref())?;
        let lru = Spec::parse("lru").map_err(terrace_base::Error::usage)?;
        let mut caches = LlcMachine::table_2_1(1, Vec::new());
        caches.llcs = vec![Llc {
            size: Size {
                bytes: self.llc,
                ways: 16,
            },
            policy: lru,
        }];
        caches.check()?;
        Ok(PlaceMachine {
            caches,
            memories: Memories {
                fast: memory(&catalogue, &self.fast_memory)?,
                slow: memory(&catalogue, &self.memory)?,
            },
        })
    }
}

fn memory(catalogue: &Catalogue, name: &str) -> Result<Memory> {
    let known = catalogue.get_for(name, |technology| Memory::of(technology).is_ok())?;
    Memory::of(known)
}
