//! Arguments of `terrace sim pages`.

use std::path::PathBuf;

use clap::Args;
use terrace_base::apart::Named;
use terrace_base::count::whole;
use terrace_base::{Output, Result};
use terrace_results::timeline;
use terrace_sim::pages::{Beside, PageSimulation, Watched};

use super::level::{Common, Level, Write};
use super::measured::Measured;

/// Simulate machines with DRAM and a slower memory at the level of pages
///
/// The programs whose accesses the traces hold run on a machine of their own, all together, in
/// virtual time: threads touch pages, fault, and wait for the device. Reports misses, bytes
/// written, slow-down and lifetime. Where options have several values, all combinations are
/// simulated in one pass. With --write, the contents of pages that leave DRAM are given to write
/// schemes: how much each would write, and which lines that would wear out.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  terrace sim pages --dram 25% gcc.parquet
  terrace sim pages --dram 12.5%,25%,50% --memory pcm,flash gcc.parquet
  terrace sim pages --dram 100000p --replacement fifo,lru,arc,s3fifo,belady zipf.parquet
  terrace sim pages --dram 25% --write page,inclusive,mfwr,dcw,dcw:pin=off contents.parquet
  terrace sim pages --dram 64M --replacement fifo --eviction-buffer 0 --unwritten zeros --write mfwr large.parquet
  terrace sim pages --dram 25% --fault-cost 700,1400,2800,13000,55000 gcc.parquet --html costs.html

All figures are simulated. `terrace record` makes traces of programs, `terrace trace gen` of
well-known patterns. The machine of the fifth example is that of `terrace extend --dram 64M`, its
trace one of `terrace record --extended --contents`.")]
#[command(mut_arg("limit", |limit| limit.hide_short_help(false)))]
pub struct Pages {
    /// Traces, a program each; several run on one machine, interleaved by their virtual time
    #[arg(value_name = "TRACE", required = true)]
    traces: Vec<PathBuf>,

    #[command(flatten)]
    pub common: Common<PageSimulation>,

    /// How prefetching went, in epochs, as CSV
    ///
    /// How many pages were fetched, used, late and wasted, and their accuracy, a row an epoch and
    /// machine.
    #[arg(long, value_name = "FILE")]
    timeline: Option<PathBuf>,

    /// Pages fetched ahead in an epoch of --timeline
    #[arg(long, value_name = "N", default_value_t = 1000, requires = "timeline", hide_short_help = true,
          value_parser = whole(1..=u64::MAX))]
    timeline_epoch: u64,

    #[command(flatten)]
    measured: Measured,
}

impl Level for Pages {
    type Simulation = PageSimulation;

    const HEAT: bool = true;

    fn traces(&self) -> &[PathBuf] {
        &self.traces
    }

    fn common(&self) -> &Common<PageSimulation> {
        &self.common
    }

    fn beside(&self) -> Result<Beside> {
        Ok(Beside {
            machine: self.measured.machine()?,
            epoch: self.timeline.as_ref().map(|_| self.timeline_epoch),
        })
    }

    fn others_read(&self) -> Vec<Named<'_>> {
        self.measured.inputs()
    }

    fn others_written(&self) -> Vec<Named<'_>> {
        let timeline = self.timeline.iter();
        timeline.map(|path| ("--timeline", &**path)).collect()
    }

    fn open(&self) -> Result<Write<Vec<Watched>>> {
        let output = self.timeline.as_deref().map(Output::create).transpose()?;
        Ok(Box::new(|machines| match output {
            Some(output) => output.finish(timeline::csv(machines)?.as_ref()),
            None => Ok(()),
        }))
    }
}
