//! Arguments of `terrace sim llc`.

mod flush;
mod pages;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Args;
use terrace_base::{Bytes, Error, Result};
use terrace_device::Catalogue;
use terrace_policy::llc::Spec;
use terrace_sim::llc::{Flushes, Grid, Memories, Placement, Size, WarmupChoice};
use terrace_trace::Format;

use super::{Results, format};
use flush::{Flush, FlushIp};
use terrace_base::count::{parse_count, whole};

/// Simulate last-level caches under policies, and the memory behind them
///
/// Cores with private caches run the programs whose accesses the traces hold, or a program that is
/// started here. What misses in the private caches, and what they write back, goes to a last-level
/// cache. It is said how often that missed, how many lines it wrote to memory, and what this means
/// for a memory behind it: bandwidth, instructions a cycle, energy, lifetime. Private levels are
/// simulated once for any number of policies and sizes.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  terrace sim llc --policy lru,nhm:n=4,nhm:n=4,insert=lh bzip2.parquet
  terrace sim llc --policy lru,nhm --memory dram,pcm-row,dram/pcm-row -- ./program --its --options
  terrace sim llc --policy lru --llc 1M,2M,4M --ways 8,16 --warmup 10% mcf.parquet
  terrace sim llc --cores 8 --policy lru,nhm mcf.parquet gcc.parquet
  terrace sim llc --policy lru --epoch 25000 --json=- gcc.parquet | jq '.runs[0].epochs'

What the private levels ask can be kept, and simulated without them later:
  terrace sim llc --requests llc.parquet -- ./program
  terrace sim llc --l1 off --l2 off --policy lru,nhm:n=4,nhm:n=8 llc.parquet

The rules: all levels are write-back and write-allocate, neither inclusive nor exclusive; private
levels are LRU; a dirty line that leaves one is written to the next and allocates there, a clean one
is dropped. Instructions are not fetched. Threads go to cores by their numbers; several traces have
cores of their own, take turns by the instructions they executed, and begin anew until all have run
once. `misses` are those of loads and stores: with `writebacks` they are the lines that go over the
memory bus. All figures are simulated.

Exit code: that of the program, if one was run; 2 for wrong usage; 1 where terrace failed.")]
pub struct Llc {
    /// Traces, a program each, on cores of their own
    #[arg(value_name = "TRACE")]
    pub traces: Vec<PathBuf>,

    /// The traces' format, where nothing else tells
    #[arg(long, value_name = "FORMAT", value_parser = format::READ, hide_short_help = true)]
    pub format: Option<Format>,

    /// Simulate only the first accesses of each trace
    ///
    /// Or of the program, which is ended then.
    #[arg(long, value_name = "N", value_parser = parse_count, hide_short_help = true)]
    pub limit: Option<u64>,

    /// What is kept and where new lines are put, a list
    ///
    /// Policies are listed by `terrace list policies`. Settings go behind a name, as
    /// nhm:n=8,insert=lh; `terrace explain nhm` tells which. A cache has at most 64 ways.
    #[arg(long, value_name = "NAME", default_value = "lru")]
    pub policy: String,

    /// Requests before figures are taken, or a share, as 10%
    ///
    /// Requests to the last level, or a share of the traces' accesses.
    #[arg(long, value_name = "N", value_parser = WarmupChoice::parse, default_value = "0",
          allow_hyphen_values = true, hide_short_help = true)]
    pub warmup: WarmupChoice,

    /// Write the counts after each N requests to the last level into the results
    #[arg(long, value_name = "N", requires = "Results",
          value_parser = parse_count, hide_short_help = true)]
    pub epoch: Option<u64>,

    /// For what a policy leaves to chance
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        value_parser = whole(0..=u64::MAX), hide_short_help = true)]
    pub seed: u64,

    /// Write what the private levels ask of the last as a trace
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub requests: Option<PathBuf>,

    /// Write what the last level asks of memory as a trace; of a single policy and size
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub traffic: Option<PathBuf>,

    #[command(flatten)]
    pub results: Results,

    /// Run the program as this user [default: the caller]
    ///
    /// Under sudo the caller is the user who called sudo.
    #[arg(long, value_name = "NAME", requires = "program")]
    pub user: Option<String>,

    /// Only errors: no progress bar, and of a program no table
    #[arg(short, long)]
    pub quiet: bool,

    /// A program and its arguments, behind --
    ///
    /// It is recorded and simulated at the same time.
    #[arg(
        last = true,
        value_name = "PROGRAM",
        conflicts_with = "traces",
        required_unless_present = "traces"
    )]
    pub program: Vec<OsString>,

    #[command(flatten)]
    pub hierarchy: Hierarchy,

    #[command(flatten)]
    pub memory: Memory,
}

