//! Comma-separated values (RFC 4180): a header, then a line an access.
//!
//! | column | | where it is missing |
//! |---|---|---|
//! | address | required | |
//! | key, object, or obj_id | in its place, names of objects ([`crate::objects`]) | |
//! | offset | in its place, places on a disk | |
//! | op, write, or is_write | `w`, `write`, `store`, `set`, `1` and the like, or `r`, `get`, `0` | a read |
//! | instruction, ip, process, thread, size | | 0 |
//! | repeat, or op_count | | 1 |
//! | time, timestamp, clock_time | not read | |
//!
//! The columns stand in any order. Numbers are decimal, or hexadecimal with `0x`. Other columns are
//! an error, for they may be misspelt. Where there is no such header, a [`Layout`] says what the
//! columns hold. A text that was cut between two lines cannot be recognised as cut. All columns are
//! written, the numbers decimal.

mod reader;
mod writer;

use csv::{ByteRecord, ErrorKind, ReaderBuilder};
use terrace_base::{Error, Result};

use crate::access::Columns;
use crate::format::{Content, Declaration, Field, Format, first_line};
use crate::input::Input;
use crate::layout::{Known, Layout, Role};
use crate::objects::{self, Objects};
use crate::source::{Meta, Source};
use crate::stream::records;
use crate::text;
use reader::Reader;
use writer::Writer;

/// The declaration of the format.
pub const FORMAT: Format = Format::new(&Declaration {
    name: "csv",
    help: "comma-separated values with a header, or of a layout (--columns)",
    endings: &[".csv"],
    fields: &FIELDS,
    example: "address,op\n4096,w\n0x2000,r\n",
    content: Content::Text(plausible),
    open: |input, _: Columns| open(input, None),
    create: Some(|path, about| Ok(Box::new(Writer::create(path, about.len())?))),
});

/// The columns: those of all tables of accesses, and those of caches and disks.
const FIELDS: [Field; 11] = {
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
            "also object, obj_id: in place of address, the name of an object, a number or a text; \
             op may be get, gets, get_lease, or set, add, cas, replace, append, prepend, incr, \
             decr, update, and requests to delete are left out and counted",
        ),
        Field::read(
            "offset",
            "in place of address, a place on a disk, in bytes; op may be the number of a SCSI \
             command, as in 2a",
        ),
        Field::read(
            "repeat",
            "also op_count: how often a line stands for it (1)",
        ),
        Field::unread("time", "also timestamp, clock_time: when it was"),
    ]
};

/// What is said of a first line that was taken for names.
const HEADER: &str = "line at the beginning holds no numbers: it was taken for names of columns";

/// What separates columns, the usual first.
const SEPARATORS: [u8; 4] = [b',', b'\t', b';', b'|'];

/// Returns what separates the columns of a line.
fn separator(line: &[u8]) -> u8 {
    let there = SEPARATORS.iter().find(|byte| line.contains(byte));
    there.copied().unwrap_or(b',')
}

/// Returns the parts of a line.
fn parts(line: &[u8]) -> Vec<&[u8]> {
    let separator = separator(line);
    let parts = line.split(|byte| *byte == separator);
    parts.map(<[u8]>::trim_ascii).collect()
}

/// Returns the role of a column that a header calls `name`.
fn role(name: &[u8]) -> Option<Role> {
    Role::of(str::from_utf8(name).ok()?)
}

/// Returns whether `line` may be the header.
fn plausible(line: &[u8]) -> bool {
    let names = parts(line);
    let mut roles = names.iter().filter_map(|name| role(name));
    roles.any(Role::is_place) || Known::by_header(&names).is_some()
}

/// Returns what to do where the first bytes `head` of a text show no columns; nothing if it cannot
/// be such a table.
pub(crate) fn advice(head: &[u8]) -> Option<String> {
    let line = first_line(head);
    let is_text = !head.contains(&0) && parts(line).len() > 1;
    is_text.then(|| {
        let fitting = Known::ALL.iter().find(|known| fits(known, line));
        let looks = fitting.map_or(String::new(), |known| {
            format!("it looks like {0}: ‘columns’ {0}; or ", known.name)
        });
        format!(
            "if it is a table, {looks}say what its columns hold: ‘columns’ \
             time=1,object=2,size=3,op=4, or the name of a layout ({})",
            Known::names()
        )
    })
}

/// Returns whether a line without names may be of a layout: each number is one, and each operation.
fn fits(known: &Known, line: &[u8]) -> bool {
    let parts = parts(line);
    let Ok(layout) = Layout::parse(known.name) else {
        return false;
    };
    let roles = match layout.needs_header() {
        true => return false,
        false => layout.roles(&parts),
    };
    roles.is_ok_and(|roles| parts.len() == known.columns() && reader::fits(&roles, &parts))
}

