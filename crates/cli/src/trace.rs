//! `terrace trace`.

use std::path::Path;
use std::process::ExitCode;

use terrace_base::{Error, Result, keep_apart};
use terrace_results::convert::{ConvertDocument, Lost};
use terrace_results::text::Text;
use terrace_results::trace::TraceDocument;
use terrace_trace::heat;
use terrace_trace::lost::Loss;
use terrace_trace::{Columns, Format, Info, Meta, Reading, Sink, Source};

use crate::args::trace::{self as args, Command, Kernel};
use crate::counted::counted;
use crate::lost::say_lost;
use crate::progress::Progress;
use crate::results::{Outputs, People};
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
    let reading = arguments.reading.how();
    describe(
        &arguments.file,
        &reading,
        outputs,
        arguments.quiet,
        People::Standard,
    )?;
    Ok(ExitCode::SUCCESS)
}

/// Reads a trace and shows what is in it.
pub fn describe(
    file: &Path,
    reading: &Reading,
    outputs: Outputs,
    quiet: bool,
    people: People,
) -> Result<()> {
    let source = reading.open(file, Columns::ALL)?;
    let (mut source, heat) = match outputs.draws() {
        true => {
            let (source, seen) = heat::watch(source);
            (source, Some(seen))
        }
        false => (source, None),
    };
    let progress = Progress::new(source.meta().accesses, quiet);
    let info = Info::of(&mut *source, |accesses| progress.at(accesses));
    drop(progress);
    let name = file.display().to_string();
    let document = TraceDocument::of(&name, source.meta(), &info?);
    let heat = heat.map(|seen| terrace_results::heat::plot("Heat map", &seen.heat()));
    let outputs = outputs.with_heat(heat.into_iter().collect());
    outputs.say(&document, &document.to_text(), people)
}

fn convert(arguments: &args::Convert) -> Result<ExitCode> {
    let named = ("OUTPUT", &*arguments.output);
    keep_apart(&[("INPUT", &arguments.input)], &[named])?;
    let outputs = Outputs::open(
        &arguments.results(),
        &[("INPUT", &arguments.input)],
        &[named],
    )?;
    let reading = arguments.reading();
    let source = reading.open(&arguments.input, Columns::ALL)?;
    let whole = source.meta().clone();
    let source = arguments.selection().of(source);
    let part = source.meta().clone();
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
    let (accesses, lost) = copy(source, sink, progress)?.ok_or_else(nothing)?;
    let tallies = &reading.tallies;
    let input = std::iter::once((&*arguments.input, &*arguments.input));
    let document = ConvertDocument {
        schema: "terrace.convert/1",
        input: arguments.input.display().to_string(),
        output: arguments.output.display().to_string(),
        accesses,
        counted: counted(input, tallies, arguments.quiet),
        lost: lost.iter().map(Lost::from).collect(),
        left_out: left_out(&arguments.output, &whole, &part),
    };
    if !arguments.quiet {
        let sentences = document.left_out.iter();
        sentences.for_each(|sentence| say(&format!("terrace: {sentence}\n")));
        say_lost(&arguments.output, &lost);
    }
    outputs.say(&document, &Text::default(), People::Nobody)?;
    Ok(ExitCode::SUCCESS)
}

/// Returns what a whole trace says, and a part of it cannot.
fn left_out(path: &Path, whole: &Meta, part: &Meta) -> Vec<String> {
    let path = path.display();
    let mut sentences = Vec::new();
    if whole.has_contents && !part.has_contents {
        sentences.push(format!(
            "`{path}` does not say what pages hold: that is known of all first rows of a trace \
             alone",
        ));
    }
    if let (Some(allocations), None) = (&whole.allocations, &part.allocations) {
        sentences.push(format!(
            "`{path}` does not say what {} allocations were of: that is known of a whole trace \
             alone",
            allocations.objects.len()
        ));
    }
    sentences
}

fn generate(kernel: &Kernel) -> Result<ExitCode> {
    let (source, common) = (kernel.source()?, kernel.common());
    let sink = create(&common.output, common.to, &*source)?;
    let progress = Progress::new(Some(common.settings.accesses), common.quiet);
    let copied = copy(source, sink, progress)?;
    if let Some((_, lost)) = copied.filter(|_| !common.quiet) {
        say_lost(&common.output, &lost);
    }
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

/// Copies all accesses. Returns how many there are, and what the format cannot hold; `None`, and
/// makes no file, if there was no access.
fn copy(
    mut source: Box<dyn Source>,
    mut sink: Box<dyn Sink>,
    progress: Progress,
) -> Result<Option<(u64, Vec<Loss>)>> {
    if let Some(allocations) = &source.meta().allocations {
        sink.allocations(allocations.as_ref().clone());
    }
    let accesses = terrace_trace::copy(&mut *source, &mut *sink, |accesses| progress.at(accesses))?;
    if accesses == 0 {
        return Ok(None);
    }
    let lost = sink.lost();
    sink.finish()?;
    Ok(Some((accesses, lost)))
}
