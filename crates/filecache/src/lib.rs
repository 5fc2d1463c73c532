//! A flash level for pages of files, between the page cache and a slow file system.
//!
//! The [`Store`] keeps pages on a file, a block device or an emulated flash, and finds them again
//! after a crash. It never has the only copy of a byte, and never returns one that is older than
//! its file.

pub mod cache;
pub mod dram;
pub mod endurance;
pub mod file;
pub mod medium;
pub mod mount;
pub mod page;
mod store;
mod warm;

pub use cache::Cache;
pub use dram::Dram;
pub use endurance::Endurance;
pub use file::{Identity, Version};
pub use medium::Medium;
pub use page::Page;
pub use store::{Counts, Held, Put, Reading, Refusal, Store};
pub use warm::Warmed;
