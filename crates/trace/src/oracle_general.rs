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
//! and no instructions are counted. A file that was cut between two records does not show it.
//!
//! Written is a request for a page an access: the id is the page number, with the process in the
//! highest 12 bits; the size is a page's; the time is the request's index. Which byte was
//! touched, and whether it was written, is lost.

use std::collections::HashMap;
use std::path::Path;

use terrace_base::{Context, Error, Result};

use crate::access::{Access, Block};
use crate::format::Format;
use crate::input::Input;
use crate::output::Output;
use crate::source::{Meta, Sink, Source};
use crate::stream::{Records, Stream};

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
/// Requests written at once.
const CHUNK: usize = 1 << 16;
/// What stands for no next request.
const NEVER: i64 = -1;

/// Whether `head` may be the beginning of such records.
pub(crate) fn plausible(head: &[u8]) -> bool {
    let mut records = head.as_chunks::<RECORD>().0.iter().zip(0..);
    head.len() >= RECORD && records.all(|(record, index)| next_is_right(record, index))
}

/// Whether the next request of the object comes after this one.
fn next_is_right(record: &[u8; RECORD], index: i64) -> bool {
    let next = i64::from_le_bytes(bytes(record, 16));
    next == NEVER || next > index
}

fn bytes<const N: usize>(record: &[u8; RECORD], at: usize) -> [u8; N] {
    let mut bytes = [0; N];
    bytes.copy_from_slice(&record[at..at + N]);
    bytes
}

pub(crate) fn source(input: Input) -> Box<dyn Source> {
    let meta = Meta {
        format: Format::OracleGeneral.to_string(),
        accesses: input.bytes().map(|bytes| bytes / RECORD as u64),
        ..Meta::default()
    };
    let records = Reader {
        input,
        index: 0,
        renumbered: HashMap::new(),
    };
    Box::new(Stream::new(meta, records))
}

struct Reader {
    input: Input,
    index: i64,
    /// The pages of ids that are not their own page numbers.
    renumbered: HashMap<u64, u64>,
}

impl Records for Reader {
    fn next(&mut self, block: &mut Block) -> Result<bool> {
        let at = self.input.position();
        let Some(record) = self.input.record::<RECORD>()? else {
            return Ok(false);
        };
        if !next_is_right(&record, self.index) {
            let what = format!(
                "this is no oracleGeneral record: the next request of number {} is not a later one",
                self.index
            );
            return Err(self.input.corrupt(at, &what));
        }
        self.index += 1;
        let id = u64::from_le_bytes(bytes(&record, 4));
        block.push(Access {
            address: self.page(id) << PAGE_BITS,
            size: u32::from_le_bytes(bytes(&record, 12)).min(PAGE),
            ..Access::default()
        });
        Ok(true)
    }
}

impl Reader {
    fn page(&mut self, id: u64) -> u64 {
        if id < RENUMBERED {
            return id;
        }
        let next = RENUMBERED + self.renumbered.len() as u64;
        *self.renumbered.entry(id).or_insert(next)
    }
}

/// Writes records, all of them at the end: only then every next request is known.
pub(crate) struct Writer {
    output: Output,
    /// The objects, in the order of their first requests.
    ids: Vec<u64>,
    numbers: HashMap<u64, u32>,
    /// The place in `ids` of each request's object.
    requests: Vec<u32>,
}

impl Writer {
    pub(crate) fn create(path: &Path) -> Result<Self> {
        Ok(Self {
            output: Output::create(path)?,
            ids: Vec::new(),
            numbers: HashMap::new(),
            requests: Vec::new(),
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
        let new = u32::try_from(self.ids.len()).map_err(|_| {
            Error::usage("an oracleGeneral trace of more than 2^32 pages cannot be written")
        })?;
        let number = *self.numbers.entry(id).or_insert(new);
        if number == new {
            self.ids.push(id);
        }
        self.requests.push(number);
        Ok(())
    }
}

impl Sink for Writer {
    fn write(&mut self, block: &Block) -> Result<()> {
        (0..block.len()).try_for_each(|index| self.push(block.get(index)))
    }

    /// Goes from the last request to the first: then the next one of an object has been seen.
    fn finish(self: Box<Self>) -> Result<()> {
        let mut next = vec![NEVER; self.ids.len()];
        let mut end = self.requests.len();
        let mut buffer = Vec::with_capacity(CHUNK * RECORD);
        while end > 0 {
            let begin = (end - 1) / CHUNK * CHUNK;
            buffer.clear();
            buffer.resize((end - begin) * RECORD, 0);
            let records = buffer.as_chunks_mut::<RECORD>().0;
            for index in (begin..end).rev() {
                let number = self.requests[index] as usize;
                records[index - begin] = record(index, self.ids[number], next[number]);
                next[number] = index as i64;
            }
            self.output
                .write_at(&buffer, (begin * RECORD) as u64)
                .or_fail(|| format!("cannot write the trace `{}`", self.output.path().display()))?;
            end = begin;
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
