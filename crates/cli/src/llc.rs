//! `terrace sim llc`.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;

use terrace_base::{Error, Result};
use terrace_live::program::{self, end_like};
use terrace_live::signals::{Signals, Target};
use terrace_report::llc::{Document, Input, text};
use terrace_sim::llc::{CORES, MARK, Mix, Open, Pass, Settings, Sinks, run};
use terrace_trace::record::{Level, Recorded, Recording, Request, Settings as Recorder, Tools};
use terrace_trace::{Columns, Meta, Sink, Source, ahead, channel, open_in};

use crate::args::llc::Llc;
use crate::progress::Progress;
use crate::record::{exit, remarks};
use crate::screen::say;

pub fn llc(arguments: &Llc) -> Result<ExitCode> {
    arguments.check_files()?;
    if arguments.program.is_empty() {
        let mix = mix(arguments, traces(arguments))?;
        let settings = arguments.settings(mix.cores())?;
        let output = Output::open(arguments)?;
        let pass = simulate(arguments, settings, mix)?;
        output.show(arguments, &pass, &input(arguments))?;
        return Ok(ExitCode::SUCCESS);
    }
    let settings = arguments.settings(arguments.cores().unwrap_or(1))?;
    let output = Output::open(arguments)?;
    let (pass, recorded) = record(arguments, &settings)?;
    for remark in remarks(&recorded) {
        say(&format!("terrace: {remark}\n"));
    }
    output.show(arguments, &pass, &input(arguments))?;
    end_like(exit(&recorded))
}

/// Programs on as many cores as are asked for.
fn mix<'a>(arguments: &Llc, traces: Vec<(String, Open<'a>)>) -> Result<Mix<'a>> {
    Mix::new(traces, arguments.cores(), arguments.limit)
}

/// The traces, to be read from the beginning as often as that is asked.
fn traces(arguments: &Llc) -> Vec<(String, Open<'_>)> {
    let trace = |path: &'_ PathBuf| -> (String, Open<'_>) {
        let (path, format) = (path.clone(), arguments.format);
        let name = path.display().to_string();
        // All columns: a policy may learn by instructions whether others do or not.
        let open = move || open_in(&path, format, Columns::ALL).map(ahead);
        (name, Box::new(open))
    };
    arguments.traces.iter().map(trace).collect()
}

/// Simulates programs as far as they have been read.
fn simulate(arguments: &Llc, mut settings: Settings, mix: Mix) -> Result<(Settings, Pass)> {
    let cores = mix.cores();
    let mut requests = sink(arguments.requests.as_deref(), &settings, cores)?;
    let mut traffic = sink(arguments.traffic.as_deref(), &settings, cores)?;
    settings.warmup = arguments.warmup.warmup(mix.accesses())?;
    let progress = Progress::new(mix.accesses(), arguments.quiet).doing("simulating");
    let sinks = Sinks {
        requests: requests.as_deref_mut().map(|sink| sink as &mut dyn Sink),
        traffic: traffic.as_deref_mut().map(|sink| sink as &mut dyn Sink),
    };
    let pass = run(&settings, mix, sinks, |accesses| progress.at(accesses))?;
    drop(progress);
    for sink in [requests, traffic].into_iter().flatten() {
        sink.finish()?;
    }
    Ok((settings, pass))
}

/// A trace that is written, marked as what it is.
fn sink(path: Option<&Path>, settings: &Settings, cores: usize) -> Result<Option<Box<dyn Sink>>> {
    let about = [
        (MARK.to_owned(), settings.line.to_string()),
        (CORES.to_owned(), cores.to_string()),
        (
            "terrace.llc.hierarchy".to_owned(),
            terrace_report::llc::hierarchy(settings),
        ),
    ];
    path.map(|path| terrace_trace::create(path, &about))
        .transpose()
}

/// Runs the program and simulates what it does meanwhile.
fn record(arguments: &Llc, settings: &Settings) -> Result<((Settings, Pass), Recorded)> {
    let request = Request {
        program: program::find(&arguments.program)?,
        settings: Recorder {
            level: Level::Accesses,
            filtered: false,
        },
        limit: arguments.limit,
        arguments: arguments.program.clone(),
    };
    arguments.warmup.warmup(None)?;
    let tools = Tools::find()?;
    let meta = Meta {
        format: "recording".to_owned(),
        counts_instructions: true,
        ..Meta::default()
    };
    let (mut sink, source) = channel(meta);
    // Ctrl-C is for the program; what it did until then is simulated all the same.
    let signals = Signals::receive()?;
    let mut recording = Recording::start(&tools, &request)?;
    signals.aim(Target::Program(recording.pid()));
    signals.pass_on();
    thread::scope(|scope| {
        let simulation = scope.spawn(|| {
            let mix = mix(arguments, vec![(name(arguments), once(source))])?;
            simulate(arguments, settings.clone(), mix)
        });
        let recorded = recording.drain(&mut *sink, &mut |_| ());
        signals.aim(Target::Nobody);
        let finished = sink.finish();
        let pass = simulation
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        // That the recording could not go on is only what follows from what the simulation says.
        let pass = pass?;
        finished?;
        Ok((pass, recorded?))
    })
}

/// A program as it was started.
fn name(arguments: &Llc) -> String {
    let words = arguments.program.iter().map(|word| word.to_string_lossy());
    words.collect::<Vec<_>>().join(" ")
}

/// A trace that can be read only once.
fn once(source: Box<dyn Source>) -> Open<'static> {
    let mut source = Some(source);
    Box::new(move || {
        let source = source.take();
        source.ok_or_else(|| Error::failure("a program cannot be read twice"))
    })
}

fn input(arguments: &Llc) -> Input {
    match &arguments.program[..] {
        [] => Input::Traces(
            arguments
                .traces
                .iter()
                .map(|path| path.display().to_string())
                .collect(),
        ),
        words => Input::Program(
            words
                .iter()
                .map(|word| word.to_string_lossy().into_owned())
                .collect(),
        ),
    }
}

/// Where results go.
enum Output {
    Table,
    /// To this file, and as a table.
    File(File, PathBuf),
    /// As JSON to standard output.
    Json,
}

impl Output {
    /// Opened first: a long simulation shall not end in a path that cannot be written.
    fn open(arguments: &Llc) -> Result<Self> {
        match &arguments.json {
            None => Ok(Self::Table),
            Some(path) if path.as_os_str() == "-" => Ok(Self::Json),
            Some(path) => match File::create(path) {
                Ok(file) => Ok(Self::File(file, path.clone())),
                Err(error) => Err(Error::usage(format!(
                    "cannot write {}: {error}; name another file with --json",
                    path.display()
                ))),
            },
        }
    }

    fn show(
        self,
        arguments: &Llc,
        (settings, pass): &(Settings, Pass),
        input: &Input,
    ) -> Result<()> {
        let json = || Document::of(settings, input, pass).to_json();
        match self {
            Self::Json => {
                write(&json());
                return Ok(());
            }
            Self::File(mut file, path) => {
                let written = file.write_all(json().as_bytes());
                written.map_err(|error| {
                    Error::failure(format!("cannot write {}: {error}", path.display()))
                })?;
            }
            Self::Table => (),
        }
        match input {
            Input::Traces(_) => write(&text(settings, pass)),
            // Standard output is the program's.
            Input::Program(_) if !arguments.quiet => say(&text(settings, pass)),
            Input::Program(_) => (),
        }
        Ok(())
    }
}

/// Writes to standard output. Whoever reads only the first lines has read what they wanted.
fn write(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}
