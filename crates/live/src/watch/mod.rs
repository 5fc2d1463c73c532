//! What a program does: its faults, its pages, its swap slots, and how long it waits.

pub mod fault_sample;
pub(crate) mod faults;
pub mod mappings;
pub(crate) mod pagemap;
pub mod slots;
pub mod tally;
pub mod waits;
pub(crate) mod written;
