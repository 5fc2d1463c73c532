//! The tier of a machine without swap (`terraced --tier`): made, and removed on every way out,
//! judged by `/proc/swaps`.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

const LONG: Duration = Duration::from_secs(60);

/// A machine has one list of swap areas.
static SWAPS: Mutex<()> = Mutex::new(());

/// Directories for a tier.
struct Place {
    directory: tempfile::TempDir,
    _turn: MutexGuard<'static, ()>,
}

impl Place {
    /// A place whose configuration names a tier in a directory of it; `None` on a machine that has
    /// swap, where none is made.
    fn new() -> Option<Self> {
        let turn = SWAPS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(area) = swaps().first() {
            eprintln!("LEFT OUT: this machine has swap, {area}");
            return None;
        }
        // Not in memory: a swap file needs a disk.
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        for name in ["etc", "state", "tier"] {
            fs::create_dir(directory.path().join(name)).unwrap();
        }
        let place = Self {
            directory,
            _turn: turn,
        };
        let tier = place.path("tier");
        let text = format!("[tier]\nmemory = \"{}\"\nsize = \"64M\"\n", tier.display());
        fs::write(place.path("etc/a.toml"), text).unwrap();
        Some(place)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_terraced"));
        command
            .arg("--tier")
            .env("CONFIGURATION_DIRECTORY", self.path("etc"))
            .env("TERRACE_STATE_DIR", self.path("state"))
            .stdin(Stdio::null())
            .stderr(Stdio::piped());
        command
    }

    /// Starts it, and waits until its area is on.
    fn start(&self) -> Child {
        let child = self.command().spawn().unwrap();
        wait("no area is on", || swaps().len() == 1);
        let area = swaps()[0].clone();
        assert!(
            area.starts_with(&*self.path("tier").to_string_lossy()),
            "{area}"
        );
        child
    }

    fn files(&self) -> usize {
        fs::read_dir(self.path("tier")).unwrap().count()
    }
}

/// Returns the areas of this machine.
fn swaps() -> Vec<String> {
    let text = fs::read_to_string("/proc/swaps").unwrap();
    let lines = text.lines().skip(1);
    lines
        .filter_map(|line| Some(line.split(' ').next()?.to_owned()))
        .collect()
}

fn wait(what: &str, mut until: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !until() {
        assert!(begin.elapsed() < LONG, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn signal(child: &Child, signal: i32) {
    // SAFETY: kill takes two integers; the child was not waited for yet.
    assert_eq!(unsafe { libc::kill(child.id() as i32, signal) }, 0);
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
#[ignore = "needs root, and a machine without swap; run by make test-root"]
fn a_tier_is_there_until_a_signal_comes() {
    let Some(place) = Place::new() else { return };
    for number in [libc::SIGTERM, libc::SIGINT] {
        let child = place.start();
        signal(&child, number);
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", said(&output));
        assert!(
            said(&output).contains("the tier is removed"),
            "{}",
            said(&output)
        );
        assert_eq!((swaps().len(), place.files()), (0, 0));
    }
}

#[test]
#[ignore = "needs root, and a machine without swap; run by make test-root"]
fn of_one_that_is_killed_nothing_is_left() {
    let Some(place) = Place::new() else { return };
    let mut child = place.start();
    child.kill().unwrap();
    child.wait().unwrap();
    wait("its area stays on", || {
        swaps().is_empty() && place.files() == 0
    });
    // And it can be made again.
    let child = place.start();
    signal(&child, libc::SIGTERM);
    assert!(child.wait_with_output().unwrap().status.success());
    assert_eq!(swaps().len(), 0);
}

#[test]
#[ignore = "needs root, and a machine without swap; run by make test-root"]
fn swap_that_is_there_is_left_alone() {
    let Some(place) = Place::new() else { return };
    let child = place.start();
    let before = swaps();
    let output = place.command().output().unwrap();
    assert!(output.status.success());
    assert!(
        said(&output).contains("the machine has swap"),
        "{}",
        said(&output)
    );
    assert_eq!(swaps(), before);
    signal(&child, libc::SIGTERM);
    child.wait_with_output().unwrap();
    assert_eq!(swaps().len(), 0);
}

#[test]
fn a_machine_s_own_swap_is_not_made() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(
        directory.path().join("a.toml"),
        "[tier]\nmemory = \"existing\"\n",
    )
    .unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_terraced"));
    command
        .arg("--tier")
        .env("CONFIGURATION_DIRECTORY", directory.path());
    let output = command.output().unwrap();
    assert!(output.status.success());
    assert!(
        said(&output).contains("nothing is made"),
        "{}",
        said(&output)
    );
}
