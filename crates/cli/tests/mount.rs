//! `terrace mount` as it is called: figures, every way out, what cannot be mounted, and its
//! recordings.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

mod common;
#[path = "mount/control.rs"]
mod control;
#[path = "mount/ends.rs"]
mod ends;
#[path = "mount/flash.rs"]
mod flash;
#[path = "mount/killed.rs"]
mod killed;
#[path = "mount/recordings.rs"]
mod recordings;
#[path = "mount/refusals.rs"]
mod refusals;
use common::schema::checked;
use common::{text, wait_for};

const MIB: usize = 1 << 20;

/// Longer than the time for which pages of a file that has changed are refused.
const SETTLED: Duration = Duration::from_millis(40);

/// A directory, and one to mount it on.
struct Place {
    directory: TempDir,
}

impl Place {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        for name in ["source", "mounted", "state"] {
            fs::create_dir(directory.path().join(name)).unwrap();
        }
        Self { directory }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    /// Makes a file of the source, old enough for its pages to be admitted.
    fn file(&self, name: &str, bytes: usize) -> Vec<u8> {
        let contents: Vec<u8> = (0..bytes).map(|at| (at / 7 + at / 4096) as u8).collect();
        fs::write(self.path("source").join(name), &contents).unwrap();
        std::thread::sleep(SETTLED);
        contents
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_terrace"));
        let state = self.path("state");
        command.args(arguments).env("TERRACE_STATE_DIR", state);
        command
    }

    fn terrace(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Mounts with a flash file of 64 MiB unless the options name a flash.
    fn mount(&self, options: &[&str]) -> Mounted<'_> {
        let mounted = self.mount_over(options);
        assert!(self.is_mounted());
        mounted
    }

    /// Mounts where a killed mount may still be, and waits until it is served.
    fn mount_over(&self, options: &[&str]) -> Mounted<'_> {
        let (json, flash) = (self.text("figures.json"), self.text("flash"));
        let mut words = vec!["mount", "--json", &json];
        if !options.contains(&"--flash") {
            words.extend(["--flash", &flash, "--size", "64M"]);
        }
        let (source, mounted) = (self.text("source"), self.text("mounted"));
        words.extend(options);
        words.extend([&*source, &*mounted]);
        let piped = |command: &mut Command| {
            command
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
        };
        let mut child = piped(&mut self.command(&words)).unwrap();
        wait_for("the mount", || {
            assert!(child.try_wait().unwrap().is_none(), "{}", said(&mut child));
            let mounted = self.text("mounted");
            self.is_mounted()
                && self
                    .terrace(&["mount", "--status", &mounted])
                    .status
                    .success()
        });
        Mounted { place: self, child }
    }

    fn journals(&self) -> usize {
        let left = fs::read_dir(self.path("state")).unwrap().flatten();
        let journals = left.filter(|entry| entry.path().extension().is_some_and(|e| e == "json"));
        journals.count()
    }

    fn is_mounted(&self) -> bool {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
        mounts.contains(&format!(" {} ", self.text("mounted")))
    }

    /// Returns the sentence with which a mount is refused, as wrong usage or as a failure.
    fn refused(&self, options: &[&str], code: i32) -> String {
        let output = self.terrace(&[&["mount"], options].concat());
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{options:?}: {error}");
        assert_eq!(error.trim().lines().count(), 1, "{error}");
        error
    }

    /// Checks that nothing was left behind.
    fn assert_as_found(&self) {
        assert!(!self.is_mounted());
        assert_eq!(self.journals(), 0, "a journal was left");
    }
}

/// A mount, which is ended when it is dropped.
struct Mounted<'a> {
    place: &'a Place,
    child: Child,
}

