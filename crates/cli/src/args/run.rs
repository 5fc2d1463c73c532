//! Options of `terrace run`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use terrace_base::Bytes;
use terrace_live::machine::zswap;
use terrace_live::run::Dram;
use terrace_policy::eviction;
use terrace_policy::migration;
use terrace_policy::prefetch::{Entry, Spec};
use terrace_results::lifetime::Endurance;

use super::{AsUser, Meanwhile, Results, SeeLimit, Tier};
use terrace_base::count::whole;

/// Run a program with a DRAM budget, and a slower tier for the rest
///
/// The program runs in a memory cgroup. Beyond its budget the kernel moves pages to the tier;
/// terrace watches the faults from another core, predicts the next pages and has the kernel fetch
/// them ahead. A table at the end shows the costs. All changes of the machine are undone.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  terrace run --dram 4G -- ./program --its --options
  terrace run --dram 25% --compare --repeat 3 -- python3 job.py
  terrace run --dram 2G --tier /mnt/nvme --json cost.json -- ./program
  terrace run --dram 50% --measure 30s -- redis-server
  terrace run --dram 2G --after 30s --endurance 600TBW --latency -- ./server
  terrace run --dram 25% --tier node:1 --migration hot -- ./program

Exit code: the program's own; 2 for wrong usage; 1 where terrace failed.
Needs root, or the capabilities that `terrace doctor` names.")]
pub struct Run {
    /// DRAM of the program: 4G, or 25% of its footprint
    ///
    /// Also 512MiB, or plain bytes.
    #[arg(long, value_name = "SIZE", value_parser = Dram::parse, allow_hyphen_values = true)]
    pub dram: Dram,

    /// Footprint of the program: all memory that it uses
    ///
    /// Without it, and if --dram is a share, a first run measures the footprint. That run ends when
    /// the program ends; see --measure for one that does not end by itself.
    #[arg(long, value_name = "SIZE", value_parser = super::memory, allow_hyphen_values = true)]
    pub footprint: Option<Bytes>,

