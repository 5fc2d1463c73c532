//! Miss-ratio curves: as tables, and as JSON of the schema `terrace.sim.curve/1`.

mod page;
mod table;

pub use table::text;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};
use terrace_base::schema::{self, Field, Tree, fields};
use terrace_sim::curve::{Curve, CurveSimulation, Curves, Point};

use crate::counted::Counted;
use crate::simulation::Reported;
use crate::text::Text;

/// Schema of the document; the number increases with every change that breaks readers.
const SCHEMA: &str = "terrace.sim.curve/1";

/// Curves of the same traces.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CurveDocument {
    /// `terrace.sim.curve/1`.
    pub schema: &'static str,
    /// Traces as they were named.
    pub traces: Vec<String>,
    /// What was left out of the traces, cut, or taken for something else, with counts.
    pub counted: Vec<Counted>,
    /// The workload and its curves.
    #[serde(flatten, serialize_with = "tree")]
    #[schemars(schema_with = "described")]
    pub curves: Curves,
}

impl CurveDocument {
    /// Returns the document of curves of these traces.
    pub fn new(traces: Vec<String>, counted: Vec<Counted>, curves: Curves) -> Self {
        Self {
            schema: SCHEMA,
            traces,
            counted,
            curves,
        }
    }
}

impl Reported for CurveSimulation {
    type Document = CurveDocument;

    fn document(
        traces: Vec<String>,
        counted: Vec<Counted>,
        results: Self::Results,
    ) -> CurveDocument {
        CurveDocument::new(traces, counted, results)
    }

    fn text(document: &CurveDocument) -> Text {
        text(&document.curves)
    }
}

fn described(_: &mut SchemaGenerator) -> Schema {
    schema::described(&all())
}

fn tree<S: Serializer>(curves: &Curves, serializer: S) -> Result<S::Ok, S::Error> {
    Tree::of(&all(), curves).serialize(serializer)
}

/// Returns the fields of curves, in the order of JSON.
fn all() -> Vec<Field<Curves>> {
    fields! { Curves;
        /// touches of pages; an access that crosses a page border makes two
        "accesses" None |all| all.touches;
        /// most pages at once: those that were touched and not given back
        "footprint_pages" Pages |all| all.footprint_pages;
        /// different pages that were touched
        "pages" Pages |all| all.pages;
        /// seed of the samples, and of random numbers of policies
        "seed" None |all| all.seed;
        /// a curve for each policy
        "curves": [with_points()] => |all| &all.curves;
    }
}

/// Returns the fields of a curve, with its points.
fn with_points() -> Vec<Field<Curve>> {
    let mut fields = curve();
    fields.extend(fields! { Curve;
        /// misses at each size
        "points": [point()] => |curve| &curve.points;
    });
    fields
}

/// Returns the fields of a curve without its points.
fn curve() -> Vec<Field<Curve>> {
    fields! { Curve;
        /// policy with its settings
        "policy" None |curve| curve.policy.clone();
        /// share of the pages that was simulated; 1: misses are exact
        "rate" Share |curve| curve.rate;
        /// disjoint samples into which these pages were dealt out
        "samples" None |curve| curve.samples;
        /// pages of the smallest sample
        "sampled_pages" Pages |curve| curve.sampled_pages;
        /// error to expect of the miss ratios: the root of the mean square of those of all points;
        /// null where it is not known
        "curve_error" Share |curve| curve.error();
    }
}

/// Returns the fields of a point.
fn point() -> Vec<Field<Point>> {
    fields! { Point;
        /// pages of DRAM
        "dram_pages" Pages |point| point.dram_pages;
        /// touches of pages that were not in DRAM, first touches among them; estimated where the
        /// rate is below 1
        "misses" None |point| point.misses;
        /// misses as a share of all touches
        "miss_ratio" Share |point| point.miss_ratio;
        /// standard error of the miss ratio, by the spread of the samples; null where one sample
        /// has some of the pages
        "error" Share |point| point.error;
    }
}
