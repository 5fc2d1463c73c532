//! Arguments of `terrace record`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{ArgPredicate, PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use terrace_base::Bytes;
use terrace_base::count::parse_count;
use terrace_trace::Level;

use super::AsUser;
use super::trace::parse_level;

/// Record every memory access of a program
///
/// The program runs unmodified in qemu-user with a plug-in; input, output and exit code are the
/// program's own. Threads, forked processes and programs that it starts are recorded, too. Accesses
/// of the kernel are not; what it writes into the program's memory is with --contents.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  terrace record -- ./program --its --options
  terrace record -o page.parquet --level pages -- python3 job.py
  terrace record -o full.parquet --contents -- gzip -c file > file.gz
  terrace record --html heat.html -- ./program
  terrace record -o large.parquet --extended --contents -- ./program
  terrace record -o place.parquet --allocations --filter l1l2 -- ./program
  terrace record -o llc.parquet --filter l1l2 --limit 100000000 -- ./program

Ctrl-C goes to the program, as it does without terrace. A second one kills it; the trace up to there is kept.
After a kill -9 of terrace nothing is left of the trace: it has its name only when it is whole, and
a file of that name that was there before stays as it was.
Exit code: the program's own, 0 where --limit ended it; 2 for wrong usage; 1 where terrace failed, or
--memory-limit ended it.
Needs qemu-user (Debian: apt-get install qemu-user).")]
pub struct Record {
    /// The trace: a Parquet file with one row for each access
    #[arg(short, long, value_name = "FILE", default_value = "trace.parquet")]
    pub output: PathBuf,

    /// What one row is
    #[arg(
        long,
        value_name = "LEVEL",
        default_value = "accesses",
        default_value_if("contents", ArgPredicate::Equals("true".into()), "pages"),
        value_parser = levels()
    )]
    pub level: Level,

    /// Also record what pages hold, at --level pages
    ///
    /// Each row then says which words of its page have changed since they were last recorded, also
    /// those that the kernel has written, so that the contents of any page are known at any time of
    /// the trace. A sample of the rows carries a checksum of the page; `terrace trace info`
    /// verifies them.
    #[arg(long)]
    pub contents: bool,

    /// Also record which loads addresses come from, for `terrace sim llc`
    ///
    /// A load whose address another has loaded waits for it, as in a list that is followed; without
    /// this all loads overlap. Found in the registers of the program's instructions: what passes
    /// through memory is not followed.
    #[arg(long, hide_short_help = true)]
    pub dependences: bool,

    /// Record only what `terrace extend` would extend: large mappings and blocks of malloc
    ///
    /// These are private anonymous mappings of 1 MiB or more. A simulation of such a trace can be
    /// compared with what `terrace extend` measures, which `terrace sim pages --help` explains.
    #[arg(long)]
    pub extended: bool,

    /// With --extended, also record small blocks of malloc, in the heap of `terrace extend
    /// --small-blocks`
    ///
    /// The program gets that heap, so that its blocks lie where that of `terrace extend` has them.
    #[arg(long, requires = "extended", hide_short_help = true)]
    pub small_blocks: bool,

    /// Also record allocations of SIZE (32K) or more
    ///
    /// For `terrace place`. Blocks of malloc and its like, so of C++'s new, and anonymous mappings
    /// that the program makes: address, size, lifetime, and the calls that led to each, with
    /// functions and lines where the program has them (-g). Programs that are linked statically do
    /// not tell of theirs.
    #[arg(
        long, value_name = "SIZE", num_args = 0..=1, require_equals = true, default_missing_value = "32K",
        value_parser = Bytes::parse
    )]
    pub allocations: Option<Bytes>,

    /// Which accesses are kept
    #[arg(long, value_enum, default_value_t)]
    pub filter: Filter,

    /// End the recording after N rows
    ///
    /// The program ends with it.
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub limit: Option<u64>,

    /// Most memory that the emulator may take
    ///
    /// The recording ends when the emulator and the processes that it runs take more together; the
    /// trace up to there is kept. Half of the available memory if not given.
    #[arg(long, value_name = "SIZE", value_parser = super::memory, allow_hyphen_values = true)]
    pub memory_limit: Option<Bytes>,

    /// Also write what `terrace trace info --html` shows of the trace, with its heat map
    ///
    /// The trace is read for it once more.
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub html: Option<PathBuf>,

    #[command(flatten)]
    pub user: AsUser,

    /// Print errors only: no status, no notices, no summary
    #[arg(short, long)]
    pub quiet: bool,

    /// The program and its arguments, behind --
    #[arg(last = true, value_name = "PROGRAM", required = true)]
    pub program: Vec<OsString>,
}

/// Returns a parser of levels; help and completions list them.
fn levels() -> impl TypedValueParser<Value = Level> {
    let rows = [
        "An access",
        "A run of accesses of one thread to one line of 64 bytes; it stores if any does",
        "A run of accesses of one thread to one page of 4 KiB; it stores if any does, and says whether it leaves zeros",
    ];
    let levels = Level::ALL.iter().zip(rows);
    let values = levels.map(|(level, row)| PossibleValue::new(level.name()).help(row));
    PossibleValuesParser::new(values).try_map(|name| parse_level(&name))
}

/// Which accesses are kept.
#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Filter {
    /// All accesses
    #[default]
    None,
    /// The misses and write-backs of private caches of each thread (32 KiB and 256 KiB, 8 ways,
    /// LRU, write-back)
    L1l2,
}