    /// Take the footprint from the run: its peak after TIME
    ///
    /// For a server, which does not end by itself, as --measure 30s. The program starts without a
    /// limit. After this time the tier is prepared, and the program gets its share of what it has
    /// used so far, in steps that the machine can bear; it is not started twice.
    #[arg(long, value_name = "TIME", value_parser = super::time, allow_hyphen_values = true,
          conflicts_with_all = ["footprint", "compare", "repeat"])]
    pub measure: Option<Duration>,

    #[command(flatten)]
    pub tier: Tier,

    /// Compressed pool in front of the tier: off, auto, or a compressor
    ///
    /// The kernel's zswap keeps compressed pages in DRAM, so that fewer faults wait for a disk.
    /// `auto` takes the first of lz4, lzo-rle, lzo and zstd that the kernel has. Settings follow
    /// the name, as lzo:pool=30,accept=90,shrinker=on: the largest pool in percent of the machine's
    /// memory (20), the percentage of it below which a pool that was full takes pages again (90),
    /// and whether the kernel writes idle pages of it to the tier (off). Without the option zswap
    /// stays as the machine has it.
    #[arg(long, value_name = "NAME", value_parser = zswap::Spec::parse, hide_short_help = true)]
    pub zswap: Option<zswap::Spec>,

    /// A placement file, of terrace place -o: objects of its sites stay in DRAM
    ///
    /// Within the budget: their pages are locked as they are touched, or with --tier node:N come to
    /// the fast node. For programs that are linked dynamically, as they were recorded, or rebuilt
    /// with the same debug symbols. With --compare also without steering, or with what is placed
    /// alone on the fast node, as `placed`.
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub place: Option<PathBuf>,

    /// Predictor of the fetches, or off
    ///
    /// It foresees the pages to fetch ahead. `off` leaves the kernel as it is. `terrace list
    /// predictors` lists predictors. Settings follow the name, as stream:depth=64,queue=fifo;
    /// `terrace explain stream` lists them.
    #[arg(long, value_name = "NAME", value_parser = parse_prefetch, default_value = "auto")]
    pub prefetch: Prefetch,

    /// What leaves DRAM before the kernel needs room: hold, or kernel for its choice alone
    ///
    /// `hold` lets pages go right behind a pass over more memory than DRAM, and holds the others.
    /// Several are compared, as hold,kernel. `terrace explain hold` lists its settings.
    #[arg(long, value_name = "NAME", value_parser = evictions, default_value = "hold",
          hide_short_help = true)]
    pub eviction: Evictions,

    /// Which pages lie in DRAM, where the tier is a memory node
    ///
    /// With --tier node:N all memory of the program comes to that node at first, and pages go to
    /// DRAM and back as this policy decides: benefit (the default), write-aware, sampled, hot, or
    /// never, which leaves all on the slower node. `terrace list migration` lists policies, and
    /// `terrace explain hot` their settings. Accesses are seen by hint faults of the kernel's NUMA
    /// balancing, about once a second for each page; so shorter intervals show no more.
    #[arg(long, value_name = "NAME", value_parser = live_migration, hide_short_help = true)]
    pub migration: Option<migration::Spec>,

    /// Learn from earlier runs of the same program, by the misses that this file holds
    ///
    /// The first run writes the file; the next one follows it from its first miss on, and writes it
    /// anew if most misses were not foreseen. It helps programs that do the same in each run, as a
    /// daily job. Addresses of the program's memory are not chosen at random meanwhile.
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub learn: Option<PathBuf>,

    /// Run the program in all ways and compare them
    ///
    /// The ways are unlimited DRAM (all-dram), the kernel's swap (kernel), the kernel's swap
    /// without readahead (kernel-cpf), and terrace. With --tier node:N they are all-dram, the
    /// kernel's own tiering (kernel-tiering), which knows no budget, terrace with all on the slower
    /// node, and terrace.
    #[arg(long)]
    pub compare: bool,

    /// Repetitions of each way
    ///
    /// Results are medians. The ways take turns.
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = whole(1..=1000_u32))]
    pub repeat: u32,

    /// Show all columns of the table of --compare
    ///
    /// Without it, lines have at most 100 characters.
    #[arg(long, requires = "compare", hide_short_help = true)]
    pub wide: bool,

    /// Begin to count after this time: 30s, 10m, 2h
    ///
    /// What a program does first, as to load its data, is then left out of faults, prefetches, the
    /// tier's traffic, waits and lifetime. Times, peaks and the footprint are always those of the
    /// whole run.
    #[arg(long, value_name = "TIME", value_parser = super::time, allow_hyphen_values = true)]
    pub after: Option<Duration>,

    #[command(flatten)]
    pub meanwhile: Meanwhile,

    /// Endurance of the device, as 600TBW
    ///
    /// The table then shows the lifetime of the device if writing goes on at the mean rate of the
    /// whole run, or from --after on. What the device writes by itself (write amplification) is not
    /// in it.
    #[arg(long, value_name = "TBW", value_parser = Endurance::parse, allow_hyphen_values = true)]
    pub endurance: Option<Endurance>,

    /// Look at what is written to the tier, which must be zram
    ///
    /// The table then says how many of the pages written were zeros, repeated one word, or held
    /// what they had held when they were written before. It is a part of them, whose share is said:
    /// a page that is back in DRAM before its place was looked at is not seen. Looking takes a
    /// tenth of a processor at most.
    #[arg(long, hide_short_help = true)]
    pub writes: bool,

    #[command(flatten)]
    pub results: Results,

    #[command(flatten)]
    pub user: AsUser,

    /// Let the program have huge pages under a budget
    ///
    /// By default it has none if its DRAM is less than its footprint: a huge page needs the room of
    /// 512 pages at once, and is moved to the tier as a whole.
    #[arg(long, hide_short_help = true)]
    pub huge_pages: bool,

    #[command(flatten)]
    pub view: SeeLimit,

    /// Print only errors: no status, no notices, no table
    #[arg(short, long)]
    pub quiet: bool,

    /// Program and its arguments, behind --
    #[arg(last = true, value_name = "PROGRAM")]
    pub program: Vec<OsString>,
}

/// Eviction policies.
#[derive(Clone)]
pub struct Evictions(pub Vec<eviction::Spec>);

/// Parses a list of eviction policies.
pub fn evictions(text: &str) -> Result<Evictions, String> {
    eviction::Spec::parse_list(text).map(Evictions)
}

/// Parses a migration policy that can run live, where no page has to be in DRAM to be used.
fn live_migration(text: &str) -> Result<migration::Spec, String> {
    let spec = migration::Spec::parse(text)?;
    match spec.bypasses() {
        true => Ok(spec),
        false => Err(format!(
            "`{text}` is of memory that processors cannot address, which only simulations have here; swap is \
             such a memory: name it with --tier"
        )),
    }
}

/// A predictor, or none for `off`.
#[derive(Clone)]
pub struct Prefetch(pub Option<Spec>);

fn parse_prefetch(name: &str) -> Result<Prefetch, String> {
    match name {
        "off" => Ok(Prefetch(None)),
        _ => live(name, "off, ").map(|spec| Prefetch(Some(spec))),
    }
}

/// Parses a predictor that can run live, without knowledge of the future.
pub fn live_predictor(text: &str) -> Result<Spec, String> {
    live(text, "")
}

/// Same as [`live_predictor`]; `others` are further names for the message.
pub fn live(text: &str, others: &str) -> Result<Spec, String> {
    let name = text.split(':').next().unwrap_or_default();
    match Entry::by_name(name) {
        Some(entry) if entry.knows_future() => Err(format!(
            "`{name}` knows what is to come, which only simulations do; use it with `terrace sim pages`"
        )),
        Some(_) => Spec::parse(text),
        None => {
            let all = Entry::all().into_iter();
            let live = all.filter(|entry| !entry.knows_future());
            let names: Vec<_> = live.map(|entry| entry.name).collect();
            let names = names.join(", ");
            Err(format!(
                "there is no predictor `{name}` that runs live; there are: {others}{names}"
            ))
        }
    }
}
