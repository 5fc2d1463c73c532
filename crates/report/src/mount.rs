//! Results of `terrace mount`: a table, a line, Prometheus's text, and the JSON of schema
//! `terrace.mount/1`.

use std::fmt::Write;

use schemars::JsonSchema;
use serde::Serialize;
use terrace_base::{Bytes, Nanos, schema::years};
use terrace_filecache::mount::{Figures, Flash, Mode, Settings};

use terrace_results::document::Document;
use terrace_results::html::Page;
use terrace_results::number::count;
use terrace_results::rows::Rows;
use terrace_results::table::table;
use terrace_results::text::Text;

/// The JSON of `terrace mount --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MountDocument {
    /// `terrace.mount/1`. Fields may be added under this name; none changes its meaning.
    pub schema: &'static str,
    /// Effective settings; null for `--status`.
    pub settings: Option<MountSettings>,
    /// What the mount has done.
    pub figures: Figures,
}

/// Effective settings.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MountSettings {
    /// The directory that was passed through.
    pub source: String,
    /// Where it was mounted.
    pub mountpoint: String,
    /// The flash level: a file, a block device or `emulated`; null without one.
    pub flash: Option<String>,
    /// What filled it: `victim` or `exact`.
    pub mode: &'static str,
    /// Bytes of the DRAM level of `exact`, or null.
    pub dram_bytes: Option<u64>,
    /// The admission policies.
    pub admission: String,
    /// Seconds for which names, attributes and directories were kept; 0 for names and attributes
    /// alone, for a second.
    pub attributes_s: f64,
    /// Bytes a day that may be written to the flash, or null.
    pub bytes_a_day: Option<f64>,
    /// The version of terrace.
    pub terrace: &'static str,
}

impl MountDocument {
    /// Returns the document of figures; `settings` are those of a mount that has ended.
    pub fn of(settings: Option<&Settings>, figures: Figures) -> Self {
        Self {
            schema: "terrace.mount/1",
            settings: settings.map(MountSettings::of),
            figures,
        }
    }
}

impl MountSettings {
    fn of(settings: &Settings) -> Self {
        let (mode, dram_bytes) = match &settings.mode {
            Mode::Victim => ("victim", None),
            Mode::Exact(dram, _) => ("exact", Some(dram.0)),
        };
        Self {
            source: settings.source.display().to_string(),
            mountpoint: settings.mountpoint.display().to_string(),
            flash: settings.flash.as_ref().map(|flash| match flash {
                Flash::Disk(path, _) => path.display().to_string(),
                Flash::Emulated(..) => "emulated".to_owned(),
            }),
            mode,
            dram_bytes,
            admission: settings.admission.to_string(),
            attributes_s: settings.attributes.as_secs_f64(),
            bytes_a_day: settings.endurance.map(|endurance| endurance.a_day()),
            terrace: env!("CARGO_PKG_VERSION"),
        }
    }
}

impl Document for MountDocument {
    fn rows(&self) -> Rows {
        Rows::flat([&self.figures])
    }

    fn page(&self) -> Page {
        let page = Page::new("terrace mount");
        match &self.settings {
            Some(settings) => page.settings("", settings),
            None => page,
        }
    }
}

/// Returns the table of a mount.
pub fn text(figures: &Figures) -> Text {
    let flash = &figures.flash;
    let time = |nanos: Option<f64>| nanos.map_or("-".into(), |ns| Nanos(ns as u64).to_string());
    let pages = |number: Option<u64>| number.map_or("-".into(), count);
    let mut rows = table(&["mount", ""]);
    for (name, value) in [
        ("time", format!("{:.1} s", figures.elapsed_s)),
        ("pages from DRAM", pages(figures.dram_hits)),
        ("pages from flash", count(flash.hits)),
        ("  mean time", time(figures.flash_ns)),
        ("pages that flash had not", count(flash.misses)),
        (
            "  mean time of a read of the source",
            time(figures.source_ns),
        ),
        (
            "pages on flash",
            format!(
                "{} of {}",
                count(figures.flash_pages),
                count(figures.flash_room)
            ),
        ),
        ("admitted", count(flash.admitted)),
        (
            "refused by the endurance budget",
            count(flash.refused_budget),
        ),
        (
            "refused while a segment was written",
            count(flash.refused_busy),
        ),
        (
            "refused because the file had just changed, or might",
            count(flash.refused_changed),
        ),
        ("kept when their segment was emptied", count(flash.kept)),
        ("dropped by writes", count(flash.dropped)),
        (
            "files that changed behind the mount",
            count(flash.changed_behind),
        ),
        (
            "files that others had open when they changed",
            count(flash.changed_beside),
        ),
        ("pages that did not check", count(flash.damaged)),
        ("written to flash", Bytes(flash.written_bytes).to_string()),
        (
            "write amplification",
            figures
                .write_amplification
                .map_or("-".into(), |wa| format!("{wa:.2}")),
        ),
        (
            "lifetime at this pace",
            figures.projected_years.map_or("-".into(), years),
        ),
    ] {
        rows.add_row([name.to_owned(), value]);
    }
    let text = Text::default().table(rows);
    match flash.write_errors {
        0 => text,
        errors => text.prose(format!(
            "{} segments could not be written to the flash; their pages were lost to it alone.\n",
            count(errors)
        )),
    }
}

