//! VMware's traces of virtual SCSI disks, versions 1 and 2: commands of a fixed size,
//! little-endian.
//!
//! | version 1 | version 2 | field | |
//! |---|---|---|---|
//! | 0 | 4 | sn u32 | not read |
//! | 4 | 8 | len u32 | bytes |
//! | 8 | 12 | nSG u32 | not read |
//! | 12 | 0 | cmd u16 | the operation code of the SCSI command |
//! | 14 | 2 | ver u16 | the version in its upper byte |
//! | 16 | 16 | lbn u64 | the first block of 512 bytes |
//! | 24 | 24 | ts u64 | microseconds, not read |
//! | | 32 | rt u64 | not read |
//!
//! From libCacheSim's `traceReader/customizedReader/vscsi.h`.
//!
//! A command touches the pages of 4 KiB in which its blocks lie. (libCacheSim takes each first
//! block for an object of its own, as --keys does.) Commands that neither read nor write are left
//! out.

use terrace_base::Result;

use crate::access::{Access, Block, Columns};
use crate::format::{Content, Declaration, Field, Format};
use crate::input::Input;
use crate::objects::{Objects, of_disk};
use crate::source::{Meta, Source};
use crate::stream::records;
use crate::text::{Operation, scsi};

/// The declaration of the format.
pub const FORMAT: Format = Format::new(&Declaration {
    name: "vscsi",
    help: "commands of VMware's virtual SCSI disks, versions 1 and 2, only read",
    endings: &[".vscsi"],
    fields: &[
        Field::unread("sn", "a serial number"),
        Field::read("len", "bytes that are read or written"),
        Field::unread("nSG", "pieces of memory that they come from"),
        Field::read(
            "cmd",
            "the code of the SCSI command: it reads, writes, or is left out and counted",
        ),
        Field::read("ver", "the version, in the upper byte: 1 or 2"),
        Field::read(
            "lbn",
            "the first block, of 512 bytes: the pages of 4 KiB in which the blocks lie are touched; \
             with --keys it is the name of an object, as libCacheSim takes it",
        ),
        Field::unread("ts", "when it began, in microseconds"),
        Field::unread("rt", "how long it took, in version 2"),
    ],
    example: "terrace sim files --dram 1G cloudPhysicsIO.vscsi\n",
    content: Content::Marked(|head| Version::of(head).is_some()),
    open,
    create: None,
});

/// Bytes of a block.
const BLOCK_BYTES: u64 = 512;
/// What is said of other commands.
const LEFT_OUT: &str = "commands neither read nor write, and were left out";

#[derive(Clone, Copy)]
enum Version {
    One,
    Two,
}

impl Version {
    /// Returns the version that all records at the beginning of a file have.
    fn of(head: &[u8]) -> Option<Self> {
        let is = |version: &Self| {
            let [ver, cmd, _] = version.places();
            let mut records = head.chunks_exact(version.bytes()).peekable();
            let is_one =
                |record: &[u8]| record[ver + 1] == version.number() && record[cmd + 1] == 0;
            records.peek().is_some() && records.all(is_one)
        };
        [Self::One, Self::Two].into_iter().find(is)
    }

    /// Returns the bytes of a record.
    fn bytes(self) -> usize {
        match self {
            Self::One => 32,
            Self::Two => 40,
        }
    }

    fn number(self) -> u8 {
        match self {
            Self::One => 1,
            Self::Two => 2,
        }
    }

    /// Returns the places of the version, the command and the length.
    fn places(self) -> [usize; 3] {
        match self {
            Self::One => [14, 12, 4],
            Self::Two => [2, 0, 8],
        }
    }

    /// Reads a record; those of version 1 are shorter than the bytes that are returned.
    fn record(self, input: &mut Input) -> Result<Option<[u8; 40]>> {
        match self {
            Self::Two => input.record::<40>(),
            Self::One => Ok(input.record::<32>()?.map(|record| {
                let mut longer = [0; 40];
                longer[..32].copy_from_slice(&record);
                longer
            })),
        }
    }
}

fn open(mut input: Input, _: Columns) -> Result<Box<dyn Source>> {
    let Some(version) = Version::of(&input.head) else {
        return Err(input.corrupt(0, "its records are of neither version of vscsi, 1 and 2"));
    };
    let meta = Meta {
        about: vec![("version".into(), version.number().to_string()), of_disk()],
        objects: Objects::Disk,
        ..Meta::of(FORMAT, false)
    };
    let (tally, [ver, cmd, len]) = (meta.tally.clone(), version.places());
    let next = move |block: &mut Block| {
        let at = input.position;
        let Some(record) = version.record(&mut input)? else {
            return Ok(false);
        };
        if record[ver + 1] != version.number() {
            let what = format!("it has a record of version {}", record[ver + 1]);
            return Err(input.corrupt(at, &what));
        }
        let Some(operation) = scsi(record[cmd]).filter(|_| record[cmd + 1] == 0) else {
            tally.add(LEFT_OUT, 1);
            return Ok(true);
        };
        let block_number = u64::from_le_bytes(field(&record, 16));
        let Some(address) = block_number.checked_mul(BLOCK_BYTES) else {
            let what = format!("its block {block_number} is on no disk of up to 2^64 bytes");
            return Err(input.corrupt(at, &what));
        };
        block.push(Access {
            address,
            size: u32::from_le_bytes(field(&record, len)),
            write: operation == Operation::Write,
            ..Access::default()
        });
        Ok(true)
    };
    Ok(records(meta, next))
}

fn field<const N: usize>(record: &[u8; 40], at: usize) -> [u8; N] {
    let mut bytes = [0; N];
    bytes.copy_from_slice(&record[at..at + N]);
    bytes
}
