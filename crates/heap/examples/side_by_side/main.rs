//! Terrace's side of `benches/heap`: the same operations and lines of JSON as the peers'. Its
//! `common.h` says how such a program is called.
//!
//! Ways: `sized` (a map with room for all entries), `growing` (one that begins small), `synchronous`
//! and `batched` (a plain file; a sync a put, or for 100 puts), all with put, get, delete, iterate
//! and open; `allocator` (objects as large as the peers' entries: allocate, free; set, which changes
//! a word).

mod keys;
mod measure;
mod objects;
mod options;
mod table;

use std::error::Error;
use std::process::ExitCode;

use terrace_heap::{Heap, Mapped, Mode};

use measure::Measure;
use objects::Objects;
use options::{Options, Way};
use table::Table;

/// What went wrong, as a sentence.
pub type Outcome<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> ExitCode {
    let done = Options::parse(std::env::args().skip(1)).and_then(|options| match options.way {
        Way::Allocator => objects(&options),
        _ => table(&options),
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("terrace: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The pool, made if it is not there.
fn open(options: &Options) -> Outcome<Heap> {
    let mode = match options.way {
        Way::Synchronous | Way::Batched => Mode::Synced,
        Way::Sized | Way::Growing | Way::Allocator => Mode::Lines,
    };
    let heap = if options.pool.exists() {
        let medium = Mapped::open(&options.pool, mode)?;
        // SAFETY: the medium is the pool's file, which a lock keeps for this process.
        unsafe { Heap::open_on(medium) }
    } else {
        let bytes = options.pool_bytes();
        Heap::create_with(
            &options.pool,
            bytes,
            mode,
            &terrace_heap::Options::default(),
        )
    };
    Ok(heap?)
}

fn table(options: &Options) -> Outcome {
    let measure = Measure::new(options);
    let mut operations = options.operations.as_slice();
    let table = if operations.first().is_some_and(|first| first == "open") {
        operations = &operations[1..];
        measure.once("open", || {
            let table = Table::open(&open(options)?, options)?;
            table.get(options, 0..1).map(|()| table)
        })?
    } else {
        Table::open(&open(options)?, options)?
    };
    for operation in operations {
        match operation.as_str() {
            "put" => measure.shared("put", |turns| table.put(options, turns))?,
            "get" => measure.shared("get", |turns| table.get(options, turns))?,
            "delete" => measure.shared("delete", |turns| table.delete(options, turns))?,
            "iterate" => measure.visits("iterate", || table.iterate())?,
            _ => return Err("operations are put, get, delete, iterate and open".into()),
        }
    }
    Ok(())
}

fn objects(options: &Options) -> Outcome {
    let measure = Measure::new(options);
    let objects = Objects::open(&open(options)?, options)?;
    for operation in &options.operations {
        match operation.as_str() {
            "allocate" => measure.shared("allocate", |turns| objects.allocate(options, turns))?,
            "free" => measure.shared("free", |turns| objects.free(options, turns))?,
            "set" => measure.shared("set", |turns| objects.set(options, turns))?,
            _ => return Err("operations are allocate, free and set".into()),
        }
    }
    Ok(())
}
