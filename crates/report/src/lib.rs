//! Results as tables, one status line, and JSON with a documented schema.

pub mod doctor;
pub mod lifetime;
pub mod run;
pub mod schema;
pub mod status;
mod table;
