//! libCacheSim's oracleGeneral: one record of 24 bytes, little-endian, a request for an object.
//!
//! | offset | field | |
//! |---|---|---|
//! | 0 | clock_time u32 | not read |
//! | 4 | obj_id u64 | |
//! | 12 | obj_size u32 | |
//! | 16 | next_access_vtime i64 | the index of the object's next request, -1 or the largest number where there is none |
//!
//! From libCacheSim's `traceReader/customizedReader/oracle/oracleGeneralBin.h`.
//!
//! An object becomes a page, so that a simulation of pages sees each as one: object `id` is read
//! as address `id * 4096`, and as no more than 4096 bytes. Ids of 2^51 and more, which have no such address (hashes, mostly),
//! get the pages from 2^51 on in the order of their appearance. Objects are read, never written,
//! and no instructions are counted. A file that was cut between two records cannot be recognised as
//! cut.
//!
//! Each access is written as a request for a page: the id is the page number, with the process in
//! the
//! highest 12 bits; the size is a page's; the time is the request's index. The byte within the
//! page, and whether it was written, are lost.

use std::collections::HashMap;
use std::path::Path;

use terrace_base::{Error, Result};

use crate::access::{Access, Block, Columns};
use crate::compression::Packed;
use crate::format::{Content, Declaration, Format};
use crate::input::Input;
use crate::source::{Meta, Sink, Source};
use crate::stream::records;

/// The declaration of the format.
pub const FORMAT: Format = Format::new(&Declaration {
    name: "oracle-general",
    help: "requests of libCacheSim, 24 bytes each",
    endings: &[".oracleGeneral", ".oracleGeneral.bin"],
    content: Content::Records(plausible),
    open,
    create: Some(|path, _| Ok(Box::new(Writer::create(path)?))),
});

/// Bytes in a record.
const RECORD: usize = 24;
/// Bits of an address that tell a byte of its page.
const PAGE_BITS: u32 = 12;
/// Bytes in a page.
const PAGE: u32 = 1 << PAGE_BITS;
/// The first id that is not its own page number.
const RENUMBERED: u64 = 1 << 51;
/// The highest process whose pages have ids.
const PROCESSES: u16 = 1 << PAGE_BITS;
/// Mark of no next request.
const NEVER: i64 = -1;

/// Returns whether `head` may be the beginning of such records.
fn plausible(head: &[u8]) -> bool {
    let mut records = head.as_chunks::<RECORD>().0.iter().zip(0..);
    head.len() >= RECORD && records.all(|(record, index)| next_is_right(record, index))
}

/// Returns whether the next request of the object comes after this one.
fn next_is_right(record: &[u8; RECORD], index: i64) -> bool {
    let next = i64::from_le_bytes(bytes(record, 16));
    next == NEVER || next > index
}

fn bytes<const N: usize>(record: &[u8; RECORD], at: usize) -> [u8; N] {
    let mut bytes = [0; N];
    bytes.copy_from_slice(&record[at..at + N]);
    bytes
}

fn open(mut input: Input, _: Columns) -> Result<Box<dyn Source>> {
    let meta = Meta {
        accesses: input.bytes.map(|bytes| bytes / RECORD as u64),
        ..Meta::of(FORMAT, false)
    };
    let mut index = 0;
    // The pages of ids that are not their own page numbers.
    let mut renumbered = HashMap::new();
    let next = move |block: &mut Block| {
        let at = input.position;
        let Some(record) = input.record::<RECORD>()? else {
            return Ok(false);
        };
        if !next_is_right(&record, index) {
            let what = format!(
                "this is no oracleGeneral record: the next request of number {index} is not a later one"
            );
            return Err(input.corrupt(at, &what));
        }
        index += 1;
        let id = u64::from_le_bytes(bytes(&record, 4));
        let new = RENUMBERED + renumbered.len() as u64;
        let page = match id < RENUMBERED {
            true => id,
            false => *renumbered.entry(id).or_insert(new),
        };
        block.push(Access {
            address: page << PAGE_BITS,
            size: u32::from_le_bytes(bytes(&record, 12)).min(PAGE),
            ..Access::default()
        });
        Ok(true)
    };
    Ok(records(meta, next))
}

/// Writes all records at the end, when every next request is known.
struct Writer {
    output: Packed,
    /// The objects, in the order of their first requests, and the index of each one's last.
    objects: Vec<(u64, usize)>,
    numbers: HashMap<u64, u32>,
    /// Place in `objects` of the object of each request.
    requests: Vec<u32>,
    /// Index of the next request of the same object, for each request.
    next: Vec<i64>,
    lost: Lost,
}

/// Properties of accesses that requests cannot hold.
#[derive(Default)]
struct Lost {
    writes: u64,
    threads: bool,
    instructions: bool,
    ips: bool,
}

impl Writer {
    fn create(path: &Path) -> Result<Self> {
        Ok(Self {
            output: Packed::create(path)?,
            objects: Vec::new(),
            numbers: HashMap::new(),
            requests: Vec::new(),
            next: Vec::new(),
            lost: Lost::default(),
        })
    }

    fn push(&mut self, access: Access) -> Result<()> {
        if access.process >= PROCESSES {
            return Err(Error::usage(format!(
                "an oracleGeneral trace has room for {PROCESSES} processes; this one has more"
            )));
        }
        let page = access.address >> PAGE_BITS;
        let id = u64::from(access.process) << (64 - PAGE_BITS) | page;
        let new = u32::try_from(self.objects.len()).map_err(|_| {
            Error::usage("an oracleGeneral trace of more than 2^32 pages cannot be written")
        })?;
        let index = self.requests.len();
        let number = *self.numbers.entry(id).or_insert(new);
        if number == new {
            self.objects.push((id, index));
        } else {
            let last = std::mem::replace(&mut self.objects[number as usize].1, index);
            self.next[last] = index as i64;
        }
        self.requests.push(number);
        self.next.push(NEVER);
        self.lost.note(access);
        Ok(())
    }
}

impl Lost {
    fn note(&mut self, access: Access) {
        self.writes += u64::from(access.write);
        self.threads |= access.thread != access.process;
        self.instructions |= access.instruction != 0;
        self.ips |= access.ip != 0;
    }
}

impl Sink for Writer {
    fn write(&mut self, block: &Block) -> Result<()> {
        block.iter().try_for_each(|access| self.push(access))
    }

    fn lost(&self) -> Vec<String> {
        let writes = format!("that {} accesses wrote", self.lost.writes);
        let all = [
            (self.lost.writes > 0, &*writes),
            (true, "which bytes of a page were touched"),
            (self.lost.threads, "threads"),
            (self.lost.instructions, "instruction counts"),
            (self.lost.ips, "addresses of instructions"),
        ];
        let lost = all.into_iter().filter(|(lost, _)| *lost);
        lost.map(|(_, what)| what.to_owned()).collect()
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        let requests = self.requests.iter().zip(&self.next);
        for (index, (number, next)) in requests.enumerate() {
            let object = self.objects[*number as usize].0;
            self.output.put(&record(index, object, *next))?;
        }
        self.output.complete()
    }
}

fn record(index: usize, id: u64, next: i64) -> [u8; RECORD] {
    let mut record = [0; RECORD];
    let time = u32::try_from(index).unwrap_or(u32::MAX);
    record[0..4].copy_from_slice(&time.to_le_bytes());
    record[4..12].copy_from_slice(&id.to_le_bytes());
    record[12..16].copy_from_slice(&(1u32 << PAGE_BITS).to_le_bytes());
    record[16..24].copy_from_slice(&next.to_le_bytes());
    record
}
