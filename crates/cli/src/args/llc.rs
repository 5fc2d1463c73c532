//! Arguments of `terrace sim llc`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use terrace_base::Result;
use terrace_base::apart::Named;
use terrace_sim::llc::{LlcSimulation, Outputs};

use super::level::{Common, Level};

/// Simulate last-level caches under policies, and the memory behind them
///
/// Cores with private caches run the programs whose accesses the traces hold, or a program that is
/// started here. Misses and write-backs of the private caches go to a last-level cache. Results are
/// its misses, the lines that it writes to memory, and their consequences for the memory behind it:
/// bandwidth, instructions per cycle, energy and lifetime. Private levels are simulated once for
/// any number of policies and sizes.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  terrace sim llc --policy lru,nhm:n=4,nhm:n=4,insert=lh bzip2.parquet
  terrace sim llc --policy lru,nhm --memory dram,pcm-row,dram/pcm-row -- ./program --its --options
  terrace sim llc --policy lru --llc 1M,2M,4M --ways 8,16 --warmup 10% mcf.parquet
  terrace sim llc --cores 8 --policy lru,nhm mcf.parquet gcc.parquet
  terrace sim llc --policy lru,drrip,hawkeye,mockingjay --prefetch stride mcf.parquet
  terrace sim llc --policy lru --epoch 25000 --json=- gcc.parquet | jq '.runs[0].epochs'

Requests of the private levels can be kept, and simulated without these levels later:
  terrace sim llc --requests llc.parquet -- ./program
  terrace sim llc --l1 off --l2 off --policy lru,nhm:n=4,nhm:n=8 llc.parquet

The rules: all levels are write-back and write-allocate, neither inclusive nor exclusive without
--inclusion; private levels are LRU; a dirty line that leaves one is written to the next and
allocates there, a clean one is dropped, unless the last level is exclusive. Instructions are not
fetched. Threads are assigned to cores by their numbers; several traces run on separate cores, take
turns by executed instructions, and restart until all have run once. `misses` counts misses of loads
and stores: with those of `prefetches` and with `writebacks` they are the lines that go over the
memory bus. All figures are simulated.

Exit code: the exit code of the program, if one was run; 2 for wrong usage; 1 where terrace failed.")]
#[command(mut_arg("limit", |limit| limit.long_help(
    "Simulate only the first accesses of each trace\n\nA program is ended after its first accesses."
)))]
#[command(mut_arg("quiet", |quiet| quiet.help("Print only errors: no progress bar").long_help(
    "Print only errors: no progress bar\n\nIf a program is run, no table is printed either."
)))]
pub struct Llc {
    /// Traces, one for each program, on separate cores
    #[arg(value_name = "TRACE")]
    traces: Vec<PathBuf>,

    #[command(flatten)]
    pub common: Common<LlcSimulation>,

    /// Write the requests of the private levels to the last level as a trace
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    requests: Option<PathBuf>,

    /// Write the requests of the last level to memory as a trace; needs a single policy and size
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    traffic: Option<PathBuf>,

    /// Run the program as this user [default: the caller]
    ///
    /// Under sudo the caller is the user who called sudo.
    #[arg(long, value_name = "NAME", requires = "program")]
    pub user: Option<String>,

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

impl Level for Llc {
    type Simulation = LlcSimulation;

    fn traces(&self) -> &[PathBuf] {
        &self.traces
    }

    fn common(&self) -> &Common<LlcSimulation> {
        &self.common
    }

    fn beside(&self) -> Result<Outputs> {
        Ok(Outputs {
            requests: self.requests.clone(),
            traffic: self.traffic.clone(),
        })
    }

    fn others_written(&self) -> Vec<Named<'_>> {
        let files = [("--requests", &self.requests), ("--traffic", &self.traffic)];
        let named = |(option, path)| Some((option, Option::as_deref(path)?));
        files.into_iter().filter_map(named).collect()
    }
}
