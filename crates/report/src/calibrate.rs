//! What `terrace calibrate` says, and its JSON: schema `terrace.calibrate/1`.

use serde::{Deserialize, Serialize};
use terrace_base::{Bytes, Nanos};
use terrace_live::calibrate::Calibration;
use terrace_sim::pages::Machine;

use crate::json::pretty;
use crate::table::table;

const SCHEMA: &str = "terrace.calibrate/1";

/// The whole document; every figure is measured.
#[derive(Serialize, Deserialize)]
pub struct Document {
    /// `terrace.calibrate/1`. Fields may be added under this name; none changes its meaning.
    pub schema: String,
    /// The readings: nanoseconds a page, device figures by the second.
    pub calibration: Calibration,
}

impl Document {
    /// The document of a calibration.
    pub fn new(calibration: Calibration) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            calibration,
        }
    }

    /// As text.
    pub fn to_json(&self) -> String {
        pretty(self)
    }

    /// The calibration in a document.
    ///
    /// # Errors
    /// Why it is none.
    pub fn parse(text: &str) -> Result<Calibration, String> {
        let document: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        match document.schema == SCHEMA {
            true => Ok(document.calibration),
            false => Err(format!("its schema is {}, not {SCHEMA}", document.schema)),
        }
    }
}

/// The tables: what was measured, and what the simulator is told of it.
pub fn text(calibration: &Calibration, machine: &Machine) -> String {
    format!(
        "{}\n{}{}",
        measured(calibration),
        told(machine),
        format_args!("Linux {}; {}\n", calibration.kernel, calibration.tier)
    )
}

fn measured(calibration: &Calibration) -> String {
    let swap = &calibration.swap;
    let mut table = table(&["measured, a page", ""]);
    for (name, value) in [
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
    ] {
        table.add_row([name.to_owned(), micros(value)]);
    }
    let Some(device) = &calibration.device else {
        return format!("{table}\n");
    };
    let mut row = |name: String, value: String| {
        table.add_row([name, value]);
    };
    row("device: read of 4 KiB".into(), micros(device.read_ns));
    row("device: write of 4 KiB".into(), micros(device.write_ns));
    for depth in &device.reads {
        row(
            format!("device: reads a second, {} at a time", depth.depth),
            format!("{:.0}", depth.per_second),
        );
    }
    let rate = |bytes: f64| format!("{}/s", Bytes(bytes as u64));
    row(
        "device: contiguous reads".into(),
        rate(device.read_bandwidth),
    );
    row(
        "device: contiguous writes".into(),
        rate(device.write_bandwidth),
    );
    format!("{table}\n")
}

fn told(machine: &Machine) -> String {
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
        ("read latency", tier.read),
        ("a write holds a channel", tier.write),
    ] {
        table.add_row([name.to_owned(), time.to_string()]);
    }
    table.add_row(["channels".to_owned(), tier.channels.to_string()]);
    table.add_row([
        "bandwidth".to_owned(),
        format!("{}/s", Bytes(tier.bandwidth)),
    ]);
    format!("{table}\n")
}

fn micros(nanos: f64) -> String {
    Nanos(nanos.max(0.0) as u64).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use terrace_live::probe::Readings;

    #[test]
    fn a_document_comes_back_and_another_schema_does_not() {
        let calibration = Calibration {
            tier: "a disk".to_owned(),
            kernel: "6.18".to_owned(),
            swap: Readings::default(),
            device: None,
        };
        let text = Document::new(calibration.clone()).to_json();
        assert_eq!(Document::parse(&text), Ok(calibration));
        let other = text.replace("calibrate/1", "run/1");
        assert!(Document::parse(&other).unwrap_err().contains("run/1"));
    }
}
