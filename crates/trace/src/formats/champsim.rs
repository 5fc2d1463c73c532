//! ChampSim's `input_instr`: one record of 64 bytes, little-endian, an instruction.
//!
//! | offset | field | |
//! |---|---|---|
//! | 0 | ip u64 | |
//! | 8 | is_branch u8 | 0 or 1 |
//! | 9 | branch_taken u8 | 0 or 1 |
//! | 10 | destination_registers u8\[2\] | not read |
//! | 12 | source_registers u8\[4\] | not read |
//! | 16 | destination_memory u64\[2\] | stores, 0: none |
//! | 32 | source_memory u64\[4\] | loads, 0: none |
//!
//! From ChampSim's `inc/trace_instruction.h`. An instruction's loads come before its stores, and
//! its number is that of its record. A file that was cut between two records cannot be recognised
//! as cut.
//!
//! The accesses of one thread are written, and one to several pages as one to each. Accesses of one
//! instruction share a record as far as they fit, in their order. As ChampSim counts records, the
//! instructions between two accesses are written as records without memory. If an instruction needs
//! several records, as many of those are left out after it. Sizes are lost.

use std::path::Path;

use terrace_base::bytes::PAGE_BYTES;
use terrace_base::{Error, Result};

use crate::access::{Access, Block, Columns};
use crate::allocation::Allocations;
use crate::compression::Packed;
use crate::format::{Content, Declaration, Field, Format};
use crate::input::Input;
use crate::lost::{Kind, Loss, Lost};
use crate::source::{Meta, Sink, Source};
use crate::stream::records;

/// The declaration of the format.
pub const FORMAT: Format = Format::new(&Declaration {
    name: "champsim",
    help: "instructions of ChampSim, 64 bytes each",
    endings: &[".champsim", ".champsimtrace"],
    fields: &[
        Field::read(
            "ip",
            "the address of the instruction; its number is that of its record",
        ),
        Field::unread("is_branch, branch_taken", "truth values"),
        Field::unread("destination_registers, source_registers", "registers"),
        Field::read(
            "destination_memory",
            "2 addresses that are stored to, in bytes; 0 is none",
        ),
        Field::read(
            "source_memory",
            "4 addresses that are loaded from, in bytes; 0 is none",
        ),
    ],
    example: "terrace trace convert --thread 0 a.parquet a.champsimtrace.xz\n",
    content: Content::Records(plausible),
    open,
    create: Some(|path, about| Ok(Box::new(Writer::create(path, about.len())?))),
});

/// Bytes in a record.
const RECORD: usize = 64;
/// The words of 8 bytes at which the stores and the loads of a record begin.
const STORES: usize = 2;
const LOADS: usize = 4;
/// Most instructions without memory that are written in a row: 64 GB.
const LONGEST_GAP: u64 = 1 << 30;

/// Returns whether `head` may be the beginning of such records. A file that was never written
/// contains only zeros.
fn plausible(head: &[u8]) -> bool {
    let written = head.iter().any(|byte| *byte != 0);
    written && head.len().is_multiple_of(RECORD) && head.chunks_exact(RECORD).all(flags_are_right)
}

fn flags_are_right(record: &[u8]) -> bool {
    record[8] <= 1 && record[9] <= 1
}

fn open(mut input: Input, _: Columns) -> Result<Box<dyn Source>> {
    let mut instruction = 0;
    // Whether a byte other than zero was read.
    let mut written = false;
    let next = move |block: &mut Block| {
        let at = input.position;
        let Some(record) = input.record::<RECORD>()? else {
            if !written {
                let zeros = "it is filled with zeros, and no ChampSim trace";
                return Err(input.corrupt(0, zeros));
            }
            return Ok(false);
        };
        written = written || record.iter().any(|byte| *byte != 0);
        if !flags_are_right(&record) {
            let what = "this is no ChampSim record: a branch flag is neither 0 nor 1";
            return Err(input.corrupt(at, what));
        }
        let words = record.as_chunks().0;
        let mut access = Access {
            instruction,
            ip: u64::from_le_bytes(words[0]),
            ..Access::default()
        };
        for (words, write) in [(&words[LOADS..], false), (&words[STORES..LOADS], true)] {
            access.write = write;
            for word in words {
                access.address = u64::from_le_bytes(*word);
                if access.address != 0 {
                    block.push(access);
                }
            }
        }
        instruction += 1;
        Ok(true)
    };
    Ok(records(Meta::of(FORMAT, true), next))
}

/// Writes records.
struct Writer {
    output: Packed,
    /// The first access: its thread is the only one, its instruction the first record.
    first: Option<Access>,
    records: u64,
    /// Whether several accesses had instruction 0, so that instructions cannot be counted: then
    /// each access has a record of its own.
    uncounted: bool,
    pending: Pending,
    lost: Lost,
}

