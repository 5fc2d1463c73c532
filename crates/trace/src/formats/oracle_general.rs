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
//! Ids are the names of objects, which are given pages ([`crate::objects`]). Objects are read,
//! never written, and no instructions are counted. A file that was cut between two records cannot
//! be recognised as cut.
//!
//! Each access is written as requests for its pages: the id is the page number, with the process in
//! the highest 12 bits; the size is a page's; the time is the request's index. The bytes within the
//! pages, and whether they were written, are lost.

use std::collections::HashMap;
use std::path::Path;

use terrace_base::{Error, Result};

use crate::access::{Access, Block, Columns};
use crate::allocation::Allocations;
use crate::compression::Packed;
use crate::format::{Content, Declaration, Field, Format};
use crate::input::Input;
use crate::lost::{Kind, Loss, Lost};
use crate::objects::Objects;
use crate::source::{Meta, Sink, Source, made};
use crate::stream::{BLOCK, BLOCK_BYTES};

/// The declaration of the format.
pub const FORMAT: Format = Format::new(&Declaration {
    name: "oracle-general",
    help: "requests of libCacheSim, 24 bytes each",
    endings: &[".oracleGeneral", ".oracleGeneral.bin"],
    fields: &[
        Field::unread("clock_time", "seconds, 32 bits"),
        Field::read("obj_id", "the name of an object, 64 bits"),
        Field::read("obj_size", "its size in bytes, 32 bits"),
        Field::read(
            "next_access_vtime",
            "the index of its next request: checked, not used",
        ),
    ],
    example: "terrace trace convert a.parquet a.oracleGeneral.bin\n",
    content: Content::Records(plausible),
    open,
    create: Some(|path, about| Ok(Box::new(Writer::create(path, about.len())?))),
});

/// Bytes in a record.
const RECORD: usize = 24;
/// Bits of an address that tell a byte of its page.
const PAGE_BITS: u32 = 12;
/// Bytes in a page.
const PAGE: u32 = 1 << PAGE_BITS;
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
    let next = i64::from_le_bytes(field(record, 16));
    next == NEVER || next > index
}

/// Returns the size of the object of a record.
fn size(record: &[u8; RECORD]) -> u32 {
    u32::from_le_bytes(field(record, 12))
}

fn field<const N: usize>(record: &[u8; RECORD], at: usize) -> [u8; N] {
    let mut bytes = [0; N];
    bytes.copy_from_slice(&record[at..at + N]);
    bytes
}

fn open(mut input: Input, _: Columns) -> Result<Box<dyn Source>> {
    let meta = Meta {
        accesses: input.bytes.map(|bytes| bytes / RECORD as u64),
        objects: Objects::Named,
        ..Meta::of(FORMAT, false)
    };
    let (mut index, mut ended) = (0, false);
    Ok(made(meta, move |block| {
        block.clear();
        let (mut bytes, mut wrong) = (0, false);
        while !ended && block.len() < BLOCK && bytes < BLOCK_BYTES {
            let taken = input.records(|records: &[[u8; RECORD]]| {
                let records = &records[..records.len().min(BLOCK - block.len())];
                let mut taken = 0;
                for record in records {
                    if bytes >= BLOCK_BYTES {
                        break;
                    }
                    wrong = !next_is_right(record, index);
                    if wrong {
                        break;
                    }
                    index += 1;
                    taken += 1;
                    bytes += u64::from(size(record));
                }
                let records = &records[..taken];
                let ids = records.iter().map(|record| field(record, 4));
                block.address.extend(ids.map(u64::from_le_bytes));
                block.size.extend(records.iter().map(size));
                taken
            })?;
            if wrong {
                let what = format!(
                    "this is no oracleGeneral record: the next request of number {index} is not a \
                     later one"
                );
                return Err(input.corrupt(index as u64 * RECORD as u64, &what));
            }
            ended = taken == 0;
        }
        block.resize(block.address.len());
        Ok(())
    }))
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

/// What requests do not keep, besides that one is to several pages.
const UNKEPT: [Kind; 10] = [
    Kind::Writes,
    Kind::Bytes,
    Kind::Threads,
    Kind::Instructions,
    Kind::Ips,
    Kind::Contents,
    Kind::Dependences,
    Kind::Zeros,
    Kind::Discards,
    Kind::Orders,
];

impl Writer {
    /// Begins a file, of a trace with so many keys of metadata.
    fn create(path: &Path, about: usize) -> Result<Self> {
        let mut lost = Lost::default();
        lost.add(Kind::About, about as u64);
        Ok(Self {
            output: Packed::create(path)?,
            objects: Vec::new(),
            numbers: HashMap::new(),
            requests: Vec::new(),
            next: Vec::new(),
            lost,
        })
    }

    fn push(&mut self, access: Access) -> Result<()> {
        if access.process >= PROCESSES {
            return Err(Error::usage(format!(
                "an oracleGeneral trace has room for {PROCESSES} processes; this one has more"
            )));
        }
        let last = access
            .address
            .saturating_add(u64::from(access.size.max(1)) - 1);
        let (first, last) = (access.address >> PAGE_BITS, last >> PAGE_BITS);
        self.lost.add(Kind::Crossings, u64::from(last > first));
        (first..=last).try_for_each(|page| self.request(access.process, page))
    }

    /// Adds a request for a page.
    fn request(&mut self, process: u16, page: u64) -> Result<()> {
        let id = u64::from(process) << (64 - PAGE_BITS) | page;
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
        Ok(())
    }
}

impl Sink for Writer {
    fn write(&mut self, block: &Block) -> Result<()> {
        self.lost.note(block, &UNKEPT);
        block.iter().try_for_each(|access| self.push(access))
    }

    fn note(&mut self, _: &str, _: &str) {
        self.lost.add(Kind::About, 1);
    }

    fn allocations(&mut self, allocations: Allocations) {
        let count = allocations.objects.len() as u64;
        self.lost.add(Kind::Allocations, count);
    }

    fn lost(&self) -> Vec<Loss> {
        self.lost.losses()
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
    record[12..16].copy_from_slice(&PAGE.to_le_bytes());
    record[16..24].copy_from_slice(&next.to_le_bytes());
    record
}
