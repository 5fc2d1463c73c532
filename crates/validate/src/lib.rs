//! Holds the two drivers against each other: one program, run live and simulated, on the same
//! machine with the same DRAM.
//!
//! [`machine`] turns what was measured of a machine into what the simulator is told;
//! [`live`] measures, [`record`] and [`predict`] foretell; [`perform`] puts them together.

pub mod live;
pub mod machine;
pub mod perform;
pub mod predict;
pub mod record;
