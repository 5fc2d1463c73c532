//! The JSON of `terrace bench --json`: schema `terrace.bench/1`. Every field is documented here.

mod table;

use serde::{Deserialize, Serialize};
use terrace_base::{Error, Result};
use terrace_live::bench;
use terrace_live::compare::kernel_release;
use terrace_live::dram;

use crate::schema::{self, End, Way};

/// `terrace.bench/1`. Fields may be added under this name; none changes its meaning.
const SCHEMA: &str = "terrace.bench/1";

/// The whole document.
#[derive(Debug, Serialize, Deserialize)]
pub struct Document {
    /// `terrace.bench/1`.
    pub schema: String,
    /// The suite's name, or its folder's.
    pub suite: String,
    /// What it was run on.
    pub machine: Machine,
    /// One entry a program and DRAM budget, in the order in which they were run. A suite that was
    /// interrupted has as many as it got to.
    pub rows: Vec<Row>,
}

/// What a suite was run on.
#[derive(Debug, Serialize, Deserialize)]
pub struct Machine {
    /// The kernel's release.
    pub kernel: String,
    /// CPUs that may be used.
    pub cpus: usize,
    /// The machine's DRAM in bytes.
    pub memory_bytes: u64,
}

/// A program with a DRAM budget.
#[derive(Debug, Serialize, Deserialize)]
pub struct Row {
    /// The program's name in the suite.
    pub name: String,
    /// What can be known of its next page, as the suite says, or null.
    pub expect: Option<String>,
    /// How many times as fast as the better kernel way it is to be, or null.
    pub bar: Option<f64>,
    /// The DRAM budget, as a size or as a share of the footprint.
    pub dram: String,
    /// Why the program failed, or null.
    pub error: Option<String>,
    /// What was measured, a document of schema `terrace.run/1`; null where nothing was.
    pub comparison: Option<schema::Document>,
}

impl Document {
    /// A document of this suite, without rows yet.
    pub fn new(suite: &str) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            suite: suite.to_owned(),
            machine: Machine {
                kernel: kernel_release(),
                cpus: std::thread::available_parallelism().map_or(1, usize::from),
                memory_bytes: dram::total().0,
            },
            rows: Vec::new(),
        }
    }

    /// Reads a document; `file` names it in errors.
    ///
    /// # Errors
    /// A usage error where the text is none.
    pub fn parse(text: &str, file: &str) -> Result<Self> {
        let document: Self = serde_json::from_str(text).map_err(|e| {
            Error::usage(format!("{file} is no file of `terrace bench --json`: {e}"))
        })?;
        if document.schema != SCHEMA {
            return Err(Error::usage(format!(
                "{file} has the schema `{}`; this terrace reads {SCHEMA}",
                document.schema
            )));
        }
        Ok(document)
    }

    /// As text.
    pub fn to_json(&self) -> String {
        crate::json::pretty(self)
    }

    /// Whether a program failed.
    pub fn failed(&self) -> bool {
        self.rows.iter().any(|row| row.failure().is_some())
    }
}

impl Row {
    /// What came of a program.
    pub fn of(row: &bench::Row) -> Self {
        let results = row.results.as_ref();
        Self {
            name: row.program.name.clone(),
            expect: row.program.expect.clone(),
            bar: row.program.bar,
            dram: row.dram.to_string(),
            error: row.failure.clone(),
            comparison: results.map(|results| schema::Document::of(results, None)),
        }
    }

    /// What is wrong with it, whoever wrote it.
    fn failure(&self) -> Option<String> {
        if self.error.is_some() {
            return self.error.clone();
        }
        for name in ["all-dram", "kernel", "kernel-cpf", "terrace"] {
            let Some(way) = self.ways().find(|way| way.way == name) else {
                return Some(format!("there is no run of the way {name}"));
            };
            if way.exit != End::Code(0) || way.wall_s.is_empty() {
                return Some(format!("the program failed under {name}"));
            }
        }
        None
    }

    fn ways(&self) -> impl Iterator<Item = &Way> {
        self.comparison
            .iter()
            .flat_map(|comparison| &comparison.runs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_such_file_is_refused() {
        for (text, why) in [
            ("", "no file of `terrace bench --json`"),
            ("{}", "missing field"),
            (
                r#"{"schema":"terrace.run/1","suite":"s","rows":[],
                    "machine":{"kernel":"6","cpus":1,"memory_bytes":1}}"#,
                "has the schema `terrace.run/1`",
            ),
        ] {
            let error = Document::parse(text, "it").unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn a_document_reads_what_it_wrote() {
        let mut document = Document::new("live");
        document.rows.push(Row {
            name: "one".into(),
            expect: None,
            bar: Some(1.5),
            dram: "25%".into(),
            error: Some("it broke".into()),
            comparison: None,
        });
        let text = document.to_json();
        let again = Document::parse(&text, "it").unwrap();
        assert_eq!(again.to_json(), text);
        assert!(again.failed());
    }

    #[test]
    fn the_results_in_the_repository_can_be_read() {
        let text = include_str!("../../../../benches/live/results.json");
        let document = Document::parse(text, "results.json").unwrap();
        assert!(!document.failed());
        assert_eq!(document.rows.len(), 22);
        assert_eq!(document.to_json(), text);
    }
}
