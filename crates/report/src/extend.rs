//! Results of `terrace extend`: tables, and the JSON of schema `terrace.extend/1`. Every field is
//! documented here.

use std::ffi::OsString;

use schemars::JsonSchema;
use serde::Serialize;
use terrace_base::{Bytes, Nanos, schema::years};
use terrace_device::{Energy, Technology, Unit, lifetime};
use terrace_extend::{Outcome, Session};
use terrace_policy::write::REGISTRY;
use terrace_region::{Counts, Shares};

use terrace_results::document::{Document, words};
use terrace_results::html::Page;
use terrace_results::number::count;
use terrace_results::rows::Rows;
use terrace_results::table::table;
use terrace_results::text::Text;

/// The JSON of `terrace extend --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ExtendDocument {
    /// `terrace.extend/1`. Fields may be added under this name; none changes its meaning.
    pub schema: &'static str,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Effective settings.
    pub settings: ExtendSettings,
    /// Wall time of the program in seconds, measured.
    pub wall_s: f64,
    /// Exit code of the program, or null if a signal ended it.
    pub exit_code: Option<i32>,
    /// Signal that ended the program, or null.
    pub signal: Option<i32>,
    /// What happened to the extended memory, measured; null if the program had no mapping that is
    /// extended.
    pub measured: Option<Measured>,
    /// What each write scheme would have written on the evictions of this run, in a memory of its
    /// own in which pages go back to their places: counted from the pages' contents. Energy and
    /// lifetime are calculated. Empty with `--applied-only`.
    pub schemes: Vec<Scheme>,
    /// Other processes with such mappings; these were in DRAM alone.
    pub other_processes: u64,
}

/// Returns the pages of DRAM for those that have left.
fn staging(dram: Bytes) -> u64 {
    Shares::of(dram.pages() as usize).left() as u64
}

/// Effective settings.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ExtendSettings {
    /// The bound of DRAM of the extended memory in bytes.
    pub dram_bytes: u64,
    /// Pages of it for those that have left and come back without the slow memory, as `sim pages
    /// --staging` takes them.
    pub staging_pages: u64,
    /// The slow memory: a technology that is emulated, a directory, or a block device.
    pub memory: String,
    /// The replacement policy.
    pub replacement: String,
    /// The share of its pages in DRAM whose references were sampled: it was told of their next
    /// touch. Null if it saw faults alone.
    pub references: Option<f64>,
    /// The predictor of the pages that were fetched ahead, or `off`.
    pub prefetch: String,
    /// The write scheme that was applied.
    pub write: String,
    /// The least size of a mapping that is extended, in bytes.
    pub least_mapping_bytes: u64,
    /// Whether small blocks of malloc are extended as well.
    pub small_blocks: bool,
    /// The version of terrace.
    pub terrace: &'static str,
}

/// Measured figures.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct Measured {
    /// Pages without contents that were filled with zeros: at a fault, or ahead of it behind first
    /// touches in a row. Pages that were filled ahead and left DRAM unused are not among them.
    pub first_touches: u64,
    /// Pages that were filled ahead and left DRAM as zeros: nothing is known of a touch.
    pub filled_unused: u64,
    /// Faults on pages in the slow memory, which read it.
    pub fetches: u64,
    /// Faults on pages that had just left, and came back from the staging range.
    pub returns: u64,
    /// First writes to pages that came in to be read.
    pub first_writes: u64,
    /// Mean time of a fault of `fetches` in nanoseconds, from when it was seen until the page was
    /// mapped; null without any.
    pub fetch_ns: Option<f64>,
    /// Pages that were taken from their addresses, and stayed in DRAM, so that their next touch
    /// would show; 0 unless references are sampled.
    pub sampled: u64,
    /// Of these, pages that were touched before the replacement policy let go of them: soft faults,
    /// which it was told of. They are not among `returns`.
    pub references: u64,
    /// Pages that could not be sampled: they are shared since a fork, locked, read-only, or used by
    /// a device.
    pub unsampled: u64,
    /// Mean time of taking a page of `sampled` from its address in nanoseconds; null without any.
    pub sample_ns: Option<f64>,
    /// Mean time of a fault of `references` in nanoseconds, from when it was seen until the page
    /// was mapped; null without any.
    pub reference_ns: Option<f64>,
    /// Pages that were read before they were touched.
    pub prefetched: u64,
    /// Of these, pages that were touched after they had come. Pages that are touched in order are
    /// known to have been from the touch of a later one.
    pub prefetched_used: u64,
    /// Of these, pages that were touched while they were on their way.
    pub prefetched_late: u64,
    /// Of these, pages that left, or could not be read, before they were known to have been
    /// touched.
    pub prefetched_wasted: u64,
    /// Pages that left as they had come.
    pub evicted_clean: u64,
    /// Pages that left after they were written.
    pub evicted_dirty: u64,
    /// Pages that the applied scheme wrote to the slow memory.
    pub pages_written: u64,
    /// Bytes that it wrote.
    pub written_bytes: u64,
    /// Lines of 64 bytes with something written.
    pub written_lines: u64,
    /// Cells that it programmed, one a bit.
    pub written_cells: u64,
    /// Pages that could not be written, and stayed in DRAM.
    pub write_errors: u64,
    /// Pages that could not be read; a thread that touches one gets SIGBUS.
    pub read_errors: u64,
    /// Pages in DRAM beyond the bound at the end, because they could not be written or moved.
    pub kept_pages: u64,
    /// The most bytes in DRAM at the same time.
    pub peak_dram_bytes: u64,
    /// The most bytes with contents at the same time, in DRAM or not.
    pub footprint_bytes: u64,
    /// Writes of the line of 64 bytes that the applied scheme wrote most.
    pub most_written_line: u64,
}

