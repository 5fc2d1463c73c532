//! What can be written after `terrace sim llc`.

mod flush;
mod pages;

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Args;
use terrace_base::{Bytes, Error, Result};
use terrace_device::Catalogue;
use terrace_policy::llc::{Geometry, REGISTRY, Spec};
use terrace_policy::params::split_list;
use terrace_sim::llc::{Backing, Chips, Flushes, Llc as Cache, Placement, Settings, Size, Warmup};
use terrace_trace::Format;

use super::count::parse_count;
use flush::{Flush, FlushIp};

/// Simulate last-level caches under policies, and the memory behind them
///
/// Cores with private caches run the programs whose accesses the traces hold, or a program that is
/// started here. What misses in the private caches, and what they write back, goes to a last-level
/// cache. It is said how often that missed, how many lines it wrote to memory, and what this means
/// for a memory behind it: bandwidth, instructions a cycle, energy, lifetime. Private levels are
/// simulated once for any number of policies and sizes.
#[derive(Args)]
#[command(after_help = "\
Examples:
  terrace sim llc --policy lru,nhm:n=4,nhm:n=4,insert=lh bzip2.parquet
  terrace sim llc --policy lru,nhm --memory dram,pcm-row,dram/pcm-row -- ./program --its --options
  terrace sim llc --policy lru --llc 1M,2M,4M --ways 8,16 --warmup 10% mcf.parquet
  terrace sim llc --cores 8 --policy lru,nhm mcf.parquet gcc.parquet
  terrace sim llc --policy lru --epoch 25000 --json - gcc.parquet | jq '.runs[0].epochs'

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

    /// The traces' format, where neither content nor name tells
    #[arg(long, value_name = "FORMAT", value_parser = Format::parse)]
    pub format: Option<Format>,

    /// Simulate only the first accesses of each trace, or of the program, which is ended then
    #[arg(long, value_name = "N", value_parser = parse_count,
          allow_negative_numbers = true)]
    pub limit: Option<u64>,

    /// What is kept and where new lines are put, a list: see below
    #[arg(long, value_name = "NAME[:KEY=VALUE,..]", default_value = "lru",
          long_help = policy_help())]
    pub policy: String,

    /// Requests to the last level before figures are taken, or a share of the traces' accesses, as
    /// 10%
    #[arg(long, value_name = "N", value_parser = Before::parse, default_value = "0",
          allow_hyphen_values = true)]
    pub warmup: Before,

    /// Note what there was after every so many requests to the last level, in the JSON
    #[arg(long, value_name = "N", requires = "json",
          value_parser = parse_count, allow_negative_numbers = true)]
    pub epoch: Option<u64>,

    /// For what a policy leaves to chance
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        allow_negative_numbers = true
    )]
    pub seed: u64,

    /// Write what the private levels ask of the last as a trace
    #[arg(long, value_name = "FILE")]
    pub requests: Option<PathBuf>,

    /// Write what the last level asks of memory as a trace; of a single policy and size
    #[arg(long, value_name = "FILE")]
    pub traffic: Option<PathBuf>,

    /// Write results and effective settings to FILE as JSON, schema terrace.sim.llc/1; - for
    /// standard output, in place of the table
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// No progress bar, and of a program no table
    #[arg(short, long)]
    pub quiet: bool,

    /// A program and its arguments, behind --: it is recorded and simulated at the same time
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
    /// Cores, to be shared evenly by the traces [default: one a trace; those that made it for a
    /// trace of requests]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256),
          allow_negative_numbers = true)]
    pub cores: Option<u16>,

    /// The first private level of each core, and its ways, or off
    #[arg(long, value_name = "SIZE[:WAYS]", default_value = "64K:2", value_parser = Private::parse,
          allow_hyphen_values = true)]
    pub l1: Private,

    /// The second
    #[arg(long, value_name = "SIZE[:WAYS]", default_value = "256K:8", value_parser = Private::parse,
          allow_hyphen_values = true)]
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
        allow_negative_numbers = true
    )]
    pub ways: Vec<usize>,

    /// Which frames of memory pages get when they are first touched: see below
    #[arg(long, value_name = "NAME[:KEY=VALUE,..]", default_value = "virtual",
          value_parser = pages::parse_placement, long_help = pages::placement_help())]
    pub pages: Placement,

    /// Of each trace in turn the address of an instruction whose accesses are flushes of their line, or
    /// off, a list
    #[arg(long, value_name = "ADDRESS", value_delimiter = ',', value_parser = FlushIp::parse)]
    pub flush_ip: Vec<FlushIp>,

    /// What a flush does beyond writing a dirty line to memory
    #[arg(long, value_name = "NAME", value_enum, default_value_t = Flush::Clflush)]
    pub flush: Flush,

    /// Bytes of a line, in all levels
    #[arg(
        long,
        value_name = "BYTES",
        default_value_t = 64,
        allow_negative_numbers = true
    )]
    pub line: u64,
}