/// The caches.
#[derive(Args)]
#[command(next_help_heading = "Hierarchy")]
pub struct Hierarchy {
    /// Cores, shared evenly by the traces [default: one a trace]
    ///
    /// For a trace of requests, those that made it.
    #[arg(long, value_name = "N", value_parser = whole(1..=256_u16))]
    pub cores: Option<u16>,

    /// The first private level of each core, and its ways, or off
    #[arg(long, value_name = "SIZE[:WAYS]", default_value = "64K:2", value_parser = Private::parse,
          allow_hyphen_values = true, hide_short_help = true)]
    pub l1: Private,

    /// The second
    #[arg(long, value_name = "SIZE[:WAYS]", default_value = "256K:8", value_parser = Private::parse,
          allow_hyphen_values = true, hide_short_help = true)]
    pub l2: Private,

    /// The last level, shared by all cores, a list [default: 2M a core]
    #[arg(long, value_name = "SIZE", value_parser = Bytes::parse, value_delimiter = ',',
          allow_hyphen_values = true)]
    pub llc: Vec<Bytes>,

    /// Ways of the last level, a list
    #[arg(
        long,
        value_name = "N",
        value_delimiter = ',',
        default_value = "16",
        value_parser = whole(0..=usize::MAX), hide_short_help = true)]
    pub ways: Vec<usize>,

    /// Which frames of memory pages get when they are first touched
    ///
    /// Listed by `terrace list placements`. Free memory lies in runs of contiguous frames in random
    /// order, of 16 unless said otherwise.
    #[arg(long, value_name = "NAME", default_value = "virtual",
          value_parser = pages::parse_placement, hide_short_help = true, hide_short_help = true)]
    pub pages: Placement,

    /// Of each trace in turn the address of an instruction whose accesses are flushes of their line, or
    /// off, a list
    #[arg(long, value_name = "ADDRESS", value_delimiter = ',', value_parser = FlushIp::parse, hide_short_help = true)]
    pub flush_ip: Vec<FlushIp>,

    /// What a flush does beyond writing a dirty line to memory
    #[arg(long, value_name = "NAME", value_enum, default_value_t = Flush::Clflush, hide_short_help = true)]
    pub flush: Flush,

    /// Bytes of a line, in all levels
    #[arg(
        long,
        value_name = "BYTES",
        default_value_t = 64,
        value_parser = whole(0..=u64::MAX), hide_short_help = true)]
    pub line: u64,
}

/// The memory.
#[derive(Args)]
#[command(next_help_heading = "Memory")]
pub struct Memory {
    /// What is behind the last level, a list
    ///
    /// Memories are listed by `terrace list memories`; dram/NAME is a cache of DRAM, and NAME behind
    /// that.
    #[arg(
        long,
        value_name = "NAME",
        value_delimiter = ',',
        default_value = "dram"
    )]
    pub memory: Vec<String>,

    /// Its capacity
    #[arg(long, value_name = "SIZE", default_value = "4G", value_parser = Bytes::parse,
          allow_hyphen_values = true, hide_short_help = true)]
    pub memory_size: Bytes,

    /// The capacity of the DRAM cache of `dram/NAME`
    #[arg(long, value_name = "SIZE", default_value = "256M", value_parser = Bytes::parse,
          allow_hyphen_values = true, hide_short_help = true)]
    pub dram_cache: Bytes,

    /// Lines that wait to be written; a core that writes one more waits
    #[arg(long, value_name = "LINES", default_value_t = 32,
          value_parser = whole(0..=4096_u16), hide_short_help = true)]
    pub write_buffer: u16,

    /// A TOML file of memories of your own
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub memories: Option<PathBuf>,
}

