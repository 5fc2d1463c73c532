//! Comma-separated values (RFC 4180): a header, then a line an access.
//!
//! | column | | where it is missing |
//! |---|---|---|
//! | address | required | |
//! | key, object, or obj_id | in its place, names of objects ([`crate::objects`]) | |
//! | write, op, or is_write | `1`, `true`, `w`, `s`, `write`, `store`, or `0`, `false`, `r`, `l`, `read`, `load` | a read |
//! | instruction, ip, process, thread, size | | 0 |
//! | time, timestamp, clock_time | not read | |
//!
//! The columns stand in any order. Numbers are decimal, or hexadecimal with `0x`. Other columns are
//! an error, for they may be misspelt. A text that was cut between two lines cannot be recognised
//! as cut. All columns are written, the numbers decimal.

use std::fmt::Write;
use std::path::Path;

use csv::{ByteRecord, ErrorKind, Position, ReaderBuilder};
use terrace_base::{Error, Result};

use crate::access::{Access, Block, Columns};
use crate::allocation::Allocations;
use crate::compression::Packed;
use crate::format::{Content, Declaration, Field, Format};
use crate::input::{Input, NO_LINE_BREAK};
use crate::lost::{Kind, Loss, Lost};
use crate::objects::Objects;
use crate::source::{Meta, Sink, Source};
use crate::stream::records;
use crate::text;

/// The declaration of the format.
pub const FORMAT: Format = Format::new(&Declaration {
    name: "csv",
    help: "comma-separated values with a header",
    endings: &[".csv"],
    fields: &FIELDS,
    example: "address,op\n4096,w\n0x2000,r\n",
    content: Content::Text(plausible),
    open,
    create: Some(|path, about| Ok(Box::new(Writer::create(path, about.len())?))),
});

/// The columns: those of all tables of accesses, and two of caches.
const FIELDS: [Field; 9] = {
    let [instruction, address, ip, process, thread, size, write] = Field::OF_ACCESSES;
    [
        instruction,
        address,
        ip,
        process,
        thread,
        size,
        write,
        Field::read(
            "key",
            "also object, obj_id: in place of address, the name of an object, a number",
        ),
        Field::unread("time", "also timestamp, clock_time: when it was"),
    ]
};

/// The header that is written.
const HEADER: &str = "instruction,address,ip,process,thread,size,write";

/// A known column: its name, and what puts a text into an access; it returns false if the text does
/// not fit there.
type Column = (&'static str, fn(&mut Access, &[u8]) -> bool);

/// All columns; one stands for `write`, `op` and `is_write`.
static COLUMNS: [Column; 9] = [
    ("Key", |access, text| put(&mut access.address, text)),
    ("Time", |_, _| true),
    ("Instruction", |access, text| {
        put(&mut access.instruction, text)
    }),
    ("Address", |access, text| put(&mut access.address, text)),
    ("Ip", |access, text| put(&mut access.ip, text)),
    ("Process", |access, text| put(&mut access.process, text)),
    ("Thread", |access, text| put(&mut access.thread, text)),
    ("Size", |access, text| put(&mut access.size, text)),
    ("Write", |access, text| {
        text::writes(text)
            .map(|write| access.write = write)
            .is_some()
    }),
];

fn put<T: TryFrom<u64>>(into: &mut T, text: &[u8]) -> bool {
    let value = text::either(text).and_then(|value| T::try_from(value).ok());
    value.map(|value| *into = value).is_some()
}

/// Returns the column called `name`.
fn column(name: &[u8]) -> Option<&'static Column> {
    let name = text::column(str::from_utf8(name.trim_ascii()).ok()?);
    let name = match &*name {
        "object" | "obj_id" => "key".to_owned(),
        "timestamp" | "clock_time" => "time".to_owned(),
        _ => name,
    };
    let is_named = |(known, _): &&Column| known.eq_ignore_ascii_case(&name);
    COLUMNS.iter().find(is_named)
}

/// Returns whether `line` may be the header.
fn plausible(line: &[u8]) -> bool {
    let mut names = line.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
    names.any(|name| column(name).is_some_and(|(known, _)| is_place(known)))
}

/// Returns whether a column says what is touched.
fn is_place(name: &str) -> bool {
    matches!(name, "Address" | "Key")
}

fn open(input: Input, _: Columns) -> Result<Box<dyn Source>> {
    let mut csv = ReaderBuilder::new().trim(csv::Trim::All).from_reader(input);
    let header = match csv.byte_headers() {
        Ok(header) => header.clone(),
        Err(e) => return Err(wrong(&csv, &e)),
    };
    let columns = columns(csv.get_ref(), &header)?;
    let (read, ignored) = columns.iter().partition(|(name, _)| *name != "Time");
    let named = |columns: Vec<&&Column>| {
        let names = columns.iter().map(|(name, _)| name.to_ascii_lowercase());
        names.collect()
    };
    let meta = Meta {
        objects: match names(&columns, "Key") {
            true => Objects::Named,
            false => Objects::None,
        },
        columns: named(read),
        ignored: named(ignored),
        ..Meta::of(FORMAT, names(&columns, "Instruction"))
    };
    let mut reader = Reader {
        csv,
        columns,
        record: ByteRecord::new(),
        last: Position::new(),
    };
    Ok(records(meta, move |block| reader.next(block)))
}