/// Opens a table, whose columns `layout` says, or else its header.
///
/// # Errors
/// A failure that says what is wrong with the first line.
pub(crate) fn open(input: Input, layout: Option<&Layout>) -> Result<Box<dyn Source>> {
    let delimiter = separator(first_line(&input.head));
    let mut csv = ReaderBuilder::new()
        .trim(csv::Trim::All)
        .has_headers(false)
        .delimiter(delimiter)
        .from_reader(input);
    let mut first = ByteRecord::new();
    if let Err(e) = csv.read_byte_record(&mut first) {
        return Err(wrong(&csv, &e, "first line"));
    }
    let names: Vec<&[u8]> = first.iter().map(uncommented).collect();
    let known = match layout {
        Some(layout) => Some(layout.clone()),
        None => Known::by_header(&names),
    };
    let wrong = |what: String| csv.get_ref().corrupt(0, &what);
    let roles = match &known {
        Some(layout) => layout.roles(&names).map_err(wrong)?,
        None => of_header(&names).map_err(wrong)?,
    };
    let has_header = match &known {
        Some(layout) => layout.needs_header() || reader::is_header(&roles, &names),
        None => true,
    };
    let meta = meta(known.as_ref(), &roles, has_header.then_some(&names[..]));
    if has_header && layout.is_some_and(|layout| !layout.needs_header()) {
        meta.tally.add(HEADER, 1);
    }
    let ahead = (!has_header).then_some(first);
    let mut reader = Reader::new(csv, roles, ahead, &meta.tally);
    Ok(records(meta, move |block| reader.next(block)))
}

/// Returns a name without the sign of a comment, with which some programs begin a header.
fn uncommented(name: &[u8]) -> &[u8] {
    name.strip_prefix(b"#").unwrap_or(name).trim_ascii()
}

/// Returns the metadata; `header` is the first line if it has the names of columns.
fn meta(layout: Option<&Layout>, roles: &[Option<Role>], header: Option<&[&[u8]]>) -> Meta {
    let has = |role| roles.contains(&Some(role));
    let named = |index: usize| match (header, layout, roles[index]) {
        (Some(_), None, Some(role)) => column(role).to_owned(),
        (Some(names), ..) => String::from_utf8_lossy(names[index]).to_ascii_lowercase(),
        (None, _, Some(role)) => format!("{}={}", role.name(), index + 1),
        (None, _, None) => format!("column {}", index + 1),
    };
    let is_read = |index: &usize| !matches!(roles[*index], None | Some(Role::Time));
    let (read, ignored): (Vec<_>, Vec<_>) = (0..roles.len()).partition(is_read);
    let objects = match (has(Role::Object), has(Role::Offset)) {
        (true, _) => Objects::Named,
        (false, true) => Objects::Disk,
        (false, false) => Objects::None,
    };
    let mut meta = Meta {
        objects,
        is_table: true,
        columns: read.into_iter().map(named).collect(),
        ignored: ignored.into_iter().map(named).collect(),
        ..Meta::of(FORMAT, has(Role::Instruction))
    };
    let name = layout.and_then(Layout::name);
    let name = name.map(|name| ("layout".to_owned(), name.to_owned()));
    let disk = (objects == Objects::Disk).then(objects::of_disk);
    meta.about.extend(name.into_iter().chain(disk));
    meta
}

/// Returns the name of a column among those of [`FIELDS`].
fn column(role: Role) -> &'static str {
    match role {
        Role::Object => "key",
        Role::Write => "write",
        other => other.name(),
    }
}

/// The columns that a header names, or what is wrong with it.
fn of_header(header: &[&[u8]]) -> std::result::Result<Vec<Option<Role>>, String> {
    let mut roles: Vec<Option<Role>> = Vec::new();
    let advice = || {
        let layouts = Known::names();
        format!(
            "where the first line does not name them, ‘columns’ says what columns hold, as in \
             ‘columns’ time=1,object=2,size=3,op=4, or by the name of a layout: {layouts}"
        )
    };
    for name in header {
        let quoted = text::quote(name);
        let Some(role) = role(name) else {
            return Err(format!(
                "the column {quoted} is not known; there are {}, op and is_write for write, key, \
                 object and obj_id or offset for address, repeat, and time, timestamp and \
                 clock_time, which are not read; {}",
                writer::HEADER,
                advice()
            ));
        };
        let mut before = roles.iter().flatten();
        if role.is_place()
            && before
                .clone()
                .any(|other| other.is_place() && *other != role)
        {
            return Err(format!(
                "the column {quoted} says what is touched, and so does one before it; leave one \
                 away"
            ));
        }
        if before.any(|other| *other == role) {
            return Err(format!("the column {quoted} stands there twice"));
        }
        roles.push(Some(role));
    }
    match roles.iter().flatten().any(|role| role.is_place()) {
        true => Ok(roles),
        false => Err(format!(
            "the header, which is the first line, has no column `address`; {}",
            advice()
        )),
    }
}

/// Returns the failure for an error of the parser; `first` is what the first line is called.
fn wrong(csv: &csv::Reader<Input>, error: &csv::Error, first: &str) -> Error {
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
                "line {} has {len} values where the {first} has {expected_len}",
                at.line()
            ),
        ),
        _ => input.corrupt(csv.position().byte(), &error.to_string()),
    }
}
