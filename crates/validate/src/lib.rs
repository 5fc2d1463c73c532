//! Compares the two drivers: one program, run live and simulated, on the same machine with the same
//! DRAM.
//!
//! [`machine`] turns a calibration into a machine of the simulator; [`live`] measures the program,
//! [`record`] and [`predict`] predict it; [`perform`] does all of it. [`mix`] does the same for
//! programs that share CPUs.

pub mod live;
pub mod machine;
pub mod mix;
pub mod perform;
pub mod predict;
pub mod record;
