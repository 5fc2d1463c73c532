//! Options of `terrace mount`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use terrace_base::apart::Named;
use terrace_base::{Bytes, Error, Result};
use terrace_filecache::medium::Slowdown;
use terrace_filecache::mount::{Flash, Mode, Settings};
use terrace_filecache::{Endurance, endurance};
use terrace_policy::admission::Chain;
use terrace_policy::replacement;

use super::Results;

/// Mount a directory with a flash level for the reads of its files
///
/// Pages that are read again and again are kept on flash: a file, or a block device. Writes go to
/// the directory before they are acknowledged, and the flash never has the only copy of a byte. Its
/// pages are found again by the next mount, also after a crash. What changes in the directory
/// behind the mount is dropped.
#[derive(Args)]
#[command(
    override_usage = "terrace mount [OPTIONS] SOURCE MOUNTPOINT\n       terrace mount --status MOUNTPOINT\n       terrace mount --control MOUNTPOINT COMMAND"
)]
#[command(after_long_help = "\
Examples:
  terrace mount --flash /ssd/cache --size 20G /mnt/nas /mnt/fast
  terrace mount --flash /dev/nvme1n1 --endurance 600TBW --life 5years /mnt/nas /mnt/fast
  terrace mount --mode exact --dram 1G --emulate 10,20 --size 4G ~/data /mnt/slow
  terrace mount --mode exact --dram 64M --record files.parquet ~/data /mnt/slow
  terrace mount --status /mnt/fast
  terrace mount --control /mnt/fast warm projects/db
  terrace mount --control /mnt/fast exclude '*.iso'
  terrace mount --control /mnt/fast size 40G

It goes on until SIGINT or SIGTERM, or until the mountpoint is unmounted. Without --flash or --emulate
everything is passed through. As root, all users may use the mount, with the permissions that the files
have. Locks of programs hold among those that use the mount. Files without names (O_TMPFILE) cannot be made in
it; programs make named ones instead.")]
pub struct Mount {
    /// The directory that is passed through
    #[arg(value_name = "SOURCE", required_unless_present_any = ["status", "control"])]
    source: Option<PathBuf>,

    /// An empty directory elsewhere
    #[arg(value_name = "MOUNTPOINT", required_unless_present_any = ["status", "control"])]
    mountpoint: Option<PathBuf>,

    /// The flash level: a file, or a block device
    ///
    /// A file is made if it is not there. A block device must be free and blank, or hold such a
    /// level: it is taken as a whole.
    #[arg(long, value_name = "FLASH")]
    flash: Option<PathBuf>,

    /// Emulate it: a technology, or factors, as 10,20
    ///
    /// Its contents are in DRAM. Factors, for reads and writes, are multiples of the time of a copy
    /// in DRAM. `terrace list memories` lists technologies.
    #[arg(
        long,
        value_name = "MEMORY",
        conflicts_with = "flash",
        requires = "size",
        hide_short_help = true
    )]
    emulate: Option<String>,

    /// Size of the flash level
    ///
    /// The default is all of a file that is there, or of a block device.
    #[arg(long, value_parser = Bytes::parse)]
    size: Option<Bytes>,

    /// What fills it: victim, or exact
    ///
    /// victim: reads that the kernel's page cache does not serve. exact: what a DRAM level of
    /// --dram evicts, without the kernel's page cache.
    #[arg(
        long,
        value_enum,
        default_value = "victim",
        hide_possible_values = true
    )]
    mode: Fill,

    /// DRAM of --mode exact
    #[arg(long, value_name = "SIZE", value_parser = super::memory, required_if_eq("mode", "exact"))]
    dram: Option<Bytes>,

    /// Which pages stay in that DRAM
    #[arg(long, value_name = "POLICY", default_value = "lru", value_parser = policy, hide_short_help = true)]
    replacement: replacement::Spec,

    /// Which pages are written to flash
    ///
    /// `terrace list admission` lists policies; several have + between them. The default is
    /// second-read, and all with --mode exact.
    #[arg(long, value_name = "POLICY", value_parser = Chain::parse)]
    admission: Option<Chain>,

    /// What it sustains: 600TBW, or 0.5DWPD
    ///
    /// DWPD are drive writes a day, of a flash of --size. Pages are refused where it would not
    /// last for its --life, those of pinned and warmed files as well.
    #[arg(long, value_name = "WRITES")]
    endurance: Option<String>,

    /// How long the flash is to live
    #[arg(long, value_name = "TIME", default_value = "5years", value_parser = years,
          hide_short_help = true)]
    life: f64,

    /// How long names and attributes are kept
    ///
    /// SOURCE is not asked for them meanwhile, nor for directories. As 1s, 10m or 2h. What others
    /// change in SOURCE is seen that much later; what is changed through the mount is seen at once.
    /// 0 keeps names and attributes for a second, and no directories.
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = attributes)]
    attributes: Duration,

    /// Write figures to FILE each second, as Prometheus reads them
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub prometheus: Option<PathBuf>,

    /// Record each read and write of a file, for terrace sim files
    ///
    /// A trace (Parquet), with places of files as addresses, and microseconds as instructions.
    /// --mode victim shows what the kernel's page cache asks for, with what it reads ahead; exact,
    /// what programs ask for.
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub record: Option<PathBuf>,

    /// Print the figures of a mount
    #[arg(long, value_name = "MOUNTPOINT", conflicts_with_all = ["flash", "emulate", "record"])]
    pub status: Option<PathBuf>,

    /// Tell a mount what to keep: warm, pin, exclude, size, flush, list
    ///
    /// By root and the user who has mounted. PATH is below MOUNTPOINT. What is pinned and
    /// excluded the flash level keeps, so that it holds in later mounts as well.
    ///   warm PATH         read a file or a tree into the flash level, and say what was
    ///                     not admitted
    ///   pin PATH          admit all pages there, whatever --admission says (but not
    ///                     --endurance), and keep them; up to three quarters of the flash level
    ///   unpin PATH        take that back
    ///   exclude PATTERN   admit no more pages of files: *.iso by name, db/*.log by path,
    ///                     larger-than=1G by size
    ///   include PATTERN   take that back; larger-than by size
    ///   size SIZE         grow or shrink the flash file; pages in the part that stays are kept
    ///   flush PATH        forget the pages of a file or a tree
    ///   flush             forget all pages
    ///   list              show what is pinned and excluded
    #[arg(long, value_names = ["MOUNTPOINT", "COMMAND", "ARGUMENT"], num_args = 2..=3,
          hide_short_help = true,
          conflicts_with_all = ["source", "flash", "emulate", "record", "status"], verbatim_doc_comment)]
    pub control: Option<Vec<String>>,

    #[command(flatten)]
    pub results: Results,

    /// Print errors only
    #[arg(short, long)]
    pub quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Fill {
    /// Reads that the kernel's page cache does not serve
    Victim,
    /// What a DRAM level of --dram evicts, without the kernel's page cache
    Exact,
}