impl Mounted<'_> {
    /// The process that puts it back if it is killed.
    fn guardian(&self) -> Pid {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap();
        let children = tasks
            .flatten()
            .flat_map(|task| fs::read_to_string(task.path().join("children")));
        let children: String = children.collect();
        let guardian = children.split_whitespace().next().expect("a guardian");
        Pid::from_raw(guardian.parse().unwrap()).unwrap()
    }

    fn read(&self, name: &str) -> Vec<u8> {
        let path = self.place.path("mounted").join(name);
        let file = File::open(&path).unwrap();
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
        fs::read(path).unwrap()
    }

    fn figures(&self) -> Value {
        let mounted = self.place.text("mounted");
        let shown = self
            .place
            .terrace(&["mount", "--status", &mounted, "--json=-"]);
        assert!(shown.status.success(), "{}", text(&shown));
        checked(serde_json::from_slice(&shown.stdout).unwrap())
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, signal).unwrap();
    }

    /// Ends it, and returns its figures and what it said.
    fn end(mut self, signal: Signal) -> (Value, String) {
        self.signal(signal);
        let status = self.child.wait().unwrap();
        let said = said(&mut self.child);
        assert!(status.success(), "{said}");
        let json = fs::read(self.place.path("figures.json")).unwrap();
        (checked(serde_json::from_slice(&json).unwrap()), said)
    }
}

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        if self.child.try_wait().unwrap().is_none() {
            self.signal(Signal::TERM);
            self.child.wait().unwrap();
        }
    }
}

fn said(child: &mut Child) -> String {
    let mut said = String::new();
    for from in [
        child
            .stdout
            .take()
            .map(|from| Box::new(from) as Box<dyn std::io::Read>),
        child
            .stderr
            .take()
            .map(|from| Box::new(from) as Box<dyn std::io::Read>),
    ] {
        from.unwrap().read_to_string(&mut said).unwrap();
    }
    said
}

fn figure(document: &Value, path: &str) -> u64 {
    document
        .pointer(&format!("/figures/{path}"))
        .and_then(Value::as_u64)
        .unwrap_or_else(|| panic!("{path}: {document}"))
}

#[test]
#[ignore = "needs /dev/fuse and root; run by make test-root"]
fn figures_are_told_while_it_runs_and_at_the_end_by_either_signal() {
    for signal in [Signal::INT, Signal::TERM] {
        let place = Place::new();
        let contents = place.file("a", MIB);
        let prometheus = place.text("figures.prom");
        let mount = place.mount(&["--admission", "all", "--prometheus", &prometheus]);
        for _ in 0..3 {
            assert!(mount.read("a") == contents);
        }
        wait_for("pages on flash", || {
            figure(&mount.figures(), "flash/admitted") == 256
        });
        assert_eq!(mount.figures()["schema"], "terrace.mount/1");
        wait_for("hits", || {
            assert!(mount.read("a") == contents);
            figure(&mount.figures(), "flash/hits") > 0
        });
        let table = place.terrace(&["mount", "--status", &place.text("mounted")]);
        let table = String::from_utf8_lossy(&table.stdout);
        assert!(table.contains("pages from flash"), "{table}");
        let line = format!(
            "terrace_mount_flash_admitted_total{{mountpoint=\"{}\"}} 256",
            place.text("mounted")
        );
        wait_for("the file for Prometheus", || {
            let written = fs::read_to_string(&prometheus).unwrap_or_default();
            written.lines().any(|written| written == line)
        });
        check_exposition(&fs::read_to_string(&prometheus).unwrap());
        let (figures, said) = mount.end(signal);
        assert!(!Path::new(&prometheus).exists());
        assert_eq!(figures["settings"]["mode"], "victim");
        assert_eq!(figure(&figures, "flash/admitted"), 256);
        assert!(said.contains("is mounted on"), "{said}");
        place.assert_as_found();
        let gone = place.refused(&["--status", &place.text("mounted")], 2);
        assert!(gone.contains("has mounted nothing on"), "{gone}");
    }
}

/// Checks that each metric has help, a kind that its name tells, and one value in base units.
fn check_exposition(text: &str) {
    let lines: Vec<_> = text.lines().collect();
    assert!(lines.len() >= 3 * 15, "{text}");
    for metric in lines.chunks(3) {
        let name = metric[2].split('{').next().unwrap();
        assert!(
            metric[0].starts_with(&format!("# HELP {name} ")),
            "{metric:?}"
        );
        let kind = match name.ends_with("_total") {
            true => "counter",
            false => "gauge",
        };
        assert_eq!(metric[1], format!("# TYPE {name} {kind}"));
        assert!(
            !["_ns", "_s", "_years", "process"]
                .iter()
                .any(|unit| name.ends_with(unit))
        );
    }
}

