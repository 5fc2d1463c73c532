//! What can be written after `terrace heap`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Look at pools of the persistent heap, check them, and compact them
///
/// A pool is a file in which a program keeps data with the library terrace-heap, so that they survive
/// its end, however that comes. All commands but compact only read: what the last user of the pool
/// left undone is done in private memory, and the file stays as it is. A pool that is open elsewhere
/// is refused; take a copy of it, or close it first.
#[derive(Args)]
#[command(after_help = "\
Examples:
  terrace heap info app.pool                   how it is filled
  terrace heap check app.pool && ./app         only if nothing is wrong with it
  terrace heap dump app.pool | grep root       what lies where
  terrace heap dump --object 16384 app.pool    the bytes of one object")]
pub struct Heap {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    Info(Info),
    Check(Check),
    Dump(Dump),
    Compact(Compact),
}

/// Say how a pool is filled: chunks, objects by size, fragmentation, logs and roots
///
/// A pool is divided into chunks. Objects up to half a chunk share chunks with others of their size
/// class (a run); larger ones have chunks of their own. For each object in use there is a record in a
/// log; free chunks, slots and places for records follow from that.
#[derive(Args)]
#[command(after_help = "\
Examples:
  terrace heap info app.pool
  terrace heap info --json app.pool | jq .roots")]
pub struct Info {
    /// The pool
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// For machines: schema terrace.heap.info/1
    #[arg(long)]
    pub json: bool,
}

/// Find whatever is wrong with a pool
///
/// Everything that the format protects is looked at: header, regions, words about chunks, lanes and
/// their intents, records of objects, transaction logs, roots and what they point to, and that what
/// was never used is empty. Each finding is a sentence with its offset. What a crash may leave is no
/// finding: it is what opening a pool recovers from. Contents of objects are the program's and have no
/// checksum.
///
/// Ends with 0 if the pool is sound, and with 1 if it is not.
#[derive(Args)]
#[command(after_help = "\
Examples:
  terrace heap check app.pool
  terrace heap check --json app.pool | jq '.findings[].offset'")]
pub struct Check {
    /// The pool
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// For machines: schema terrace.heap.check/1
    #[arg(long)]
    pub json: bool,
}

/// Print what lies in a pool, a line each: header, chunks, lanes, intents, records, roots
///
/// The pool is shown as its last user left it; nothing is recovered first, and what is damaged is
/// shown as such. crates/heap/FORMAT.md says what the fields mean. All numbers are decimal, offsets
/// count bytes from the beginning of the pool.
#[derive(Args)]
#[command(after_help = "\
Examples:
  terrace heap dump app.pool | less
  terrace heap dump --object 0x4000 app.pool
  terrace heap dump --json app.pool | jq 'select(.what == \"record\") | .bytes'")]
pub struct Dump {
    /// The pool
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// Only the object that lies at this offset: its record and its bytes
    #[arg(long, value_name = "OFFSET", value_parser = parse_offset)]
    pub object: Option<u64>,

    /// For machines: a JSON document a line
    #[arg(long)]
    pub json: bool,
}

/// Compact the log of object records, so that chunks become free
///
/// Records of a program that has made many objects and freed most of them are spread over many
/// chunks. They move to as few as they need. Objects stay where they are. The program may end, or the
/// machine may crash, at any time: the pool holds the same objects before, after and in between.
///
/// The pool is read first, and nothing is written to a file that is none. If it has holes, as a sparse
/// copy does, they are given room on the disk, and how much is said before.
#[derive(Args)]
#[command(after_help = "\
Example:
  terrace heap compact app.pool")]
pub struct Compact {
    /// The pool
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// For machines: schema terrace.heap.compact/1
    #[arg(long)]
    pub json: bool,
}

/// An offset, as programs and people write them.
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
