//! What `terrace heap` says of a pool.

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use terrace_base::Bytes;
use terrace_heap::RootInfo;
use terrace_heap::check::Finding;
use terrace_heap::dump::{Field, Item, hex};
use terrace_heap::info::Info;

use crate::json::pretty;
use crate::run::count;
use crate::table::table;

/// The JSON of `terrace heap info --json`: schema `terrace.heap.info/1`.
#[derive(Debug, Serialize)]
pub struct InfoDocument {
    /// `terrace.heap.info/1`.
    pub schema: &'static str,
    /// The file, as it was named.
    pub file: String,
    /// Of the format.
    pub version: u64,
    /// Bytes of the pool.
    pub bytes: u64,
    /// Bytes of a chunk.
    pub chunk_bytes: u64,
    /// How many threads can work at the same time.
    pub lanes: u16,
    /// Chunks, by what they are used for.
    pub chunks: Chunks,
    /// Objects in use.
    pub objects: u64,
    /// Objects of whole chunks, which are some of them.
    pub large_objects: u64,
    /// Bytes that were asked for, each object rounded up to 16.
    pub object_bytes: u64,
    /// Bytes of the slots and chunks that they have.
    pub slot_bytes: u64,
    /// Objects that share chunks, by size class; classes without a chunk are left out.
    pub classes: Vec<Class>,
    /// Places of the log of object records, and how many of them hold one.
    pub records: Fill,
    /// Lanes whose last operations opening the pool makes certain; none, if it was closed.
    pub unsettled: Vec<Unsettled>,
    /// Roots, by name.
    pub roots: Vec<Root>,
}

/// Chunks, by what they are used for.
#[derive(Debug, Serialize)]
pub struct Chunks {
    /// Tables of words about the others.
    pub tables: u64,
    /// Intents: what is under way.
    pub lanes: u64,
    /// Roots.
    pub roots: u64,
    /// Records of objects.
    pub records: u64,
    /// Objects that share chunks.
    pub runs: u64,
    /// Objects of whole chunks.
    pub large: u64,
    /// Nothing.
    pub free: u64,
    /// The most free ones in a row.
    pub longest_free: u64,
}

/// A size class.
#[derive(Debug, Serialize)]
pub struct Class {
    /// Bytes of a slot.
    pub slot_bytes: u64,
    /// Chunks.
    pub chunks: u64,
    /// Slots in use.
    pub objects: u64,
    /// Slots that are free.
    pub free: u64,
}

/// How far a log is filled.
#[derive(Debug, Serialize)]
pub struct Fill {
    /// Places.
    pub places: u64,
    /// Places that hold something.
    pub used: u64,
}

/// A lane that was not settled.
#[derive(Debug, Serialize)]
pub struct Unsettled {
    /// Which.
    pub lane: u64,
    /// Operations that are made certain.
    pub operations: u64,
    /// Bytes that their commits have in the transaction log, without data.
    pub log_bytes: u64,
}

/// A root.
#[derive(Debug, Serialize)]
pub struct Root {
    /// Its name.
    pub name: String,
    /// Where it lies.
    pub offset: u64,
    /// The pointer; 0 if there is none.
    pub pointer: u64,
    /// Bytes of what it points to.
    pub bytes: u32,
    /// What it is, as the program numbers such things.
    pub kind: u16,
}

impl InfoDocument {
    /// The document of a file.
    pub fn of(file: &str, info: &Info) -> Self {
        let class = |class: &terrace_heap::info::Class| Class {
            slot_bytes: class.slot,
            chunks: class.runs,
            objects: class.objects,
            free: class.free,
        };
        let unsettled = |lane: &terrace_heap::info::Unsettled| Unsettled {
            lane: lane.lane,
            operations: lane.operations,
            log_bytes: lane.log_bytes,
        };
        Self {
            schema: "terrace.heap.info/1",
            file: file.to_owned(),
            version: info.version,
            bytes: info.chunks.all * info.chunk_bytes,
            chunk_bytes: info.chunk_bytes,
            lanes: info.lanes,
            chunks: Chunks {
                tables: info.chunks.tables,
                lanes: info.chunks.lanes,
                roots: info.chunks.roots,
                records: info.chunks.records,
                runs: info.chunks.runs,
                large: info.chunks.large,
                free: info.chunks.free,
                longest_free: info.chunks.longest_free,
            },
            objects: info.objects,
            large_objects: info.large,
            object_bytes: info.object_bytes,
            slot_bytes: info.slot_bytes,
            classes: info.classes.iter().map(class).collect(),
            records: Fill {
                places: info.records.places,
                used: info.records.used,
            },
            unsettled: info.unsettled.iter().map(unsettled).collect(),
            roots: info.roots.iter().map(Root::of).collect(),
        }
    }

