// The library's modules, at the root of who includes this: a library for C alone cannot be linked from here.

#[path = "../../src/error.rs"]
mod error;
#[path = "../../src/handle.rs"]
mod handle;
#[path = "../../src/memory.rs"]
mod memory;
#[path = "../../src/text.rs"]
mod text;
#[path = "../../src/transaction.rs"]
mod transaction;
