//! What can be written after `terrace trace`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use terrace_base::{Bytes, Error, Result};
use terrace_trace::{Format, Level, Selection, generate};

use super::count::parse_count;

/// Look at traces of memory accesses, convert them, and generate some
#[derive(Args)]
pub struct Trace {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    Info(Info),
    Convert(Convert),
    Gen(Gen),
}

/// Say what is in a trace: accesses, footprint, threads, and how soon pages are used again
///
/// The trace is read once. For every touch of a page it is found out how many other pages were
/// touched since the last touch of the same page; an LRU memory of n pages holds exactly those with
/// fewer than n. So the table says what an LRU DRAM of a share of the footprint would miss.
#[derive(Args)]
#[command(after_help = "\
Examples:
  terrace trace info gcc.parquet
  terrace trace info --json gcc.parquet | jq .lru
  terrace trace info --format champsim gcc.bin

Formats: native (Parquet), champsim, lackey, oracle-general, caffeine, csv.")]
pub struct Info {
    /// The trace
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// Its format, where neither its content nor its name tells
    #[arg(long, value_name = "FORMAT", value_parser = Format::parse)]
    pub format: Option<Format>,

    /// For machines: schema terrace.trace/1
    #[arg(long)]
    pub json: bool,

    /// No progress bar
    #[arg(short, long)]
    pub quiet: bool,
}

/// Write a trace in another format, or part of it, or a coarser view
///
/// At the level of lines or pages, accesses of one thread to the same line of 64 bytes or page of 4
/// KiB that follow each other become one row: the first, which is a write if any of them was. That
/// makes a smaller trace for whoever simulates no more than that.
#[derive(Args)]
#[command(after_help = "\
Examples:
  terrace trace convert gcc.champsimtrace.xz gcc.parquet
  terrace trace convert --level pages gcc.parquet gcc-pages.parquet
  terrace trace convert --thread 0 --limit 1M --to csv gcc.parquet head.txt

Formats: native (.parquet), champsim, oracle-general and csv are written; lackey and caffeine are
read as well. A file that has the name of the new one is replaced when that is complete.")]
pub struct Convert {
    /// The trace to read
    #[arg(value_name = "IN")]
    pub input: PathBuf,

    /// The trace to write
    #[arg(value_name = "OUT")]
    pub output: PathBuf,

    /// The format of IN, where neither its content nor its name tells
    #[arg(long, value_name = "FORMAT", value_parser = Format::parse)]
    pub from: Option<Format>,

    /// The format of OUT, where its name does not tell
    #[arg(long, value_name = "FORMAT", value_parser = Format::parse)]
    pub to: Option<Format>,

    /// Only accesses of thread N, as the trace numbers them
    #[arg(long, value_name = "N")]
    pub thread: Option<u16>,

    /// One row an access, or a run of accesses to one line, or to one page
    #[arg(long, value_name = "accesses|lines|pages", default_value = "accesses",
          value_parser = parse_level)]
    pub level: Level,

    /// Leave out the first N accesses of IN, as those of a program that sets itself up: 1000000, 1M
    #[arg(long, value_name = "N", value_parser = parse_count,
          allow_hyphen_values = true)]
    pub skip: Option<u64>,

    /// Stop after N rows: 1000000, 1M
    #[arg(long, value_name = "N", value_parser = parse_count,
          allow_hyphen_values = true)]
    pub limit: Option<u64>,

    /// No progress bar
    #[arg(short, long)]
    pub quiet: bool,
}

impl Convert {
    pub fn selection(&self) -> Selection {
        Selection {
            skip: self.skip.unwrap_or(0),
            thread: self.thread,
            level: self.level,
            limit: self.limit,
        }
    }
}

/// Generate a trace of a well-known access pattern
///
/// Each kind is the loop of a real kernel, which notes what it loads and stores, counts instructions
/// and has a few instruction addresses. The same options and seed give the same trace on every
/// machine.
#[derive(Args)]
#[command(after_help = "\
Examples:
  terrace trace gen zipf --exponent 0.9 --footprint 4G --accesses 20M -o zipf.parquet
  terrace trace gen matmul --footprint 24M --block 64 -o matmul.parquet
  terrace trace gen bfs --footprint 256M --seed 7 -o bfs.parquet")]
pub struct Gen {
    #[command(subcommand)]
    pub kind: Kind,
}

#[derive(Subcommand)]
pub enum Kind {
    Sequential(Sequential),
    Strided(Strided),
    Zipf(Zipf),
    Chase(Chase),
    Gups(Gups),
    Matmul(Matmul),
    Stencil(Stencil),
    Join(Join),
    Bfs(Bfs),
}

/// What every kind is told.
#[derive(Args)]
pub struct Common {
    /// Where the trace goes; a file that has this name is replaced when the trace is complete
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,

    /// The format of the trace, where its name does not tell
    #[arg(long, value_name = "FORMAT", value_parser = Format::parse)]
    pub to: Option<Format>,

    /// Stop after N accesses, if the kernel does not end before: 1000000, 20M
    #[arg(long, value_name = "N", default_value = "10M", value_parser = parse_count,
          allow_hyphen_values = true)]
    pub accesses: u64,

    /// What all arrays of the kernel take together, at most: 64M, 4GiB, bytes
    #[arg(long, value_name = "SIZE", default_value = "256M", value_parser = Bytes::parse,
          allow_hyphen_values = true)]
    pub footprint: Bytes,

    /// What random numbers are drawn from
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// No progress bar
    #[arg(short, long)]
    pub quiet: bool,
}

