//! The page of miss-ratio curves.

use terrace_base::schema::Field;
use terrace_sim::curve::{Curve, Point};

use super::{CurveDocument, curve, point};
use crate::document::Document;
use crate::html::{Axis, Page, Plot, Unit};
use crate::rows::Rows;

/// A point and the curve that it belongs to.
struct Row<'a> {
    curve: &'a Curve,
    point: &'a Point,
}

impl Document for CurveDocument {
    fn rows(&self) -> Rows {
        let curves = self.curves.curves.iter();
        let rows: Vec<Row> = curves
            .flat_map(|curve| curve.points.iter().map(move |point| Row { curve, point }))
            .collect();
        Rows::of(columns(), &rows)
    }

    fn page(&self) -> Page {
        let fields = super::all();
        let fields: Vec<_> = fields
            .into_iter()
            .filter(|field| field.name != "curves")
            .collect();
        Page::new(format!("terrace sim curve: {}", self.traces.join(", ")))
            .counted(&self.counted)
            .plot(self.plot())
            .settings_of("of the traces", &fields, &self.curves)
    }
}

impl CurveDocument {
    fn plot(&self) -> Plot {
        let plot = Plot::lines(
            "Miss ratio over DRAM",
            Axis::new("DRAM", Unit::Bytes),
            Axis::new("touches of pages that miss", Unit::Share),
        )
        .note("First touches among them. Policies that were simulated by a sample of pages have an error; see the table.");
        self.curves.curves.iter().fold(plot, |plot, curve| {
            let bytes = |point: &Point| point.dram_pages as f64 * PAGE;
            let points = curve
                .points
                .iter()
                .map(|point| (bytes(point), point.miss_ratio));
            plot.series(&curve.policy, points)
        })
    }
}

/// Bytes of a page.
const PAGE: f64 = terrace_base::bytes::PAGE_BYTES as f64;

fn columns<'a>() -> Vec<Field<Row<'a>>> {
    let curves = curve()
        .into_iter()
        .map(|field| field.of(|row: &Row<'a>| row.curve));
    let points = point()
        .into_iter()
        .map(|field| field.of(|row: &Row<'a>| row.point));
    curves.chain(points).collect()
}
