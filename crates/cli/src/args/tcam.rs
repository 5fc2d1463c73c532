//! Options of `terrace tcam`.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use terrace_base::apart::Named;
use terrace_base::count::parse_count;
use terrace_base::{Error, Nanos, Result as Done};
use terrace_tcam::input::PeerName;
use terrace_tcam::levelling;
use terrace_tcam::lifetime::ENDURANCE;
use terrace_tcam::policy::Sum;
use terrace_tcam::pool::Allocation;
use terrace_tcam::times::Model;

use super::Results;
use super::circuit::Circuit;

/// Simulate a ternary CAM of flash, for routing tables
///
/// Routes lie in flash blocks of one prefix length each. Updates go to small CMOS blocks in front
/// of them, the shadow blocks, and are written to flash when one is full, so that the flash lives
/// for years and lookups never stop (Fedorov 2016, chapter 4).
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  terrace tcam replay --table rib.gz --updates day.gz
  terrace tcam lookup --table rib.gz 193.0.0.1 2001:db8::1
  terrace tcam bench --table rib.gz
  terrace tcam circuit --rows 512

Tables and updates are MRT as RIPE RIS and RouteViews publish it, also packed with gzip or
bzip2, RIS's Parquet files, pyasn's .dat, or text: `10.0.0.0/8 port1` a line, and in updates
`0.25 + 10.0.0.0/8 port2` and `1.5 - 10.0.0.0/8`, the times in seconds.")]
pub struct Tcam {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    Replay(Box<Replay>),
    Lookup(Lookup),
    Bench(Bench),
    Circuit(Circuit),
}

/// Replay updates of a routing table, and say what is written to flash
///
/// Results: entries, blocks, flushed entries and erased blocks of each prefix length; how flushes
/// follow one another; the shadow blocks that were needed; how long the flash lasts, by the
/// estimate of Fedorov 2016, 4.4.1, and by the wear that was simulated; the fewest flash writes
/// that any policy could have made; and area, power and energy of the chip, beside the CMOS chip
/// that it replaces.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  terrace tcam replay --table rib.gz --updates day.gz
  terrace tcam replay --table rib.gz --updates day.gz --policy unchanged+lazy
  terrace tcam replay --table rib.gz --updates day.gz --buffers 15
  terrace tcam replay --table rib.gz --updates day.gz --orderings
  terrace tcam replay --table rib.gz --updates day.gz --html day.html

`terrace list update-policies` lists policies, `terrace explain coalesce` explains one. All
results are simulated. In virtual time nothing takes longer than a flash write: an update
waits only if there is no shadow block for it.")]
pub struct Replay {
    #[command(flatten)]
    pub table: Table,

    /// Updates of the table, in the order of time
    #[arg(long, value_name = "FILE")]
    pub updates: PathBuf,

    /// Which updates are written, and which stay in shadow
    ///
    /// Several policies have + between them; settings follow a name, as coalesce:share=0.25.
    #[arg(long, value_name = "POLICY", default_value = "thesis", value_parser = policy)]
    pub policy: String,

    #[command(flatten)]
    pub chip: Chip,

    /// Rows of a shadow block
    #[arg(long, value_name = "N", default_value_t = 512)]
    pub shadow_rows: u32,

    /// Shadow blocks beside one for each prefix length, for double and triple buffering
    ///
    /// Without it, there are as many as needed. Where there are too few, updates wait.
    #[arg(long, value_name = "N")]
    pub buffers: Option<u32>,

    /// Flash writes a second: erasing and programming the blocks of a flush is one
    #[arg(long, value_name = "N", default_value_t = 4.0, hide_short_help = true)]
    pub flash_writes_per_second: f64,

    /// Which free flash block is written next
    ///
    /// `terrace list block-levellings` lists ways.
    #[arg(long, value_name = "LEVELLING", default_value = "randomised", value_parser = levelling_of,
          hide_short_help = true)]
    pub levelling: levelling::Spec,

    /// Writes that a flash block endures
    #[arg(long, value_name = "N", default_value_t = ENDURANCE, hide_short_help = true, value_parser = endurance)]
    pub endurance: f64,

    /// Times of updates whose file has none
    ///
    /// even: all at the same distance. bursty: in bursts within seconds drawn at random, of
    /// log-normal size, fitted to real updates.
    #[arg(long, value_name = "MODEL", default_value = "even", value_parser = times(), hide_short_help = true)]
    pub update_times: Model,

    /// The span of those times
    #[arg(long, value_name = "TIME", default_value = "86400s", value_parser = span, hide_short_help = true)]
    pub span: Nanos,

    /// Share of the announcements that change the port, where the file has no next hops
    ///
    /// Of a real router with several next hops it is 0.08 to 0.11.
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = share, hide_short_help = true)]
    pub port_changes: f64,

    /// Part of the updates after which a lookup is compared with the table
    #[arg(long, value_name = "SHARE", default_value_t = 0.01, value_parser = share, hide_short_help = true)]
    pub checked: f64,

    /// Also count the moves that order takes in a conventional TCAM
    ///
    /// There the first row that matches wins, so that new prefixes need entries to be moved.
    /// sorted-end and sorted-middle keep rows in order of their lengths, with the free rows at the
    /// end or in the middle; partial orders only prefixes that contain one another (Shah and Gupta
    /// 2001); hermes has a small table take updates and moves it into the main one a few entries at
    /// a time (Chen and Benson 2017).
    #[arg(long)]
    pub orderings: bool,

    /// Seed of random levelling, bursts, ports and lookups
    #[arg(long, value_name = "N", default_value_t = 1, hide_short_help = true)]
    pub seed: u64,

    #[command(flatten)]
    pub results: Results,

    /// No progress bar
    #[arg(short, long)]
    pub quiet: bool,
}

