//! Miss-ratio curves as a table.

use std::collections::BTreeSet;

use terrace_base::Bytes;
use terrace_sim::curve::{Curve, Curves, Point};

use crate::table::table;
use crate::text::Text;

/// Rows that are shown; the others are in JSON, CSV and the plot.
const ROWS: usize = 40;

/// Pages of a miniature DRAM below which an estimate is said to be rough.
const FEW_PAGES: f64 = 16.0;

/// Returns the curves: a row for each size, a column for each policy.
pub fn text(curves: &Curves) -> Text {
    let named = curves.curves.iter().map(|curve| curve.policy.as_str());
    let head: Vec<&str> = ["DRAM", "of footprint"].into_iter().chain(named).collect();
    let mut table = table(&head);
    let sizes = curves.curves.iter().flat_map(|curve| &curve.points);
    let sizes: BTreeSet<u64> = sizes.map(|point| point.dram_pages).collect();
    let step = sizes.len().div_ceil(ROWS).max(1);
    let last = sizes.len().saturating_sub(1);
    for (_, &size) in (0..)
        .zip(&sizes)
        .filter(|(at, _)| at % step == 0 || *at == last)
    {
        let share = size as f64 / curves.footprint_pages as f64;
        let cells = [
            Bytes::of_pages(size).to_string(),
            format!("{:.1} %", 100.0 * share),
        ];
        let ratios = curves.curves.iter().map(|curve| cell(curve, size));
        table.add_row(cells.into_iter().chain(ratios));
    }
    let rest = match step {
        1 => String::new(),
        _ => format!("one size in {step} of {}; --csv has all\n", sizes.len()),
    };
    Text::default()
        .prose(format!(
            "touches of pages: {}, of a footprint of {}; share of them that misses, first touches among them\n\n",
            curves.touches,
            Bytes::of_pages(curves.footprint_pages)
        ))
        .table(table)
        .prose(rest)
        .prose(curves.curves.iter().filter_map(remark).collect::<String>())
}

/// Returns the miss ratio at a size, with its error where it is estimated.
fn cell(curve: &Curve, size: u64) -> String {
    let of_size = |point: &&Point| point.dram_pages == size;
    let Some(point) = curve.points.iter().find(of_size) else {
        return "-".to_owned();
    };
    let ratio = format!("{:.2} %", 100.0 * point.miss_ratio);
    match point.error.filter(|_| curve.rate < 1.0) {
        Some(error) => format!("{ratio} ±{:.2}", 100.0 * error),
        None => ratio,
    }
}

/// Says how a curve was estimated, if it was.
fn remark(curve: &Curve) -> Option<String> {
    let least = curve.least_miniature()?;
    let error = curve
        .error()
        .map_or("unknown with one sample".to_owned(), |error| {
            format!("{:.2} points", 100.0 * error)
        });
    let rough = match least < FEW_PAGES {
        true => format!(
            ", but rough at the smallest size, where a sample has {least:.1} pages of DRAM: a higher --rate helps"
        ),
        false => String::new(),
    };
    Some(format!(
        "{}: estimated from {:.3} % of the pages in {}; expected error: {error}{rough}\n",
        curve.policy,
        100.0 * curve.rate,
        match curve.samples {
            1 => "one sample".to_owned(),
            samples => format!("{samples} samples"),
        },
    ))
}
