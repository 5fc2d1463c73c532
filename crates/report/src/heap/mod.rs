//! Results of `terrace heap`: tables, and JSON of the schemas `terrace.heap.*/1`.

mod compact;
mod salvage;

use std::borrow::Cow;

use comfy_table::Table;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use terrace_base::Bytes;
use terrace_heap::RootInfo;
use terrace_heap::check::Finding;
use terrace_heap::dump::{Field, Item, hex};
use terrace_heap::info::{Chunks, Class, Info, Unsettled};

pub use compact::{CompactDocument, SkippedDocument};
pub use salvage::{SalvageDocument, SalvagedDocument};
use terrace_results::document::Document;
use terrace_results::html::{Axis, Page, Plot, Unit};
use terrace_results::number::count;
use terrace_results::rows::Rows;
use terrace_results::table::table;
use terrace_results::text::Text;

/// The JSON of `terrace heap info --json`: schema `terrace.heap.info/1`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct InfoDocument<'i> {
    /// `terrace.heap.info/1`.
    pub schema: &'static str,
    /// The file, as it was named.
    pub file: String,
    /// Statistics of the pool.
    #[serde(flatten)]
    pub info: &'i Info,
}

impl<'i> InfoDocument<'i> {
    /// Returns the document of a file.
    pub fn of(file: &str, info: &'i Info) -> Self {
        Self {
            schema: "terrace.heap.info/1",
            file: file.to_owned(),
            info,
        }
    }

    /// Returns the text for people.
    pub fn to_text(&self) -> Text {
        let info = self.info;
        let head = format!(
            "{}: {}, {} chunks of {}; format version {}, {} lanes\n{}\n\n",
            self.file,
            Bytes(info.bytes),
            count(info.chunks.all),
            Bytes(info.chunk_bytes),
            info.version,
            info.lanes,
            state(&info.unsettled)
        );
        let mut text = Text::default().prose(head).table(chunks_table(info));
        text = text.prose("\n");
        if !info.classes.is_empty() {
            text = text.table(classes_table(&info.classes)).prose("\n");
        }
        text = text.prose(fragmentation(info));
        match info.roots.is_empty() {
            true => text.prose("no roots\n"),
            false => text.prose("\n").table(roots_table(&info.roots)),
        }
    }
}

/// Returns whether the pool was closed, and else what opening it recovers.
fn state(unsettled: &[Unsettled]) -> String {
    let operations: u64 = unsettled.iter().map(|lane| lane.operations).sum();
    match operations {
        0 => "it was closed: nothing is left to be recovered".to_owned(),
        _ => format!(
            "it was not closed: opening it makes the last operations certain ({} in {}, {} in \
             transaction logs)",
            plural(operations, "operation"),
            plural(unsettled.len() as u64, "lane"),
            Bytes(unsettled.iter().map(|lane| lane.log_bytes).sum())
        ),
    }
}

