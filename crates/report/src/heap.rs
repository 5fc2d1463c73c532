//! Results of `terrace heap`: tables, and JSON of the schemas `terrace.heap.*/1`.

use comfy_table::Table;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use terrace_base::Bytes;
use terrace_heap::RootInfo;
use terrace_heap::check::Finding;
use terrace_heap::dump::{Field, Item, hex};
use terrace_heap::info::Info;

use crate::document::Document;
use crate::html::{Axis, Page, Plot, Unit};
use crate::rows::Rows;
use crate::run::count;
use crate::table::table;
use crate::text::Text;

/// The JSON of `terrace heap info --json`: schema `terrace.heap.info/1`.
#[derive(Debug, Serialize)]
pub struct InfoDocument {
    /// `terrace.heap.info/1`.
    pub schema: &'static str,
    /// The file, as it was named.
    pub file: String,
    /// Version of the format.
    pub version: u64,
    /// Bytes of the pool.
    pub bytes: u64,
    /// Bytes of a chunk.
    pub chunk_bytes: u64,
    /// Lanes: threads that can work at the same time.
    pub lanes: u16,
    /// Chunks, by what they are used for.
    pub chunks: Chunks,
    /// Objects in use.
    pub objects: u64,
    /// Objects of whole chunks, which `objects` includes.
    pub large_objects: u64,
    /// Bytes that programs asked for, each object rounded up to 16.
    pub object_bytes: u64,
    /// Bytes of the slots and chunks of these objects.
    pub slot_bytes: u64,
    /// Size classes of objects that share chunks; classes without a chunk are left out.
    pub classes: Vec<Class>,
    /// Places of the log of object records, and how many of them hold one.
    pub records: Fill,
    /// Lanes whose last operations become durable when the pool is opened; empty if it was closed.
    pub unsettled: Vec<Unsettled>,
    /// Roots, by name.
    pub roots: Vec<Root>,
}

/// Chunks, by what they are used for.
#[derive(Debug, Serialize)]
pub struct Chunks {
    /// Chunks of the tables that describe all chunks.
    pub tables: u64,
    /// Chunks of lanes and their intents.
    pub lanes: u64,
    /// Chunks of roots.
    pub roots: u64,
    /// Chunks of records of objects.
    pub records: u64,
    /// Chunks that objects share.
    pub runs: u64,
    /// Chunks of large objects.
    pub large: u64,
    /// Free chunks.
    pub free: u64,
    /// Longest run of free chunks.
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

/// A lane whose last operations are not durable.
#[derive(Debug, Serialize)]
pub struct Unsettled {
    /// Number of the lane.
    pub lane: u64,
    /// Operations that become durable.
    pub operations: u64,
    /// Bytes of their commits in the transaction log, without data.
    pub log_bytes: u64,
}

/// A root.
#[derive(Debug, Serialize)]
pub struct Root {
    /// Its name.
    pub name: String,
    /// Offset of the root.
    pub offset: u64,
    /// Offset of the object that the root points to; 0 if there is none.
    pub pointer: u64,
    /// Bytes of that object.
    pub bytes: u32,
    /// Kind, a number that the program chose.
    pub kind: u16,
}

impl InfoDocument {
    /// Returns the document of a file.
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

