//! Options of what is measured, and told, while a program runs.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use terrace_live::run::interval::SHORTEST;

use super::time;

/// What is measured, and told, while a program runs.
#[derive(Args, Clone, Debug, Default)]
pub struct Meanwhile {
    /// Measure how long the program waits at its faults
    ///
    /// Median, 99th percentile and worst, over the run and over time: of major faults, and of minor
    /// ones that took 20 us or longer, because their page was on its way or another had to leave
    /// first. With --after, of those that began after that. It takes the program some 1.2 us a
    /// fault, first touches included, in all ways of a comparison alike. Where faults come faster
    /// than they are read, as on busy processors, the share that is missing is said, and what
    /// misses some is marked.
    #[arg(long)]
    pub latency: bool,

    /// Write figures each TIME while the program runs: 10s
    ///
    /// A line of JSON an interval, and one for the rest at the end: memory, major faults, the
    /// tier's traffic, prefetches, and with --latency waits (`whole` is false if some were lost).
    /// The shortest interval is 0.1s. Lines go to standard error, or to the file of --interval-to.
    #[arg(long, value_name = "TIME", value_parser = interval, allow_hyphen_values = true)]
    pub interval: Option<Duration>,

    /// File of the lines of --interval; - for standard output
    #[arg(
        long,
        value_name = "FILE",
        requires = "interval",
        hide_short_help = true
    )]
    pub interval_to: Option<PathBuf>,
}

/// Parses the length of an interval.
fn interval(text: &str) -> Result<Duration, String> {
    match time(text)? {
        interval if interval < SHORTEST => Err(format!(
            "`{text}` is too short: the shortest interval is {} s, because figures are read twenty \
             times a second",
            SHORTEST.as_secs_f64()
        )),
        interval => Ok(interval),
    }
}
