//! Options of `terrace attach`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use terrace_base::count::whole;
use terrace_live::group::target::Target;
use terrace_live::run::attach::Request;
use terrace_policy::prefetch::Spec;
use terrace_results::lifetime::Endurance;

use super::run::live_predictor;
use super::{Meanwhile, Results, time};

/// Fetch ahead for a program that runs already
///
/// Its memory stays within the limits that it has, and swapped where the machine swaps. terrace
/// watches its faults from another core, predicts the next pages and has the kernel fetch them
/// ahead. Nothing is moved; when this ends, by Ctrl-C or with --for, the program runs on as before.
/// It sees the limits that it has: only programs that `terrace run` starts see memory as without
/// them.
#[derive(Args)]
#[command(
    override_usage = "terrace attach [OPTIONS] <PID|--cgroup PATH|--unit NAME|--container ID>"
)]
#[command(after_long_help = "\
Examples:
  terrace attach 1234
  terrace attach --unit postgresql --for 10m --json cost.json
  terrace attach --unit redis --for 1m --endurance 600TBW --latency
  terrace attach --container 4969a18d --prefetch stream
  terrace attach --cgroup /sys/fs/cgroup/system.slice/job.service

Exit code: 0 when the program or the time has ended, or a signal came; 2 for
wrong usage; 1 where terrace failed.
Needs root, or the capabilities that `terrace doctor` names.")]
pub struct Attach {
    #[command(flatten)]
    target: Named,

    /// Predictor of the pages to fetch ahead
    ///
    /// `terrace list predictors` lists predictors. Settings follow the name, as stream:depth=64;
    /// `terrace explain stream` lists them.
    #[arg(long, value_name = "NAME", value_parser = live_predictor, default_value = "auto")]
    prefetch: Spec,

    /// End after this time: 30s, 10m, 2h
    #[arg(long = "for", value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    time: Option<Duration>,

    /// Endurance of the device, as 600TBW
    ///
    /// The table then shows the lifetime of the device if the machine goes on writing to its swap
    /// areas at the mean rate of the time attached. What the device writes by itself (write
    /// amplification) is not in it.
    #[arg(long, value_name = "TBW", value_parser = Endurance::parse, allow_hyphen_values = true)]
    pub endurance: Option<Endurance>,

    #[command(flatten)]
    pub meanwhile: Meanwhile,

    #[command(flatten)]
    pub results: Results,

    /// Print only errors and the table
    #[arg(short, long)]
    pub quiet: bool,
}

/// The program, by one of its names.
#[derive(Args)]
#[group(required = true, multiple = false)]
struct Named {
    /// Process, with all that it starts
    #[arg(value_name = "PID", value_parser = whole(1..=i32::MAX as u32))]
    pid: Option<u32>,

    /// Processes of a cgroup: a directory, or as in /proc/PID/cgroup
    #[arg(long, value_name = "PATH")]
    cgroup: Option<PathBuf>,

    /// Processes of a systemd unit
    #[arg(long, value_name = "NAME")]
    unit: Option<String>,

    /// Processes of a container, by the beginning of its ID, or its name
    #[arg(long, value_name = "ID")]
    container: Option<String>,
}

impl Attach {
    /// Returns what was asked for.
    pub fn request(&self) -> Request {
        let named = &self.target;
        let pid = named.pid.map(Target::Process);
        let cgroup = named.cgroup.clone().map(Target::Cgroup);
        let unit = named.unit.clone().map(Target::Unit);
        let container = named.container.clone().map(Target::Container);
        let target = pid.or(cgroup).or(unit).or(container);
        Request {
            target: target.expect("the parser requires one"),
            prefetch: self.prefetch.clone(),
            time: self.time,
            waits: self.meanwhile.latency,
            every: self.meanwhile.interval,
        }
    }
}
