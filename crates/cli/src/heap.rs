//! `terrace heap`.

use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

use terrace_base::output::printed;
use terrace_base::{Bytes, Error, Result};
use terrace_heap::{Cause, Heap, Mapped, Mode};
use terrace_report::heap::{
    CheckDocument, CompactDocument, DumpDocument, InfoDocument, ObjectDocument,
};

use crate::args::heap::{self as args, Command};
use crate::results::{Outputs, People};
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
    let outputs = Outputs::open(&arguments.results, &[("FILE", file)], &[])?;
    let info = terrace_heap::info::info(look(file)?).map_err(|e| failed(file, &e))?;
    let document = InfoDocument::of(&file.display().to_string(), &info);
    outputs.say(&document, &document.to_text(), People::Standard)?;
    Ok(ExitCode::SUCCESS)
}

fn check(arguments: &args::Check) -> Result<ExitCode> {
    let file = &arguments.file;
    let outputs = Outputs::open(&arguments.results, &[("FILE", file)], &[])?;
    let findings = terrace_heap::check::check(look(file)?);
    let document = CheckDocument::of(&file.display().to_string(), &findings);
    outputs.say(&document, &document.to_text(), People::Standard)?;
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
    let outputs = Outputs::open(&arguments.results, &[("FILE", file)], &[])?;
    let dump = terrace_heap::dump::Dump::open(look(file)?).map_err(|e| failed(file, &e))?;
    if let Some(offset) = arguments.object {
        let (record, bytes) = dump.object(offset).map_err(|e| failed(file, &e))?;
        let document = ObjectDocument::of(&record, &bytes);
        outputs.say(&document, &document.to_text(), People::Standard)?;
        return Ok(ExitCode::SUCCESS);
    }
    if !arguments.results.given().is_empty() {
        let items: Vec<_> = dump.items().collect();
        let name = file.display().to_string();
        let document = DumpDocument::of(&name, &items);
        outputs.say(&document, &document.to_text(), People::Standard)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut out = BufWriter::new(std::io::stdout().lock());
    let written = dump.items().try_for_each(|item| writeln!(out, "{item}"));
    printed(written.and_then(|()| out.flush()))?;
    Ok(ExitCode::SUCCESS)
}

fn compact(arguments: &args::Compact) -> Result<ExitCode> {
    let file = &arguments.file;
    let outputs = Outputs::open(&arguments.results, &[("FILE", file)], &[])?;
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
    outputs.say(&document, &document.to_text(), People::Standard)?;
    Ok(ExitCode::SUCCESS)
}

/// Prints how much disk space the holes of a pool take before it is written.
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

/// Opens a pool so that changes stay in private memory.
fn look(file: &Path) -> Result<Mapped> {
    Mapped::open(file, Mode::Private).map_err(|e| failed(file, &e))
}

/// Converts an error of the heap, and adds the file's name.
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
