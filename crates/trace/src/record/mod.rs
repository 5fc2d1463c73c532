//! Recording a program: it runs unmodified in `qemu-user` with our plug-in, and every access that
//! it makes goes into a trace.
//!
//! A [`Session`] starts the emulator, passes signals on to the program, and writes what the plug-in
//! reports into a [`Sink`](crate::Sink) until the program ends. The plug-in (`terrace-recorder`)
//! writes to shared memory on the cores of the program's threads; the session reads and encodes on
//! a core of its own. The faster side waits for the other.
//!
//! Limits: the emulator splits an access of 16 bytes or more into several of 8; an atomic
//! read-modify-write of a program with threads is one row, a store; accesses of the kernel (as
//! `read` fills a buffer) are not seen.
//!
//! Memory that is given back is told ([`crate::discard`]), but not by a process that is killed, or
//! that becomes a program outside the emulator.
//!
//! With allocations ([`crate::allocation`]), a library that is loaded into the program
//! (`terrace-preload-objects`) reports each to the plug-in. Its objects begin and end before a row
//! of the thread that allocated or freed them; rows of other threads that are near may be on the
//! wrong side, as rows of threads alternate in pieces.
//!
//! With contents ([`crate::contents`]), the plug-in compares a page at the end of each run with a
//! copy of what it reported, so what the kernel stores is seen, too; whole where a system call was
//! made in between or other processes share the memory, and otherwise the lines to which the run
//! has stored. A system call ends a run then, because it may unmap the page.
//!
//! Rows of one thread are in its order. Rows of several threads alternate in pieces of about 16
//! thousand, in about the order in which they were made.

mod allocations;
mod decode;
mod holder;
mod memory;
mod pending;
mod recorded;
mod request;
mod sanitized;
mod sanitizer;
mod session;
mod symbols;
mod tools;
mod watcher;

pub use recorded::{Cut, Progress, Recorded, counted};
pub use request::{
    ALLOCATIONS, COMMAND, CONTENTS, DEPENDENCES, FILTER, LEAST_MAPPING, LEVEL, PRIVATE_CACHES,
    Request, command,
};
pub use session::Session;
pub use symbols::Symbols;
pub use tools::{OBJECTS as OBJECTS_LIBRARY, Tools};

pub use terrace_recorder::level::Level;
pub use terrace_recorder::pool::RecordSettings;
