//! Results as tables, one status line, and JSON with a documented schema.

pub mod bench;
pub mod calibrate;
mod constituent;
pub mod doctor;
pub mod heap;
mod json;
pub mod lifetime;
pub mod llc;
pub mod run;
pub mod schema;
pub mod sim;
pub mod status;
pub mod sweep;
mod table;
pub mod timeline;
pub mod trace;
pub mod validate;
