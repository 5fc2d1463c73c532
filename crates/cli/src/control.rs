//! `terrace mount --control`.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use terrace_base::{Bytes, Error, Result};
use terrace_filecache::mount::control::{self, Command, Held, WINDOW};
use terrace_filecache::mount::status;
use terrace_report::control::{ControlDocument, Done, limits, list, passed_over, warmed};
use terrace_results::number::count;
use terrace_results::text::Text;

use crate::args::Control;
use crate::results::{Outputs, People};
use crate::screen::{Display, Place};

/// How often is looked whether pinned files were found.
const LOOK: Duration = Duration::from_millis(20);

/// Sends a command to a mount, and shows what came of it.
pub fn control(words: &[String], outputs: Outputs, quiet: bool) -> Result<ExitCode> {
    let mountpoint = Path::new(&words[0]);
    // Says it in a sentence if there is no mount.
    status(mountpoint)?;
    let root = mountpoint
        .canonicalize()
        .map_err(|e| Error::usage(format!("cannot use {}: {e}", mountpoint.display())))?;
    let told = Control::parse(&root, &words[1], words.get(2).map(String::as_str))?;
    let mount = Mount { root, quiet };
    mount.held()?;
    let (done, first_error) = mount.obey(&told)?;
    let held = mount.held()?;
    let text = text(&told, &done, &held);
    let people = match quiet {
        true => People::Nobody,
        false => People::Standard,
    };
    let document = ControlDocument::of(words[1..].join(" "), done, held);
    outputs.say(&document, &text, people)?;
    match first_error {
        None => Ok(ExitCode::SUCCESS),
        Some(error) => Err(Error::failure(format!(
            "{} files could not be read; the first is {error}",
            count(document.done.unreadable)
        ))),
    }
}

fn text(told: &Control, done: &Done, held: &Held) -> Text {
    match told {
        Control::List => list(held),
        Control::Warm(_) => warmed(done, held),
        Control::Flush(_) => {
            let said = format!("The pages of {} files are forgotten.\n", count(done.files));
            Text::default().prose(said).text(passed_over(done))
        }
        Control::Sent(Command::Pin(_) | Command::Unpin(_)) => limits(held),
        Control::Sent(_) => Text::default(),
    }
}

/// A mount that is told something.
struct Mount {
    root: PathBuf,
    quiet: bool,
}

/// What a walk has met that could not be read first.
type FirstError = Option<String>;

impl Mount {
    fn held(&self) -> Result<Held> {
        control::held(&self.root).map_err(|error| self.refusal(&error))
    }

    fn obey(&self, told: &Control) -> Result<(Done, FirstError)> {
        match told {
            Control::List => {}
            Control::Warm(path) => return self.walk(path, warm),
            Control::Flush(path) => return self.walk(path, forget),
            Control::Sent(command) => self.send(command)?,
        }
        Ok((Done::default(), None))
    }

    fn send(&self, command: &Command) -> Result<()> {
        if let Command::Pin(path) = command {
            self.there(path)?;
        }
        control::send(&self.root, command).map_err(|error| self.refused(command, &error))?;
        if matches!(command, Command::Pin(_) | Command::Unpin(_)) {
            let mut display = Display::new(Place::Line, self.quiet);
            while self.held()?.is_looking {
                display.show(|| "looking for pinned files".to_owned());
                std::thread::sleep(LOOK);
            }
            display.clear();
        }
        Ok(())
    }

    /// Returns where a path below the root is, which has to be there.
    fn there(&self, path: &str) -> Result<PathBuf> {
        let there = self.root.join(path);
        match there.symlink_metadata() {
            Ok(_) => Ok(there),
            Err(e) => Err(Error::usage(format!("cannot use {}: {e}", there.display()))),
        }
    }

