//! A dump of a pool for people: each item that lies in it, in the order of offsets.

use std::fmt;

use crate::allocator::Space;
use crate::error::{Error, Result};
use crate::lane::log;
use crate::layout::chunk::Use;
use crate::layout::header;
use crate::layout::intent::{Commit, Intent};
use crate::layout::record::{RECORD_BYTES, Record};
use crate::layout::root::{ROOT_BYTES, Root};
use crate::medium::Medium;
use crate::pool::Pool;
use crate::survey::{self, All, Finding};

/// An item that lies in a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Item {
    /// Offset in bytes from the beginning of the pool.
    pub offset: u64,
    /// Kind of item: `header`, `region`, `chunk`, `lane`, `intent`, `record`, `root`, or `damaged`.
    pub what: &'static str,
    /// The fields of the item, by name.
    pub fields: Vec<(&'static str, Field)>,
}

/// A value of an item's field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Field {
    /// A number, an offset or a size.
    Number(u64),
    /// A text.
    Text(String),
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>12} {:<8}", self.offset, self.what)?;
        for (name, value) in &self.fields {
            match value {
                Field::Number(number) => write!(f, " {name}={number}")?,
                Field::Text(text) => write!(f, " {name}={text}")?,
            }
        }
        Ok(())
    }
}

impl From<u64> for Field {
    fn from(number: u64) -> Self {
        Field::Number(number)
    }
}

impl From<&str> for Field {
    fn from(text: &str) -> Self {
        Field::Text(text.to_owned())
    }
}

impl From<String> for Field {
    fn from(text: String) -> Self {
        Field::Text(text)
    }
}

/// Returns the fields of an item, each as `name = value`.
macro_rules! fields {
    ($($name:ident = $value:expr),* $(,)?) => {
        vec![$((stringify!($name), Field::from($value))),*]
    };
}

/// A pool to be dumped. Nothing is recovered, so it is as its last user left it.
pub struct Dump<M> {
    space: Space<M>,
    /// Findings about the header.
    damaged: Vec<Item>,
}

impl<M: Medium> Dump<M> {
    /// Reads the pool on a medium; stores nothing there.
    ///
    /// # Errors
    ///
    /// The medium holds no pool, a pool of another version, or one whose header cannot be read.
    pub fn open(medium: M) -> Result<Self> {
        let all = All::default();
        let pool = survey::header::open(medium, &all)?;
        let mut findings = all.into_vec();
        let Some(pool) = pool else {
            let why = findings.pop().map_or(String::new(), |finding| finding.what);
            return Err(Error::damaged(why));
        };
        let item = |finding: Finding| damaged(finding.offset, finding.what);
        Ok(Self {
            space: survey::space(pool),
            damaged: findings.into_iter().map(item).collect(),
        })
    }

    /// Returns all items of the pool.
    pub fn items(&self) -> impl Iterator<Item = Item> {
        let first = std::iter::once(self.header()).chain(self.damaged.iter().cloned());
        first.chain((1..self.pool().used()).flat_map(|chunk| self.chunk(chunk)))
    }

    /// Returns the record of the object that lies at an offset, and the object's bytes.
    ///
    /// # Errors
    ///
    /// No object lies at the offset.
    pub fn object(&self, offset: u64) -> Result<(Item, Vec<u8>)> {
        let holds = |record: &Record| {
            let len = self.bytes_of(record);
            record.object <= offset && offset - record.object < len.max(1)
        };
        let records = (1..self.pool().used()).flat_map(|chunk| self.records(chunk));
        let found = records.flatten().find(|(_, record)| holds(record));
        let (at, record) = found.ok_or_else(|| {
            Error::usage(format!(
                "no object lies at {offset} of the pool; the dump without it names those that do"
            ))
        })?;
        let len = self.bytes_of(&record);
        self.pool().check(record.object, len, "the object")?;
        let mut bytes = vec![0; len as usize];
        self.pool().medium.load(record.object, &mut bytes);
        Ok((record_item(at, &record), bytes))
    }

    fn pool(&self) -> &Pool<M> {
        &self.space.pool
    }

    /// Returns the bytes of a record's object.
    fn bytes_of(&self, record: &Record) -> u64 {
        let geometry = &self.pool().geometry;
        let chunk = geometry.chunk_of(record.object);
        let known = chunk < self.pool().used() && !geometry.is_table(chunk);
        let of = known.then(|| self.pool().use_of(chunk));
        record.bytes.unwrap_or(match of {
            Some(Ok(Use::Large { chunks })) => geometry.offset_of(chunks),
            Some(Ok(Use::Run { slot })) => slot,
            _ => 0,
        })
    }

