//! Results of live runs and of other commands: as `terrace-results` has those of simulations, and
//! as one status line.

pub mod attach;
pub mod bench;
pub mod calibrate;
pub mod circuit;
mod constituent;
pub mod control;
pub mod daemon;
pub mod doctor;
pub mod extend;
mod faults;
pub mod heap;
pub mod interval;
pub mod kinds;
pub mod known;
pub mod mount;
pub mod process;
pub mod run;
pub mod sched;
pub mod schema;
pub mod size;
pub mod status;
mod story;
pub mod tcam;
pub mod validate;
pub mod waits;
mod writes;
