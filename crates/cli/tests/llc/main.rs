//! `terrace sim llc`: real traces and programs through the binary, and wrong input.

mod ari;
mod command;
#[path = "../common/mod.rs"]
mod common;
mod instructions;
mod real;
mod runs;
mod slow;
mod wrong;