/// Returns whether the column called `name` is among `columns`.
fn names(columns: &[&Column], name: &str) -> bool {
    columns.iter().any(|(known, _)| *known == name)
}

/// The columns that the header names.
fn columns(input: &Input, header: &ByteRecord) -> Result<Vec<&'static Column>> {
    let mut columns: Vec<&'static Column> = Vec::new();
    for name in header {
        let Some(column) = column(name) else {
            let what = format!(
                "the column {} is not known; there are {HEADER}; op and is_write for write; key, \
                 object and obj_id for address; and time, timestamp and clock_time, which are not \
                 read",
                text::quote(name)
            );
            return Err(input.corrupt(0, &what));
        };
        if is_place(column.0) && columns.iter().any(|(name, _)| is_place(name)) {
            let what = format!(
                "the column {} says what is touched, and so does one before it; leave one away",
                text::quote(name)
            );
            return Err(input.corrupt(0, &what));
        }
        if names(&columns, column.0) {
            let what = format!("the column {} stands there twice", text::quote(name));
            return Err(input.corrupt(0, &what));
        }
        columns.push(column);
    }
    if !columns.iter().any(|(name, _)| is_place(name)) {
        return Err(input.corrupt(
            0,
            "the header, which is the first line, has no column `address`",
        ));
    }
    Ok(columns)
}

struct Reader {
    csv: csv::Reader<Input>,
    columns: Vec<&'static Column>,
    record: ByteRecord,
    /// Position of the last record.
    last: Position,
}

impl Reader {
    /// Appends the next access; returns false at the end.
    fn next(&mut self, block: &mut Block) -> Result<bool> {
        let at = self.csv.position().clone();
        match self.csv.read_byte_record(&mut self.record) {
            Ok(true) => {}
            Ok(false) => return self.end().map(|()| false),
            Err(e) => return Err(wrong(&self.csv, &e)),
        }
        let at = self.record.position().unwrap_or(&at);
        self.last = at.clone();
        let mut access = Access::default();
        for ((name, put), text) in self.columns.iter().zip(&self.record) {
            if !put(&mut access, text) {
                let what = format!(
                    "line {} has {} for {name}, which does not fit there",
                    at.line(),
                    text::quote(text)
                );
                return Err(self.csv.get_ref().corrupt(at.byte(), &what));
            }
        }
        block.push(access);
        Ok(true)
    }

    fn end(&self) -> Result<()> {
        let input = self.csv.get_ref();
        // The parser takes the end of the file for a missing quote.
        if input.within_quotes {
            let what = format!("line {} has a quote that is not closed", self.last.line());
            return Err(input.corrupt(self.last.byte(), &what));
        }
        if input.ended_line() {
            return Ok(());
        }
        Err(input.corrupt(
            self.record.position().map_or(0, |at| at.byte()),
            NO_LINE_BREAK,
        ))
    }
}

/// Returns the failure for an error of the parser.
fn wrong(csv: &csv::Reader<Input>, error: &csv::Error) -> Error {
    let input = csv.get_ref();
    match error.kind() {
        ErrorKind::Io(e) => input.failed(input.position, e),
        ErrorKind::UnequalLengths {
            pos: Some(at),
            expected_len,
            len,
        } => input.corrupt(
            at.byte(),
            &format!(
                "line {} has {len} values where the header has {expected_len}",
                at.line()
            ),
        ),
        _ => input.corrupt(csv.position().byte(), &error.to_string()),
    }
}

/// Writes lines.
struct Writer {
    output: Packed,
    lines: String,
    lost: Lost,
}

/// What lines do not keep.
const UNKEPT: [Kind; 5] = [
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
            lines: format!("{HEADER}\n"),
            lost,
        })
    }

    fn line(&mut self, access: Access) {
        let (instruction, address, ip) = (access.instruction, access.address, access.ip);
        let (process, thread, size) = (access.process, access.thread, access.size);
        let write = u8::from(access.write);
        let _ = writeln!(
            self.lines,
            "{instruction},{address},{ip},{process},{thread},{size},{write}"
        );
    }

    /// Writes the collected lines: a packer is slow with small pieces.
    fn write_lines(&mut self) -> Result<()> {
        self.output.put(self.lines.as_bytes())?;
        self.lines.clear();
        Ok(())
    }
}

impl Sink for Writer {
    fn write(&mut self, block: &Block) -> Result<()> {
        self.lost.note(block, &UNKEPT);
        block.iter().for_each(|access| self.line(access));
        self.write_lines()
    }

    fn allocations(&mut self, allocations: Allocations) {
        let count = allocations.objects.len() as u64;
        self.lost.add(Kind::Allocations, count);
    }

    fn lost(&self) -> Vec<Loss> {
        self.lost.losses()
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.write_lines()?;
        self.output.complete()
    }
}
