//! Arguments of `terrace sim llc`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Args;
use terrace_base::Result;
use terrace_base::count::parse_count;
use terrace_device::Catalogue;
use terrace_sim::llc::Grid;

use super::Results;
use super::machines::catalogue;
use super::reading::Places;
use super::settings::Settings;

/// Simulate last-level caches under policies, and the memory behind them
///
/// Cores with private caches run the programs whose accesses the traces hold, or a program that is
/// started here. Misses and write-backs of the private caches go to a last-level cache. Results are
/// its misses, the lines that it writes to memory, and their consequences for the memory behind it:
/// bandwidth, instructions per cycle, energy and lifetime. Private levels are simulated once for any
/// number of policies and sizes.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  terrace sim llc --policy lru,nhm:n=4,nhm:n=4,insert=lh bzip2.parquet
  terrace sim llc --policy lru,nhm --memory dram,pcm-row,dram/pcm-row -- ./program --its --options
  terrace sim llc --policy lru --llc 1M,2M,4M --ways 8,16 --warmup 10% mcf.parquet
  terrace sim llc --cores 8 --policy lru,nhm mcf.parquet gcc.parquet
  terrace sim llc --policy lru --epoch 25000 --json=- gcc.parquet | jq '.runs[0].epochs'

Requests of the private levels can be kept, and simulated without these levels later:
  terrace sim llc --requests llc.parquet -- ./program
  terrace sim llc --l1 off --l2 off --policy lru,nhm:n=4,nhm:n=8 llc.parquet

The rules: all levels are write-back and write-allocate, neither inclusive nor exclusive; private
levels are LRU; a dirty line that leaves one is written to the next and allocates there, a clean one
is dropped. Instructions are not fetched. Threads are assigned to cores by their numbers; several
traces run on separate cores, take turns by executed instructions, and restart until all have run
once. `misses` counts misses of loads and stores: with `writebacks` they are the lines that go over
the memory bus. All figures are simulated.

Exit code: the exit code of the program, if one was run; 2 for wrong usage; 1 where terrace failed.")]
pub struct Llc {
    /// Traces, one for each program, on separate cores
    #[arg(value_name = "TRACE")]
    pub traces: Vec<PathBuf>,

    #[command(flatten)]
    pub places: Places,

    /// Simulate only the first accesses of each trace
    ///
    /// A program is ended after its first accesses.
    #[arg(long, value_name = "N", value_parser = parse_count, hide_short_help = true)]
    pub limit: Option<u64>,

    #[command(flatten)]
    settings: Settings<Grid>,

    /// A TOML file of memories of your own
    #[arg(
        long,
        value_name = "FILE",
        help_heading = "Memory",
        hide_short_help = true
    )]
    pub memories: Option<PathBuf>,

    /// Write the requests of the private levels to the last level as a trace
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub requests: Option<PathBuf>,

    /// Write the requests of the last level to memory as a trace; needs a single policy and size
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub traffic: Option<PathBuf>,

    #[command(flatten)]
    pub results: Results,

    /// Run the program as this user [default: the caller]
    ///
    /// Under sudo the caller is the user who called sudo.
    #[arg(long, value_name = "NAME", requires = "program")]
    pub user: Option<String>,

    /// Print only errors: no progress bar
    ///
    /// If a program is run, no table is printed either.
    #[arg(short, long)]
    pub quiet: bool,

    /// A program and its arguments, behind --
    ///
    /// The program is recorded and simulated at the same time.
    #[arg(
        last = true,
        value_name = "PROGRAM",
        conflicts_with = "traces",
        required_unless_present = "traces"
    )]
    pub program: Vec<OsString>,
}

impl Llc {
    /// Returns the values of all settings.
    ///
    /// # Errors
    /// A usage error where a policy is not known.
    pub fn grid(&self) -> Result<Grid> {
        Grid::new(&self.settings.0, self.traffic.is_some())
    }

    /// Returns the memories that can be named.
    ///
    /// # Errors
    /// A failure where the file of --memories cannot be read.
    pub fn catalogue(&self) -> Result<Catalogue> {
        catalogue(self.memories.as_deref())
    }
}

/// Files with the options that name them.
type Files<'a> = Vec<(&'static str, &'a Path)>;

impl Llc {
    /// Returns the traces that are written.
    pub fn outputs(&self) -> Files<'_> {
        let files = [
            ("--requests", self.requests.as_deref()),
            ("--traffic", self.traffic.as_deref()),
        ];
        let named = |(option, path): (_, Option<_>)| path.map(|path| (option, path));
        files.into_iter().filter_map(named).collect()
    }

    /// Returns the files that are read.
    pub fn inputs(&self) -> Files<'_> {
        let traces = self.traces.iter().map(|path| ("TRACE", &**path));
        let memories = self.memories.iter();
        traces
            .chain(memories.map(|path| ("--memories", &**path)))
            .collect()
    }
}
