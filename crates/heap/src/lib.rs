//! A persistent heap: maps, queues, vectors and objects of your own in a file, which survive the
//! end of the program, even a crash; and memory that is gone with the program, from the same pool
//! (the dual-use heap of Kannan 2013).
//!
//! ```
//! use terrace_heap::containers::BTreeMap;
//! use terrace_heap::{Heap, Result};
//!
//! fn main() -> Result<()> {
//!     # let folder = tempfile::tempdir().unwrap();
//!     # std::env::set_current_dir(folder.path()).unwrap();
//!     let heap = Heap::open_or_create("app.pool", 64 << 20)?;
//!     let visits = BTreeMap::<str, u64>::open(&heap, "visits")?;
//!     let before = visits.get("anna")?.unwrap_or(0);
//!     visits.insert("anna", &(before + 1))?;
//!     heap.transaction(|tx| {
//!         let visits = tx.open(&visits)?;
//!         visits.remove("anna")?;
//!         visits.insert("Anna", &(before + 1))
//!     })?;
//!     heap.close()
//! }
//! ```
//!
//! A change is durable when its call has returned `Ok`: on persistent memory, on a file system in
//! memory as far as that lasts, and on a plain file after an `fdatasync` ([`Heap::kind`] tells
//! which). `FORMAT.md` draws the pool byte by byte and argues why recovery is right.
//!
//! Features: `serde` stores values of any type that serde supports (`containers::Serde`);
//! `simulated` is a persistent memory for tests that crashes in every way in which a real one can;
//! `experiments` is what Kannan 2013 compares with: the naive allocator, and ways to ask the kernel
//! for contiguous frames.

/// Runs the programs in the README as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod allocator;
mod capacity;
pub mod check;
mod checksum;
mod compaction;
pub mod containers;
#[cfg(feature = "experiments")]
pub mod contiguity;
#[cfg(not(feature = "experiments"))]
mod contiguity;
mod copy;
pub mod dump;
pub mod error;
mod guard;
mod heap;
pub mod info;
mod journal;
mod lane;
mod layout;
mod lock;
pub mod medium;
mod objects;
mod operation;
mod options;
mod pool;
mod ptr;
mod recovery;
mod root_table;
mod roots;
pub mod salvage;
mod sink;
mod survey;
mod transaction;

pub use bytemuck;

pub use capacity::{CapacityAllocator, CapacityBox};
pub use containers::compacted::{Compaction, Skipped};
pub use error::{Cause, Error, Result};
pub use heap::{Heap, Usage};
pub use lane::use_lane;
#[cfg(feature = "experiments")]
pub use layout::AllocatorKind;
pub use medium::mapped::Mode;
pub use medium::{Counts, Instruction, Kind, Mapped, Medium};
pub use objects::ObjectInfo;
pub use options::Options;
pub use ptr::{Place, Ptr};
pub use roots::RootInfo;
pub use transaction::{Hint, Transaction};