#[test]
#[ignore = "needs /dev/fuse and root; run by make test-root"]
fn files_of_the_mount_itself_have_the_callers_umask() {
    for (umask, mode) in [("000", 0o644), ("077", 0o600)] {
        let place = Place::new();
        let (prometheus, json) = (place.text("figures.prom"), place.text("figures.json"));
        let (source, mounted) = (place.text("source"), place.text("mounted"));
        let terrace = env!("CARGO_BIN_EXE_terrace");
        let mut child = Command::new("sh")
            .args(["-c", "umask $0; exec \"$@\"", umask, terrace, "mount", "-q"])
            .args([
                "--prometheus",
                &prometheus,
                "--json",
                &json,
                &source,
                &mounted,
            ])
            .env("TERRACE_STATE_DIR", place.path("state"))
            .spawn()
            .unwrap();
        let mode_of = |path: &str| fs::metadata(path).unwrap().mode() & 0o777;
        wait_for("the file for Prometheus", || {
            Path::new(&prometheus).exists()
        });
        assert_eq!(mode_of(&prometheus), mode);
        // Files of callers have their masks, and not this one.
        let made = "umask 002; touch \"$0\"/file";
        assert!(
            Command::new("sh")
                .args(["-c", made, &mounted])
                .status()
                .unwrap()
                .success()
        );
        assert_eq!(mode_of(&format!("{source}/file")), 0o664);
        kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
        assert!(child.wait().unwrap().success());
        assert_eq!(mode_of(&json), mode);
        place.assert_as_found();
    }
}

/// Returns the bytes that a process has read by system calls.
fn read_by(process: u32) -> usize {
    let counts = fs::read_to_string(format!("/proc/{process}/io")).unwrap();
    let read = counts.lines().find_map(|line| line.strip_prefix("rchar: "));
    read.unwrap().parse().unwrap()
}

#[test]
#[ignore = "needs /dev/fuse, Linux 6.9 and root; run by make test-root"]
fn the_kernel_reads_and_writes_files_of_a_mount_without_levels() {
    let place = Place::new();
    let contents = place.file("a", 8 * MIB);
    let (source, mounted) = (place.text("source"), place.text("mounted"));
    let mut child = place
        .command(&["mount", "-q", &source, &mounted])
        .spawn()
        .unwrap();
    wait_for("the mount", || place.is_mounted());
    let before = read_by(child.id());
    assert!(fs::read(place.path("mounted").join("a")).unwrap() == contents);
    fs::write(place.path("mounted").join("b"), &contents).unwrap();
    assert!(fs::read(place.path("source").join("b")).unwrap() == contents);
    let read = read_by(child.id()) - before;
    assert!(read < MIB, "the mount has read {read} bytes");
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert!(child.wait().unwrap().success());
    place.assert_as_found();
}

