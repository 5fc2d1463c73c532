//! Options of `terrace size`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args};
use terrace_base::count::whole;
use terrace_base::{Error, Result};
use terrace_live::control::size::{Request, Subject};
use terrace_live::group::target::Target;
use terrace_live::program::Invocation;
use terrace_policy::control::Spec;
use terrace_results::lifetime::Endurance;

use super::{AsUser, Results, Tier, time};

/// Find how much DRAM a program or service needs
///
/// Memory that it does not use leaves its DRAM step by step, while its stalls are watched; when it
/// hurts, what left last comes back at once. So it shows, under its own load, how slow it is at
/// each size: a table from the most DRAM to the least, and the least with which it loses at most
/// --slowdown. No limit is set, and what the program touches comes back by itself. A service that
/// runs is never ended: with Ctrl-C or after --for it has back what left. A program behind -- is
/// started in a group of its own, and asked to end after --for.
#[derive(Args)]
#[command(
    override_usage = "terrace size [OPTIONS] <--unit NAME|--cgroup PATH|--container ID|--pid N>\n       \
                      terrace size [OPTIONS] -- <PROGRAM>..."
)]
#[command(group = ArgGroup::new("subject").required(true).multiple(false)
    .args(["unit", "cgroup", "container", "pid", "program"]))]
#[command(after_long_help = "\
Examples:
  terrace size --unit postgresql --for 1h
  terrace size --container 4969a18d --slowdown 2% --json size.json
  terrace size --pid 1234 --for 10m --endurance 600TBW
  terrace size --tier zram -- ./program

The longer it takes the better: a program that uses some memory once an hour
shows that after an hour. Memory that several processes share, or that is
locked, stays, and is named. A service needs a swap area on the machine.

Exit code: 0 when the service or the time has ended, or a signal came; that of
a program behind --; 2 for wrong usage; 1 where terrace failed.
Needs root, or the capabilities that `terrace doctor` names.")]
pub struct Size {
    /// Processes of a systemd unit
    #[arg(long, value_name = "NAME")]
    unit: Option<String>,

    /// Processes of a cgroup: a directory, or as in /proc/PID/cgroup
    #[arg(long, value_name = "PATH")]
    cgroup: Option<PathBuf>,

    /// Processes of a container, by the beginning of its ID, or its name
    #[arg(long, value_name = "ID")]
    container: Option<String>,

    /// Process, with all that it starts
    #[arg(long, value_name = "PID", value_parser = whole(1..=i32::MAX as u32))]
    pid: Option<u32>,

    /// Share of its time that it may stand still for memory
    #[arg(long, value_name = "SHARE", default_value = "5%", value_parser = share,
          allow_hyphen_values = true)]
    pub slowdown: f64,

    /// End after this time: 30s, 10m, 2h
    #[arg(long = "for", value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    time: Option<Duration>,

    /// Control policy: slowdown, senpai or fixed [default: slowdown with --slowdown as its goal]
    ///
    /// Settings follow the name, as fixed:dram=4G. With another policy --slowdown is only what the
    /// sizes are judged by.
    #[arg(long, value_name = "NAME", value_parser = Spec::parse, hide_short_help = true)]
    control: Option<Spec>,

    /// Measure waits at faults also where the kernel tells stalls
    ///
    /// Their median and 99th percentile. It takes the program some 1.2 us a fault. Without the
    /// pressure stall information of a group (cgroup version 2) they are always measured, because
    /// stalls are known from them.
    #[arg(long, hide_short_help = true)]
    latency: bool,

    /// Endurance of the device, as 600TBW
    ///
    /// The table then has the lifetime of the device at the rate of writing of each size. What the
    /// device writes by itself (write amplification) is not in it.
    #[arg(long, value_name = "TBW", value_parser = Endurance::parse, allow_hyphen_values = true,
          hide_short_help = true)]
    pub endurance: Option<Endurance>,

    /// Recordings of it, whose simulated curve stands beside the measured one
    ///
    /// Of `terrace record`, a program each. They are simulated at the end, at the sizes that were
    /// held.
    #[arg(long, value_name = "TRACE", num_args = 1.., hide_short_help = true)]
    pub trace: Vec<PathBuf>,

    /// A measured machine for the simulation, of `terrace calibrate --machine`
    #[arg(long, value_name = "FILE", requires = "trace", hide_short_help = true)]
    pub machine: Option<PathBuf>,

    #[command(flatten)]
    pub tier: Tier,

    #[command(flatten)]
    pub user: AsUser,

    #[command(flatten)]
    pub results: Results,

    /// Print only errors and the table
    #[arg(short, long)]
    pub quiet: bool,

    /// Program and its arguments, behind --
    #[arg(last = true, value_name = "PROGRAM")]
    pub program: Vec<OsString>,
}

impl Size {
    /// Returns what was asked for.
    ///
    /// # Errors
    /// A usage error if an option is of programs that are started, and a service is named, or if
    /// there is no such user.
    pub fn request(self) -> Result<Request> {
        let goal = self.slowdown;
        let goal = Spec::parse(&format!("slowdown:goal={goal}")).map_err(Error::usage);
        let control = self.control.map_or(goal, Ok)?;
        let pid = self.pid.map(Target::Process);
        let cgroup = self.cgroup.map(Target::Cgroup);
        let unit = self.unit.map(Target::Unit);
        let container = self.container.map(Target::Container);
        let subject = match pid.or(cgroup).or(unit).or(container) {
            Some(_) if self.tier.is_given() || self.user.is_given() => {
                return Err(Error::usage(
                    "‘tier’, ‘tier-size’, ‘force’ and ‘user’ are for a program behind --; a service has the \
                     machine's swap areas and its own user",
                ));
            }
            Some(target) => Subject::Service(target),
            None => {
                let invocation = Invocation {
                    user: self.user.chosen()?,
                    huge_pages: true,
                    ..Invocation::from(self.program)
                };
                Subject::Program(Box::new(invocation), self.tier.choice())
            }
        };
        Ok(Request {
            subject,
            control,
            time: self.time,
            waits: self.latency,
        })
    }
}

/// Parses a share of time: `5%` or `0.05`.
fn share(text: &str) -> std::result::Result<f64, String> {
    let number = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse().map(|percent: f64| percent / 100.0),
        None => text.parse(),
    };
    let number = number.ok().filter(|share| (0.0001..=1.0).contains(share));
    number.ok_or_else(|| {
        format!("`{text}` is no share of time; write it as 5%, between 0.01% and 100%")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_as_people_write_them() {
        assert_eq!(share("5%"), Ok(0.05));
        assert_eq!(share("0.02"), Ok(0.02));
        for text in ["", "%", "0", "0%", "-1%", "101%", "5", "nan", "five"] {
            let error = share(text).unwrap_err();
            assert!(error.contains("is no share of time"), "{text}: {error}");
        }
    }
}
