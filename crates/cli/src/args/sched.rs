//! Options of `terrace sched`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use terrace_base::count::whole;
use terrace_base::{Bytes, Error, Result};
use terrace_live::group::target::Target;
use terrace_live::program::Invocation;
use terrace_live::sched::run::Mix;
use terrace_live::sched::{Wanted, counters, mix};
use terrace_live::system::cpus::Cpus;
use terrace_policy::registry::split_list;
use terrace_policy::sched::Spec;

use super::time;
use super::{AsUser, Results};

/// Give programs that share a CPU longer turns
///
/// Programs that take turns on a CPU throw each other's data out of the last-level cache, and each
/// turn begins with the misses that bring them back. The kernel's turns are 3 or 4 ms; longer ones
/// have fewer of these misses. Programs that sleep are left alone, and get the CPU at once when
/// they wake up. Each program's share of CPU time stays as it is. All changes are undone at the
/// end.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  terrace sched run --cpus 0 -- ./solver a -- ./solver b -- ./solver c
  terrace sched run --compare --repeat 3 --file mix.toml
  terrace sched attach 1234 1240 1301 --for 10m
  terrace sched profile -- ./solver a

It helps where each program's data fit into the last-level cache alone, and those of all that share a CPU do not:
some MiB each. It changes little where they are far larger than the cache, or fit together.")]
pub struct Sched {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    Run(RunMix),
    Attach(AttachMix),
    Profile(Profile),
}

/// Run programs together, with longer turns
///
/// They start at once, each behind a -- of its own, and it ends with the last of them.
#[derive(Args)]
#[command(override_usage = "terrace sched run [OPTIONS] <--file MIX | -- PROGRAM [-- PROGRAM]...>")]
#[command(after_long_help = "\
Examples:
  terrace sched run --cpus 0 -- ./solver a -- ./solver b
  terrace sched run --slice 45ms --cpus 0-1 --file mix.toml
  terrace sched run --compare --slice refill,15ms,70ms --file mix.toml

Exit code: that of the first program that failed, or 0; 2 for wrong usage; 1 where terrace failed.
Rotation needs CAP_SYS_NICE, or a limit of nice values (ulimit -e) of 20 or more; slices need Linux 6.12.")]
pub struct RunMix {
    #[command(flatten)]
    pub turns: Turns,

    /// A TOML file that names the programs
    ///
    /// Each is a `[[program]]` with its command, and if wanted its directory and count: how many of
    /// it.
    #[arg(long, value_name = "MIX", conflicts_with = "programs")]
    pub file: Option<PathBuf>,

    /// Run them under the kernel alone and under each policy, and compare
    ///
    /// The ways take turns. Without --slice policies are refill, static and fill.
    #[arg(long)]
    pub compare: bool,

    /// Repetitions of each way; results are medians
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole(1..=1000_u32))]
    pub repeat: u32,

    #[command(flatten)]
    pub results: Results,

    #[command(flatten)]
    pub user: AsUser,

    /// Print only errors: no status, no notices, no table
    #[arg(short, long)]
    pub quiet: bool,

    /// Programs and their arguments, each behind --
    #[arg(last = true, value_name = "PROGRAM", required_unless_present = "file")]
    pub programs: Vec<OsString>,
}

/// Give programs that run already longer turns
///
/// Their threads and what they start are taken in. When this ends, they are scheduled as they were
/// before.
#[derive(Args)]
#[command(override_usage = "terrace sched attach [OPTIONS] <PID...|--cgroup PATH>")]
#[command(after_long_help = "\
Examples:
  terrace sched attach 1234 1240 1301
  terrace sched attach --cgroup batch.slice --for 1h --json turns.json

Processes of different sessions or CPU cgroups are groups of their own to the kernel's scheduler, which compares
policies only within a group; there slices are used.
Exit code: 0 when the programs or the time have ended, or a signal came; 2 for wrong usage; 1 where terrace failed.")]
pub struct AttachMix {
    /// Processes, with all that they start
    #[arg(value_name = "PID", value_parser = whole(1..=i32::MAX as u32), required_unless_present = "cgroup")]
    pub pids: Vec<u32>,

    /// Processes of a cgroup: a directory, or as in /proc/PID/cgroup
    #[arg(long, value_name = "PATH", conflicts_with = "pids")]
    pub cgroup: Option<PathBuf>,

    #[command(flatten)]
    pub turns: Turns,

    /// End after this time: 30s, 10m, 2h
    #[arg(long = "for", value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    pub time: Option<Duration>,

    #[command(flatten)]
    pub results: Results,

    /// Print only errors and the table
    #[arg(short, long)]
    pub quiet: bool,
}

/// Measure what a program loses by sharing the cache
///
/// The program runs alone, then beside a neighbour that sweeps through memory on another CPU, and
/// then beside one on the same CPU. Before, the last-level cache is measured: a virtual machine may
/// have far less of it than the processor states.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  terrace sched profile -- ./solver a
  terrace sched profile --json=- -- ./solver a | jq .cache")]
pub struct Profile {
    #[command(flatten)]
    pub results: Results,

    #[command(flatten)]
    pub user: AsUser,

    /// Print only errors and the table
    #[arg(short, long)]
    pub quiet: bool,

    /// Program and its arguments, behind --; without it, the cache alone is measured
    #[arg(last = true, value_name = "PROGRAM")]
    pub program: Vec<OsString>,
}

