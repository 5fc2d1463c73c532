//! The cost of persistence, as Kannan 2013 measures it: a persistent hash table and a B-tree with
//! each allocator and log, in lines, fences and bytes, and in time. `papers/kannan-2013` runs it.
//!
//! With `--pool FILE`, on a tmpfs, it counts and times. With `--marked` it is for recordings: a
//! flush is a load by one instruction, whose address is printed first (`marked`). Without either it
//! is the same hash table without persistence, the paper's NVMCap version of it.
//!
//! Prints one line of JSON for each phase: `put`, `get`, `update`, `delete`, `mixed` (a put, then a
//! get of an earlier key, as often as there are keys), and `allocate` and `free` of objects as
//! large as an entry.

#[path = "../side_by_side/keys.rs"]
mod keys;
mod marked;
mod measure;
mod objects;
mod options;
mod table;
mod tree;
mod volatile;

use std::error::Error;
use std::process::ExitCode;

use terrace_heap::{Heap, Mapped, Medium, Mode};

use marked::Marked;
use measure::Measure;
use objects::Objects;
use options::{Options, Pool, Program};
use table::Table;
use tree::Tree;

/// A result with an error that is a sentence.
pub type Outcome<T = ()> = Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    let done = Options::parse(std::env::args().skip(1)).and_then(|options| run(&options));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("persistence_cost: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Outcome {
    let heap_options = terrace_heap::Options::default().allocator(options.allocator);
    match &options.pool {
        Pool::Volatile => volatile::run(options),
        Pool::File(path) => {
            let medium = Mapped::create(path, options.pool_bytes(), Mode::Lines)?;
            // SAFETY: the file has no name, so no other process stores to it.
            let heap = unsafe { Heap::create_on(medium, &heap_options) }?;
            phases(&heap, options)
        }
        Pool::Marked => {
            let medium = Marked::new(options.pool_bytes())?;
            marked::say_instruction();
            // SAFETY: the memory is this process's alone.
            let heap = unsafe { Heap::create_on(medium, &heap_options) }?;
            phases(&heap, options)
        }
    }
}

fn phases<M: Medium>(heap: &Heap<M>, options: &Options) -> Outcome {
    let measure = Measure::new(heap, options);
    match options.program {
        Program::Table => {
            let table = Table::create(heap, options)?;
            for &phase in &options.phases {
                measure.phase(phase, || table.run(phase, options))?;
            }
        }
        Program::Tree => {
            let tree = Tree::create(heap)?;
            for &phase in &options.phases {
                measure.phase(phase, || tree.run(phase, options))?;
            }
        }
        Program::Objects => {
            let objects = Objects::create(heap, options)?;
            for &phase in &options.phases {
                measure.phase(phase, || objects.run(phase))?;
            }
        }
    }
    Ok(())
}
