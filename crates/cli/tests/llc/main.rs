//! `terrace sim llc`: real traces and programs through the binary, and wrong input.

mod command;
mod instructions;
mod runs;
mod wrong;
