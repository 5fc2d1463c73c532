//! Results of simulations and traces: documents of JSON with a schema, rows as CSV and Parquet,
//! tables, and pages of HTML.
//!
//! They stand below `terrace-report`, which has the results of live runs, so that a library can
//! have them without what a live run needs.

pub mod convert;
pub mod counted;
pub mod curve;
pub mod document;
pub mod files;
mod flat;
pub mod heat;
pub mod html;
pub mod json_schema;
pub mod lifetime;
pub mod llc;
pub mod mix;
pub mod number;
pub mod place;
pub mod rows;
mod schemes;
pub mod sim;
pub mod simulation;
pub mod sweep;
pub mod table;
pub mod text;
pub mod timeline;
pub mod trace;
