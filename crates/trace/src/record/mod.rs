//! Recording a program: it runs in `qemu-user` with our plug-in, unmodified, and every access
//! that it makes goes into a trace.
//!
//! The plug-in (`terrace-recorder`) writes to shared memory, on whatever cores the program's
//! threads run; this side reads and encodes on its own. Who is behind waits for the other.
//!
//! What a row is not: the emulator splits an access of 16 bytes and more into several of 8; an
//! atomic read-modify-write of a program with threads is one row, a store; and the kernel's own
//! accesses (what `read` puts into a buffer) are not seen.
//!
//! Rows of one thread are in its order. Those of several threads take turns by some 16 thousand,
//! in about the order in which they were made.

mod decode;
mod recording;
mod tools;

pub use recording::{Progress, Recorded, Recording, Request};
pub use tools::Tools;

pub use terrace_recorder::level::Level;
pub use terrace_recorder::pool::Settings;