/// A row of the table of schemes.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Scheme {
    /// Its name; settings are the default ones, and pages go back to their places.
    pub scheme: &'static str,
    /// Bytes in whole units of what the scheme writes.
    pub bytes: u64,
    /// Bytes as a share of those of `page`, which writes every page that leaves; null where that is
    /// nothing.
    pub of_page: Option<f64>,
    /// Lines of 64 bytes with something written.
    pub lines: u64,
    /// Sectors of 512 bytes with something written.
    pub sectors: u64,
    /// Cells that are programmed, one a bit.
    pub cells: u64,
    /// Bytes that only say how the others are to be read.
    pub metadata_bytes: u64,
    /// Joules of writing the lines, by the memory's power; null if that is not known.
    pub energy_j: Option<f64>,
    /// Years until each cell has been programmed as often as it sustains (Awad 2016, figure 9), for
    /// a memory as large as the footprint that is worn evenly; null if nothing is written or the
    /// endurance is not known.
    pub lifetime_years: Option<f64>,
}

impl ExtendDocument {
    /// Returns the document of a run with this bound of DRAM; `technology` is that of the memory,
    /// if one is emulated.
    pub fn of(
        session: &Session,
        dram: Bytes,
        outcome: &Outcome,
        technology: Option<&Technology>,
    ) -> Self {
        let (exit_code, signal) = match outcome.exit {
            terrace_base::Exit::Code(code) => (Some(code), None),
            terrace_base::Exit::Signal(signal) => (None, Some(signal)),
        };
        let measured = outcome.figures.map(|figures| Measured::of(&figures));
        Self {
            schema: "terrace.extend/1",
            command: words(&session.command as &[OsString]),
            settings: ExtendSettings {
                dram_bytes: dram.0,
                staging_pages: measured.as_ref().map_or(0, |_| staging(dram)),
                memory: session.memory.to_string(),
                replacement: session.replacement.clone(),
                references: session.references,
                prefetch: session.prefetch.clone().unwrap_or_else(|| "off".into()),
                write: session.write.clone(),
                least_mapping_bytes: terrace_extend::session::LEAST.0,
                small_blocks: session.small,
                terrace: env!("CARGO_PKG_VERSION"),
            },
            wall_s: outcome.wall.as_secs_f64(),
            exit_code,
            signal,
            measured,
            schemes: match measured {
                Some(measured) if session.judge => schemes(outcome, &measured, technology),
                _ => Vec::new(),
            },
            other_processes: outcome.others,
        }
    }
}

impl Measured {
    fn of(figures: &terrace_region::Figures) -> Self {
        let mean = |nanos: u64, number: u64| (number > 0).then_some(nanos as f64 / number as f64);
        Self {
            first_touches: figures.first_touches,
            filled_unused: figures.filled_unused,
            fetches: figures.fetches,
            returns: figures.returns,
            first_writes: figures.first_writes,
            fetch_ns: mean(figures.fetch_nanos, figures.fetches),
            sampled: figures.sampled,
            references: figures.references,
            unsampled: figures.unsampled,
            sample_ns: mean(figures.sample_nanos, figures.sampled),
            reference_ns: mean(figures.reference_nanos, figures.references),
            prefetched: figures.prefetched,
            prefetched_used: figures.prefetched_used,
            prefetched_late: figures.prefetched_late,
            prefetched_wasted: figures.prefetched_wasted,
            evicted_clean: figures.evicted_clean,
            evicted_dirty: figures.evicted_dirty,
            pages_written: figures.pages_written,
            written_bytes: figures.written.bytes,
            written_lines: figures.written.lines,
            written_cells: figures.written.cells,
            write_errors: figures.write_errors,
            read_errors: figures.read_errors,
            kept_pages: figures.kept,
            peak_dram_bytes: Bytes::of_pages(figures.peak_dram).0,
            footprint_bytes: Bytes::of_pages(figures.peak_footprint).0,
            most_written_line: figures.most_written_line,
        }
    }
}