/// How turns are made.
#[derive(Args)]
pub struct Turns {
    /// Length of turns: auto, a time, or a policy
    ///
    /// `auto` is refill where the processor counts misses, and static elsewhere: each turn 30 ms,
    /// as a time says. refill learns for how long a program's turn has to last; fill ends a turn
    /// when the program has filled a share of the cache; off leaves turns to the kernel. Settings
    /// follow the name, as refill:most=60ms.
    #[arg(long, value_name = "POLICY", value_parser = Slice::parse, default_value = "auto", allow_hyphen_values = true)]
    pub slice: Slice,

    /// CPUs for the programs: 0, 0-3, 0,2
    #[arg(long, value_name = "CPUS", value_parser = Cpus::read)]
    pub cpus: Option<Cpus>,

    /// How turns are made: auto, rotation or slices
    ///
    /// rotation schedules one program a CPU as usual, and the others only where nothing else runs
    /// (SCHED_IDLE); slices asks the kernel for longer slices, which programs that wake up cut
    /// short. auto is rotation where it is allowed, unless its turns do not come out.
    #[arg(long, value_name = "NAME", value_parser = Wanted::parse, default_value = "auto", hide_short_help = true)]
    pub mechanism: Wanted,

    /// Size of the last-level cache, for fill; without it, as the processor states it
    #[arg(long, value_name = "SIZE", value_parser = Bytes::parse, hide_short_help = true)]
    pub llc: Option<Bytes>,
}

/// Policies, or the choice of them.
#[derive(Clone, Debug)]
pub enum Slice {
    /// What suits the machine.
    Auto,
    /// These.
    Of(Vec<Spec>),
}

impl Slice {
    fn parse(text: &str) -> std::result::Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            _ => split_list(text)
                .iter()
                .map(|one| policy(one))
                .collect::<std::result::Result<_, _>>()
                .map(Self::Of),
        }
    }

    /// Returns the policies that run, the kernel alone first if they are compared.
    ///
    /// # Errors
    /// A usage error if several are given that are not compared.
    pub fn policies(&self, compare: bool) -> Result<Vec<Spec>> {
        let counted = counters::missing().is_none();
        let names = match (self, compare, counted) {
            (Self::Of(specs), false, _) if specs.len() > 1 => {
                return Err(Error::usage(
                    "several policies run one after the other with --compare; add it, or name one policy",
                ));
            }
            (Self::Of(specs), false, _) => return Ok(specs.clone()),
            (Self::Of(specs), true, _) => {
                let others = specs.iter().filter(|spec| spec.entry().name != "off");
                return Ok(named(&["off"])?
                    .into_iter()
                    .chain(others.cloned())
                    .collect());
            }
            (Self::Auto, false, true) => &["refill"][..],
            (Self::Auto, false, false) => &["static"],
            (Self::Auto, true, true) => &["off", "refill", "static", "fill"],
            (Self::Auto, true, false) => &["off", "static"],
        };
        named(names)
    }
}

fn named(names: &[&str]) -> Result<Vec<Spec>> {
    let specs = names
        .iter()
        .map(|name| Spec::parse(name).map_err(Error::usage));
    specs.collect()
}

/// Parses a policy, or a time as the length of all turns.
fn policy(text: &str) -> std::result::Result<Spec, String> {
    match text.starts_with(|c: char| c.is_ascii_digit()) {
        true => Spec::parse(&format!("static:turn={text}")),
        false => Spec::parse(text),
    }
}

impl RunMix {
    /// Returns the programs.
    ///
    /// # Errors
    /// A usage error if a program is empty, or the file is wrong.
    pub fn mix(&self) -> Result<Mix> {
        let mut programs = match &self.file {
            Some(file) => mix::read(file)?,
            None => several(&self.programs)?,
        };
        let user = self.user.chosen()?;
        for program in &mut programs {
            program.user = user.clone();
            program.huge_pages = true;
        }
        Ok(Mix::Programs(programs))
    }
}

/// Returns the programs that words name, with -- between them.
///
/// # Errors
/// A usage error if a program is empty.
pub fn several(words: &[OsString]) -> Result<Vec<Invocation>> {
    let each = words.split(|word| word == "--");
    let program = |words: &[OsString]| match words.is_empty() {
        true => Err(Error::usage("a program is missing between -- and --")),
        false => Ok(words.to_vec().into()),
    };
    each.map(program).collect()
}

impl AttachMix {
    /// Returns the programs.
    pub fn mix(&self) -> Mix {
        let pids = self.pids.iter().map(|pid| Target::Process(*pid));
        let cgroup = self.cgroup.clone().map(Target::Cgroup);
        Mix::Running(pids.chain(cgroup).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_and_times() {
        let specs = |text: &str, compare| -> Vec<String> {
            let policies = Slice::parse(text).unwrap().policies(compare).unwrap();
            policies.iter().map(ToString::to_string).collect()
        };
        assert_eq!(specs("30ms", false), ["static:turn=30ms"]);
        assert_eq!(specs("fill:share=0.25", false), ["fill:share=0.25"]);
        assert_eq!(
            specs("15ms,refill", true),
            ["off", "static:turn=15ms", "refill"]
        );
        assert_eq!(specs("off,45ms", true), ["off", "static:turn=45ms"]);
        assert!(Slice::parse("15ms,30ms").unwrap().policies(false).is_err());
        for wrong in ["", "30", "0ms", "nothing", "refill:most=1ns"] {
            assert!(Slice::parse(wrong).is_err(), "{wrong}");
        }
        assert_eq!(specs("auto", true)[0], "off");
    }
}
