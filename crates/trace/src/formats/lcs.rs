//! libCacheSim's binary format: a header, then requests for objects, little-endian and packed.
//!
//! | offset | in the header | |
//! |---|---|---|
//! | 0 | start_magic u64 | 0x123456789abcdef0 |
//! | 8 | version u64 | 1 to 8 |
//! | 16 | statistics | the second word of 8 bytes is the number of requests, 0 where it is not known |
//! | 8184, or 1016 in older files | end_magic u64 | as the first |
//!
//! | offset | of a request | version 1 | version 2 | from version 3 on |
//! |---|---|---|---|---|
//! | 0 | clock_time u32 | | | |
//! | 4 | obj_id u64 | | | |
//! | 12 | obj_size | u32 | u32 | i64 |
//! | 16 or 20 | op u8, tenant u24 | not there | | |
//! | 24 | ttl u32 | not there | not there | |
//! | behind it | next_access_vtime i64 | | | |
//! | behind it | features, u32 each | 0 | 0 | 0, 1, 2, 4, 8, 16 of versions 3 to 8 |
//!
//! From libCacheSim's `traceReader/customizedReader/lcs.h` and the numbers of operations in its
//! `enum.h`.
//!
//! Ids are the names of objects, which are given pages ([`crate::objects`]), as those of
//! [`super::oracle_general`] are.

use std::io::Read;

use terrace_base::Result;

use crate::access::{Access, Block, Columns};
use crate::format::{Content, Declaration, Field, Format};
use crate::input::Input;
use crate::objects::Objects;
use crate::source::{Meta, Source};
use crate::stream::records;
use crate::tally::Tally;
use crate::text::Operation;

/// The declaration of the format.
pub const FORMAT: Format = Format::new(&Declaration {
    name: "lcs",
    help: "requests of libCacheSim with a header, versions 1 to 8, only read",
    endings: &[".lcs"],
    fields: &[
        Field::unread("clock_time", "seconds, 32 bits"),
        Field::read(
            "obj_id",
            "the name of an object, 64 bits: it has pages of its own, as many as its size needs, \
             or one with --keys",
        ),
        Field::read(
            "obj_size",
            "its size in bytes, 32 bits, or 64 from version 3 on",
        ),
        Field::read(
            "op",
            "from version 2 on: get, gets and read read, others write; requests to delete are left \
             out and counted",
        ),
        Field::unread("tenant", "from version 2 on: whose object it is"),
        Field::unread("ttl", "from version 3 on: seconds until it expires"),
        Field::unread("next_access_vtime", "the index of its next request"),
        Field::unread("features", "from version 4 on: any numbers"),
    ],
    example: "traceConv trace.csv csv -t \"time-col=1,obj-id-col=2\" --output-format lcs\n",
    content: Content::Magic(&MAGIC.to_le_bytes()),
    open,
    create: None,
});

/// The first and the last bytes of the header.
const MAGIC: u64 = 0x1234_5678_9abc_def0;
/// Bytes of the header, in older files and in newer ones.
const HEADERS: [usize; 2] = [1024, 8192];
/// Numbers of features, of each version from 3 on.
const FEATURES: [usize; 6] = [0, 1, 2, 4, 8, 16];

/// What is said of requests that take an object away.
const DELETED: &str = "requests delete an object, and were left out";
/// What is said of operations that libCacheSim does not know.
const UNKNOWN: &str = "requests have an unknown operation, and were read as reads";
/// What is said of sizes that have more than 32 bits.
const CLIPPED: &str =
    "requests are for objects of 4 GiB or more, and were read as for 4 GiB less a byte";

/// The layout of requests.
#[derive(Clone, Copy)]
struct Version {
    number: u64,
    /// Bytes of a request.
    bytes: usize,
}

impl Version {
    fn of(number: u64) -> Option<Self> {
        let bytes = match number {
            1 => 24,
            2 => 28,
            3..=8 => 36 + 4 * FEATURES[number as usize - 3],
            _ => return None,
        };
        Some(Self { number, bytes })
    }

