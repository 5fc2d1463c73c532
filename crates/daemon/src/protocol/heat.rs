//! What is known of the memory of a target, by address.

use serde::{Deserialize, Serialize};

/// What is known of the memory of a target. What was never tried is not known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heat {
    /// Its groups that could be asked.
    pub groups: Vec<GroupHeat>,
    /// Groups of which nothing is known now: a step moves their memory, or they have no process.
    pub busy: u64,
}

/// What is known of the memory of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupHeat {
    /// The group.
    pub group: String,
    /// Bytes of a row: a power of two, the same for all rows of the group. A row begins at a
    /// multiple of it.
    pub row_bytes: u64,
    /// The rows of which something is known, by process and address.
    pub rows: Vec<Row>,
    /// Rows that are left out, because there are too many processes.
    pub left_out: u64,
}

/// A part of the address space of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// The process.
    pub process: u32,
    /// Address of its first byte.
    pub address: u64,
    /// Pages that have come back so far after they were tried or had left: a touch each.
    pub touched: u64,
    /// Bytes that have left DRAM.
    pub away: u64,
}
