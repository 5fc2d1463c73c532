//! `terrace heap`.

use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

use terrace_base::output::printed;
use terrace_base::{Bytes, Error, Result};
use terrace_heap::salvage::Extent;
use terrace_heap::{Cause, Heap, Mapped, Mode, Options};
use terrace_report::heap::{
    CheckDocument, CompactDocument, DumpDocument, InfoDocument, ObjectDocument, SalvageDocument,
};

use crate::args;
use crate::args::heap::{Command, Copy, Create, Dump, Pool, Remove, Salvage};
use crate::results::Outputs;
use crate::screen;

pub fn heap(arguments: &args::Heap) -> Result<ExitCode> {
    match &arguments.command {
        Command::Info(pool) => info(pool, outputs(pool)?),
        Command::Check(pool) => check(pool, outputs(pool)?),
        Command::Dump(arguments) => dump(arguments, outputs(&arguments.pool)?),
        Command::Compact(pool) => compact(pool, outputs(pool)?),
        Command::Copy(arguments) => copy(arguments),
        Command::Create(arguments) => create(arguments),
        Command::Remove(arguments) => remove(arguments),
        Command::Salvage(arguments) => salvage(arguments),
    }
}

fn outputs(pool: &Pool) -> Result<Outputs> {
    Outputs::open(&pool.results, &[("FILE", &pool.file)], &[])
}

fn info(pool: &Pool, outputs: Outputs) -> Result<ExitCode> {
    let file = &pool.file;
    let info = terrace_heap::info::info(look(file)?).map_err(|e| failed(file, &e))?;
    let document = InfoDocument::of(&file.display().to_string(), &info);
    outputs.show(&document, &document.to_text())
}

fn check(pool: &Pool, outputs: Outputs) -> Result<ExitCode> {
    let file = pool.file.display().to_string();
    let findings = terrace_heap::check::check(look(&pool.file)?);
    let document = CheckDocument::of(&file, &findings);
    let shown = outputs.show(&document, &document.to_text())?;
    match findings.len() {
        0 => Ok(shown),
        1 => Err(Error::failure(format!("{file}: something is wrong"))),
        many => Err(Error::failure(format!("{file}: {many} things are wrong"))),
    }
}

fn dump(arguments: &Dump, outputs: Outputs) -> Result<ExitCode> {
    let Pool { file, results } = &arguments.pool;
    let dump = terrace_heap::dump::Dump::open(look(file)?).map_err(|e| failed(file, &e))?;
    if let Some(offset) = arguments.object {
        let (record, bytes) = dump.object(offset).map_err(|e| failed(file, &e))?;
        let document = ObjectDocument::of(&record, &bytes);
        return outputs.show(&document, &document.to_text());
    }
    if !results.given().is_empty() {
        let items: Vec<_> = dump.items().collect();
        let name = file.display().to_string();
        let document = DumpDocument::of(&name, &items);
        return outputs.show(&document, &document.to_text());
    }
    let mut out = BufWriter::new(std::io::stdout().lock());
    let written = dump.items().try_for_each(|item| writeln!(out, "{item}"));
    printed(written.and_then(|()| out.flush()))?;
    Ok(ExitCode::SUCCESS)
}

fn compact(pool: &Pool, outputs: Outputs) -> Result<ExitCode> {
    let file = &pool.file;
    // Nothing is written to what is no pool, or damaged.
    let pool = look(file)?;
    let missing = pool.missing().map_err(|e| failed(file, &e))?;
    let free = pool.free();
    terrace_heap::info::info(pool).map_err(|e| failed(file, &e))?;
    if missing > 0 {
        say_missing(file, missing, free);
    }
    let heap = Heap::open(file).map_err(|e| failed(file, &e))?;
    let done = heap.compact_some(u64::MAX).map_err(|e| failed(file, &e))?;
    heap.close().map_err(|e| failed(file, &e))?;
    let name = file.display().to_string();
    let document = CompactDocument::of(&name, &done);
    let shown = outputs.show(&document, &document.to_text())?;
    match done.skipped.len() {
        0 => Ok(shown),
        skipped => Err(Error::failure(format!(
            "{name}: {skipped} damaged {} left out; `terrace heap salvage` writes what can be read \
             to a new pool",
            if skipped == 1 {
                "container was"
            } else {
                "containers were"
            }
        ))),
    }
}

