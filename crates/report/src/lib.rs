//! Results as tables, one status line, JSON with a documented schema, CSV, Parquet and HTML.

pub mod attach;
pub mod bench;
pub mod calibrate;
mod constituent;
pub mod doctor;
pub mod document;
pub mod extend;
mod flat;
pub mod heap;
pub mod html;
pub mod known;
pub mod lifetime;
pub mod llc;
pub mod process;
pub mod rows;
pub mod run;
pub mod schema;
pub mod sched;
mod schemes;
pub mod sim;
pub mod status;
pub mod sweep;
mod table;
pub mod text;
pub mod timeline;
pub mod trace;
pub mod validate;
