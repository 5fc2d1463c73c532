//! Terrace's side of `benches/heap`: the same operations and lines of JSON as the peers'. Its
//! `common.h` says how such a program is called.
//!
//! Ways: `sized` (a hash map with room for all entries), `growing` (one that begins small), `tree`
//! (an ordered map); on a plain file `synchronous` and `batched` (of `sized`: a sync a put, or for
//! 100 puts), `tree-synchronous` and `tree-batched`; all with put, get, delete, iterate and open.
//! With `--bytes` keys and values have any length, which a tree's always have, and a tree has scan
//! (with a cursor) and range (with an iterator) too. `allocator` has objects as large as the peers'
//! entries: allocate, free; set, which changes a word.

mod keys;
mod maps;
mod measure;
mod objects;
mod options;
mod pair;
mod table;
mod way;

use std::error::Error;
use std::process::ExitCode;

use terrace_heap::{Heap, Mapped};

use maps::Maps;
use measure::Measure;
use objects::Objects;
use options::Options;
use table::Table;
use way::{Kind, Way};

/// The name of this program in its lines.
const PEER: &str = "terrace";

/// A result with an error that is a sentence.
pub type Outcome<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> ExitCode {
    let done = Options::parse(std::env::args().skip(1)).and_then(|options| carry_out(&options));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("terrace: {error}");
            ExitCode::FAILURE
        }
    }
}

fn carry_out(options: &Options) -> Outcome {
    let way = Way::of(&options.way)?;
    match way.kind {
        Kind::Objects => objects(options, way),
        _ if options.bytes => maps(options, way),
        Kind::Tree => Err("a tree is measured with --bytes".into()),
        Kind::Sized | Kind::Growing => table(options, way),
    }
}

/// Opens the pool, or creates it.
fn open(options: &Options, way: Way) -> Outcome<Heap> {
    let heap = if options.pool.exists() {
        let medium = Mapped::open(&options.pool, way.mode)?;
        // SAFETY: the medium is the pool's file, which a lock keeps for this process.
        unsafe { Heap::open_on(medium) }
    } else {
        let bytes = pool_bytes(options);
        Heap::create_with(
            &options.pool,
            bytes,
            way.mode,
            &terrace_heap::Options::default(),
        )
    };
    Ok(heap?)
}

/// Bytes of the pool, equal to those of the peers.
fn pool_bytes(options: &Options) -> u64 {
    match options.bytes {
        false => (256 << 20) + 400 * options.entries,
        true => (512 << 20) + 800 * options.entries,
    }
}

fn table(options: &Options, way: Way) -> Outcome {
    let measure = Measure::new(options);
    let open = || Table::open(&open(options, way)?, options, way);
    let (table, operations) = opened(options, &measure, open, |table| table.get(options, 0..1))?;
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

fn maps(options: &Options, way: Way) -> Outcome {
    let measure = Measure::new(options);
    let open = || Maps::open(&open(options, way)?, options, way);
    let (maps, operations) = opened(options, &measure, open, |maps| maps.get(options, 0..1))?;
    for operation in operations {
        match operation.as_str() {
            "put" => measure.shared("put", |turns| maps.put(options, turns))?,
            "get" => measure.shared("get", |turns| maps.get(options, turns))?,
            "delete" => measure.shared("delete", |turns| maps.delete(options, turns))?,
            "iterate" => measure.visits("iterate", || maps.iterate())?,
            "scan" => measure.visits("scan", || maps.scan(options))?,
            "range" => measure.visits("range", || maps.range(options))?,
            "die" => measure::die(),
            _ => {
                return Err(
                    "operations are put, get, delete, iterate, scan, range, open and die".into(),
                );
            }
        }
    }
    Ok(())
}

/// Opens a table and returns it with the operations that follow. The first operation may be to open
/// it and `get` once, from a pool that was closed or left by a killed process.
fn opened<'o, T>(
    options: &'o Options,
    measure: &Measure,
    open: impl FnOnce() -> Outcome<T>,
    get: impl FnOnce(&T) -> Outcome,
) -> Outcome<(T, &'o [String])> {
    match options.operations.split_first() {
        Some((first, rest)) if first == "open" || first == "open-killed" => {
            let opened = measure.once(first, || {
                let opened = open()?;
                get(&opened).map(|()| opened)
            })?;
            Ok((opened, rest))
        }
        _ => Ok((open()?, &options.operations)),
    }
}

fn objects(options: &Options, way: Way) -> Outcome {
    let measure = Measure::new(options);
    let objects = Objects::open(&open(options, way)?, options)?;
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
