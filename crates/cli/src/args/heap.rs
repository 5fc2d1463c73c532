//! Options of `terrace heap`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use terrace_base::Bytes;

use super::Results;

/// Inspect, check and compact pools of the persistent heap
///
/// A pool is a file in which a program keeps data with the library terrace-heap, so that they
/// survive the program's end and crashes. All commands but compact, create and remove only read:
/// recovery runs in private memory, and the file stays as it is. A pool that is open elsewhere is
/// refused: close it first, or have the program that has it open make a copy (Heap::copy in Rust,
/// nvm_copy in C). A copy that cp or another tool makes of an open pool may hold parts of changes;
/// opening it is refused where the file system tells such copies from originals.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  terrace heap info app.pool                   how it is filled
  terrace heap check app.pool && ./app         only if nothing is wrong with it
  terrace heap dump app.pool | grep root       what lies where
  terrace heap dump --object 16384 app.pool    the bytes of one object
  terrace heap copy app.pool backup.pool       a copy that opens as a closed pool
  terrace heap salvage app.pool new.pool       what can be read of a damaged pool")]
pub struct Heap {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Show how a pool is filled: chunks, objects by size, fragmentation, logs and roots
    ///
    /// A pool is divided into chunks. Objects up to half a chunk share chunks with others of their
    /// size class (a run); larger objects have chunks of their own. Each object in use has a record
    /// in a log, from which free chunks, slots and places for records follow.
    #[command(after_long_help = "\
Examples:
  terrace heap info app.pool
  terrace heap info --json=- app.pool | jq .roots")]
    Info(Pool),
    /// Find damage in a pool
    ///
    /// Checks everything that the format protects: header, regions, chunk words, lanes and their
    /// intents, records of objects, transaction logs, roots and the objects they point to, and that
    /// unused space is empty. Looks into containers: the order of keys, the hashes and places of
    /// entries, counts, and that each object is in use and belongs to one container. Each finding
    /// is a sentence with its offset; the first 100 are printed, with the number of the rest. The
    /// state that a crash leaves is no finding: opening a pool recovers from it. Contents are
    /// checked where the pool has checksums of them.
    ///
    /// The exit code is 0 if the pool is sound, and 1 if it is not.
    #[command(after_long_help = "\
Examples:
  terrace heap check app.pool
  terrace heap check --json=- app.pool | jq '.findings[].offset'")]
    Check(Pool),
    Dump(Dump),
    /// Move objects out of chunks that hold few, so that chunks become free
    ///
    /// After a program has removed most of what it kept, the rest is spread over many chunks.
    /// Compaction makes sparse nodes of ordered maps fewer, and moves entries, nodes, values and
    /// small segments of containers to as few chunks as possible, and the records of objects, too.
    /// What a program reaches by pointers of its own stays where it is, as do the tables of
    /// containers, the segments of hash maps, and objects of half a chunk or more; a chunk with any
    /// of these is not emptied. The pool holds the same at any time, even if the machine crashes
    /// meanwhile. A program compacts a pool that it has open itself (Heap::compact_some in Rust,
    /// nvm_compact in C).
    ///
    /// The pool is checked first, and a file that is no pool is not written. Holes of a sparse file
    /// are allocated on the disk; a message says how much.
    ///
    /// A container that is damaged is left out and named, and the others are compacted; the exit
    /// code is then 1.
    #[command(after_long_help = "\
Example:
  terrace heap compact app.pool")]
    Compact(Pool),
    Copy(Copy),
    Create(Create),
    Remove(Remove),
    Salvage(Salvage),
}

/// Copy a pool to a new file
///
/// The copy holds what the pool holds, opens as a pool that was closed, and gets its name when it
/// is whole and durable.
///
/// A pool is copied by the process that has it open for writing; other processes copy it only while
/// none has. So a pool that a program has open is refused here: the program makes the copy itself,
/// while its threads go on (Heap::copy in Rust, nvm_copy in C).
///
/// A file that another tool has copied while the pool was open may hold parts of changes. If it is
/// all that is left, this command makes a pool of it, and a message says so.
#[derive(Args)]
#[command(after_long_help = "\
Example:
  terrace heap copy app.pool backup.pool")]