impl Common {
    pub fn settings(&self) -> generate::Settings {
        generate::Settings {
            accesses: self.accesses,
            footprint: self.footprint,
            seed: self.seed,
        }
    }
}

/// How many accesses store.
#[derive(Args)]
pub struct Writes {
    /// How many of a hundred accesses store, drawn at random
    #[arg(long, value_name = "PERCENT", default_value_t = 0,
          value_parser = clap::value_parser!(u8).range(0..=100))]
    pub writes: u8,
}

/// A walk over an array from end to end, again and again, 8 bytes at a time
///
/// What every prefetcher foresees, and what LRU keeps worst: a byte more than fits, and every page
/// is gone before it is needed again.
#[derive(Args)]
pub struct Sequential {
    #[command(flatten)]
    pub common: Common,
    #[command(flatten)]
    pub writes: Writes,
}

/// A walk over an array in equal steps, as over a column of a matrix
///
/// Each walk begins 8 bytes behind the one before. With a stride of a page or more, every access is
/// to another page than the one before.
#[derive(Args)]
pub struct Strided {
    #[command(flatten)]
    pub common: Common,
    /// The step
    #[arg(long, value_name = "SIZE", default_value = "4K", value_parser = Bytes::parse,
          allow_hyphen_values = true)]
    pub stride: Bytes,
    #[command(flatten)]
    pub writes: Writes,
}

/// Independent requests for items of very different popularity
///
/// The item of rank k is asked for with a probability that goes with 1/k^exponent, as in caches of
/// the web and of databases. Items lie scrambled over the footprint, that popular ones are not
/// neighbours, unless --in-order. There are as many as fit into the footprint: 4G is a million pages.
#[derive(Args)]
pub struct Zipf {
    #[command(flatten)]
    pub common: Common,
    /// From 0 (all alike) to 2; web caches have 0.6 to 1.0
    #[arg(
        long,
        value_name = "S",
        default_value_t = 1.0,
        allow_hyphen_values = true
    )]
    pub exponent: f64,
    /// The size of an item; each request touches 8 bytes in it
    #[arg(long, value_name = "SIZE", default_value = "4K", value_parser = Bytes::parse,
          allow_hyphen_values = true)]
    pub item: Bytes,
    /// Items lie in the order of their ranks
    #[arg(long)]
    pub in_order: bool,
    #[command(flatten)]
    pub writes: Writes,
}

/// A pointer chase over a circular list of all nodes in random order
///
/// Every load needs the one before, so nothing overlaps and only a memory of what came after what
/// can foresee the next.
#[derive(Args)]
pub struct Chase {
    #[command(flatten)]
    pub common: Common,
    /// The size of a node, with the pointer at its beginning
    #[arg(long, value_name = "SIZE", default_value = "64", value_parser = Bytes::parse,
          allow_hyphen_values = true)]
    pub node: Bytes,
}

/// Random updates of a table, as in HPC Challenge's RandomAccess
///
/// Each update loads a random word and stores it. Nothing can be foreseen, and every page gets dirty.
#[derive(Args)]
pub struct Gups {
    #[command(flatten)]
    pub common: Common,
}

/// A blocked product of matrices of doubles, C += A*B
///
/// The loops are those of Lam, Rothberg and Wolf (ASPLOS 1991). The matrices are the largest of which
/// three fit into the footprint: 24M is 1024 by 1024. The trace ends with the product.
#[derive(Args)]
pub struct Matmul {
    #[command(flatten)]
    pub common: Common,
    /// Rows and columns of a block; more than the matrix has for no blocking
    #[arg(long, value_name = "N", default_value_t = 64)]
    pub block: u64,
}

/// A five-point stencil: sweeps over a grid of doubles, each point from its neighbours
///
/// Two grids, read and written in turn (PolyBench's jacobi-2d): five streams of loads and one of
/// stores.
#[derive(Args)]
pub struct Stencil {
    #[command(flatten)]
    pub common: Common,
}

/// A hash join: a table is built of one relation and probed with another
///
/// The relations are read and the result is written from end to end, the hash table at random. The
/// trace ends with the join.
#[derive(Args)]
pub struct Join {
    #[command(flatten)]
    pub common: Common,
    /// Probing tuples for each in the table
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub probes: u64,
}

/// Breadth-first searches of a graph like a social network's (R-MAT, as in Graph500)
///
/// One search after the other, each from another vertex. The graph is really built in memory; its
/// number of vertices is the largest power of two that fits into the footprint.
#[derive(Args)]
pub struct Bfs {
    #[command(flatten)]
    pub common: Common,
    /// Edges for each vertex, before each is stored in both directions
    #[arg(long, value_name = "N", default_value_t = 16)]
    pub degree: u64,
}

fn parse_level(name: &str) -> Result<Level> {
    let level = Level::ALL.into_iter().find(|level| level.name() == name);
    level.ok_or_else(|| {
        let names = Level::ALL.map(Level::name).join(", ");
        Error::usage(format!("`{name}` is no level; there are {names}"))
    })
}
