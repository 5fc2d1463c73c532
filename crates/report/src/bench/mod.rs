//! The JSON of `terrace bench --json`: schema `terrace.bench/1`. Every field is documented here.

mod table;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use terrace_base::kernel;
use terrace_base::{Error, Result};
use terrace_live::measure::bench;
use terrace_live::system::dram;

use crate::schema::{self, End, Way};
use terrace_results::document::Document;
use terrace_results::html::{Axis, Page, Plot, Unit};
use terrace_results::rows::Rows;

/// `terrace.bench/1`. Fields may be added under this name; none changes its meaning.
const SCHEMA: &str = "terrace.bench/1";

/// The whole document.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct BenchDocument {
    /// `terrace.bench/1`.
    pub schema: String,
    /// Name of the suite, or of its folder.
    pub suite: String,
    /// Machine.
    pub machine: Machine,
    /// One entry for each program and DRAM budget, in the order of the runs; fewer if the suite was
    /// interrupted.
    pub rows: Vec<Row>,
}

/// Machine on which a suite was run.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Machine {
    /// The kernel's release.
    pub kernel: String,
    /// CPUs that may be used.
    pub cpus: usize,
    /// The machine's DRAM in bytes.
    pub memory_bytes: u64,
}

/// A program with a DRAM budget.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Row {
    /// The program's name in the suite.
    pub name: String,
    /// Predictability of the program's next page according to the suite, or null.
    pub expect: Option<String>,
    /// Speed-up over the better kernel way that the suite expects, or null.
    pub bar: Option<f64>,
    /// The DRAM budget, as a size or as a share of the footprint.
    pub dram: String,
    /// Reason of a failure, or null.
    pub error: Option<String>,
    /// Measured results, a document of schema `terrace.run/1`; null if there are none.
    pub comparison: Option<schema::RunDocument>,
}

impl BenchDocument {
    /// Returns the document of a suite, without rows yet.
    pub fn new(suite: &str) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            suite: suite.to_owned(),
            machine: Machine {
                kernel: kernel::release(),
                cpus: std::thread::available_parallelism().map_or(1, usize::from),
                memory_bytes: dram::total().0,
            },
            rows: Vec::new(),
        }
    }

    /// Reads a document; `file` names it in errors.
    ///
    /// # Errors
    /// A usage error if the text is no such document.
    pub fn parse(text: &str, file: &str) -> Result<Self> {
        let document: Self = serde_json::from_str(text).map_err(|e| {
            let why = terrace_results::document::reason(&e);
            Error::usage(format!(
                "{file} is no file of `terrace bench --json`: {why}"
            ))
        })?;
        if document.schema != SCHEMA {
            return Err(Error::usage(format!(
                "{file} has the schema `{}`; this terrace reads {SCHEMA}",
                document.schema
            )));
        }
        Ok(document)
    }

    /// Returns whether a program failed.
    pub fn failed(&self) -> bool {
        self.rows.iter().any(|row| row.failure().is_some())
    }
}

/// A way of a program, as a row of the CSV and Parquet files.
#[derive(Serialize, JsonSchema)]
struct Flat<'r> {
    program: &'r str,
    dram: &'r str,
    bar: Option<f64>,
    error: Option<&'r str>,
    #[serde(flatten)]
    way: Option<&'r Way>,
}

impl Document for BenchDocument {
    fn rows(&self) -> Rows {
        Rows::flat(self.rows.iter().flat_map(|row| {
            let flat = |way| Flat {
                program: &row.name,
                dram: &row.dram,
                bar: row.bar,
                error: row.error.as_deref(),
                way,
            };
            let failed = row.ways().next().is_none().then(|| flat(None));
            row.ways().map(move |way| flat(Some(way))).chain(failed)
        }))
    }

    fn page(&self) -> Page {
        let names = |row: &Row| format!("{} {}", row.name, row.dram);
        let plot = |title, y, unit| {
            let programs = Axis::names("", self.rows.iter().map(names));
            Plot::bars(title, programs, Axis::new(y, unit).log())
        };
        let mut wall = plot("Wall time", "seconds", Unit::Seconds)
            .note("Medians; whiskers reach from the fastest to the slowest run.");
        let mut faults = plot("Major faults", "faults", Unit::Count)
            .note("Faults that waited for a read of the tier.");
        let mut ways: Vec<String> = Vec::new();
        for name in self.rows.iter().flat_map(Row::ways).map(Way::name) {
            if !ways.contains(&name) {
                ways.push(name);
            }
        }
        for name in &ways {
            let way = |row| Row::ways(row).find(|way| way.name() == *name);
            let found = || self.rows.iter().map(way);
            wall = wall.spread(
                name,
                found().map(|way| way.map_or((0.0, 0.0, 0.0), Way::wall)),
            );
            let count = |way: Option<&Way>| way.map_or(0.0, |way| way.major_faults as f64);
            faults = faults.values(name, found().map(count));
        }
        let mut page = Page::new(format!("terrace bench {}", self.suite))
            .plot(wall)
            .plot(faults);
        for row in &self.rows {
            if let Some(comparison) = &row.comparison {
                page = page.settings(&names(row), &comparison.settings);
            }
        }
        match self.rows.iter().any(|row| row.comparison.is_some()) {
            true => page,
            false => page.settings("", &self.machine),
        }
    }
}

impl Row {
    /// Returns the row of a program.
    pub fn of(row: &bench::Row) -> Self {
        let results = row.results.as_ref();
        Self {
            name: row.program.name.clone(),
            expect: row.program.expect.clone(),
            bar: row.program.bar,
            dram: row.dram.to_string(),
            error: row.failure.clone(),
            comparison: results.map(|results| schema::RunDocument::of(results, None)),
        }
    }

    /// Returns the reason of a failure, whichever version of terrace wrote the row.
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
            let error = BenchDocument::parse(text, "it").unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn a_document_reads_what_it_wrote() {
        let mut document = BenchDocument::new("live");
        document.rows.push(Row {
            name: "one".into(),
            expect: None,
            bar: Some(1.5),
            dram: "25%".into(),
            error: Some("it broke".into()),
            comparison: None,
        });
        let text = document.to_json();
        let again = BenchDocument::parse(&text, "it").unwrap();
        assert_eq!(again.to_json(), text);
        assert!(again.failed());
    }

    #[test]
    fn the_results_in_the_repository_can_be_read() {
        let text = include_str!("../../../../benches/live/results.json");
        let document = BenchDocument::parse(text, "results.json").unwrap();
        assert!(!document.failed());
        assert_eq!(document.rows.len(), 22);
        assert_eq!(document.to_json(), text);
    }
}