/// The memory.
#[derive(Args)]
#[command(next_help_heading = "Memory")]
pub struct Memory {
    /// What is behind the last level, a list: see below
    #[arg(long, value_name = "NAME", value_delimiter = ',', default_value = "dram",
          long_help = memory_help())]
    pub memory: Vec<String>,

    /// Its capacity
    #[arg(long, value_name = "SIZE", default_value = "4G", value_parser = Bytes::parse,
          allow_hyphen_values = true)]
    pub memory_size: Bytes,

    /// The capacity of the DRAM cache of `dram/NAME`
    #[arg(long, value_name = "SIZE", default_value = "256M", value_parser = Bytes::parse,
          allow_hyphen_values = true)]
    pub dram_cache: Bytes,

    /// Lines that wait to be written, before whoever writes one more waits
    #[arg(long, value_name = "LINES", default_value_t = 32,
          value_parser = clap::value_parser!(u16).range(0..=4096), allow_negative_numbers = true)]
    pub write_buffer: u16,

    /// A TOML file of memories of your own
    #[arg(long, value_name = "FILE")]
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

/// What comes before figures are taken.
#[derive(Clone, Copy)]
pub enum Before {
    /// Requests to the last level.
    Requests(u64),
    /// A share of the accesses, 0 to 1.
    Share(f64),
}

impl Before {
    fn parse(text: &str) -> Result<Self> {
        let no = || {
            Error::usage(format!(
                "`{text}` is no warm-up; write it as 1000000, 1M, or 10%"
            ))
        };
        match text.strip_suffix('%') {
            None if text == "0" => Ok(Self::Requests(0)),
            None => parse_count(text).map(Self::Requests).map_err(|_| no()),
            Some(share) => match share.parse::<f64>() {
                Ok(share) if (0.0..100.0).contains(&share) => Ok(Self::Share(share / 100.0)),
                _ => Err(no()),
            },
        }
    }

    /// Before so many accesses, where that is known.
    pub fn warmup(self, accesses: Option<u64>) -> Result<Warmup> {
        match (self, accesses) {
            (Self::Requests(requests), _) => Ok(Warmup::Requests(requests)),
            (Self::Share(share), Some(accesses)) => {
                Ok(Warmup::Accesses((share * accesses as f64) as u64))
            }
            (Self::Share(_), None) => Err(Error::usage(
                "a share of what is not known beforehand cannot be the warm-up; give --warmup as a number of requests",
            )),
        }
    }
}

impl Llc {
    /// What is simulated on so many cores, but for the warm-up, which may depend on the traces.
    ///
    /// # Errors
    /// A usage error that says what cannot be simulated.
    pub fn settings(&self, cores: usize) -> Result<Settings> {
        let settings = Settings {
            line: self.hierarchy.line,
            private: [self.hierarchy.l1.0, self.hierarchy.l2.0],
            llcs: self.llcs(cores)?,
            memories: self.memory.backings()?,
            warmup: Warmup::Requests(0),
            epoch: self.epoch,
            seed: self.seed,
            traffic: self.traffic.is_some(),
            placement: self.hierarchy.pages.clone(),
            flushes: self.flushes()?,
        };
        if self.traffic.is_some() && settings.llcs.len() > 1 {
            return Err(Error::usage(
                "--traffic is that of one cache; give one policy and one size",
            ));
        }
        settings.check()?;
        Ok(settings)
    }

    /// Which accesses are flushes; a program that is started here is one trace.
    fn flushes(&self) -> Result<Flushes> {
        let (given, traces) = (self.hierarchy.flush_ip.len(), self.traces.len().max(1));
        if given != 0 && given != traces {
            return Err(Error::usage(format!(
                "--flush-ip names {given} instructions for {traces} traces; give one for each, or off"
            )));
        }
        Ok(Flushes {
            ips: self.hierarchy.flush_ip.iter().map(|ip| ip.0).collect(),
            keeps: self.hierarchy.flush == Flush::Clwb,
        })
    }

    /// How many cores were asked for.
    pub fn cores(&self) -> Option<usize> {
        self.hierarchy.cores.map(usize::from)
    }

    /// Every policy with every size.
    fn llcs(&self, cores: usize) -> Result<Vec<Cache>> {
        let specs = split_list(&self.policy);
        let specs = specs
            .iter()
            .map(|spec| Spec::parse(spec).map_err(Error::usage));
        let policies: Vec<Spec> = specs.collect::<Result<_>>()?;
        let sizes = match &self.hierarchy.llc[..] {
            [] => vec![Bytes((2 << 20) * cores as u64)],
            sizes => sizes.to_vec(),
        };
        let mut llcs = Vec::new();
        for bytes in sizes {
            for &ways in &self.hierarchy.ways {
                let size = Size { bytes, ways };
                llcs.extend(policies.iter().map(|policy| Cache {
                    size,
                    policy: policy.clone(),
                }));
            }
        }
        Ok(llcs)
    }
}

/// Files, by the options that name them.
type Files<'a> = Vec<(&'static str, &'a Path)>;