/// Returns the figures on a line.
pub fn line(figures: &Figures) -> String {
    let flash = &figures.flash;
    let mut line = String::new();
    if let Some(hits) = figures.dram_hits {
        line = format!("DRAM {} · ", count(hits));
    }
    let _ = write!(
        line,
        "flash {} · source {} · admitted {} · written {}",
        count(flash.hits),
        count(flash.misses),
        count(flash.admitted),
        Bytes(flash.written_bytes)
    );
    if let Some(projected) = figures.projected_years {
        let _ = write!(line, " · lives {}", years(projected));
    }
    line
}

/// What kind of number a metric is.
#[derive(Clone, Copy)]
enum Kind {
    /// It only grows while the mount is there.
    Counter,
    Gauge,
}

/// A metric: its name without the prefix of all, what it is, and its value, if there is one.
type Metric = (&'static str, Kind, &'static str, Option<f64>);

/// Returns the figures as Prometheus reads them (text exposition format 0.0.4, as the textfile
/// collector of node_exporter takes it), labelled with the mountpoint. Times are in seconds.
pub fn prometheus(figures: &Figures, mountpoint: &str) -> String {
    let escaped = mountpoint
        .replace('\\', r"\\")
        .replace('"', "\\\"")
        .replace('\n', r"\n");
    let mut text = String::new();
    for (name, kind, help, value) in metrics(figures) {
        let Some(value) = value else { continue };
        let (kind, unit) = match kind {
            Kind::Counter => ("counter", "_total"),
            Kind::Gauge => ("gauge", ""),
        };
        let name = format!("terrace_mount_{name}{unit}");
        let _ = writeln!(
            text,
            "# HELP {name} {help}\n# TYPE {name} {kind}\n{name}{{mountpoint=\"{escaped}\"}} {value}"
        );
    }
    text
}

#[rustfmt::skip]
fn metrics(figures: &Figures) -> Vec<Metric> {
    use Kind::{Counter, Gauge};
    let flash = &figures.flash;
    let count = |number: u64| Some(number as f64);
    let seconds = |nanos: Option<f64>| nanos.map(|nanos| nanos / 1e9);
    vec![
        ("uptime_seconds", Gauge, "Time since the directory was mounted.", Some(figures.elapsed_s)),
        ("dram_hits", Counter, "Pages that were read and that the DRAM level had.", figures.dram_hits.and_then(count)),
        ("dram_misses", Counter, "Pages that were read and that the DRAM level had not.", figures.dram_misses.and_then(count)),
        ("flash_hits", Counter, "Pages that were read and that the flash had.", count(flash.hits)),
        ("flash_misses", Counter, "Pages that were read and that the flash had not.", count(flash.misses)),
        ("flash_page_read_seconds", Gauge, "Mean time of a page from flash.", seconds(figures.flash_ns)),
        ("source_read_seconds", Gauge, "Mean time of a read of the source.", seconds(figures.source_ns)),
        ("flash_pages", Gauge, "Pages on flash, with those of files that are gone or have changed.", count(figures.flash_pages)),
        ("flash_room_pages", Gauge, "Pages that the flash has room for.", count(figures.flash_room)),
        ("index_bytes", Gauge, "DRAM that the index of the flash takes.", count(figures.index_bytes)),
        ("flash_admitted", Counter, "Pages that were put on flash.", count(flash.admitted)),
        ("flash_refused_budget", Counter, "Pages that were refused because the endurance budget was used up.", count(flash.refused_budget)),
        ("flash_refused_busy", Counter, "Pages that were refused because a full segment was being written.", count(flash.refused_busy)),
        ("flash_refused_changed", Counter, "Pages that were refused because their file had just changed, or might.", count(flash.refused_changed)),
        ("flash_kept", Counter, "Pages that were written again when their segment was emptied.", count(flash.kept)),
        ("flash_dropped", Counter, "Pages that were dropped because they were written.", count(flash.dropped)),
        ("flash_damaged", Counter, "Pages that did not check.", count(flash.damaged)),
        ("files_changed_behind", Counter, "Files that were dropped because they had changed behind the mount.", count(flash.changed_behind)),
        ("files_changed_beside", Counter, "Files that were dropped because others had them open when they were changed.", count(flash.changed_beside)),
        ("flash_segments_written", Counter, "Segments that were written to flash.", count(flash.segments)),
        ("flash_write_errors", Counter, "Segments that could not be written to flash.", count(flash.write_errors)),
        ("flash_written_bytes", Counter, "Bytes that were written to flash.", count(flash.written_bytes)),
        ("flash_write_amplification_ratio", Gauge, "Bytes that were written to flash over those of admitted pages.", figures.write_amplification),
        ("flash_projected_life_seconds", Gauge, "Time that the flash lives if it is written as it was so far.", figures.projected_years.map(|years| years * 365.25 * 86400.0)),
    ]
}
