//! The dual-use heap: capacity and persistence from one non-volatile memory (Kannan 2013).
//!
//! Everything that becomes persistent passes through a [`Medium`]: a file on persistent memory, a
//! plain file, anonymous memory, or a simulated memory that crashes in all the ways a real one can.

pub mod error;
pub mod medium;

pub use error::{Cause, Error, Result};
pub use medium::{Counts, Instruction, Kind, Medium};
