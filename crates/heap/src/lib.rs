//! The dual-use heap: capacity and persistence from one non-volatile memory (Kannan 2013).
//!
//! Everything that becomes persistent passes through a [`Medium`]: a file on persistent memory, a
//! plain file, anonymous memory, or a simulated memory that crashes in all the ways a real one can.

mod allocator;
mod capacity;
pub mod check;
mod checksum;
mod compaction;
pub mod containers;
pub mod contiguity;
pub mod dump;
pub mod error;
mod heap;
pub mod info;
mod journal;
mod lane;
mod layout;
mod lock;
pub mod medium;
mod objects;
mod operation;
mod pool;
mod ptr;
mod recovery;
mod roots;
mod transaction;

/// Plain data: whatever its bytes are, they are a valid value, and none of them is a volatile pointer.
pub use bytemuck::Pod as Plain;

pub use allocator::AllocatorKind;
pub use capacity::{CapacityAllocator, CapacityBox};
pub use error::{Cause, Error, Result};
pub use heap::{Heap, ObjectInfo, Options, RootInfo, Usage};
pub use lane::use_lane;
pub use medium::mapped::Mode;
pub use medium::{Counts, Instruction, Kind, Mapped, Medium};
pub use ptr::{Place, Ptr};
pub use transaction::{Hint, Transaction};
