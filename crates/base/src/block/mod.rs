//! Block devices that nothing else uses, taken as a whole and given back blank.

mod claim;
pub mod content;
pub mod header;
pub mod swaps;
mod uses;

pub use claim::{Claim, claim, format, give_back};
pub use header::Header;
