//! `terrace trace`.

use std::path::Path;
use std::process::ExitCode;

use terrace_base::{Error, Result, keep_apart};
use terrace_report::trace::TraceDocument;
use terrace_trace::{Columns, Format, Info, Sink, Source, open_in};

use crate::args::trace::{self as args, Command, Kernel};
use crate::progress::Progress;
use crate::results::Outputs;
use crate::screen::say;

pub fn trace(arguments: &args::Trace) -> Result<ExitCode> {
    match &arguments.command {
        Command::Info(arguments) => info(arguments),
        Command::Convert(arguments) => convert(arguments),
        Command::Gen(arguments) => generate(&arguments.kernel),
    }
}

fn info(arguments: &args::Info) -> Result<ExitCode> {
    let outputs = Outputs::open(&arguments.results, &[("FILE", &arguments.file)], &[])?;
    let mut source = open_in(&arguments.file, arguments.format, Columns::ALL)?;
    let progress = Progress::new(source.meta().accesses, arguments.quiet);
    let info = Info::of(&mut *source, |accesses| progress.at(accesses));
    drop(progress);
    let file = arguments.file.display().to_string();
    let document = TraceDocument::of(&file, source.meta(), &info?);
    outputs.show(&document, &document.to_text())
}

fn convert(arguments: &args::Convert) -> Result<ExitCode> {
    keep_apart(
        &[("INPUT", &arguments.input)],
        &[("OUTPUT", &arguments.output)],
    )?;
    let source = open_in(&arguments.input, arguments.from, Columns::ALL)?;
    let has_contents = source.meta().has_contents;
    let source = arguments.selection().of(source);
    let sink = create(&arguments.output, arguments.to, &*source)?;
    let progress = Progress::new(source.meta().accesses, arguments.quiet);
    let nothing = || {
        let thread = arguments
            .thread
            .map(|thread| format!(" of thread {thread}"));
        Error::failure(format!(
            "there is no access{} to convert in `{}`; nothing is written",
            thread.unwrap_or_default(),
            arguments.input.display()
        ))
    };
    let selected = source.meta().has_contents;
    let unkept = selected && !sink.keeps_contents();
    let mut lost = copy(source, sink, progress)?.ok_or_else(nothing)?;
    lost.extend(unkept.then(|| "what pages hold".to_owned()));
    if has_contents && !selected && !arguments.quiet {
        say(&format!(
            "terrace: `{}` does not say what pages hold: that is known of all first rows of a trace alone\n",
            arguments.output.display()
        ));
    }
    if !lost.is_empty() && !arguments.quiet {
        say(&format!(
            "terrace: `{}` does not say {}: its format has no room for that\n",
            arguments.output.display(),
            lost.join(", ")
        ));
    }
    Ok(ExitCode::SUCCESS)
}

fn generate(kernel: &Kernel) -> Result<ExitCode> {
    let (source, common) = (kernel.source()?, kernel.common());
    let sink = create(&common.output, common.to, &*source)?;
    let progress = Progress::new(Some(common.settings.accesses), common.quiet);
    copy(source, sink, progress)?;
    Ok(ExitCode::SUCCESS)
}

/// Creates the trace for the accesses of `source`, with its metadata.
fn create(path: &Path, format: Option<Format>, source: &dyn Source) -> Result<Box<dyn Sink>> {
    let about = &source.meta().about;
    match format {
        Some(format) => terrace_trace::create_as(path, format, about),
        None => terrace_trace::create(path, about),
    }
}

/// Copies all accesses. Returns the information that the format cannot hold; `None`, and makes no
/// file, if there was no access.
fn copy(
    mut source: Box<dyn Source>,
    mut sink: Box<dyn Sink>,
    progress: Progress,
) -> Result<Option<Vec<String>>> {
    let accesses = terrace_trace::copy(&mut *source, &mut *sink, |accesses| progress.at(accesses))?;
    if accesses == 0 {
        return Ok(None);
    }
    let lost = sink.lost();
    sink.finish()?;
    Ok(Some(lost))
}
