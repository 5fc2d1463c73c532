//! Arguments of `terrace extend`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use terrace_base::apart::Named;
use terrace_extend::{Memory, Session};
use terrace_live::system::dram::Dram;
use terrace_policy::{replacement, write};
use terrace_region::Settings;

use super::Results;

/// Run a program with a slow memory of choice, and say what it writes
///
/// Mappings and blocks of malloc of 1 MiB or more are put into extended memory: a bounded share of
/// it is in DRAM, the rest in an emulated memory, in a file or on a block device. At the end a
/// table says what every write scheme would have written on the evictions of this run, from the
/// contents of the pages.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  terrace extend --dram 25% --memory pcm --write mfwr -- ./program
  terrace extend --dram 512M --memory /mnt/nvme --write sectors -- ./program
  terrace extend --dram 25% --memory /dev/nvme1n1 -- ./program
  terrace extend --dram 25% --memory pcm-row --json writes.json -- python3 job.py

The program must be linked dynamically, for glibc on x86-64. Stacks, mapped files, shared
memory and, without --small-blocks, small blocks of malloc stay in DRAM. Of several processes
one is extended, the first with a large mapping, and those that it forks: each has extended
memory as it was at that moment, a DRAM bound of its own, and its part in the figures. On a
block device, and past the C library's fork, a child does not have it: it ends if it touches
any. Judging all schemes takes DRAM of its own: two or three copies of what was evicted.

Exit code: the program's own; 2 for wrong usage; 1 where terrace failed.
Needs userfaultfd: root, or sysctl vm.unprivileged_userfaultfd=1, or access to
/dev/userfaultfd; Linux 6.8 or later.")]
pub struct Extend {
    /// DRAM for the extended memory: 512M, or a share of its footprint, as 25%
    ///
    /// With a share, a first run measures the footprint.
    #[arg(long, value_name = "SIZE", value_parser = Dram::parse)]
    pub dram: Dram,

    /// Slow memory: a technology, which is emulated, a directory for a file, or a block device
    ///
    /// `terrace list memories` lists technologies. Settings follow the name of one, as
    /// flash:devices=10,order=elevator: the number of devices, on which pages are in turn, and
    /// which waiting request goes next (plain, round-robin, elevator or deadline). A directory has
    /// a slash in its name: ./tier. A block device must be free and blank: it is taken as a whole,
    /// and what it holds is discarded at the end.
    #[arg(long, value_name = "MEMORY", default_value = "pcm")]
    memory: String,

    /// A TOML file of memories of your own
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub memories: Option<PathBuf>,

    /// Predictor of the pages to fetch ahead, or off
    ///
    /// `terrace list predictors` lists predictors. Settings follow the name, as stream:depth=64.
    /// The default foresees passes over arrays, and fetches nothing where pages are touched at
    /// random.
    #[arg(long, value_name = "NAME", default_value = "stream", value_parser = predictor)]
    prefetch: String,

    /// What is written of a page that leaves DRAM
    ///
    /// `terrace list write-schemes` lists schemes. Settings follow the name, as mfwr:words=2.
    #[arg(long, value_name = "SCHEME", default_value = "inclusive", value_parser = scheme)]
    write: String,

    /// Which pages stay in DRAM
    ///
    /// It sees faults alone, and no touches of pages in DRAM but those that --references shows. So
    /// without that option policies that count on reference bits, as clock and age, do as fifo
    /// does.
    #[arg(long, value_name = "POLICY", default_value = "fifo", value_parser = policy)]
    replacement: String,

    /// Sample references of this share of the pages in DRAM, as 50%, for the replacement policy
    ///
    /// Of the pages that the policy decides over, those that came longest ago are taken from the
    /// program's page tables and stay in DRAM. The next touch of one is a soft fault, some 10 us,
    /// which the policy is told of: a reference bit where the kernel shows none. Touches before
    /// that are not seen. Up to 90%; the default is to sample none.
    #[arg(long, value_name = "SHARE", value_parser = references, hide_short_help = true)]
    references: Option<f64>,

    /// Count the applied scheme alone
    ///
    /// Asking all schemes takes time, and DRAM of its own: two or three copies of what was evicted.
    #[arg(long)]
    applied_only: bool,

    /// A placement file, of terrace place -o: objects of its sites are not extended
    ///
    /// Their bytes are taken off the DRAM of extended memory. Only objects that would be extended
    /// matter.
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub place: Option<PathBuf>,

    /// Extend small blocks of malloc as well
    ///
    /// They come from a heap of their own, once that has more than 4 MiB. Not with a block device.
    #[arg(long, hide_short_help = true)]
    small_blocks: bool,

    #[command(flatten)]
    pub results: Results,

    /// Print errors only: no table
    #[arg(short, long)]
    pub quiet: bool,

    /// The program and its arguments, behind --
    #[arg(last = true, value_name = "PROGRAM", required = true)]
    program: Vec<OsString>,
}

impl Extend {
    /// Returns what the program is to be run with.
    pub fn session(&self) -> terrace_base::Result<Session> {
        Ok(Session {
            command: self.program.clone(),
            memory: Memory::parse(&self.memory)?.absolute()?,
            memories: self.memories.clone(),
            replacement: self.replacement.clone(),
            references: self.references,
            prefetch: (self.prefetch != "off").then(|| self.prefetch.clone()),
            write: self.write.clone(),
            judge: !self.applied_only,
            small: self.small_blocks,
            environment: Vec::new(),
        })
    }

    /// Returns the files that are read, by the options that name them.
    pub fn inputs(&self) -> Vec<Named<'_>> {
        let files = [("--memories", &self.memories), ("--place", &self.place)];
        let given = files.into_iter();
        given
            .filter_map(|(option, path)| Some((option, path.as_deref()?)))
            .collect()
    }
}

/// Checks a write scheme, and returns it as it was written.
fn scheme(text: &str) -> Result<String, String> {
    write::Spec::parse(text).map(|_| text.to_owned())
}

/// Checks a predictor, and returns it as it was written.
fn predictor(text: &str) -> Result<String, String> {
    if text != "off" {
        super::run::live(text, "off, ")?;
    }
    Ok(text.to_owned())
}

/// Returns the share of pages whose references are sampled.
fn references(text: &str) -> Result<f64, String> {
    let percent = text
        .strip_suffix('%')
        .map(|percent| percent.trim().parse::<f64>());
    let Some(Ok(percent)) = percent else {
        return Err(format!("`{text}` is no share; name one in percent, as 50%"));
    };
    let share = percent / 100.0;
    Settings::check_references(share).map_err(|error| error.to_string())?;
    Ok(share)
}

/// Checks a replacement policy, and returns it as it was written.
fn policy(text: &str) -> Result<String, String> {
    let spec = replacement::Spec::parse(text)?;
    match spec.entry().knows_future() {
        true => Err(format!(
            "{text} needs to know the future; name another policy"
        )),
        false => Ok(text.to_owned()),
    }
}
