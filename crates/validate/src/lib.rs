//! Compares the two drivers: one program, run live and simulated, on the same machine with the same
//! DRAM.
//!
//! [`machine`] turns a calibration into a machine of the simulator; [`live`] measures the program,
//! [`record`] and [`predict`] predict it; [`perform`] does all of it.

pub mod live;
pub mod machine;
pub mod perform;
pub mod predict;
pub mod record;