fn copy(arguments: &Copy) -> Result<ExitCode> {
    let Copy { file, to } = arguments;
    let heap = match Heap::open_read(file) {
        Err(error) if error.cause() == Cause::Damaged => {
            let heap = Heap::open_copied(file).map_err(|_| failed(file, &error))?;
            screen::say(&format!(
                "terrace: {}: it was copied while it was open, or after a crash; the new pool may hold \
                 parts of changes\n",
                file.display()
            ));
            heap
        }
        Err(error) if error.cause() == Cause::Open => {
            return Err(Error::usage(format!(
                "{error}, or have the program that has it open for writing copy it (Heap::copy, \
                 nvm_copy)"
            )));
        }
        opened => opened.map_err(|e| failed(file, &e))?,
    };
    heap.copy(to).map_err(|e| failed(to, &e))?;
    let line = format!("{}: copied to {}\n", file.display(), to.display());
    printed(std::io::stdout().lock().write_all(line.as_bytes()))?;
    Ok(ExitCode::SUCCESS)
}

fn remove(arguments: &Remove) -> Result<ExitCode> {
    let Remove { file, name } = arguments;
    // Nothing is written to what is no pool, or damaged.
    terrace_heap::info::info(look(file)?).map_err(|e| failed(file, &e))?;
    let heap = Heap::open(file).map_err(|e| failed(file, &e))?;
    let removed = heap.remove(name).map_err(|e| failed(file, &e))?;
    heap.close().map_err(|e| failed(file, &e))?;
    if !removed {
        return Err(Error::usage(format!(
            "{}: it has no container {name:?}; `terrace heap info` names those that it has",
            file.display()
        )));
    }
    let line = format!("{}: the container {name:?} was removed\n", file.display());
    printed(std::io::stdout().lock().write_all(line.as_bytes()))?;
    Ok(ExitCode::SUCCESS)
}

fn create(arguments: &Create) -> Result<ExitCode> {
    let Create { file, size, .. } = arguments;
    let options = match arguments.checksums {
        Some(checksums) => Options::default().checksums(checksums.into()),
        None => Options::default(),
    };
    let heap = Heap::create_with(file, size.0, Mode::Detected, &options);
    let heap = heap.map_err(|e| failed(file, &e))?;
    let with = if heap.checksums() { "with" } else { "without" };
    let line = format!(
        "{}: a pool of {}, {with} checksums of contents\n",
        file.display(),
        Bytes(heap.len())
    );
    heap.close().map_err(|e| failed(file, &e))?;
    printed(std::io::stdout().lock().write_all(line.as_bytes()))?;
    Ok(ExitCode::SUCCESS)
}

/// The exit codes of a pool that could not be read whole.
const PART_SALVAGED: u8 = 3;
const NOTHING_SALVAGED: u8 = 4;

fn salvage(arguments: &Salvage) -> Result<ExitCode> {
    let Salvage {
        file, to, results, ..
    } = arguments;
    let outputs = Outputs::open(results, &[("FILE", file)], &[("NEW", to)])?;
    let checksums = arguments.checksums.map(bool::from);
    let salvaged = terrace_heap::salvage::salvage(file, to, checksums);
    let salvaged = salvaged.map_err(|e| failed(file, &e))?;
    let (file, to) = (file.display().to_string(), to.display().to_string());
    let document = SalvageDocument::of(&file, &to, &salvaged);
    let shown = outputs.show(&document, &document.to_text())?;
    Ok(match salvaged.extent() {
        Extent::All => shown,
        Extent::Nothing => ExitCode::from(NOTHING_SALVAGED),
        _ => ExitCode::from(PART_SALVAGED),
    })
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
        Cause::Usage | Cause::Open => Error::usage(sentence),
        _ => Error::failure(sentence),
    }
}
