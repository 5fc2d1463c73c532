//! Arguments of `terrace sim mix`.

use std::path::PathBuf;

use clap::Args;
use terrace_base::Result;
use terrace_sim::mix::MixSimulation;

use super::level::{Common, Level};

/// Simulate tasks that take turns on cores with a shared last-level cache
///
/// Tasks that share a core throw each other's lines out of the last-level cache, and each begins
/// its turn with misses. Longer turns spread these misses over more time (Fedorov 2016, chapter 3).
/// Results are the run time of each task under each policy of turns, its misses, IPC and share of
/// the core, what was replaced while it was away (figure 3.2), and its misses per millisecond after
/// a switch (figure 3.3). Where options have several values, all combinations are simulated, and
/// compared with the first.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  terrace sim mix a.parquet b.parquet c.parquet d.parquet
  terrace sim mix --turn off,static:turn=15ms,static:turn=45ms,fill,refill --cores 2 *.parquet
  terrace sim mix --llc 4M,16M,32M --cores 2 --tasks-per-core 4 a.parquet b.parquet
  terrace sim mix --turn off,refill --partition off,equal,alone a.parquet b.parquet
  terrace sim mix --turn off,refill --policy lru,ari --json=- *.parquet | jq '.runs[].slowdown'

A second of several tasks is hundreds of millions of accesses. Traces of what the private levels let
through are ten times shorter, and hold what matters here:
  terrace record --filter l1l2 -o a.parquet -- ./a
  terrace sim mix --l1 off --l2 off a.parquet b.parquet
Private levels have then been each task's own, and nothing of them is lost at a switch.

The rules: the core whose time is behind goes on; of its tasks that one is next which has received
the least time. A task whose trace ends begins it again: give traces that are long enough to touch all
that the program works with. Tasks do not sleep, and share no memory. All figures are simulated; those
of a machine are measured by `terrace sched`.")]
#[command(mut_arg("limit", |limit| limit.help("Simulate only the first accesses of each trace, again and again")))]
pub struct Mix {
    /// Traces, a task each
    #[arg(value_name = "TRACE", required = true)]
    traces: Vec<PathBuf>,

    #[command(flatten)]
    pub common: Common<MixSimulation>,
}

impl Level for Mix {
    type Simulation = MixSimulation;

    fn traces(&self) -> &[PathBuf] {
        &self.traces
    }

    fn common(&self) -> &Common<MixSimulation> {
        &self.common
    }

    fn beside(&self) -> Result<()> {
        Ok(())
    }
}
