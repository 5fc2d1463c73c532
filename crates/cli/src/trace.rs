//! `terrace trace`.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use terrace_base::Result;
use terrace_report::trace::Document;
use terrace_trace::generate;
use terrace_trace::{Block, Columns, Format, Info, Sink, Source, open_in};

use crate::args::trace::{self as args, Command, Common, Kind};
use crate::progress::Progress;

pub fn trace(arguments: &args::Trace) -> Result<ExitCode> {
    match &arguments.command {
        Command::Info(arguments) => info(arguments),
        Command::Convert(arguments) => convert(arguments),
        Command::Gen(arguments) => generate(&arguments.kind),
    }
}

fn info(arguments: &args::Info) -> Result<ExitCode> {
    let mut source = open_in(&arguments.file, arguments.format, Columns::ALL)?;
    let progress = Progress::new(source.meta().accesses, arguments.quiet);
    let info = Info::of(&mut *source, |accesses| progress.at(accesses));
    drop(progress);
    let file = arguments.file.display().to_string();
    let document = Document::of(&file, source.meta(), &info?);
    let text = if arguments.json {
        document.to_json()
    } else {
        document.to_text()
    };
    // Whoever reads only the first lines has read what they wanted.
    let _ = std::io::stdout().write_all(text.as_bytes());
    Ok(ExitCode::SUCCESS)
}

fn convert(arguments: &args::Convert) -> Result<ExitCode> {
    let source = open_in(&arguments.input, arguments.from, Columns::ALL)?;
    let source = arguments.selection().of(source);
    let sink = create(&arguments.output, arguments.to, &*source)?;
    let progress = Progress::new(source.meta().accesses, arguments.quiet);
    copy(source, sink, progress)
}

fn generate(kind: &Kind) -> Result<ExitCode> {
    let (source, common) = source(kind)?;
    let sink = create(&common.output, common.to, &*source)?;
    copy(
        source,
        sink,
        Progress::new(Some(common.accesses), common.quiet),
    )
}

fn source(kind: &Kind) -> Result<(Box<dyn Source>, &Common)> {
    let common = match kind {
        Kind::Sequential(args::Sequential { common, .. })
        | Kind::Strided(args::Strided { common, .. })
        | Kind::Zipf(args::Zipf { common, .. })
        | Kind::Chase(args::Chase { common, .. })
        | Kind::Gups(args::Gups { common })
        | Kind::Matmul(args::Matmul { common, .. })
        | Kind::Stencil(args::Stencil { common })
        | Kind::Join(args::Join { common, .. })
        | Kind::Bfs(args::Bfs { common, .. }) => common,
    };
    let settings = &common.settings();
    let source = match kind {
        Kind::Sequential(kind) => {
            let writes = kind.writes.writes;
            generate::Sequential { writes }.source(settings)
        }
        Kind::Strided(kind) => generate::Strided {
            stride: kind.stride,
            writes: kind.writes.writes,
        }
        .source(settings),
        Kind::Zipf(kind) => generate::Zipf {
            exponent: kind.exponent,
            item: kind.item,
            in_order: kind.in_order,
            writes: kind.writes.writes,
        }
        .source(settings),
        Kind::Chase(kind) => generate::Chase { node: kind.node }.source(settings),
        Kind::Gups(_) => generate::Gups.source(settings),
        Kind::Matmul(kind) => generate::Matmul { block: kind.block }.source(settings),
        Kind::Stencil(_) => generate::Stencil.source(settings),
        Kind::Join(kind) => generate::Join {
            probes: kind.probes,
        }
        .source(settings),
        Kind::Bfs(kind) => generate::Bfs {
            degree: kind.degree,
        }
        .source(settings),
    };
    Ok((source?, common))
}

/// The file for what comes from `source`, with what is known of it.
fn create(path: &Path, format: Option<Format>, source: &dyn Source) -> Result<Box<dyn Sink>> {
    let about = &source.meta().about;
    match format {
        Some(format) => terrace_trace::create_as(path, format, about),
        None => terrace_trace::create(path, about),
    }
}

fn copy(
    mut source: Box<dyn Source>,
    mut sink: Box<dyn Sink>,
    progress: Progress,
) -> Result<ExitCode> {
    let (mut block, mut accesses) = (Block::default(), 0);
    loop {
        source.read(&mut block)?;
        if block.is_empty() {
            break;
        }
        sink.write(&block)?;
        accesses += block.len() as u64;
        progress.at(accesses);
    }
    sink.finish()?;
    Ok(ExitCode::SUCCESS)
}
