//! `terrace sim llc`: real traces and programs through the binary, and wrong input.

mod ari;
mod command;
mod instructions;
mod real;
mod runs;
mod slow;
mod wrong;