    /// Returns the text for people.
    pub fn to_text(&self) -> Text {
        let head = format!(
            "{}: {}, {} chunks of {}; format version {}, {} lanes\n{}\n\n",
            self.file,
            Bytes(self.bytes),
            count(self.bytes / self.chunk_bytes),
            Bytes(self.chunk_bytes),
            self.version,
            self.lanes,
            self.state()
        );
        let text = Text::default()
            .prose(head)
            .table(self.chunks_table())
            .prose("\n");
        let text = match self.classes.is_empty() {
            true => text,
            false => text.table(self.classes_table()).prose("\n"),
        };
        let text = text.prose(self.fragmentation());
        match self.roots.is_empty() {
            true => text.prose("no roots\n"),
            false => text.prose("\n").table(self.roots_table()),
        }
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

    fn chunks_table(&self) -> Table {
        let mut table = table(&["used for", "chunks", "bytes"]);
        for (what, number) in self.chunks.uses() {
            let bytes = Bytes(number * self.chunk_bytes).to_string();
            table.add_row([what.to_owned(), count(number), bytes]);
        }
        table
    }

    fn classes_table(&self) -> Table {
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
        table
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

    fn roots_table(&self) -> Table {
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
        table
    }
}

impl Document for InfoDocument {
    fn rows(&self) -> Rows {
        Rows::flat(&self.classes)
    }

    fn page(&self) -> Page {
        let classes = || self.classes.iter();
        let slots = Axis::names(
            "bytes of a slot",
            classes().map(|class| class.slot_bytes.to_string()),
        );
        let bytes = |get: fn(&Class) -> u64| {
            classes().map(move |class| (get(class) * class.slot_bytes) as f64)
        };
        let uses = self.chunks.uses();
        let used = Plot::bars(
            "Chunks by use",
            Axis::names("", uses.map(|(name, _)| name)),
            Axis::new("bytes", Unit::Bytes),
        )
        .note("What the chunks of the pool are used for.")
        .values(
            "chunks",
            uses.map(|(_, chunks)| (chunks * self.chunk_bytes) as f64),
        );
        let filled = Plot::stacked("Fill by size class", slots, Axis::new("bytes", Unit::Bytes))
            .note("Slots in use and free slots of the chunks that objects of one size class share.")
            .values("in use", bytes(|class| class.objects))
            .values("free", bytes(|class| class.free));
        Page::new(format!("terrace heap info: {}", self.file))
            .plot(used)
            .plot(filled)
    }
}

impl Chunks {
    /// Returns the number of chunks for each use.
    fn uses(&self) -> [(&'static str, u64); 7] {
        [
            ("objects that share chunks", self.runs),
            ("large objects", self.large),
            ("records of objects", self.records),
            ("roots", self.roots),
            ("lanes", self.lanes),
            ("tables", self.tables),
            ("free", self.free),
        ]
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

/// Returns a share in percent; 100 % of nothing.
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
    /// Whether there is no finding.
    pub sound: bool,
    /// Damage that was found.
    pub findings: Vec<Wrong>,
}

/// A finding.
#[derive(Debug, Serialize)]
pub struct Wrong {
    /// Offset of the damage in bytes from the beginning of the pool.
    pub offset: u64,
    /// Damage, as a sentence.
    pub what: String,
}

impl CheckDocument {
    /// Returns the document of a file.
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

    /// Returns a line for each finding.
    pub fn to_text(&self) -> Text {
        let line =
            |wrong: &Wrong| format!("{}: at byte {}, {}\n", self.file, wrong.offset, wrong.what);
        Text::default().prose(match self.sound {
            true => format!("{}: nothing is wrong\n", self.file),
            false => self.findings.iter().map(line).collect(),
        })
    }
}

impl Document for CheckDocument {
    fn rows(&self) -> Rows {
        Rows::flat(&self.findings)
    }

    fn page(&self) -> Page {
        Page::new(format!("terrace heap check: {}", self.file))
    }
}

/// A line of `terrace heap dump --json`: `offset`, `what`, and the fields of what it is.
#[derive(Debug)]
pub struct ItemDocument<'i>(&'i Item);

impl<'i> ItemDocument<'i> {
    /// Returns the document of an item.
    pub fn of(item: &'i Item) -> Self {
        Self(item)
    }

    /// Returns the line of JSON.
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

/// All that `terrace heap dump` tells of a pool: as JSON a line for each item.
#[derive(Serialize)]
pub struct DumpDocument<'i> {
    file: &'i str,
    items: Vec<ItemDocument<'i>>,
}

impl<'i> DumpDocument<'i> {
    /// Returns the document of a file.
    pub fn of(file: &'i str, items: &'i [Item]) -> Self {
        let items = items.iter().map(ItemDocument::of).collect();
        Self { file, items }
    }

    /// Returns a line for each item.
    pub fn to_text(&self) -> Text {
        let lines = self.items.iter().map(|item| format!("{}\n", item.0));
        Text::default().prose(lines.collect::<String>())
    }
}

impl Document for DumpDocument<'_> {
    fn rows(&self) -> Rows {
        Rows::flat(&self.items)
    }

    fn page(&self) -> Page {
        Page::new(format!("terrace heap dump: {}", self.file))
    }

    fn to_json(&self) -> String {
        self.items.iter().map(ItemDocument::to_json_line).collect()
    }
}

/// The JSON of `terrace heap dump --object --json`: schema `terrace.heap.object/1`.
#[derive(Debug, Serialize)]
pub struct ObjectDocument<'i> {
    /// `terrace.heap.object/1`.
    pub schema: &'static str,
    /// Record of the object, as in the dump.
    pub record: ItemDocument<'i>,
    /// Bytes of the object, two hexadecimal digits each.
    pub hex: String,
    #[serde(skip)]
    text: String,
}

impl<'i> ObjectDocument<'i> {
    /// Returns the document of an object.
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

    /// Returns the text for people.
    pub fn to_text(&self) -> Text {
        Text::default().prose(self.text.clone())
    }
}

impl Document for ObjectDocument<'_> {
    fn rows(&self) -> Rows {
        Rows::flat([self])
    }

    fn page(&self) -> Page {
        Page::new("terrace heap dump --object")
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
    /// Returns the document of a file.
    pub fn of(file: &str, bytes_freed: u64) -> Self {
        Self {
            schema: "terrace.heap.compact/1",
            file: file.to_owned(),
            bytes_freed,
        }
    }

    /// Returns the text for people.
    pub fn to_text(&self) -> Text {
        Text::default().prose(match self.bytes_freed {
            0 => format!(
                "{}: the records of objects need the chunks that they have\n",
                self.file
            ),
            bytes => format!("{}: {} became free\n", self.file, Bytes(bytes)),
        })
    }
}

impl Document for CompactDocument {
    fn rows(&self) -> Rows {
        Rows::flat([self])
    }

    fn page(&self) -> Page {
        Page::new(format!("terrace heap compact: {}", self.file))
    }
}
