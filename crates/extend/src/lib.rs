//! Unmodified programs whose large mappings lie in extended memory.
//!
//! A library (`terrace-preload-extended`) is loaded into the program before all others. It puts
//! large private anonymous mappings, and large blocks of `malloc`, into extended memory
//! (`terrace-region`). The command [`start`s](session) the program with a [`Task`] in the
//! environment, and reads the figures from a board in a file that both map, so that they are whole
//! however the program ends.

mod elf;
pub mod library;
pub mod memory;
pub mod session;
pub mod task;

pub use memory::Memory;
pub use session::{Outcome, Session};
pub use task::Task;
