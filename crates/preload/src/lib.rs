#![doc = include_str!("../README.md")]

mod blocks;
mod export;
pub mod extended;
mod mappings;
pub mod objects;
mod placement;
mod symbol;

pub use blocks::reallocarray;
pub use mappings::{Offset, mmap64};
