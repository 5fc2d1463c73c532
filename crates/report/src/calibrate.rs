//! Results of `terrace calibrate`: tables, and the JSON of schema `terrace.calibrate/1`.

use comfy_table::Table;
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use terrace_base::{Bytes, Nanos};
use terrace_live::measure::calibrate::Calibration;
use terrace_live::sched::cache::Cache;
use terrace_sim::pages::Machine;

use crate::sched::last_level;
use terrace_results::document::Document;
use terrace_results::html::{Axis, Page, Plot, Unit};
use terrace_results::rows::Rows;
use terrace_results::table::table;
use terrace_results::text::Text;

const SCHEMA: &str = "terrace.calibrate/1";

/// The JSON of `terrace calibrate --json`. All figures are measured.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct CalibrationDocument {
    /// `terrace.calibrate/1`. Fields may be added under this name; none changes its meaning.
    pub schema: String,
    /// The readings: nanoseconds a page, device figures by the second.
    pub calibration: Calibration,
    /// The last-level cache as programs get it, which bounds what longer turns can gain; none in
    /// documents of earlier versions.
    pub cache: Option<Cache>,
}

impl CalibrationDocument {
    /// Returns the document of a calibration.
    pub fn new(calibration: Calibration, cache: Cache) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            calibration,
            cache: Some(cache),
        }
    }

    /// Reads the calibration in a document.
    ///
    /// # Errors
    /// The reason why the text is no such document.
    pub fn parse(text: &str) -> Result<Calibration, String> {
        let document: Self =
            serde_json::from_str(text).map_err(|e| terrace_results::document::reason(&e))?;
        match document.schema == SCHEMA {
            true => Ok(document.calibration),
            false => Err(format!("its schema is {}, not {SCHEMA}", document.schema)),
        }
    }
}

impl Document for CalibrationDocument {
    fn rows(&self) -> Rows {
        Rows::flat([&self.calibration])
    }

    fn page(&self) -> Page {
        let costs = costs(&self.calibration);
        let names = Axis::names("", costs.map(|(name, _)| name));
        let time = Axis::new("time a page", Unit::Nanos).log();
        let costs = Plot::bars("What a page costs", names, time)
            .note("Measured by a program that touches pages in a known order.")
            .values("time", costs.map(|(_, nanos)| nanos));
        let mut page = Page::new("terrace calibrate").plot(costs);
        if let Some(device) = &self.calibration.device {
            let depth = Axis::new("reads at a time", Unit::Count);
            let rate = Axis::new("reads a second", Unit::Count);
            let reads = device.reads.iter();
            let reads = reads.map(|at| (at.depth as f64, at.per_second));
            let reads = Plot::lines("Random reads of the device", depth, rate)
                .note("Reads of 4 KiB, by how many are under way together.")
                .series("reads", reads);
            page = page.plot(reads);
        }
        let (tier, kernel) = (&self.calibration.tier, &self.calibration.kernel);
        page.settings("", &IndexMap::from([("tier", tier), ("kernel", kernel)]))
    }
}

/// Returns the tables: readings, the settings of the simulator that follow from them, and the
/// last-level cache.
pub fn text(calibration: &Calibration, machine: &Machine, cache: &Cache) -> Text {
    let machine_line = format!("Linux {}; {}\n", calibration.kernel, calibration.tier);
    Text::default()
        .table(measured(calibration))
        .prose("\n")
        .table(told(machine))
        .prose("\n")
        .table(last_level(cache))
        .prose(machine_line)
}

/// Returns the costs of a page in nanoseconds, by name.
fn costs(calibration: &Calibration) -> [(&'static str, f64); 8] {
    let swap = &calibration.swap;
    [
        ("first touch", swap.first_touch),
        (
            "first touch, a dirty page evicted",
            swap.first_touch_evicting,
        ),
        ("touch of a page in the swap cache", swap.cached_touch),
        ("major fault", swap.fault),
        ("major fault, a clean page evicted", swap.fault_evicting),
        (
            "major fault, a changed page evicted",
            swap.fault_evicting_dirty,
        ),
        ("MADV_WILLNEED, the call", swap.advice),
        ("MADV_WILLNEED, until touched", swap.fetch),
    ]
}

fn measured(calibration: &Calibration) -> Table {
    let mut table = table(&["measured, a page", ""]);
    for (name, value) in costs(calibration) {
        table.add_row([name.to_owned(), micros(value)]);
    }
    let Some(device) = &calibration.device else {
        return table;
    };
    let mut row = |name: &str, value: String| {
        table.add_row([format!("device: {name}"), value]);
    };
    row("read of 4 KiB", micros(device.read_ns));
    row("write of 4 KiB", micros(device.write_ns));
    for depth in &device.reads {
        let name = format!("reads a second, {} at a time", depth.depth);
        row(&name, format!("{:.0}", depth.per_second));
    }
    let rate = |bytes: f64| format!("{}/s", Bytes(bytes as u64));
    row("contiguous reads", rate(device.read_bandwidth));
    row("contiguous writes", rate(device.write_bandwidth));
    table
}

fn told(machine: &Machine) -> Table {
    let (fault, tier) = (&machine.fault, &machine.tier);
    let mut table = table(&["told to the simulator", ""]);
    for (name, time) in [
        ("trap", fault.trap),
        ("map", fault.map),
        ("copy or clear", fault.copy),
        ("the kernel's way to the device", fault.kernel),
        ("unmap an evicted page", fault.unmap),
        ("hand a new one to the device", fault.write_out),
        ("hand a changed one to the device", fault.write_again),
        ("a page that readahead fetches", fault.readahead),
        ("read latency", tier.read),
        ("a write holds a channel", tier.write),
    ] {
        table.add_row([name.to_owned(), time.to_string()]);
    }
    table.add_row(["channels", &tier.channels.to_string()]);
    table.add_row(["bandwidth", &format!("{}/s", Bytes(tier.bandwidth))]);
    table
}

fn micros(nanos: f64) -> String {
    Nanos(nanos.max(0.0) as u64).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use terrace_live::measure::probe::Readings;

    #[test]
    fn a_document_comes_back_and_another_schema_does_not() {
        let calibration = Calibration {
            tier: "a disk".to_owned(),
            kernel: "6.18".to_owned(),
            swap: Readings::default(),
            device: None,
        };
        let cache = Cache {
            stated_bytes: None,
            effective_bytes: 4 << 20,
            hit_ns: 13.0,
            miss_ns: 216.0,
            refill_ms: 1.1,
            accesses: Vec::new(),
        };
        let text = CalibrationDocument::new(calibration.clone(), cache).to_json();
        assert_eq!(CalibrationDocument::parse(&text), Ok(calibration.clone()));
        let mut earlier: serde_json::Value = serde_json::from_str(&text).unwrap();
        earlier.as_object_mut().unwrap().remove("cache");
        assert_eq!(
            CalibrationDocument::parse(&earlier.to_string()),
            Ok(calibration)
        );
        let other = text.replace("calibrate/1", "run/1");
        assert!(
            CalibrationDocument::parse(&other)
                .unwrap_err()
                .contains("run/1")
        );
    }
}