    /// Calls `act` with each file at a path and below it. Links are not followed.
    fn walk(
        &self,
        path: &str,
        act: impl Fn(&Path, &mut Done, &mut dyn FnMut(&Done)) -> io::Result<()>,
    ) -> Result<(Done, FirstError)> {
        let mut left = vec![self.there(path)?];
        let (mut done, mut first_error) = (Done::default(), None);
        let mut display = Display::new(Place::Line, self.quiet);
        let mut show = |done: &Done| display.show(|| line(done));
        while let Some(path) = left.pop() {
            let result = match path.symlink_metadata() {
                Ok(about) if about.is_file() => act(&path, &mut done, &mut show),
                Ok(about) if about.is_dir() => entries(&path).map(|entries| left.extend(entries)),
                Ok(_) => {
                    done.passed_over += 1;
                    Ok(())
                }
                Err(e) => Err(e),
            };
            if let Err(e) = result {
                if matches!(
                    Errno::from_io_error(&e),
                    Some(Errno::PERM | Errno::OPNOTSUPP)
                ) {
                    return Err(self.refusal(&e));
                }
                done.unreadable += 1;
                first_error.get_or_insert_with(|| format!("{}: {e}", path.display()));
            }
            show(&done);
        }
        display.clear();
        Ok((done, first_error))
    }

    /// Why a mount takes no command at all.
    fn refusal(&self, error: &io::Error) -> Error {
        let root = self.root.display();
        match Errno::from_io_error(error) {
            Some(Errno::PERM | Errno::ACCESS) => Error::usage(format!(
                "only root and the user who has mounted {root} may control it; run this as one of them"
            )),
            Some(Errno::OPNOTSUPP) => Error::usage(format!(
                "{root} is mounted without a flash level, and there is nothing to control; mount it with --flash"
            )),
            _ => Error::failure(format!("cannot control {root}: {error}")),
        }
    }

    /// Why a mount does not take a command.
    fn refused(&self, command: &Command, error: &io::Error) -> Error {
        let root = self.root.display();
        let says = match (command, Errno::from_io_error(error)) {
            (Command::Size(_), Some(Errno::OPNOTSUPP)) => {
                "the flash level is a block device or emulated, whose size stays; mount again with another --size"
                    .to_owned()
            }
            (Command::Size(bytes), Some(Errno::INVAL)) => {
                format!("{} is too small or too large for this flash level; name another size", Bytes(*bytes))
            }
            (Command::Size(bytes), Some(Errno::NOSPC | Errno::FBIG)) => format!(
                "the file system of the flash file has no room for {}; name a smaller size",
                Bytes(*bytes)
            ),
            (Command::Exclude(pattern), Some(Errno::INVAL)) => {
                format!("`{pattern}` is no pattern of paths; write one as *.iso or cache/**")
            }
            (Command::Unpin(path), Some(Errno::NODATA)) => format!(
                "{path} is not pinned itself; `terrace mount --control {root} list` lists what is"
            ),
            (Command::Include(pattern), Some(Errno::NODATA)) => format!(
                "`{pattern}` is not excluded; `terrace mount --control {root} list` lists what is"
            ),
            (Command::Largest(_), Some(Errno::NODATA)) => {
                "no file is excluded for its size".to_owned()
            }
            (_, Some(Errno::TOOBIG)) => {
                "the rules would take more room than the flash level has for them (3 KB); take some back first"
                    .to_owned()
            }
            _ => return self.refusal(error),
        };
        Error::usage(says)
    }
}

fn entries(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = directory.read_dir()?;
    entries.map(|entry| Ok(entry?.path())).collect()
}

fn line(done: &Done) -> String {
    format!(
        "{} files · {} · admitted {} · not {}",
        count(done.files),
        Bytes(done.bytes),
        count(done.warmed.admitted),
        count(done.warmed.pages - done.warmed.admitted - done.warmed.had)
    )
}

/// Opens a file without waiting for whoever else has it open.
fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?.into())
}

fn warm(path: &Path, done: &mut Done, show: &mut dyn FnMut(&Done)) -> io::Result<()> {
    let file = open(path)?;
    let size = file.metadata()?.len();
    let mut offset = 0;
    while offset < size {
        done.warmed.add(control::warm(&file, offset)?);
        done.bytes += WINDOW.min(size - offset);
        offset += WINDOW;
        show(done);
    }
    done.files += 1;
    Ok(())
}

fn forget(path: &Path, done: &mut Done, _: &mut dyn FnMut(&Done)) -> io::Result<()> {
    done.files += u64::from(control::forget(&open(path)?)?);
    Ok(())
}