/// A private level, or none.
#[derive(Clone, Copy)]
pub struct Private(pub Option<Size>);

impl Private {
    fn parse(text: &str) -> Result<Self> {
        if text == "off" {
            return Ok(Self(None));
        }
        let (bytes, ways) = text.split_once(':').unwrap_or((text, "8"));
        let ways = ways.parse().map_err(|_| {
            Error::usage(format!("`{text}` is no cache; write it as 256K:8, or off"))
        })?;
        let bytes = Bytes::parse(bytes)?;
        Ok(Self(Some(Size { bytes, ways })))
    }
}

impl Llc {
    /// Returns the values of all settings.
    ///
    /// # Errors
    /// A usage error where a policy is not known.
    pub fn grid(&self) -> Result<Grid> {
        Ok(Grid {
            line: self.hierarchy.line,
            private: [self.hierarchy.l1.0, self.hierarchy.l2.0],
            llc: self.hierarchy.llc.clone(),
            ways: self.hierarchy.ways.clone(),
            policies: Spec::parse_list(&self.policy).map_err(Error::usage)?,
            memories: Memories {
                names: self.memory.memory.clone(),
                capacity: self.memory.memory_size,
                dram_cache: self.memory.dram_cache,
                write_buffer: self.memory.write_buffer.into(),
            },
            warmup: self.warmup,
            epoch: self.epoch,
            seed: self.seed,
            traffic: self.traffic.is_some(),
            placement: self.hierarchy.pages.clone(),
            flushes: Flushes {
                ips: self.hierarchy.flush_ip.iter().map(|ip| ip.0).collect(),
                keeps: self.hierarchy.flush == Flush::Clwb,
            },
        })
    }

    /// Returns the memories that can be named.
    ///
    /// # Errors
    /// A failure where the file of --memories cannot be read.
    pub fn catalogue(&self) -> Result<Catalogue> {
        match &self.memory.memories {
            Some(path) => Catalogue::load(path),
            None => Ok(Catalogue::builtin()),
        }
    }

    /// Returns the number of cores that was asked for.
    pub fn cores(&self) -> Option<usize> {
        self.hierarchy.cores.map(usize::from)
    }
}

/// Files with the options that name them.
type Files<'a> = Vec<(&'static str, &'a Path)>;

impl Llc {
    /// Returns the traces that are written.
    pub fn outputs(&self) -> Files<'_> {
        let files = [
            ("--requests", self.requests.as_deref()),
            ("--traffic", self.traffic.as_deref()),
        ];
        let named = |(option, path): (_, Option<_>)| path.map(|path| (option, path));
        files.into_iter().filter_map(named).collect()
    }

    /// Returns the files that are read.
    pub fn inputs(&self) -> Files<'_> {
        let traces = self.traces.iter().map(|path| ("TRACE", &**path));
        let memories = self.memory.memories.iter();
        traces
            .chain(memories.map(|path| ("--memories", &**path)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_private_level_as_people_write_it() {
        let of = |text| Private::parse(text).map(|level| level.0);
        let size = |kib: u64, ways| {
            Some(Size {
                bytes: Bytes(kib << 10),
                ways,
            })
        };
        assert_eq!(of("64K:2"), Ok(size(64, 2)));
        assert_eq!(of("96K:12"), Ok(size(96, 12)));
        assert_eq!(of("32K"), Ok(size(32, 8)));
        assert_eq!(of("off"), Ok(None));
        for text in ["", "64K:", "64K:x", "-64K:2", "on"] {
            assert!(of(text).is_err(), "{text}");
        }
    }
}