#[test]
#[ignore = "needs /dev/fuse and root; run by make test-root"]
fn lines_of_fstab_mount_by_the_helper() {
    let place = Place::new();
    let helper = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/mount.terrace");
    let terrace = Path::new(env!("CARGO_BIN_EXE_terrace")).parent().unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let (source, mounted) = (place.text("source"), place.text("mounted"));
    let mount = |options: &str| {
        let mut command = Command::new(&helper);
        command.args([&source, &mounted, "-o", options]);
        command.env("PATH", format!("{}:{path}", terrace.display()));
        command
            .env("TERRACE_STATE_DIR", place.path("state"))
            .output()
            .unwrap()
    };
    for (options, code, said) in [
        ("ro", 1, "take ro out"),
        ("quota", 1, "the option quota"),
        ("nonsense=1", 32, "nonsense"),
        ("size=1G", 32, "--size is that of"),
    ] {
        let refused = mount(options);
        assert_eq!(refused.status.code(), Some(code), "{options}: {refused:?}");
        assert!(
            String::from_utf8_lossy(&refused.stderr).contains(said),
            "{refused:?}"
        );
    }
    let flash = format!(
        "rw,_netdev,flash={},size=16M,attributes=1s",
        place.text("flash")
    );
    let done = mount(&flash);
    assert!(done.status.success(), "{done:?}");
    fs::write(place.path("mounted").join("a"), b"a").unwrap();
    assert_eq!(mount(&flash).status.code(), Some(32));
    let unmounted = Command::new("umount").arg(&mounted).status();
    assert!(unmounted.unwrap().success());
    assert!(fs::exists(place.path("source").join("a")).unwrap());
    wait_for("the end of the mount", || {
        let left = fs::read_dir(place.path("state")).unwrap().flatten();
        !left
            .map(|entry| entry.path())
            .any(|path| path.extension().is_some_and(|e| e == "json"))
    });
    place.assert_as_found();
}

/// What the kernel keeps of small files is never mixed with what it reads itself.
#[test]
#[ignore = "needs /dev/fuse, Linux 6.9 and root; run by make test-root"]
fn a_small_file_of_a_mount_without_levels_is_kept_and_written_by_whoever_has_it_open() {
    let place = Place::new();
    place.file("a", 10_000);
    let (source, mounted) = (place.text("source"), place.text("mounted"));
    let child = place
        .command(&["mount", "-q", "--attributes", "1h", &source, &mounted])
        .spawn()
        .unwrap();
    let mut mount = Mounted {
        place: &place,
        child,
    };
    wait_for("the mount", || place.is_mounted());
    let path = place.path("mounted").join("a");
    let writer = || File::options().read(true).write(true).open(&path).unwrap();
    let write = |file: &File, text: &[u8; 8]| file.write_all_at(text, 5000).unwrap();
    let reads = |file: &File, text: &[u8; 8]| {
        let mut found = [0; 8];
        file.read_exact_at(&mut found, 5000).unwrap();
        assert_eq!(&found, text);
    };
    let before = read_by(mount.child.id());
    let contents = fs::read(&path).unwrap();
    let once = read_by(mount.child.id()) - before;
    assert!(once >= 10_000, "the kernel has read it itself");
    assert!(fs::read(&path).unwrap() == contents);
    let twice = read_by(mount.child.id()) - before;
    assert!(twice < 15_000, "it was not kept: {twice}");
    // A reader first, whose pages the kernel has, and a writer first, which it serves itself.
    let reader = File::open(&path).unwrap();
    reader.read_exact_at(&mut [0; 8], 5000).unwrap();
    let beside = writer();
    write(&beside, b"reader 1");
    reads(&reader, b"reader 1");
    reads(&beside, b"reader 1");
    drop((reader, beside));
    let first = writer();
    write(&first, b"writer 1");
    let beside = File::open(&path).unwrap();
    reads(&beside, b"writer 1");
    write(&first, b"writer 2");
    reads(&beside, b"writer 2");
    drop((first, beside));
    reads(&File::open(&path).unwrap(), b"writer 2");
    let below = File::options()
        .write(true)
        .open(place.path("source").join("a"));
    write(&below.unwrap(), b"behind 1");
    reads(&File::open(&path).unwrap(), b"behind 1");
    mount.signal(Signal::TERM);
    assert!(mount.child.wait().unwrap().success());
    place.assert_as_found();
}

/// Writers of every kind change files, on the source, through the mount, and both at once; the
/// mount is killed in between.
#[test]
#[ignore = "needs /dev/fuse, loop devices and root; run by make test-root"]
fn writers_of_every_kind_are_seen() {
    let place = Place::new();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/soak-mount.py");
    let output = Command::new("python3")
        .arg(script)
        .args(["--only", "writers", "--seconds", "60"])
        .arg(place.directory.path())
        .env("TERRACE", env!("CARGO_BIN_EXE_terrace"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(said.contains("writers ext4 exact"), "{said}");
}