    fn header(&self) -> Item {
        let (pool, geometry) = (self.pool(), &self.pool().geometry);
        let fields = fields![
            version = header::version(&pool.load_words(0)),
            chunk_bytes = geometry.chunk_bytes(),
            lanes = u64::from(geometry.lanes),
            intents = u64::from(geometry.intents),
            chunks = pool.chunks(),
            used = pool.used(),
        ];
        item(0, "header", fields)
    }

    /// Returns the items of a chunk: the chunk itself and what lies in it.
    fn chunk(&self, chunk: u64) -> Vec<Item> {
        let geometry = &self.pool().geometry;
        let at = geometry.offset_of(chunk);
        if geometry.is_table(chunk) {
            let number = chunk / geometry.region_chunks();
            return vec![item(at, "region", fields![number = number])];
        }
        let one = |of: &str, name, value: u64| {
            let mut fields = fields![number = chunk];
            fields.extend([("use", of.into()), (name, value.into())]);
            vec![item(at, "chunk", fields)]
        };
        match self.pool().use_of(chunk) {
            Err(error) => vec![damaged(geometry.word_of(chunk), error.to_string())],
            Ok(Use::Free) => Vec::new(),
            Ok(Use::Run { slot }) => one("run", "slot", slot),
            Ok(Use::Large { chunks }) => one("large", "chunks", chunks),
            Ok(Use::Log { lane, .. }) => one("log", "lane", lane.into()),
            Ok(Use::Records) => [one("records", "chunks", 1), self.record_items(chunk)].concat(),
            Ok(Use::Roots) => [one("roots", "chunks", 1), self.roots(chunk)].concat(),
            Ok(Use::Bins) => one("bins", "chunks", 1),
            Ok(Use::Headers) => one("headers", "chunks", 1),
            Ok(Use::Journal { chunks }) => one("journal", "chunks", chunks),
            Ok(Use::Lanes { chunks }) => [one("lanes", "chunks", chunks), self.lanes()].concat(),
        }
    }

    /// Returns the records of a chunk of records, or the offset alone of one that is damaged;
    /// nothing for other chunks.
    fn records(&self, chunk: u64) -> impl Iterator<Item = std::result::Result<(u64, Record), u64>> {
        let (pool, geometry) = (self.pool(), &self.pool().geometry);
        let of_records = !geometry.is_table(chunk) && pool.use_of(chunk) == Ok(Use::Records);
        let places = of_records.then(|| geometry.places(chunk, RECORD_BYTES));
        places.into_iter().flatten().filter_map(|at| {
            let words = pool.load_words(at);
            let record = Record::decode(at, words).map(|record| (at, record));
            (words[3] != 0).then(|| record.ok_or(at))
        })
    }

    fn record_items(&self, chunk: u64) -> Vec<Item> {
        let of = |record: std::result::Result<(u64, Record), u64>| match record {
            Ok((at, record)) => record_item(at, &record),
            Err(at) => damaged(at, "the record of an object is damaged"),
        };
        self.records(chunk).map(of).collect()
    }

    fn roots(&self, chunk: u64) -> Vec<Item> {
        let pool = self.pool();
        let root = |at| {
            let words = pool.load_words(at);
            match Root::decode(at, &words) {
                Some(root) => Some(root_item(at, &root, words[0])),
                None if words[0] == 0 => None,
                None => Some(damaged(at, "the root is damaged")),
            }
        };
        let places = pool.geometry.places(chunk, ROOT_BYTES);
        places.filter_map(root).collect()
    }

    /// Returns all lanes that were ever used.
    fn lanes(&self) -> Vec<Item> {
        let (pool, geometry) = (self.pool(), &self.pool().geometry);
        let mut items = Vec::new();
        for lane in 0..usize::from(geometry.lanes) {
            let at = geometry.settled_of(lane);
            let settled = survey::lanes::settled(pool, lane);
            let intents: Vec<Item> = geometry
                .intents_of(lane)
                .flat_map(|at| self.intent(at, settled.unwrap_or(0)))
                .collect();
            match settled {
                None => items.push(damaged(at, format!("the state of lane {lane} is damaged"))),
                Some(0) if intents.is_empty() => {}
                Some(settled) => {
                    let fields = fields![number = lane as u64, settled = settled];
                    items.push(item(at, "lane", fields));
                }
            }
            items.extend(intents);
        }
        items
    }