/// Look addresses up
///
/// The table is loaded into the TCAM; each answer is the longest prefix that contains the address,
/// its next hop, and the flash block and row in which it lies.
#[derive(Args)]
#[command(after_long_help = "\
Example:
  terrace tcam lookup --table rib.gz 193.0.0.1 2001:db8::1")]
pub struct Lookup {
    #[command(flatten)]
    pub table: Table,

    /// Addresses of IPv4 or IPv6
    #[arg(value_name = "ADDRESS", required = true, value_parser = address)]
    pub addresses: Vec<IpAddr>,

    #[command(flatten)]
    pub chip: Chip,

    #[command(flatten)]
    pub results: Results,
}

/// Measure lookups a second, beside two crates of tries
///
/// The TCAM is a model in software that says what the chip would answer; tries are faster. All look
/// up the same addresses, drawn within routes of the table, and must give the same answers.
#[derive(Args)]
#[command(after_long_help = "\
Example:
  terrace tcam bench --table rib.gz --lookups 1M")]
pub struct Bench {
    #[command(flatten)]
    pub table: Table,

    /// Addresses that are looked up
    #[arg(long, value_name = "N", default_value = "1M", value_parser = parse_count)]
    pub lookups: u64,

    #[command(flatten)]
    pub chip: Chip,

    #[command(flatten)]
    pub results: Results,
}

/// A table, and the peer whose view it is.
#[derive(Args)]
pub struct Table {
    /// Routing table
    #[arg(long = "table", value_name = "FILE")]
    pub file: PathBuf,

    /// Peer whose view is taken of files with several, by address or AS
    ///
    /// Without it, the one with the most entries in each file.
    #[arg(long, value_name = "PEER", hide_short_help = true)]
    pub peer: Option<PeerName>,
}

/// The flash of the chip.
#[derive(Args)]
pub struct Chip {
    /// Flash blocks
    #[arg(long, value_name = "N", default_value_t = 6000)]
    pub blocks: u32,

    /// Rows of a flash block
    #[arg(long, value_name = "N", default_value_t = 256, hide_short_help = true)]
    pub rows: u32,

    /// Who may use a free flash block: any prefix length, or one for the life of the router
    ///
    /// static: of the free blocks the most used length has half, the others share the rest.
    #[arg(long, value_name = "ALLOCATION", default_value = "shared", value_parser = allocation(),
          hide_short_help = true)]
    pub allocation: Allocation,
}

impl Replay {
    /// Returns the files that are read, by the options that name them.
    pub fn inputs(&self) -> Vec<Named<'_>> {
        vec![("--table", &self.table.file), ("--updates", &self.updates)]
    }
}

fn policy(text: &str) -> Done<String> {
    Sum::parse(text).map(|_| text.to_owned())
}

fn levelling_of(text: &str) -> Done<levelling::Spec> {
    levelling::Spec::parse(text).map_err(Error::usage)
}

fn allocation() -> impl TypedValueParser<Value = Allocation> {
    named(Allocation::NAMES)
}

fn times() -> impl TypedValueParser<Value = Model> {
    named(Model::NAMES)
}

/// Parses one of these names.
fn named<T: Copy + Send + Sync + 'static, const N: usize>(
    names: [(&'static str, T); N],
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(names.map(|(name, _)| name)).map(move |text| {
        let known = names.iter().find(|(name, _)| *name == text);
        known.expect("it is one of the names").1
    })
}

fn address(text: &str) -> Done<IpAddr> {
    text.parse().map_err(|_| {
        Error::usage(format!(
            "`{text}` is not an address; write it as 193.0.0.1 or 2001:db8::1"
        ))
    })
}

fn span(text: &str) -> Done<Nanos> {
    let span = Nanos::parse(text)?;
    match (1_000_000_000..=1_000_000_000_000_000_000).contains(&span.0) {
        true => Ok(span),
        false => Err(Error::usage(format!(
            "`{text}` is not between 1 s and 1000000000 s"
        ))),
    }
}

fn share(text: &str) -> Done<f64> {
    let share = text
        .parse()
        .ok()
        .filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| Error::usage(format!("`{text}` is not a number from 0 to 1")))
}

fn endurance(text: &str) -> Done<f64> {
    let writes = text
        .parse()
        .ok()
        .filter(|writes| (1.0..=1e15).contains(writes));
    writes.ok_or_else(|| Error::usage(format!("`{text}` is not a number of writes from 1 to 1e15")))
}
