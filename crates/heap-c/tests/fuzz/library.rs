// The library's modules, at the root of the program that includes this: a library for C alone
// cannot be linked from here.

#[path = "../../src/container.rs"]
mod container;
#[path = "../../src/cursor.rs"]
mod cursor;
#[path = "../../src/cursors.rs"]
mod cursors;
#[path = "../../src/error.rs"]
mod error;
#[path = "../../src/handle.rs"]
mod handle;
#[path = "../../src/maps.rs"]
mod maps;
#[path = "../../src/memory.rs"]
mod memory;
#[path = "../../src/queue.rs"]
mod queue;
#[path = "../../src/registry.rs"]
mod registry;
#[path = "../../src/salvage.rs"]
mod salvage;
#[path = "../../src/stack.rs"]
mod stack;
#[path = "../../src/statistics.rs"]
mod statistics;
#[path = "../../src/text.rs"]
mod text;
#[path = "../../src/transaction.rs"]
mod transaction;