    /// As JSON.
    pub fn to_json(&self) -> String {
        pretty(self)
    }

    /// For people.
    pub fn to_text(&self) -> String {
        let mut text = format!(
            "{}: {}, {} chunks of {}; format version {}, {} lanes\n{}\n\n",
            self.file,
            Bytes(self.bytes),
            count(self.bytes / self.chunk_bytes),
            Bytes(self.chunk_bytes),
            self.version,
            self.lanes,
            self.state()
        );
        text += &self.chunks_table();
        text += &self.classes_table();
        text += &self.fragmentation();
        text += &self.roots_table();
        text
    }

    fn state(&self) -> String {
        let operations: u64 = self.unsettled.iter().map(|lane| lane.operations).sum();
        match operations {
            0 => "it was closed: nothing is left to be recovered".to_owned(),
            _ => format!(
                "it was not closed: opening it makes the last operations certain ({} in {}, {} in \
                 transaction logs)",
                plural(operations, "operation"),
                plural(self.unsettled.len() as u64, "lane"),
                Bytes(self.unsettled.iter().map(|lane| lane.log_bytes).sum())
            ),
        }
    }

    fn chunks_table(&self) -> String {
        let mut table = table(&["used for", "chunks", "bytes"]);
        let chunks = &self.chunks;
        for (what, number) in [
            ("objects that share chunks", chunks.runs),
            ("large objects", chunks.large),
            ("records of objects", chunks.records),
            ("roots", chunks.roots),
            ("lanes", chunks.lanes),
            ("tables", chunks.tables),
            ("free", chunks.free),
        ] {
            let bytes = Bytes(number * self.chunk_bytes).to_string();
            table.add_row([what.to_owned(), count(number), bytes]);
        }
        format!("{table}\n\n")
    }

    fn classes_table(&self) -> String {
        if self.classes.is_empty() {
            return String::new();
        }
        let mut table = table(&["slot", "chunks", "objects", "free", "in use"]);
        for class in &self.classes {
            table.add_row([
                Bytes(class.slot_bytes).to_string(),
                count(class.chunks),
                count(class.objects),
                count(class.free),
                share(class.objects, class.objects + class.free),
            ]);
        }
        format!("{table}\n\n")
    }

    fn fragmentation(&self) -> String {
        format!(
            "{} of {} in {} of slots and chunks ({} filled), {} of them large\n\
             free chunks: the most in a row are {} ({} of all that are free)\n\
             log of object records: {} of {} places hold one ({})\n",
            plural(self.objects, "object"),
            Bytes(self.object_bytes),
            Bytes(self.slot_bytes),
            share(self.object_bytes, self.slot_bytes),
            count(self.large_objects),
            count(self.chunks.longest_free),
            share(self.chunks.longest_free, self.chunks.free),
            count(self.records.used),
            count(self.records.places),
            share(self.records.used, self.records.places),
        )
    }

    fn roots_table(&self) -> String {
        if self.roots.is_empty() {
            return "no roots\n".to_owned();
        }
        let mut table = table(&["root", "at", "points to", "bytes", "kind"]);
        for root in &self.roots {
            table.add_row([
                root.name.escape_debug().to_string(),
                root.offset.to_string(),
                match root.pointer {
                    0 => "nothing".to_owned(),
                    pointer => pointer.to_string(),
                },
                root.bytes.to_string(),
                root.kind.to_string(),
            ]);
        }
        format!("\n{table}\n")
    }
}

impl Root {
    fn of(root: &RootInfo) -> Self {
        Self {
            name: root.name.clone(),
            offset: root.place.offset(),
            pointer: root.pointer.offset(),
            bytes: root.size,
            kind: root.kind,
        }
    }
}

/// A share in percent; of nothing, all.
fn share(part: u64, all: u64) -> String {
    match all {
        0 => "100 %".to_owned(),
        _ => format!("{:.0} %", part as f64 * 100.0 / all as f64),
    }
}

fn plural(number: u64, what: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{} {what}{s}", count(number))
}

