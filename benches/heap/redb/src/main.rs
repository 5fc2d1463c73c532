//! A table on redb, which is a B-tree: what a program in Rust would use instead. `common.h` says
//! how it is called; keys and values are bytes of any length.
//!
//! Ways: `none` (a transaction a put that nobody waits for: a crash may lose it), `immediate` (a
//! transaction a put, each durable), `batched` (100 puts a transaction, each transaction durable),
//! `filling` (1000). Operations: put, delete; get (a transaction a get), get-batched (one for a
//! thousand); iterate, scan (a hundred entries from a key on); open and open-killed; die (nothing
//! is closed).

#[path = "../../programs/src/bin/side_by_side/measure.rs"]
mod measure;
#[path = "../../programs/src/bin/side_by_side/options.rs"]
mod options;
#[path = "../../programs/src/bin/side_by_side/pair.rs"]
mod pair;
mod table;

use std::error::Error;
use std::process::ExitCode;

use measure::Measure;
use options::Options;
use table::Table;

/// How lines name this program.
const PEER: &str = "redb";

/// What went wrong, as a sentence.
pub type Outcome<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> ExitCode {
    match Options::parse(std::env::args().skip(1)).and_then(|options| carry_out(&options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("redb: {error}");
            ExitCode::FAILURE
        }
    }
}

fn carry_out(options: &Options) -> Outcome {
    if !options.bytes || options.threads != 1 {
        return Err(
            "keys and values are bytes, and there is one writer at a time: --bytes, --threads 1"
                .into(),
        );
    }
    let measure = Measure::new(options);
    let mut operations = options.operations.as_slice();
    let table = match operations.split_first() {
        Some((first, rest)) if first == "open" || first == "open-killed" => {
            operations = rest;
            measure.once(first, || {
                let table = Table::open(options)?;
                table.get(options, 0..1).map(|()| table)
            })?
        }
        _ => Table::open(options)?,
    };
    for operation in operations {
        match operation.as_str() {
            "put" => measure.shared("put", |turns| table.put(options, turns))?,
            "delete" => measure.shared("delete", |turns| table.delete(options, turns))?,
            "get" => measure.shared("get", |turns| table.get(options, turns))?,
            "get-batched" => measure.shared("get-batched", |turns| table.get_batch(options, turns))?,
            "iterate" => measure.visits("iterate", || table.iterate())?,
            "scan" => measure.visits("scan", || table.scan(options))?,
            "die" => {
                table.synchronise()?;
                measure::die();
            }
            _ => return Err("operations are put, get, get-batched, delete, iterate, scan, open, open-killed and die".into()),
        }
    }
    table.synchronise()
}
