//! Results of `terrace mount`: a table, a line, Prometheus's text, and the JSON of schema `terrace.mount/1`.

use std::fmt::Write;

use serde::Serialize;
use terrace_base::{Bytes, Nanos, schema::years};
use terrace_filecache::mount::{Figures, Flash, Mode, Settings};

use crate::document::Document;
use crate::html::Page;
use crate::rows::Rows;
use crate::run::count;
use crate::table::table;
use crate::text::Text;

/// The JSON of `terrace mount --json`.
#[derive(Debug, Serialize)]
pub struct MountDocument {
    /// `terrace.mount/1`. Fields may be added under this name; none changes its meaning.
    pub schema: &'static str,
    /// Effective settings; null for `--status`.
    pub settings: Option<MountSettings>,
    /// What the mount has done.
    pub figures: Figures,
}

/// Effective settings.
#[derive(Debug, Serialize)]
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
            "refused because the file had just changed",
            count(flash.refused_changed),
        ),
        ("kept when their segment was emptied", count(flash.kept)),
        ("dropped by writes", count(flash.dropped)),
        (
            "files that changed behind the mount",
            count(flash.changed_behind),
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

/// Returns the figures as Prometheus reads them (text exposition format 0.0.4), a metric a number, labelled with the
/// mountpoint.
pub fn prometheus(figures: &Figures, mountpoint: &str) -> String {
    let escaped = mountpoint
        .replace('\\', r"\\")
        .replace('"', "\\\"")
        .replace('\n', r"\n");
    let mut text = String::new();
    for (name, value) in crate::flat::flat(figures) {
        if let Some(number) = value.as_f64() {
            let _ = writeln!(
                text,
                "terrace_mount_{name}{{mountpoint=\"{escaped}\"}} {number}"
            );
        }
    }
    text
}