fn schemes(outcome: &Outcome, measured: &Measured, technology: Option<&Technology>) -> Vec<Scheme> {
    let page = outcome.rows[0].bytes as f64;
    let rows = REGISTRY.iter().zip(&outcome.rows);
    let elapsed = Nanos(outcome.wall.as_nanos() as u64);
    rows.map(|(entry, counts)| Scheme {
        scheme: entry.name,
        bytes: counts.bytes,
        of_page: (page > 0.0).then(|| counts.bytes as f64 / page),
        lines: counts.lines,
        sectors: counts.sectors,
        cells: counts.cells,
        metadata_bytes: counts.metadata,
        energy_j: technology.and_then(|technology| energy(technology, counts)),
        lifetime_years: technology.and_then(|technology| {
            let endurance = technology.endurance.as_ref()?.value;
            let programmed = Bytes(counts.cells / 8);
            let capacity = Bytes(measured.footprint_bytes);
            lifetime::awad(endurance, capacity, programmed, elapsed)
        }),
    })
    .collect()
}

/// Returns the joules of writing lines, each in a row that is not open.
fn energy(technology: &Technology, counts: &Counts) -> Option<f64> {
    let a_line = Energy::of(technology, Unit::Line)?;
    Some((a_line.write + a_line.activate) * counts.lines as f64)
}

impl Document for ExtendDocument {
    fn rows(&self) -> Rows {
        Rows::flat(&self.schemes)
    }

    fn page(&self) -> Page {
        Page::new("terrace extend").settings("", &self.settings)
    }
}

/// Returns the tables: what was measured, and what each scheme would have written.
pub fn text(document: &ExtendDocument) -> Text {
    let Some(measured) = &document.measured else {
        return Text::default().prose(format!(
            "The program mapped no {} or more at once, so nothing was extended.\n",
            Bytes(document.settings.least_mapping_bytes)
        ));
    };
    let time = |ns: Option<f64>| ns.map_or("-".into(), |ns| Nanos(ns as u64).to_string());
    let mut faults = table(&["measured", ""]);
    let sampled = [
        ("sampled for references", count(measured.sampled)),
        ("  mean time of sampling one", time(measured.sample_ns)),
        ("  referenced, by soft faults", count(measured.references)),
        ("  mean time of a soft fault", time(measured.reference_ns)),
    ];
    let is_sampled = document.settings.references.is_some();
    let sampled = sampled.into_iter().filter(|_| is_sampled);
    let rows = [
        ("wall time", format!("{:.3} s", document.wall_s)),
        (
            "DRAM, bound",
            Bytes(document.settings.dram_bytes).to_string(),
        ),
        ("DRAM, peak", Bytes(measured.peak_dram_bytes).to_string()),
        ("footprint", Bytes(measured.footprint_bytes).to_string()),
        ("first touches", count(measured.first_touches)),
        ("filled ahead for nothing", count(measured.filled_unused)),
        ("fetches from the slow memory", count(measured.fetches)),
        ("mean time of a fetch", time(measured.fetch_ns)),
        ("prefetched", count(measured.prefetched)),
        ("  used", count(measured.prefetched_used)),
        ("  late", count(measured.prefetched_late)),
        ("  wasted", count(measured.prefetched_wasted)),
        ("returns from staging", count(measured.returns)),
        ("evicted clean", count(measured.evicted_clean)),
        ("evicted dirty", count(measured.evicted_dirty)),
        ("pages written", count(measured.pages_written)),
        ("bytes written", Bytes(measured.written_bytes).to_string()),
    ];
    for (name, value) in rows.into_iter().chain(sampled) {
        faults.add_row([name.to_owned(), value]);
    }
    let head = [
        "scheme", "written", "of page", "lines", "sectors", "cells", "energy", "lifetime",
    ];
    let mut schemes = table(&head);
    for row in &document.schemes {
        let percent = |share: f64| format!("{:.1} %", share * 100.0);
        schemes.add_row([
            row.scheme.to_owned(),
            Bytes(row.bytes).to_string(),
            row.of_page.map_or("-".into(), percent),
            count(row.lines),
            count(row.sectors),
            count(row.cells),
            row.energy_j
                .map_or("-".into(), |joules| format!("{joules:.3} J")),
            row.lifetime_years.map_or("-".into(), years),
        ]);
    }
    let text = Text::default().table(faults).prose("\n");
    let text = match document.schemes.is_empty() {
        true => text,
        false => text.table(schemes),
    };
    text.prose(remarks(document, measured))
}

/// Returns what a reader has to know beside the tables.
fn remarks(document: &ExtendDocument, measured: &Measured) -> String {
    let mut remarks = format!(
        "Applied: {} on {}.",
        document.settings.write, document.settings.memory
    );
    if !document.schemes.is_empty() {
        remarks.push_str(
            " The schemes are counted on the evictions of this run; energy and lifetime are calculated.",
        );
    }
    remarks.push('\n');
    let mut remark = |number: u64, what: &str| {
        if number > 0 {
            remarks.push_str(&format!("{} {what}\n", count(number)));
        }
    };
    remark(
        measured.write_errors,
        "writes to the slow memory failed: these pages stayed in DRAM, beyond its bound.",
    );
    remark(
        measured.read_errors,
        "pages could not be read from the slow memory: a thread that touched one got SIGBUS.",
    );
    remark(
        measured.unsampled,
        "pages could not be sampled: the replacement policy heard of their faults alone.",
    );
    remark(
        document.other_processes,
        "other processes with large mappings ran in DRAM alone.",
    );
    remarks
}