    /// Returns the size and the operation of a request; none if there can be no such size.
    fn parts(self, record: &[u8]) -> Option<(u64, u8)> {
        let (size, op) = match self.number {
            1 => (u32_at(record, 12).into(), 1),
            2 => (u32_at(record, 12).into(), record[16]),
            _ => (u64_at(record, 12), record[20]),
        };
        i64::try_from(size).is_ok().then_some((size, op))
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let field = bytes[at..].first_chunk();
    u32::from_le_bytes(*field.expect("records are that long"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let field = bytes[at..].first_chunk();
    u64::from_le_bytes(*field.expect("records are that long"))
}

/// Reads the header. Returns the version, and the number of requests if it says it.
fn header(input: &mut Input) -> Result<(Version, Option<u64>)> {
    let head = &input.head;
    let ends_at = |bytes: &&usize| {
        let end = head.get(**bytes - 8..**bytes);
        end.is_some_and(|end| end == MAGIC.to_le_bytes())
    };
    let Some(bytes) = HEADERS.iter().find(ends_at).copied() else {
        return Err(input.corrupt(
            0,
            "the header of an lcs trace has no end; it was cut short, or is of the layout before \
             version 1, which is not read",
        ));
    };
    let (number, requests) = (u64_at(head, 8), u64_at(head, 24));
    let Some(version) = Version::of(number) else {
        let what = format!("it is an lcs trace of version {number}; versions 1 to 8 are read");
        return Err(input.corrupt(8, &what));
    };
    let mut skipped = vec![0; bytes];
    fill(input, &mut skipped)?;
    Ok((version, (requests > 0).then_some(requests)))
}

/// Fills `record`, and returns whether there was anything.
fn fill(input: &mut Input, record: &mut [u8]) -> Result<bool> {
    let (at, mut filled) = (input.position, 0);
    while filled < record.len() {
        match input.read(&mut record[filled..]) {
            Ok(0) if filled == 0 => return Ok(false),
            Ok(0) => {
                let what = format!(
                    "it ends within a request: {filled} bytes of {}",
                    record.len()
                );
                return Err(input.corrupt(at, &what));
            }
            Ok(read) => filled += read,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(input.failed(input.position, &e)),
        }
    }
    Ok(true)
}

fn open(mut input: Input, _: Columns) -> Result<Box<dyn Source>> {
    let (version, requests) = header(&mut input)?;
    let meta = Meta {
        about: vec![("version".into(), version.number.to_string())],
        objects: Objects::Named,
        ..Meta::of(FORMAT, false)
    };
    let tally = meta.tally.clone();
    let (mut record, mut done) = (vec![0; version.bytes], 0);
    let next = move |block: &mut Block| {
        let at = input.position;
        if !fill(&mut input, &mut record)? {
            let all = requests.filter(|all| *all != done);
            return all.map_or(Ok(false), |all| {
                let what = format!("it holds {done} requests, and its header says {all}");
                Err(input.corrupt(at, &what))
            });
        }
        done += 1;
        let Some((size, op)) = version.parts(&record) else {
            return Err(input.corrupt(at, "the size of its object is negative"));
        };
        push(block, &tally, u64_at(&record, 4), size, op);
        Ok(true)
    };
    Ok(records(meta, next))
}

/// Appends a request, unless it deletes.
fn push(block: &mut Block, tally: &Tally, id: u64, size: u64, op: u8) {
    let operation = match op {
        // Nothing, get, gets, and read.
        0..=2 | 12 => Operation::Read,
        // Set, add, cas, replace, append, prepend; incr, decr; write, update.
        3..=8 | 10 | 11 | 13 | 14 => Operation::Write,
        9 => {
            tally.add(DELETED, 1);
            return;
        }
        _ => {
            tally.add(UNKNOWN, 1);
            Operation::Read
        }
    };
    let clipped = u32::try_from(size).unwrap_or(u32::MAX);
    tally.add(CLIPPED, u64::from(u64::from(clipped) != size));
    block.push(Access {
        address: id,
        size: clipped,
        write: operation == Operation::Write,
        ..Access::default()
    });
}