pub struct Copy {
    /// Pool
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// New file
    #[arg(value_name = "NEW")]
    pub to: PathBuf,
}

/// Create a pool without anything in it
///
/// Programs create their pools themselves; this is for a pool with other options than theirs. With
/// checksums of contents, a container returns what was written to it, or an error, whatever the
/// disk does to the file.
#[derive(Args)]
#[command(after_long_help = "\
Example:
  terrace heap create app.pool 64M --checksums on")]
pub struct Create {
    /// New file
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// Bytes of the pool
    #[arg(value_name = "SIZE", value_parser = Bytes::parse)]
    pub size: Bytes,

    /// Whether contents have checksums [default: on for a plain file, off in memory]
    #[arg(long, value_name = "WHETHER")]
    pub checksums: Option<Whether>,
}

/// Write what can be read of a damaged pool to a new one
///
/// The new pool has the same roots, and containers of the same types with all entries and elements
/// that can be read. Each container has a line with the number of its entries; what could not be
/// read is said by a sentence each, up to 100 of them, with the number of the rest. The damaged
/// pool stays as it is.
///
/// In a pool with checksums of contents, what is salvaged is what was written; in others it is what
/// is structurally sound. Of a vector, the elements before the first damaged one are salvaged.
/// Objects that a program reaches by its own pointers are not. The new pool is made in memory
/// first.
///
/// The exit code is 0 if all was salvaged, 3 if a part was, and 4 if nothing was.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  terrace heap check app.pool || terrace heap salvage app.pool new.pool
  terrace heap salvage --json=- app.pool new.pool | jq '.containers[]'")]
pub struct Salvage {
    /// Pool
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// New file
    #[arg(value_name = "NEW")]
    pub to: PathBuf,

    /// Whether contents of the new pool have checksums [default: as those of the old one]
    #[arg(long, value_name = "WHETHER")]
    pub checksums: Option<Whether>,

    #[command(flatten)]
    pub results: Results,
}

/// Yes or no.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Whether {
    /// Yes
    On,
    /// No
    Off,
}

impl From<Whether> for bool {
    fn from(whether: Whether) -> Self {
        whether == Whether::On
    }
}

/// Remove a container from a pool, with all that it holds
///
/// The room becomes free for other objects of the pool. If the command is killed meanwhile, the
/// container is gone, or there as it was.
#[derive(Args)]
#[command(after_long_help = "\
Example:
  terrace heap info app.pool             the names of containers
  terrace heap remove app.pool visits")]
pub struct Remove {
    /// Pool
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// Name of the container
    #[arg(value_name = "NAME")]
    pub name: String,
}

/// Print the structures of a pool: header, chunks, lanes, intents, records, roots
///
/// Each has a line. The pool is shown as its last user left it, before recovery, with damage
/// marked. crates/heap/FORMAT.md describes the fields. All numbers are decimal; offsets count bytes
/// from the beginning of the pool. The JSON has one document a line.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  terrace heap dump app.pool | less
  terrace heap dump --object 0x4000 app.pool
  terrace heap dump --json=- app.pool | jq 'select(.what == \"record\") | .bytes'")]
pub struct Dump {
    /// Print only the object at this offset: its record and its bytes
    #[arg(long, value_name = "OFFSET", value_parser = parse_offset)]
    pub object: Option<u64>,

    #[command(flatten)]
    pub pool: Pool,
}

// Its documentation would be the help of every command.
#[derive(Args)]
pub struct Pool {
    /// Pool
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    #[command(flatten)]
    pub results: Results,
}

/// Parses a decimal or hexadecimal offset.
fn parse_offset(text: &str) -> Result<u64, String> {
    let number = match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16),
        None => text.parse(),
    };
    number.map_err(|_| format!("`{text}` is no offset; write it as 16384 or 0x4000"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets() {
        assert_eq!(parse_offset("16384"), Ok(16384));
        assert_eq!(parse_offset("0x4000"), Ok(16384));
        for text in ["", "-1", "x", "0x", "1k", "99999999999999999999"] {
            assert!(parse_offset(text).is_err(), "{text}");
        }
    }
}
