//! What a program does: its faults, its pages, its swap slots, and how long it waits.

pub mod fault_sample;
pub mod faults;
pub mod mappings;
pub mod pagemap;
pub mod slots;
pub mod tally;
pub mod waits;
pub mod written;