    /// Returns an intent, and for a commit that may be repeated the entries of its log.
    fn intent(&self, at: u64, settled: u64) -> Vec<Item> {
        let words = self.pool().load_words(at);
        if words == [0; 8] {
            return Vec::new();
        }
        let Some((sequence, intent)) = Intent::decode(at, words) else {
            return vec![item(at, "intent", fields![state = "torn"])];
        };
        let pending = sequence > settled;
        let state = if pending { "pending" } else { "settled" };
        let mut fields = fields![state = state, sequence = sequence];
        let changed = in_words(intent.pairs());
        fields.extend(match &intent {
            Intent::Words { records, .. } => {
                fields![kind = "words", records = *records, words = changed]
            }
            Intent::Commit(commit) => fields![
                kind = "commit",
                records = commit.records,
                words_at = commit.words,
                words = commit.word_count,
                objects_at = commit.objects,
                objects = commit.object_count,
            ],
            Intent::Slot { filled, .. } => fields![
                kind = "slot",
                slot = filled.offset,
                bytes = u64::from(filled.len),
                words = changed,
            ],
            Intent::Undo { entries } => fields![kind = "undo", log = *entries],
        });
        let log = match intent {
            Intent::Commit(commit) if pending => self.log(&commit),
            _ => Vec::new(),
        };
        [vec![item(at, "intent", fields)], log].concat()
    }

    /// Returns the entries of a transaction's log.
    fn log(&self, commit: &Commit) -> Vec<Item> {
        let Ok(entries) = log::entries(&self.space, commit) else {
            return vec![item(commit.words, "log", fields![state = "torn"])];
        };
        let places = |first: u64, bytes: u64| (first..).step_by(bytes as usize);
        let words = places(commit.words, log::WORD_ENTRY).zip(&entries.words);
        let word = |(at, &entry)| item(at, "log", fields![words = in_words(&[entry])]);
        let objects = places(commit.objects, log::OBJECT_ENTRY).zip(&entries.objects);
        let object = |(at, &[offset, len, data]): (u64, &[u64; 3])| {
            item(
                at,
                "log",
                fields![changes = offset, bytes = len, data = data],
            )
        };
        words.map(word).chain(objects.map(object)).collect()
    }
}

fn item(offset: u64, what: &'static str, fields: Vec<(&'static str, Field)>) -> Item {
    Item {
        offset,
        what,
        fields,
    }
}

fn damaged(at: u64, why: impl Into<String>) -> Item {
    item(at, "damaged", fields![why = why.into()])
}

fn record_item(at: u64, record: &Record) -> Item {
    let mut fields = fields![
        object = record.object,
        bytes = record.bytes.map_or("large".into(), Field::from),
        kind = u64::from(record.kind),
        lane = u64::from(record.lane),
        sequence = record.sequence,
        upper = u64::from(record.upper),
        destination = match record.of_intent {
            true => "intent".into(),
            false => Field::from(record.destination),
        },
    ];
    if let Some(check) = record.contents {
        fields.extend(fields![check = format!("{check:08x}")]);
    }
    item(at, "record", fields)
}

fn root_item(at: u64, root: &Root, pointer: u64) -> Item {
    let fields = fields![
        name = format!("{:?}", root.name),
        pointer = pointer,
        bytes = u64::from(root.size),
        align = u64::from(root.align),
        kind = u64::from(root.kind),
    ];
    item(at, "root", fields)
}

/// Returns words and their new values as text: `4104:=8192,4112:=0`.
fn in_words(words: &[(u64, u64)]) -> String {
    let one = |(at, value): &(u64, u64)| format!("{at}:={value}");
    words.iter().map(one).collect::<Vec<_>>().join(",")
}

/// Returns bytes as lines of 16, each with its offset, in hexadecimal and as text; a line equal to
/// the one before is left out.
pub fn hex(offset: u64, bytes: &[u8]) -> String {
    let (mut text, mut before, mut left_out) = (String::new(), None, false);
    for (at, line) in (offset..).step_by(16).zip(bytes.chunks(16)) {
        if before == Some(line) {
            if !left_out {
                text.push_str("           *\n");
            }
            left_out = true;
            continue;
        }
        (before, left_out) = (Some(line), false);
        let in_hex: Vec<String> = line.iter().map(|byte| format!("{byte:02x}")).collect();
        let visible = |&byte: &u8| match byte {
            b' '..=b'~' => byte as char,
            _ => '.',
        };
        let in_text: String = line.iter().map(visible).collect();
        text.push_str(&format!("{at:>12} {:<47}  {in_text}\n", in_hex.join(" ")));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_in_lines() {
        let mut bytes = vec![0; 50];
        bytes[..5].copy_from_slice(b"hello");
        let lines: Vec<String> = hex(4096, &bytes).lines().map(str::to_owned).collect();
        assert_eq!(lines.len(), 4);
        let first =
            "        4096 68 65 6c 6c 6f 00 00 00 00 00 00 00 00 00 00 00  hello...........";
        assert_eq!(lines[0], first);
        assert!(lines[1].starts_with("        4112 00 00"));
        assert_eq!(lines[2], "           *");
        assert!(lines[3].starts_with("        4144 00 00 "));
    }
}