impl Mount {
    /// Returns what is to be mounted, and how.
    ///
    /// # Errors
    /// Returns a usage error for options that do not fit together.
    pub fn settings(&self) -> Result<Settings> {
        let flash = self.flash()?;
        let mode = match (self.mode, self.dram) {
            (Fill::Exact, Some(dram)) => Mode::Exact(dram, self.replacement.clone()),
            (Fill::Victim, Some(_)) => {
                return Err(Error::usage(
                    "--dram is for --mode exact; the kernel sizes its page cache itself",
                ));
            }
            _ => Mode::Victim,
        };
        let default = match self.mode {
            Fill::Victim => "second-read",
            Fill::Exact => "all",
        };
        let admission = match &self.admission {
            Some(chain) => chain.clone(),
            None => Chain::parse(default).map_err(Error::usage)?,
        };
        Ok(Settings {
            source: self.source.clone().unwrap_or_default(),
            mountpoint: self.mountpoint.clone().unwrap_or_default(),
            endurance: self.endurance(flash.as_ref())?,
            flash,
            mode,
            admission,
            attributes: self.attributes,
        })
    }

    fn flash(&self) -> Result<Option<Flash>> {
        match (&self.flash, &self.emulate, self.size) {
            (Some(path), _, size) => Ok(Some(Flash::Disk(path.clone(), size))),
            (None, Some(memory), Some(size)) => Ok(Some(Flash::Emulated(size, slowdown(memory)?))),
            (None, _, Some(_)) => Err(Error::usage(
                "--size is that of --flash or --emulate; name one",
            )),
            _ => Ok(None),
        }
    }

    fn endurance(&self, flash: Option<&Flash>) -> Result<Option<Endurance>> {
        let Some(text) = &self.endurance else {
            return Ok(None);
        };
        let size = match flash {
            Some(Flash::Disk(_, size)) => *size,
            Some(Flash::Emulated(size, _)) => Some(*size),
            None => {
                return Err(Error::usage(
                    "--endurance is that of a flash; name one with --flash",
                ));
            }
        };
        Endurance::parse(text, self.life, size).map(Some)
    }

    /// Returns the files that are read, by the options that name them.
    pub fn inputs(&self) -> Vec<Named<'_>> {
        let flash = self.flash.as_deref();
        flash.map(|path| ("--flash", path)).into_iter().collect()
    }

    /// Returns the files that are written beside the results.
    pub fn outputs(&self) -> Vec<Named<'_>> {
        let files = [
            ("--prometheus", self.prometheus.as_deref()),
            ("--record", self.record.as_deref()),
        ];
        let named = files.into_iter().map(|(name, file)| Some((name, file?)));
        named.flatten().collect()
    }
}

/// Reads factors, or the name of a technology.
fn slowdown(text: &str) -> Result<Slowdown> {
    if let Some((read, write)) = text.split_once(',') {
        let factor = |text: &str| {
            let number = text.trim().parse().ok();
            number
                .filter(|factor: &f64| (1.0..=1e6).contains(factor))
                .ok_or_else(|| {
                    Error::usage(format!(
                        "`{text}` is no factor from 1 to 1000000 of --emulate"
                    ))
                })
        };
        return Ok(Slowdown::Factors(factor(read)?, factor(write)?));
    }
    let catalogue = terrace_device::Catalogue::builtin();
    Ok(Slowdown::Technology(catalogue.get(text)?.timing()?))
}

/// Reads a time for which attributes are kept.
fn attributes(text: &str) -> std::result::Result<Duration, String> {
    match text {
        "0" | "0s" => Ok(Duration::ZERO),
        text => super::time(text),
    }
}

fn years(text: &str) -> std::result::Result<f64, String> {
    endurance::years(text)
}

/// Reads a replacement policy that can be asked as a program runs.
fn policy(text: &str) -> std::result::Result<replacement::Spec, String> {
    let spec = replacement::Spec::parse(text)?;
    match spec.entry().knows_future() {
        true => Err(format!(
            "{text} needs to know the future; name another policy"
        )),
        false => Ok(spec),
    }
}
