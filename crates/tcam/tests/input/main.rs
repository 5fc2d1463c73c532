//! Routing tables and updates from files: what is read of them, and what is said of damaged ones.

mod damage;
mod data;
#[path = "../fuzz/files.rs"]
mod files;
mod reading;
mod sample;
