//! `terrace mount`.

use std::path::Path;
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use terrace_base::mounts::unmount_dead;
use terrace_base::{Context, Error, Output, Result, Signals};
use terrace_filecache::mount::{End, Logged, Mount, PART, Settings, status};
use terrace_live::journal::{Journal, state_directory};
use terrace_live::machine::mount::Mount as Mounted;
use terrace_report::mount::{MountDocument, line, prometheus, text};
use terrace_trace::files::{self, Files};
use terrace_trace::lost::Loss;
use terrace_trace::record::LEVEL;
use terrace_trace::{Access, Block, Sink};

use crate::args;
use crate::control::control;
use crate::lost::say_lost;
use crate::results::{Outputs, People};
use crate::screen::{Display, Place, say};

/// How often is looked for the end.
const LOOK: Duration = Duration::from_millis(50);
/// How often the figures are written for Prometheus.
const WRITE: Duration = Duration::from_secs(1);

pub fn mount(arguments: &args::Mount) -> Result<ExitCode> {
    let outputs = Outputs::open(
        &arguments.results,
        &arguments.inputs(),
        &arguments.outputs(),
    )?;
    if let Some(mountpoint) = &arguments.status {
        let figures = status(mountpoint)?;
        let text = text(&figures);
        return outputs.show(&MountDocument::of(None, figures), &text);
    }
    if let Some(words) = &arguments.control {
        return control(words, outputs, arguments.quiet);
    }
    let settings = arguments.settings()?;
    let signals = Signals::receive()?;
    // Undone when this ends, and by its guardian if it is killed.
    let mut journal = Journal::begin(&state_directory())?;
    take_over(&settings.mountpoint, arguments.quiet)?;
    settings.check()?;
    journal.note(Mounted(path(&settings.mountpoint)?))?;
    let recording = arguments.record.as_deref().map(Recording::begin);
    let (to, recording) = recording.transpose()?.unzip();
    let mount = Mount::logged(&settings, to)?;
    if !arguments.quiet {
        say(&told(&settings));
    }
    if mount.has_lost_rules() {
        say(
            "terrace: what was pinned and excluded does not check and is gone; state it anew with --control\n",
        );
    }
    let served = serve(&mount, &signals, arguments);
    let ended = mount.end();
    // Figures of a mount that is gone would be taken for those of one that is there.
    let removed = arguments.prometheus.as_deref().map_or(Ok(()), remove);
    served?;
    let (figures, end) = ended?;
    removed?;
    drop(journal);
    let lost = recording.map_or(Ok(Vec::new()), Recording::end)?;
    if let Some(file) = arguments.record.as_deref().filter(|_| !arguments.quiet) {
        say_lost(file, &lost);
    }
    if end == End::InUse {
        say(&format!(
            "terrace: programs still used {}, which is unmounted; their open files give errors from now on\n",
            settings.mountpoint.display()
        ));
    }
    let text = text(&figures);
    let people = match arguments.quiet {
        true => People::Nobody,
        false => People::Standard,
    };
    outputs.say(&MountDocument::of(Some(&settings), figures), &text, people)?;
    Ok(ExitCode::SUCCESS)
}

/// Requests that may wait to be written.
const WAITING: usize = 1 << 14;

/// The trace of a mount, written by a thread of its own.
struct Recording(JoinHandle<Result<Vec<Loss>>>);

impl Recording {
    /// Begins a trace; the sender takes what is to be written, until it is dropped.
    fn begin(file: &Path) -> Result<(SyncSender<Logged>, Self)> {
        let files = Files {
            first: 0,
            room: PART,
        };
        let about = [
            (LEVEL, "requests for files".to_owned()),
            ("recorded.clock", "microseconds, as instructions".to_owned()),
            (files::KEY, files.to_string()),
            (
                "recorded.by",
                format!("terrace {}", env!("CARGO_PKG_VERSION")),
            ),
        ];
        let about = about.map(|(key, value)| (key.to_owned(), value));
        let sink = terrace_trace::create(file, &about)?;
        let (to, from) = sync_channel(WAITING);
        let written = std::thread::spawn(move || write(sink, &from));
        Ok((to, Self(written)))
    }

    /// Ends it, and returns what its format has no room for.
    fn end(self) -> Result<Vec<Loss>> {
        let died = |_| Err(Error::failure("the recording has failed"));
        self.0.join().unwrap_or_else(died)
    }
}

/// Writes what comes, in blocks; returns what the format has no room for.
fn write(mut sink: Box<dyn Sink>, from: &Receiver<Logged>) -> Result<Vec<Loss>> {
    let mut block = Block::default();
    for logged in from {
        block.push(Access {
            instruction: logged.micros,
            address: logged.address,
            size: logged.bytes,
            write: logged.write,
            ..Access::default()
        });
        if block.len() == WAITING {
            sink.write(&block)?;
            block.clear();
        }
    }
    sink.write(&block)?;
    let lost = sink.lost();
    sink.finish()?;
    Ok(lost)
}

/// Shows figures until a signal asks for the end, or the mountpoint is unmounted.
fn serve(mount: &Mount, signals: &Signals, arguments: &args::Mount) -> Result<()> {
    let mut display = Display::new(Place::Line, arguments.quiet);
    let mut written: Option<Instant> = None;
    while signals.asked_to_end().is_none() && !mount.has_ended() {
        display.show(|| line(&mount.figures()));
        let is_due = written.is_none_or(|at| at.elapsed() >= WRITE);
        if let Some(file) = arguments.prometheus.as_deref().filter(|_| is_due) {
            let text = prometheus(&mount.figures(), &mount.mountpoint().display().to_string());
            Output::save(file, text.as_bytes())?;
            written = Some(Instant::now());
        }
        std::thread::sleep(LOOK);
    }
    display.clear();
    Ok(())
}

/// Removes a file that `serve` has written; devices and pipes stay.
fn remove(file: &Path) -> Result<()> {
    if !file.metadata().is_ok_and(|about| about.is_file()) {
        return Ok(());
    }
    let cannot = |e| Error::failure(format!("cannot remove `{}`: {e}", file.display()));
    std::fs::remove_file(file).map_err(cannot)
}

/// Unmounts what killed processes have left on the mountpoint.
fn take_over(mountpoint: &Path, quiet: bool) -> Result<()> {
    let cannot = || {
        format!(
            "cannot unmount {}, whose process was killed",
            mountpoint.display()
        )
    };
    while unmount_dead(mountpoint).or_fail(cannot)? {
        if !quiet {
            say(&format!(
                "terrace: the mount on {} was of a process that was killed, and is unmounted\n",
                mountpoint.display()
            ));
        }
    }
    Ok(())
}

fn told(settings: &Settings) -> String {
    let source = settings.source.display();
    let limit = settings.promise().limit();
    let limit = limit.map(|limit| format!("terrace: {source}: {limit}\n"));
    format!(
        "terrace: {source} is mounted on {}\n{}",
        settings.mountpoint.display(),
        limit.unwrap_or_default()
    )
}

fn path(mountpoint: &Path) -> Result<std::path::PathBuf> {
    let cannot = |e| Error::failure(format!("cannot use {}: {e}", mountpoint.display()));
    mountpoint.canonicalize().map_err(cannot)
}
