//! `terrace heap`.

use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

use terrace_base::{Bytes, Error, Result};
use terrace_heap::{Cause, Heap, Mapped, Mode};
use terrace_report::heap::{
    CheckDocument, CompactDocument, InfoDocument, ItemDocument, ObjectDocument,
};

use crate::args::heap::{self as args, Command};
use crate::screen;

pub fn heap(arguments: &args::Heap) -> Result<ExitCode> {
    match &arguments.command {
        Command::Info(arguments) => info(arguments),
        Command::Check(arguments) => check(arguments),
        Command::Dump(arguments) => dump(arguments),
        Command::Compact(arguments) => compact(arguments),
    }
}

fn info(arguments: &args::Info) -> Result<ExitCode> {
    let file = &arguments.file;
    let info = terrace_heap::info::info(look(file)?).map_err(|e| failed(file, &e))?;
    let document = InfoDocument::of(&file.display().to_string(), &info);
    write(&match arguments.json {
        true => document.to_json(),
        false => document.to_text(),
    });
    Ok(ExitCode::SUCCESS)
}

fn check(arguments: &args::Check) -> Result<ExitCode> {
    let file = &arguments.file;
    let findings = terrace_heap::check::check(look(file)?);
    let document = CheckDocument::of(&file.display().to_string(), &findings);
    write(&match arguments.json {
        true => document.to_json(),
        false => document.to_text(),
    });
    match findings.len() {
        0 => Ok(ExitCode::SUCCESS),
        1 => Err(Error::failure(format!(
            "{}: something is wrong",
            file.display()
        ))),
        many => Err(Error::failure(format!(
            "{}: {many} things are wrong",
            file.display()
        ))),
    }
}

fn dump(arguments: &args::Dump) -> Result<ExitCode> {
    let file = &arguments.file;
    let dump = terrace_heap::dump::Dump::open(look(file)?).map_err(|e| failed(file, &e))?;
    if let Some(offset) = arguments.object {
        let (record, bytes) = dump.object(offset).map_err(|e| failed(file, &e))?;
        let document = ObjectDocument::of(&record, &bytes);
        write(&match arguments.json {
            true => document.to_json(),
            false => document.to_text(),
        });
        return Ok(ExitCode::SUCCESS);
    }
    let mut out = BufWriter::new(std::io::stdout().lock());
    for item in dump.items() {
        let line = match arguments.json {
            true => ItemDocument::of(&item).to_json_line(),
            false => format!("{item}\n"),
        };
        // Whoever reads only the first lines has read what they wanted.
        if out.write_all(line.as_bytes()).is_err() {
            break;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn compact(arguments: &args::Compact) -> Result<ExitCode> {
    let file = &arguments.file;
    // Nothing is written to what is no pool, or damaged.
    let pool = look(file)?;
    let missing = pool.missing().map_err(|e| failed(file, &e))?;
    let free = pool.free();
    terrace_heap::info::info(pool).map_err(|e| failed(file, &e))?;
    if missing > 0 {
        say_missing(file, missing, free);
    }
    let heap = Heap::open(file).map_err(|e| failed(file, &e))?;
    let freed = heap.compact().map_err(|e| failed(file, &e))?;
    heap.close().map_err(|e| failed(file, &e))?;
    let document = CompactDocument::of(&file.display().to_string(), freed);
    write(&match arguments.json {
        true => document.to_json(),
        false => document.to_text(),
    });
    Ok(ExitCode::SUCCESS)
}

/// Says how much room a pool with holes takes before it is written to.
fn say_missing(file: &Path, missing: u64, free: Option<u64>) {
    let free = free.map_or(String::new(), |free| {
        format!(", of {} that are free", Bytes(free))
    });
    screen::say(&format!(
        "terrace: {}: {} of it are holes, which are given room on the disk first{free}\n",
        file.display(),
        Bytes(missing)
    ));
}

/// A pool of which only private memory is changed.
fn look(file: &Path) -> Result<Mapped> {
    Mapped::open(file, Mode::Private).map_err(|e| failed(file, &e))
}

/// What the heap says, with the file's name.
fn failed(file: &Path, error: &terrace_heap::Error) -> Error {
    let (name, sentence) = (file.display().to_string(), error.to_string());
    let sentence = match sentence.contains(&name) {
        true => sentence,
        false => format!("{name}: {sentence}"),
    };
    match error.cause() {
        Cause::Usage => Error::usage(sentence),
        _ => Error::failure(sentence),
    }
}

/// Writes to standard output. Whoever reads only the first lines has read what they wanted.
fn write(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}
