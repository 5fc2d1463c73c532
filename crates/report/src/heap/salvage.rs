//! Results of `terrace heap salvage`.

use schemars::JsonSchema;
use serde::Serialize;
use terrace_heap::check::Finding;
use terrace_heap::salvage::{Extent, Salvaged};

use terrace_results::document::Document;
use terrace_results::html::Page;
use terrace_results::rows::Rows;
use terrace_results::text::Text;

/// The JSON of `terrace heap salvage --json`: schema `terrace.heap.salvage/1`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SalvageDocument<'s> {
    /// `terrace.heap.salvage/1`.
    pub schema: &'static str,
    /// The damaged file, as it was named.
    pub file: String,
    /// The new file, as it was named.
    pub to: String,
    /// How much of the pool the new file has: `all`, `part`, or `nothing`.
    pub salvaged: &'static str,
    /// The containers that were found.
    pub containers: Vec<SalvagedDocument<'s>>,
    /// What could not be read, and why: the first 100 findings.
    pub findings: &'s [Finding],
    /// The number of findings beyond those.
    pub more_findings: u64,
}

/// What was salvaged of a container.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SalvagedDocument<'s> {
    /// Name of the container.
    pub name: &'s str,
    /// Entries or elements that the new file has.
    pub entries: u64,
    /// Entries or elements that could not be read.
    pub entries_lost: u64,
    /// Damaged parts that could not be read, each of an unknown number of entries.
    pub parts_lost: u64,
}

impl<'s> SalvageDocument<'s> {
    /// Returns the document of a file that was salvaged to another one.
    pub fn of(file: &str, to: &str, salvaged: &'s Salvaged) -> Self {
        let containers = salvaged.roots.iter().map(|root| SalvagedDocument {
            name: &root.name,
            entries: root.read,
            entries_lost: root.lost,
            parts_lost: root.parts,
        });
        Self {
            schema: "terrace.heap.salvage/1",
            file: file.to_owned(),
            to: to.to_owned(),
            salvaged: match salvaged.extent() {
                Extent::All => "all",
                Extent::Nothing => "nothing",
                _ => "part",
            },
            containers: containers.collect(),
            findings: &salvaged.findings,
            more_findings: salvaged.more,
        }
    }

    /// Returns a line for each container, one for each finding, and one for the whole.
    pub fn to_text(&self) -> Text {
        let mut text = String::new();
        for container in &self.containers {
            let lost = match (container.entries_lost, container.parts_lost) {
                (0, 0) => String::new(),
                (lost, 0) => format!(", {lost} lost"),
                (lost, parts) => format!(", {lost} lost, and those in {parts} damaged parts"),
            };
            text += &format!("{}: {} entries{lost}\n", container.name, container.entries);
        }
        for finding in self.findings {
            text += &format!("{finding}\n");
        }
        if self.more_findings > 0 {
            text += &format!("and {} findings more\n", self.more_findings);
        }
        let much = match self.salvaged {
            "all" => "all of it was",
            "part" => "a part of it was",
            _ => "nothing of it was",
        };
        Text::default().prose(text + &format!("{}: {much} salvaged to {}\n", self.file, self.to))
    }
}

impl Document for SalvageDocument<'_> {
    fn rows(&self) -> Rows {
        Rows::flat(&self.containers)
    }

    fn page(&self) -> Page {
        Page::new(format!("terrace heap salvage: {}", self.file))
    }
}