impl Llc {
    fn outputs(&self) -> Files<'_> {
        let json = self.json.as_deref().filter(|path| path.as_os_str() != "-");
        let files = [
            ("--requests", self.requests.as_deref()),
            ("--traffic", self.traffic.as_deref()),
            ("--json", json),
        ];
        let named = |(option, path): (_, Option<_>)| path.map(|path| (option, path));
        files.into_iter().filter_map(named).collect()
    }

    fn inputs(&self) -> Files<'_> {
        let traces = self.traces.iter().map(|path| ("TRACE", &**path));
        let memories = self.memory.memories.iter();
        traces
            .chain(memories.map(|path| ("--memories", &**path)))
            .collect()
    }

    /// Nothing that is read shall be overwritten, nor anything twice; no trace is a program.
    ///
    /// # Errors
    /// A usage error that names the file.
    pub fn check_files(&self) -> Result<()> {
        let (outputs, inputs) = (self.outputs(), self.inputs());
        for (index, (option, path)) in outputs.iter().enumerate() {
            let mut others = inputs.iter().chain(&outputs[..index]);
            if let Some((other, _)) = others.find(|(_, other)| place(other) == place(path)) {
                return Err(Error::usage(format!(
                    "{option} would overwrite {}, which {other} names; name another file",
                    path.display()
                )));
            }
        }
        match self.traces.iter().find(|path| is_program(path)) {
            Some(path) => Err(Error::usage(format!(
                "{} is a program and no trace; to run it and simulate what it does, write it behind --",
                path.display()
            ))),
            None => Ok(()),
        }
    }
}

/// Where a file is, or would be.
fn place(path: &Path) -> PathBuf {
    let there = || path.canonicalize().ok();
    let name = path.file_name().unwrap_or_default();
    let parent = path
        .parent()
        .map(|parent| match parent.as_os_str().is_empty() {
            true => Path::new("."),
            false => parent,
        });
    let would_be = || Some(parent?.canonicalize().ok()?.join(name));
    there().or_else(would_be).unwrap_or_else(|| path.to_owned())
}

/// Whether a file begins as those do that the kernel executes.
fn is_program(path: &Path) -> bool {
    let mut head = [0; 4];
    let is_file = path.is_file();
    let mut read = || File::open(path)?.read_exact(&mut head);
    is_file && read().is_ok() && (head == *b"\x7fELF" || head.starts_with(b"#!"))
}

/// What stands before the name of a memory that has a DRAM cache.
const CACHED: &str = "dram/";

impl Memory {
    fn backings(&self) -> Result<Vec<Backing>> {
        let catalogue = match &self.memories {
            Some(path) => Catalogue::load(path)?,
            None => Catalogue::builtin(),
        };
        let chips = |name: &str, capacity| {
            Ok(Chips {
                technology: catalogue.get(name)?.clone(),
                capacity,
                write_buffer: self.write_buffer.into(),
            })
        };
        let backing = |name: &String| {
            let behind = name.strip_prefix(CACHED);
            let cache = behind.map(|_| chips("dram", self.dram_cache)).transpose()?;
            Ok(Backing {
                name: name.clone(),
                memory: chips(behind.unwrap_or(name), self.memory_size)?,
                cache,
            })
        };
        self.memory.iter().map(backing).collect()
    }
}

fn policy_help() -> String {
    let mut text = String::from("What is kept and where new lines are put, a list:");
    for entry in REGISTRY {
        text.push_str(&format!("\n- {}: {}", entry.name, entry.summary));
        if !entry.keys.is_empty() {
            text.push_str(&format!(" [{}]", entry.keys));
        }
        if entry.needs_ip {
            text.push_str("; needs a trace with instruction addresses");
        }
    }
    text.push_str(&format!(
        "\nSettings go behind a name, as nhm:n=8,insert=lh; at most {} ways.",
        Geometry::MOST_WAYS
    ));
    text
}

fn memory_help() -> String {
    let catalogue = Catalogue::builtin();
    let mut text = String::from("What is behind the last level, a list:");
    let known = catalogue
        .iter()
        .filter(|technology| technology.line_read.is_some() && technology.line_write.is_some());
    for technology in known {
        text.push_str(&format!("\n- {}: {}", technology.name, technology.summary));
    }
    text.push_str("\n- dram/NAME: a cache of DRAM, and NAME behind that");
    text
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

    #[test]
    fn a_warm_up_as_people_write_it() {
        let of = |text, accesses| Before::parse(text).and_then(|before| before.warmup(accesses));
        assert_eq!(of("0", None), Ok(Warmup::Requests(0)));
        assert_eq!(of("1000", None), Ok(Warmup::Requests(1000)));
        assert_eq!(of("2M", None), Ok(Warmup::Requests(2_000_000)));
        assert_eq!(of("10%", Some(500)), Ok(Warmup::Accesses(50)));
        assert!(of("10%", None).is_err());
        for text in ["", "100%", "-1%", "x", "-5", "nan%"] {
            assert!(of(text, Some(1)).is_err(), "{text}");
        }
    }
}
