//! Timeline of prefetching in simulations as CSV, a row for each epoch and machine.

use terrace_base::{Error, Result};
use terrace_sim::pages::{Point, Simulated};

/// Columns. `machine` counts from 1 in the order of the results. `accesses`, `time_ns` and
/// `prefetches` count from the start to the end of the epoch, all other columns the epoch alone.
/// `accuracy` is the accuracy of the pages that ended in the epoch, empty if none did.
const COLUMNS: [&str; 12] = [
    "machine",
    "dram",
    "replacement",
    "prefetch",
    "accesses",
    "time_ns",
    "prefetches",
    "issued",
    "used",
    "late",
    "wasted",
    "accuracy",
];

/// Returns the CSV of machines and the ends of their epochs.
///
/// # Errors
/// A failure where there is no memory for it.
pub fn csv(machines: &[(Simulated, Vec<Point>)]) -> Result<Vec<u8>> {
    let failed = |error: String| Error::failure(format!("cannot make the CSV: {error}"));
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer
        .write_record(COLUMNS)
        .map_err(|error| failed(error.to_string()))?;
    for (index, (machine, points)) in machines.iter().enumerate() {
        let mut before = Point::default();
        for point in points {
            let row = row(index + 1, machine, &before, point);
            let written = writer.write_record(row);
            written.map_err(|error| failed(error.to_string()))?;
            before = *point;
        }
    }
    writer
        .into_inner()
        .map_err(|error| failed(error.to_string()))
}

fn row(number: usize, machine: &Simulated, before: &Point, point: &Point) -> [String; 12] {
    let epoch = point.story - before.story;
    let accuracy = epoch.accuracy();
    [
        number.to_string(),
        machine.dram.to_string(),
        machine.machine.replacement.to_string(),
        machine.machine.prefetch.to_string(),
        point.accesses.to_string(),
        point.time_ns.0.to_string(),
        point.story.issued.to_string(),
        epoch.issued.to_string(),
        epoch.used.to_string(),
        epoch.late.to_string(),
        epoch.wasted.to_string(),
        accuracy.map_or(String::new(), |share| format!("{share:?}")),
    ]
}
