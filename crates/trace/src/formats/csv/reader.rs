//! Reading lines.

use csv::{ByteRecord, Position};
use rustc_hash::FxHashMap;
use terrace_base::Result;

use crate::access::{Access, Block};
use crate::input::{Input, NO_LINE_BREAK};
use crate::layout::Role;
use crate::tally::Tally;
use crate::text::{self, Operation};

/// What is said of requests that take an object away.
const DELETED: &str = "requests delete an object, and were left out";
/// What is said of lines that say that they are made 0 times.
const NONE: &str = "lines stand for no request, and were left out";
/// What is said of names that are texts.
const NUMBERED: &str = "names of objects are no numbers below 2^63, and were numbered in the order \
                        of appearance";
/// The first number of an object whose name is none.
const FIRST_NUMBER: u64 = 1 << 63;

/// What a line says.
#[derive(Default)]
struct Row {
    access: Access,
    /// How often it is made.
    repeat: Option<u64>,
    is_deleted: bool,
}

/// The numbers of objects.
#[derive(Default)]
struct Names(FxHashMap<Box<[u8]>, u64>);

impl Names {
    /// Returns the number of an object: its name, or its place among the names that are none.
    fn number(&mut self, name: &[u8]) -> u64 {
        if let Some(number) = text::either(name).filter(|number| *number < FIRST_NUMBER) {
            return number;
        }
        if let Some(number) = self.0.get(name) {
            return *number;
        }
        let number = FIRST_NUMBER + self.0.len() as u64;
        self.0.insert(name.into(), number);
        number
    }
}

impl Row {
    /// Puts in what a column says; returns false if the text does not fit there.
    fn put(&mut self, role: Role, value: &[u8], names: &mut Names) -> bool {
        fn into<T: TryFrom<u64>>(place: &mut T, text: &[u8]) -> bool {
            let value = text::either(text).and_then(|value| T::try_from(value).ok());
            value.map(|value| *place = value).is_some()
        }
        let access = &mut self.access;
        match role {
            Role::Time => true,
            Role::Object if value.is_empty() => false,
            Role::Object => {
                access.address = names.number(value);
                true
            }
            Role::Address | Role::Offset => into(&mut access.address, value),
            Role::Size => {
                let (before, mut size) = (access.size, 0_u32);
                let fits = into(&mut size, value);
                let sum = before.checked_add(size).filter(|_| fits);
                sum.map(|sum| access.size = sum).is_some()
            }
            Role::Instruction => into(&mut access.instruction, value),
            Role::Ip => into(&mut access.ip, value),
            Role::Process => into(&mut access.process, value),
            Role::Thread => into(&mut access.thread, value),
            Role::Repeat => {
                self.repeat = text::either(value);
                self.repeat.is_some()
            }
            Role::Write => {
                let operation = text::operation(value);
                access.write = operation == Some(Operation::Write);
                self.is_deleted = operation == Some(Operation::Delete);
                operation.is_some()
            }
        }
    }
}

/// Returns a name with a capital.
fn titled(name: &str) -> String {
    let (first, rest) = name.split_at(1);
    format!("{}{rest}", first.to_ascii_uppercase())
}

/// Returns whether all numbers and operations of a line are such.
pub(super) fn fits(roles: &[Option<Role>], line: &[&[u8]]) -> bool {
    let mut checked = checked(roles, line);
    checked.all(|fits| fits)
}

/// Returns whether none of the columns of numbers and operations holds one.
pub(super) fn is_header(roles: &[Option<Role>], line: &[&[u8]]) -> bool {
    let mut checked = checked(roles, line).peekable();
    checked.peek().is_some() && !checked.any(|fits| fits)
}

/// Returns for each column of a line that holds numbers or operations whether it does.
fn checked<'a>(roles: &'a [Option<Role>], line: &'a [&[u8]]) -> impl Iterator<Item = bool> + 'a {
    let (mut row, mut names) = (Row::default(), Names::default());
    let columns = roles.iter().zip(line);
    let columns = columns.filter_map(|(role, text)| Some(((*role)?, *text)));
    columns
        .filter(|(role, _)| role.is_number() || *role == Role::Write)
        .map(move |(role, text)| row.put(role, text, &mut names))
}

pub(super) struct Reader {
    csv: csv::Reader<Input>,
    roles: Vec<Option<Role>>,
    /// The next line, if it was read already.
    ahead: Option<ByteRecord>,
    record: ByteRecord,
    /// Position of the last record.
    last: Position,
    /// The last access, and how often it is still to be made.
    again: (Access, u64),
    names: Names,
    /// What the first line is called.
    first: &'static str,
    tally: Tally,
}

impl Reader {
    pub(super) fn new(
        csv: csv::Reader<Input>,
        roles: Vec<Option<Role>>,
        ahead: Option<ByteRecord>,
        tally: &Tally,
    ) -> Self {
        Self {
            csv,
            roles,
            first: match ahead {
                Some(_) => "first line",
                None => "header",
            },
            ahead,
            record: ByteRecord::new(),
            last: Position::new(),
            again: (Access::default(), 0),
            names: Names::default(),
            tally: tally.clone(),
        }
    }

    /// Appends the next access; returns false at the end.
    pub(super) fn next(&mut self, block: &mut Block) -> Result<bool> {
        if self.again.1 == 0 && !self.line()? {
            return self.end().map(|()| false);
        }
        if self.again.1 > 0 {
            self.again.1 -= 1;
            block.push(self.again.0);
        }
        Ok(true)
    }

    /// Reads a line; returns false at the end.
    fn line(&mut self) -> Result<bool> {
        let at = self.csv.position().clone();
        match self.ahead.take() {
            Some(record) => self.record = record,
            None => match self.csv.read_byte_record(&mut self.record) {
                Ok(true) => {}
                Ok(false) => return Ok(false),
                Err(e) => return Err(super::wrong(&self.csv, &e, self.first)),
            },
        }
        let at = self.record.position().unwrap_or(&at);
        self.last = at.clone();
        let (mut row, before) = (Row::default(), self.names.0.len());
        for (role, value) in self.roles.iter().zip(&self.record) {
            let Some(role) = *role else {
                continue;
            };
            if !row.put(role, value, &mut self.names) {
                let what = format!(
                    "line {} has {} for {}, which does not fit there",
                    at.line(),
                    text::quote(value),
                    titled(super::column(role))
                );
                return Err(self.csv.get_ref().corrupt(at.byte(), &what));
            }
        }
        self.tally
            .add(NUMBERED, (self.names.0.len() - before) as u64);
        self.tally.add(DELETED, u64::from(row.is_deleted));
        let is_none = row.repeat == Some(0) && !row.is_deleted;
        self.tally.add(NONE, u64::from(is_none));
        self.again = match row.is_deleted {
            true => (row.access, 0),
            false => (row.access, row.repeat.unwrap_or(1)),
        };
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