/// What records do not keep, besides that one access is to several pages, and some instruction
/// counts.
const UNKEPT: [Kind; 7] = [
    Kind::Sizes,
    Kind::Threads,
    Kind::Contents,
    Kind::Dependences,
    Kind::Zeros,
    Kind::Discards,
    Kind::Orders,
];

/// The record to which the next access may still belong.
#[derive(Default)]
struct Pending {
    last: Option<Access>,
    bytes: [[u8; 8]; RECORD / 8],
    loads: usize,
    stores: usize,
}

impl Pending {
    /// Takes `access` if it belongs to the same instruction and order and room allow it. Returns
    /// whether it did.
    fn take(&mut self, access: Access) -> bool {
        let same = self
            .last
            .is_none_or(|last| (last.instruction, last.ip) == (access.instruction, access.ip));
        let fits = if access.write {
            self.stores < 2
        } else {
            self.stores == 0 && self.loads < 4
        };
        if !same || !fits {
            return false;
        }
        let address = access.address.to_le_bytes();
        if access.write {
            self.bytes[STORES + self.stores] = address;
            self.stores += 1;
        } else {
            self.bytes[LOADS + self.loads] = address;
            self.loads += 1;
        }
        self.bytes[0] = access.ip.to_le_bytes();
        self.last = Some(access);
        true
    }
}

impl Writer {
    /// Begins a file, of a trace with so many keys of metadata.
    fn create(path: &Path, about: usize) -> Result<Self> {
        let mut lost = Lost::default();
        lost.add(Kind::About, about as u64);
        Ok(Self {
            output: Packed::create(path)?,
            first: None,
            records: 0,
            uncounted: false,
            pending: Pending::default(),
            lost,
        })
    }

    fn push(&mut self, access: Access) -> Result<()> {
        let first = *self.first.get_or_insert(access);
        if (access.process, access.thread) != (first.process, first.thread) {
            return Err(Error::usage(
                "a ChampSim trace holds one thread; pick one of this trace's threads",
            ));
        }
        if access.address == 0 {
            return Err(Error::usage(
                "a ChampSim trace cannot hold an access to address 0: there it means none",
            ));
        }
        let last = access
            .address
            .saturating_add(u64::from(access.size.max(1)) - 1);
        let mut pages = access.address / PAGE_BYTES + 1..=last / PAGE_BYTES;
        self.lost.add(Kind::Crossings, u64::from(!pages.is_empty()));
        self.touch(access)?;
        pages.try_for_each(|page| {
            let address = page * PAGE_BYTES;
            self.touch(Access { address, ..access })
        })
    }

    /// Adds an access to one page.
    fn touch(&mut self, access: Access) -> Result<()> {
        let alone = self.uncounted && access.instruction == 0;
        if !alone && self.pending.take(access) {
            return Ok(());
        }
        let last = self.pending.last.unwrap_or_default();
        self.uncounted |= (last.instruction, access.instruction) == (0, 0);
        self.write_pending()?;
        self.pending.take(access);
        Ok(())
    }

    /// Returns of how many accesses of the pending record the number is not their instruction
    /// count.
    fn recounted(&self) -> u64 {
        let (Some(first), Some(last)) = (self.first, self.pending.last) else {
            return 0;
        };
        let number = last.instruction.saturating_sub(first.instruction);
        match number.max(self.records) == last.instruction {
            true => 0,
            false => (self.pending.loads + self.pending.stores) as u64,
        }
    }

    /// Writes the pending record, behind the instructions before it that touched no memory.
    fn write_pending(&mut self) -> Result<()> {
        self.lost.add(Kind::Instructions, self.recounted());
        let pending = std::mem::take(&mut self.pending);
        let (Some(first), Some(last)) = (self.first, pending.last) else {
            return Ok(());
        };
        let number = last.instruction.saturating_sub(first.instruction);
        let gap = number.saturating_sub(self.records);
        if gap > LONGEST_GAP {
            return Err(Error::usage(format!(
                "{gap} instructions in a row touch no memory: too many to be written for ChampSim"
            )));
        }
        for _ in 0..gap {
            self.write_record(&[0; RECORD])?;
        }
        self.write_record(pending.bytes.as_flattened())
    }

    fn write_record(&mut self, record: &[u8]) -> Result<()> {
        self.records += 1;
        self.output.put(record)
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
        let mut lost = self.lost.clone();
        lost.add(Kind::Instructions, self.recounted());
        lost.losses()
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.write_pending()?;
        self.output.complete()
    }
}