/// Returns the uses of chunks, each with its number of chunks.
fn uses(chunks: &Chunks) -> [(&'static str, u64); 7] {
    [
        ("objects that share chunks", chunks.runs),
        ("large objects", chunks.large),
        ("records of objects", chunks.records),
        ("roots", chunks.roots),
        ("lanes", chunks.lanes),
        ("tables", chunks.tables),
        ("free", chunks.free),
    ]
}

fn chunks_table(info: &Info) -> Table {
    let mut table = table(&["used for", "chunks", "bytes"]);
    for (what, number) in uses(&info.chunks) {
        let bytes = Bytes(number * info.chunk_bytes).to_string();
        table.add_row([what.to_owned(), count(number), bytes]);
    }
    table
}

fn classes_table(classes: &[Class]) -> Table {
    let mut table = table(&["slot", "chunks", "objects", "free", "in use"]);
    table.add_rows(classes.iter().map(|class| {
        [
            Bytes(class.slot).to_string(),
            count(class.runs),
            count(class.objects),
            count(class.free),
            share(class.objects, class.objects + class.free),
        ]
    }));
    table
}

fn fragmentation(info: &Info) -> String {
    format!(
        "{} of {} in {} of slots and chunks ({} filled), {} of them large\n\
         free chunks: the most in a row are {} ({} of all that are free)\n\
         log of object records: {} of {} places hold one ({})\n",
        plural(info.objects, "object"),
        Bytes(info.object_bytes),
        Bytes(info.slot_bytes),
        share(info.object_bytes, info.slot_bytes),
        count(info.large),
        count(info.chunks.longest_free),
        share(info.chunks.longest_free, info.chunks.free),
        count(info.records.used),
        count(info.records.places),
        share(info.records.used, info.records.places),
    )
}

fn roots_table(roots: &[RootInfo]) -> Table {
    let mut table = table(&["root", "at", "points to", "bytes", "kind"]);
    table.add_rows(roots.iter().map(|root| {
        [
            root.name.escape_debug().to_string(),
            root.place.offset().to_string(),
            match root.pointer.offset() {
                0 => "nothing".to_owned(),
                pointer => pointer.to_string(),
            },
            root.size.to_string(),
            root.kind.to_string(),
        ]
    }));
    table
}

impl Document for InfoDocument<'_> {
    fn rows(&self) -> Rows {
        Rows::flat(&self.info.classes)
    }

    fn page(&self) -> Page {
        let bytes = || Axis::new("bytes", Unit::Bytes);
        let uses = uses(&self.info.chunks);
        let used = Axis::names("", uses.map(|(name, _)| name));
        let used = Plot::bars("Chunks by use", used, bytes())
            .note("What the chunks of the pool are used for.")
            .values(
                "chunks",
                uses.map(|(_, chunks)| (chunks * self.info.chunk_bytes) as f64),
            );
        let classes = self.info.classes.iter();
        let slots = classes.clone().map(|class| class.slot.to_string());
        let slots = Axis::names("bytes of a slot", slots);
        let in_use = classes
            .clone()
            .map(|class| (class.objects * class.slot) as f64);
        let free = classes.map(|class| (class.free * class.slot) as f64);
        let filled = Plot::stacked("Fill by size class", slots, bytes())
            .note("Slots in use and free slots of the chunks that objects of one size class share.")
            .values("in use", in_use)
            .values("free", free);
        Page::new(format!("terrace heap info: {}", self.file))
            .plot(used)
            .plot(filled)
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

/// Findings that the text for people lists.
const MOST_FINDINGS: usize = 100;

/// The JSON of `terrace heap check --json`: schema `terrace.heap.check/1`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CheckDocument<'f> {
    /// `terrace.heap.check/1`.
    pub schema: &'static str,
    /// The file, as it was named.
    pub file: String,
    /// Whether there is no finding.
    pub sound: bool,
    /// Damage that was found.
    pub findings: &'f [Finding],
}

impl<'f> CheckDocument<'f> {
    /// Returns the document of a file.
    pub fn of(file: &str, findings: &'f [Finding]) -> Self {
        Self {
            schema: "terrace.heap.check/1",
            file: file.to_owned(),
            sound: findings.is_empty(),
            findings,
        }
    }

    /// Returns a line for each of the first 100 findings, and the number of the rest.
    pub fn to_text(&self) -> Text {
        let line = |finding: &Finding| format!("{}: {finding}\n", self.file);
        let rest = self.findings.len().saturating_sub(MOST_FINDINGS);
        let mut lines: String = self.findings.iter().take(MOST_FINDINGS).map(line).collect();
        if rest > 0 {
            lines += &format!(
                "{}: {} more, which --json and --csv list\n",
                self.file,
                count(rest as u64)
            );
        }
        Text::default().prose(match self.sound {
            true => format!("{}: nothing is wrong\n", self.file),
            false => lines,
        })
    }
}

impl Document for CheckDocument<'_> {
    fn rows(&self) -> Rows {
        Rows::flat(self.findings)
    }

    fn page(&self) -> Page {
        Page::new(format!("terrace heap check: {}", self.file))
    }
}

/// A line of `terrace heap dump --json`: `offset`, `what`, and the fields of what it is.
#[derive(Debug)]
pub struct ItemDocument<'i>(&'i Item);

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

impl JsonSchema for ItemDocument<'_> {
    fn schema_name() -> Cow<'static, str> {
        "Item".into()
    }

    /// What an item is says which fields it has, so that there may be any.
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "description": "An item of a pool, with fields by what it is.",
            "properties": {
                "offset": {
                    "type": "integer",
                    "minimum": 0,
                    "unit": "bytes",
                    "description": "Offset from the beginning of the pool.",
                },
                "what": { "type": "string", "description": "What it is." },
            },
            "required": ["offset", "what"],
            "additionalProperties": { "type": ["integer", "string"] },
        })
    }
}

/// All items of a pool, for `terrace heap dump`: as JSON a line for each.
#[derive(Serialize, JsonSchema)]
pub struct DumpDocument<'i> {
    file: &'i str,
    items: Vec<ItemDocument<'i>>,
}

impl<'i> DumpDocument<'i> {
    /// Returns the document of a file.
    pub fn of(file: &'i str, items: &'i [Item]) -> Self {
        let items = items.iter().map(ItemDocument).collect();
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
        let line = |item| serde_json::to_string(item).expect("plain data serializes") + "\n";
        self.items.iter().map(line).collect()
    }
}

/// The JSON of `terrace heap dump --object --json`: schema `terrace.heap.object/1`.
#[derive(Debug, Serialize, JsonSchema)]
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
        let offset = record.fields.iter().find_map(|field| match field {
            ("object", Field::Number(offset)) => Some(*offset),
            _ => None,
        });
        Self {
            schema: "terrace.heap.object/1",
            record: ItemDocument(record),
            hex: bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
            text: format!("{record}\n{}", hex(offset.unwrap_or(0), bytes)),
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