/// The JSON of `terrace heap check --json`: schema `terrace.heap.check/1`.
#[derive(Debug, Serialize)]
pub struct CheckDocument {
    /// `terrace.heap.check/1`.
    pub schema: &'static str,
    /// The file, as it was named.
    pub file: String,
    /// Whether nothing is wrong.
    pub sound: bool,
    /// What is wrong.
    pub findings: Vec<Wrong>,
}

/// Something that is wrong.
#[derive(Debug, Serialize)]
pub struct Wrong {
    /// Where, in bytes from the beginning of the pool.
    pub offset: u64,
    /// What.
    pub what: String,
}

impl CheckDocument {
    /// The document of a file.
    pub fn of(file: &str, findings: &[Finding]) -> Self {
        let wrong = |finding: &Finding| Wrong {
            offset: finding.offset,
            what: finding.what.clone(),
        };
        Self {
            schema: "terrace.heap.check/1",
            file: file.to_owned(),
            sound: findings.is_empty(),
            findings: findings.iter().map(wrong).collect(),
        }
    }

    /// As JSON.
    pub fn to_json(&self) -> String {
        pretty(self)
    }

    /// For people: a line for each finding.
    pub fn to_text(&self) -> String {
        let line =
            |wrong: &Wrong| format!("{}: at byte {}, {}\n", self.file, wrong.offset, wrong.what);
        match self.sound {
            true => format!("{}: nothing is wrong\n", self.file),
            false => self.findings.iter().map(line).collect(),
        }
    }
}

/// A line of `terrace heap dump --json`: `offset`, `what`, and the fields of what it is.
#[derive(Debug)]
pub struct ItemDocument<'i>(&'i Item);

impl<'i> ItemDocument<'i> {
    /// The document of an item.
    pub fn of(item: &'i Item) -> Self {
        Self(item)
    }

    /// As a line of JSON.
    pub fn to_json_line(&self) -> String {
        serde_json::to_string(self).expect("plain data serializes") + "\n"
    }
}

impl Serialize for ItemDocument<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("offset", &self.0.offset)?;
        map.serialize_entry("what", self.0.what)?;
        for (name, value) in &self.0.fields {
            match value {
                Field::Number(number) => map.serialize_entry(name, number)?,
                Field::Text(text) => map.serialize_entry(name, text)?,
            }
        }
        map.end()
    }
}

/// The JSON of `terrace heap dump --object --json`: schema `terrace.heap.object/1`.
#[derive(Debug, Serialize)]
pub struct ObjectDocument<'i> {
    /// `terrace.heap.object/1`.
    pub schema: &'static str,
    /// Its record, as in the dump.
    pub record: ItemDocument<'i>,
    /// Its bytes, each two digits.
    pub hex: String,
    #[serde(skip)]
    text: String,
}

impl<'i> ObjectDocument<'i> {
    /// The document of an object.
    pub fn of(record: &'i Item, bytes: &[u8]) -> Self {
        let object = record.fields.iter().find(|(name, _)| *name == "object");
        let offset = match object {
            Some((_, Field::Number(offset))) => *offset,
            _ => 0,
        };
        Self {
            schema: "terrace.heap.object/1",
            record: ItemDocument(record),
            hex: bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
            text: format!("{record}\n{}", hex(offset, bytes)),
        }
    }

    /// As JSON.
    pub fn to_json(&self) -> String {
        pretty(self)
    }

    /// For people.
    pub fn to_text(&self) -> String {
        self.text.clone()
    }
}

/// The JSON of `terrace heap compact --json`: schema `terrace.heap.compact/1`.
#[derive(Debug, Serialize)]
pub struct CompactDocument {
    /// `terrace.heap.compact/1`.
    pub schema: &'static str,
    /// The file, as it was named.
    pub file: String,
    /// Bytes that have become free.
    pub bytes_freed: u64,
}

impl CompactDocument {
    /// The document of a file.
    pub fn of(file: &str, bytes_freed: u64) -> Self {
        Self {
            schema: "terrace.heap.compact/1",
            file: file.to_owned(),
            bytes_freed,
        }
    }

    /// As JSON.
    pub fn to_json(&self) -> String {
        pretty(self)
    }

    /// For people.
    pub fn to_text(&self) -> String {
        match self.bytes_freed {
            0 => format!(
                "{}: the records of objects need the chunks that they have\n",
                self.file
            ),
            bytes => format!("{}: {} became free\n", self.file, Bytes(bytes)),
        }
    }
}
