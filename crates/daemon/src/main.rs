//! `terraced`: keeps memory targets of services that run.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use terrace_base::error::Kind;
use terrace_base::output;
use terrace_base::{Error, Result};
use terrace_daemon::configuration::{Configuration, DIRECTORY};
use terrace_daemon::service::{Directories, run};
use terrace_live::journal;

/// Keep memory targets of services that run
///
/// Reads targets from /etc/terrace/*.toml, finds them among the control groups of this machine, and
/// has each keep as little DRAM as its goal allows. It sets no limit: what a service touches comes
/// back by itself, so that nothing is left when terraced ends or is killed. SIGHUP, or `terrace
/// reload`, reads the configuration again; targets that stay as they are go on undisturbed.
/// `terrace status` shows how they fare.
#[derive(Parser)]
#[command(name = "terraced", version, max_term_width = 80)]
#[command(after_long_help = "\
Directories: /etc/terrace, /var/lib/terrace and /run/terrace, or those that
systemd names in CONFIGURATION_DIRECTORY, STATE_DIRECTORY and
RUNTIME_DIRECTORY.

Exit code: 0 when a signal has ended it; 2 for a wrong configuration or usage;
1 where terraced failed.")]
struct Terraced {
    /// Check the configuration, and do nothing else
    #[arg(long)]
    check: bool,
    /// Make the tier that the configuration names, and remove it at the end
    ///
    /// On a machine that has swap nothing is made.
    #[arg(long, conflicts_with = "check")]
    tier: bool,
    #[command(subcommand)]
    guard: Option<Guard>,
}

/// The process beside `terraced --tier` that removes the tier if that is killed.
#[derive(clap::Subcommand)]
enum Guard {
    #[command(hide = true)]
    Guard { owner: u32, state: PathBuf },
}

fn main() -> ExitCode {
    let arguments = Terraced::parse();
    match work(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "terraced: {error}");
            ExitCode::from(match error.kind {
                Kind::Usage => 2,
                Kind::Failure => 1,
            })
        }
    }
}

fn work(arguments: &Terraced) -> Result<()> {
    let directories = Directories {
        configuration: directory("CONFIGURATION_DIRECTORY", DIRECTORY)?,
        state: directory("STATE_DIRECTORY", "/var/lib/terrace")?,
        runtime: directory("RUNTIME_DIRECTORY", "/run/terrace")?,
    };
    if let Some(Guard::Guard { owner, state }) = &arguments.guard {
        return journal::watch::watch(*owner, state);
    }
    if arguments.tier {
        journal::serve_by("guard");
        return terrace_daemon::tier::hold(&directories.configuration);
    }
    if !arguments.check {
        return run(&directories);
    }
    let read = Configuration::read(&directories.configuration)?;
    output::print(format!(
        "{} has {} targets, and nothing is wrong with them.\n",
        directories.configuration.display(),
        read.targets.len()
    ))
}

/// Returns the directory that systemd names, or the usual one.
fn directory(name: &str, usual: &str) -> Result<PathBuf> {
    let Some(path) = std::env::var_os(name).map(PathBuf::from) else {
        return Ok(usual.into());
    };
    match path.is_absolute() {
        true => Ok(path),
        false => Err(Error::usage(format!(
            "{name} is `{}`; name one absolute path",
            path.display()
        ))),
    }
}
