//! Results of `terrace heap compact`.

use schemars::JsonSchema;
use serde::Serialize;
use terrace_base::Bytes;
use terrace_heap::Compaction;

use terrace_results::document::Document;
use terrace_results::html::Page;
use terrace_results::rows::Rows;
use terrace_results::text::Text;

/// The JSON of `terrace heap compact --json`: schema `terrace.heap.compact/1`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CompactDocument {
    /// `terrace.heap.compact/1`.
    pub schema: &'static str,
    /// The file, as it was named.
    pub file: String,
    /// Bytes that have become free.
    #[schemars(extend("unit" = "bytes"))]
    pub bytes_freed: u64,
    /// Objects that have moved, or that fewer others replace.
    pub objects_moved: u64,
    /// Containers that are damaged, and were left out.
    pub skipped: Vec<SkippedDocument>,
}

/// A container that was not compacted.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SkippedDocument {
    /// Name of the container.
    pub name: String,
    /// A sentence that says what is wrong with it.
    pub error: String,
}

impl CompactDocument {
    /// Returns the document of a file.
    pub fn of(file: &str, done: &Compaction) -> Self {
        let skipped = done.skipped.iter().map(|skipped| SkippedDocument {
            name: skipped.name.clone(),
            error: skipped.error.to_string(),
        });
        Self {
            schema: "terrace.heap.compact/1",
            file: file.to_owned(),
            bytes_freed: done.freed,
            objects_moved: done.moved,
            skipped: skipped.collect(),
        }
    }

    /// Returns the text for people.
    pub fn to_text(&self) -> Text {
        let moved = match self.objects_moved {
            0 => String::new(),
            1 => "; 1 object was moved".to_owned(),
            objects => format!("; {objects} objects were moved"),
        };
        let done = match self.bytes_freed {
            0 => format!("{}: no chunk could be emptied{moved}\n", self.file),
            bytes => format!("{}: {} became free{moved}\n", self.file, Bytes(bytes)),
        };
        let left_out = |skipped: &SkippedDocument| {
            format!(
                "{}: the container {:?} is damaged and was left out: {}\n",
                self.file, skipped.name, skipped.error
            )
        };
        let skipped: String = self.skipped.iter().map(left_out).collect();
        Text::default().prose(done + &skipped)
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
