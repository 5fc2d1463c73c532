//! `terrace mount` as it is called: figures, every way out, what cannot be mounted, and its recordings.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;
use terrace_trace::access::Columns;

mod common;
#[path = "mount/control.rs"]
mod control;
#[path = "mount/killed.rs"]
mod killed;
use common::{Loop, text, wait_for};

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
        serde_json::from_slice(&shown.stdout).unwrap()
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
        (serde_json::from_slice(&json).unwrap(), said)
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

/// Writers of every kind change files, on the source, through the mount, and both at once; the mount is killed in between.
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

#[test]
#[ignore = "needs /dev/fuse and root; run by make test-root"]
fn what_was_unmounted_by_hand_ends_as_well() {
    let place = Place::new();
    let mut mount = place.mount(&[]);
    let unmounted = Command::new("umount").arg(place.path("mounted")).status();
    assert!(unmounted.unwrap().success());
    assert!(mount.child.wait().unwrap().success());
    place.assert_as_found();
}

#[test]
#[ignore = "needs /dev/fuse and root; run by make test-root"]
fn a_killed_mount_is_put_back_or_taken_over_and_its_pages_are_found_again() {
    let place = Place::new();
    // Two segments, of which the first is on flash by then.
    let contents = place.file("a", 8 * MIB);
    let mut mount = place.mount(&["--admission", "all"]);
    assert!(mount.read("a") == contents);
    wait_for("a segment on flash", || {
        figure(&mount.figures(), "flash/segments") > 0
    });
    mount.signal(Signal::KILL);
    mount.child.wait().unwrap();
    wait_for("its guardian to put it back", || !place.is_mounted());
    wait_for("its journal to go", || place.journals() == 0);

    // Where its guardian is killed as well, the next mount takes over.
    let mut mount = place.mount(&["--admission", "all"]);
    kill_process(mount.guardian(), Signal::KILL).unwrap();
    mount.signal(Signal::KILL);
    mount.child.wait().unwrap();
    assert!(place.is_mounted(), "nobody has unmounted it");
    let mount = place.mount_over(&["--admission", "all"]);
    assert!(mount.read("a") == contents);
    let (figures, said) = mount.end(Signal::TERM);
    assert!(figure(&figures, "flash/hits") >= 900, "{figures}");
    assert!(said.contains("is mounted on"), "{said}");
    place.assert_as_found();
}

/// A supervisor starts a mount again at once, beside the guardian of the one that was killed.
#[test]
#[ignore = "needs /dev/fuse and root; run by make test-root"]
fn a_mount_that_is_killed_and_started_again_at_once_serves() {
    let place = Place::new();
    let contents = place.file("a", 4096);
    for _ in 0..5 {
        let mut mount = place.mount_over(&[]);
        assert!(mount.read("a") == contents);
        mount.signal(Signal::KILL);
        mount.child.wait().unwrap();
    }
    let mount = place.mount_over(&[]);
    // Guardians that are late unmount nothing of another.
    wait_for("the guardians to end", || place.journals() == 1);
    assert!(mount.read("a") == contents);
    mount.end(Signal::TERM);
    place.assert_as_found();
}

#[test]
#[ignore = "needs /dev/fuse and root; run by make test-root"]
fn a_mount_in_use_is_unmounted_and_says_so() {
    let place = Place::new();
    place.file("a", 4096);
    let mount = place.mount(&[]);
    let open = File::open(place.path("mounted").join("a")).unwrap();
    let (_, said) = mount.end(Signal::TERM);
    assert!(said.contains("programs still used"), "{said}");
    assert!(open.read_at(&mut [0; 10], 0).is_err());
    place.assert_as_found();
}

#[test]
#[ignore = "needs /dev/fuse and root; run by make test-root"]
fn what_cannot_be_mounted_is_one_sentence() {
    let place = Place::new();
    place.file("a", 4096);
    let (source, mounted, flash) = (
        &*place.text("source"),
        &*place.text("mounted"),
        &*place.text("flash"),
    );
    let inside = &*format!("{source}/flash");
    fs::create_dir(place.path("elsewhere")).unwrap();
    let elsewhere = &*place.text("elsewhere");
    for (options, why) in [
        (&[source, source][..], "are the same directory"),
        (&[source, inside], "No such file"),
        (&[&*format!("{source}/a"), mounted], "is not a directory"),
        (
            &["--flash", inside, "--size", "1M", source, mounted],
            "lies inside",
        ),
        (
            &["--flash", flash, source, mounted],
            "give the size of the flash with --size",
        ),
        (
            &["--flash", flash, "--size", "4K", source, mounted],
            "is too small",
        ),
        (&["--size", "1M", source, mounted], "name one"),
        (
            &["--endurance", "1TBW", source, mounted],
            "name one with --flash",
        ),
        (
            &["--dram", "1M", source, mounted],
            "--dram is for --mode exact",
        ),
    ] {
        let error = place.refused(options, 2);
        assert!(error.contains(why), "{options:?}: {error}");
    }
    let mount = place.mount(&[]);
    let twice = place.refused(&[source, mounted], 2);
    assert!(twice.contains("already"), "{twice}");
    let busy = place.refused(&["--flash", flash, source, elsewhere], 2);
    assert!(busy.contains("in use by another mount"), "{busy}");
    drop(mount);
    place.assert_as_found();
}

#[test]
#[ignore = "needs /dev/fuse and root; run by make test-root"]
fn without_dev_fuse_the_way_out_is_named() {
    let place = Place::new();
    let (source, mounted) = (place.text("source"), place.text("mounted"));
    // A /dev of its own has none.
    let script = "mount -t tmpfs none /dev && exec \"$0\" mount \"$1\" \"$2\"";
    let output = Command::new("unshare")
        .args(["--mount", "sh", "-c", script])
        .args([env!("CARGO_BIN_EXE_terrace"), &source, &mounted])
        .env("TERRACE_STATE_DIR", place.path("state"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    assert!(text(&output).contains("modprobe fuse"), "{}", text(&output));
    place.assert_as_found();
}

#[test]
#[ignore = "needs /dev/fuse and root; run by make test-root"]
fn a_file_system_without_room_for_the_flash_is_told_and_a_full_flash_goes_on() {
    let place = Place::new();
    let contents = place.file("a", 8 * MIB);
    fs::create_dir(place.path("small")).unwrap();
    let small = place.text("small");
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=4M", "none", &small])
        .status();
    assert!(mounted.unwrap().success());
    let flash = format!("{small}/flash");
    let (source, point) = (place.text("source"), place.text("mounted"));
    let full = place.refused(&["--flash", &flash, "--size", "64M", &source, &point], 1);
    assert!(full.contains("has no room for 64.0 MiB"), "{full}");
    // Less than the file has: the oldest pages make way.
    let mount = place.mount(&["--flash", &flash, "--size", "3M", "--admission", "all"]);
    for _ in 0..3 {
        assert!(mount.read("a") == contents);
    }
    let (figures, _) = mount.end(Signal::TERM);
    assert!(figure(&figures, "flash_pages") <= figure(&figures, "flash_room"));
    assert_eq!(figure(&figures, "flash/write_errors"), 0);
    let unmounted = Command::new("umount").arg(&small).status();
    assert!(unmounted.unwrap().success());
}

#[test]
#[ignore = "needs /dev/fuse, root and loop devices; run by make test-root"]
fn a_block_device_holds_the_flash_level() {
    let place = Place::new();
    let contents = place.file("a", 8 * MIB);
    File::create(place.path("disk"))
        .unwrap()
        .set_len(32 << 20)
        .unwrap();
    let device = Loop::over(&place.path("disk"));
    let options = ["--flash", &*device.0, "--admission", "all"];
    let mount = place.mount(&options);
    // While a segment is written, the next one may fill: pages are refused then.
    wait_for("all pages on flash", || {
        assert!(mount.read("a") == contents);
        figure(&mount.figures(), "flash/admitted") == 2048
    });
    fs::create_dir(place.path("elsewhere")).unwrap();
    let (source, elsewhere) = (place.text("source"), place.text("elsewhere"));
    let busy = place.refused(&["--flash", &device.0, &source, &elsewhere], 2);
    assert!(busy.contains(&device.0), "{busy}");
    mount.end(Signal::TERM);
    let mount = place.mount(&options);
    assert!(mount.read("a") == contents);
    let (figures, _) = mount.end(Signal::TERM);
    assert_eq!(figure(&figures, "flash/hits"), 2048, "{figures}");
    let file = File::options()
        .write(true)
        .open(place.path("disk"))
        .unwrap();
    file.write_all_at(b"Dear reader", 0).unwrap();
    drop(device);
    let other = Loop::over(&place.path("disk"));
    let mkfs = Command::new("mkfs.ext4")
        .args(["-q", "-F", &other.0])
        .status();
    assert!(mkfs.expect("this test needs mkfs.ext4").success());
    let mounted = place.text("mounted");
    let data = place.refused(&["--flash", &other.0, &source, &mounted], 2);
    assert!(data.contains("holds data"), "{data}");
}

/// A megabyte a second, and one segment beyond it, which is written as a whole. A slow machine writes less.
#[test]
#[ignore = "needs /dev/fuse and root; run by make test-root"]
fn an_endurance_budget_is_kept_and_a_lifetime_projected() {
    const A_SECOND: f64 = 1e6;
    let place = Place::new();
    let contents = place.file("a", 32 * MIB);
    let budget = [
        "--admission",
        "all",
        "--endurance",
        "86.4GBW",
        "--life",
        "1days",
    ];
    let mount = place.mount(&budget);
    let segment = 4 << 20;
    wait_for("writes, and pages that are refused", || {
        assert!(mount.read("a") == contents);
        let figures = mount.figures();
        let written = figure(&figures, "flash/written_bytes");
        let is_refused = figure(&figures, "flash/refused_budget") > 0;
        // The file is eight segments: without a budget nearly all of it is written.
        written > segment && is_refused || written > 6 * segment
    });
    let (figures, said) = mount.end(Signal::TERM);
    assert!(figure(&figures, "flash/refused_budget") > 0, "{figures}");
    let seconds = figures["figures"]["elapsed_s"].as_f64().unwrap();
    let written = figure(&figures, "flash/written_bytes") as f64;
    assert!(
        written <= A_SECOND * seconds + segment as f64,
        "{written} in {seconds} s"
    );
    let years = figures["figures"]["projected_years"].as_f64().unwrap();
    let expected = 86.4e9 / (written / seconds * 86_400.0) / 365.25;
    assert!((years / expected - 1.0).abs() < 0.01, "{years} {expected}");
    assert!(said.contains("lifetime at this pace"), "{said}");
}

/// A draw from 0 to `most`, of small numbers more often.
fn skewed(draw: &mut u64, most: u64) -> u64 {
    *draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
    let (high, low) = (*draw >> 48, *draw >> 32 & 0xffff);
    high * low % (most * 3) % most
}

/// One policy, two drivers: the levels of the mount, and those of a simulation of what it has recorded.
#[test]
#[ignore = "needs /dev/fuse and root; run by make test-root"]
fn a_simulation_of_the_recorded_requests_counts_the_same_hits() {
    let place = Place::new();
    let contents = place.file("a", 4 * MIB);
    let trace = place.text("files.parquet");
    let exact = ["--mode", "exact", "--dram", "1M", "--record", &trace];
    let mount = place.mount(&exact);
    let path = place.path("mounted").join("a");
    let file = File::options().read(true).write(true).open(&path).unwrap();
    let mut draw = 1;
    for at in 1..=6000 {
        let page = skewed(&mut draw, 1024);
        if at % 200 == 0 {
            file.write_all_at(&contents[..5000], page % 1000 * 4096)
                .unwrap();
            std::thread::sleep(SETTLED);
        }
        file.read_exact_at(&mut [0; 4096], page * 4096).unwrap();
    }
    drop(file);
    let (figures, _) = mount.end(Signal::TERM);
    let levels = ["--dram", "1M", "--flash-size", "64M", "--admission", "all"];
    let options = [
        &["sim", "files", "--json=-", "--writes", "around"][..],
        &levels,
        &[&trace],
    ];
    let simulated = place.terrace(&options.concat());
    assert!(simulated.status.success(), "{}", text(&simulated));
    let simulated: Value = serde_json::from_slice(&simulated.stdout).unwrap();
    let run = |name: &str| simulated["runs"][0][name].as_u64().unwrap();
    assert_eq!((run("requests"), run("reads")), (6030, 6000));
    assert_eq!(run("dram_hits"), figure(&figures, "dram_hits"), "DRAM");
    assert_eq!(run("flash_hits"), figure(&figures, "flash/hits"), "flash");
    assert_eq!(
        run("flash_writes"),
        figure(&figures, "flash/admitted"),
        "to flash"
    );
    assert!(
        run("dram_hits") > 500 && run("flash_hits") > 500,
        "{simulated}"
    );
}

#[test]
#[ignore = "needs /dev/fuse and root; run by make test-root"]
fn recordings_show_what_the_kernel_reads_ahead() {
    let place = Place::new();
    let contents = place.file("a", MIB);
    let trace = place.path("files.parquet");
    let mount = place.mount(&["--record", &place.text("files.parquet")]);
    let file = File::open(place.path("mounted").join("a")).unwrap();
    for at in 0..64 {
        file.read_exact_at(&mut [0; 4096], at * 4096).unwrap();
    }
    fs::write(place.path("mounted").join("b"), &contents[..10_000]).unwrap();
    drop(file);
    mount.end(Signal::INT);
    let mut source = terrace_trace::open(&trace, Columns::ALL).unwrap();
    let mut block = terrace_trace::Block::default();
    let (mut read, mut written, mut largest) = (0, 0, 0);
    while source.next_block(&mut block).unwrap() {
        for (size, write) in block.size.iter().zip(&block.write) {
            *if *write { &mut written } else { &mut read } += size;
            largest = largest.max(*size);
        }
    }
    assert_eq!(written, 10_000);
    assert!(read >= 64 * 4096 && largest > 4096, "{read} {largest}");
}

#[test]
#[ignore = "needs /dev/fuse and root; run by make test-root"]
fn a_recording_that_cannot_be_written_is_one_sentence() {
    let place = Place::new();
    let (source, mounted) = (place.text("source"), place.text("mounted"));
    for (file, why) in [
        ("trace.txt", "names no trace format"),
        ("none/a.parquet", "there is no directory"),
    ] {
        let error = place.refused(&["--record", &place.text(file), &source, &mounted], 2);
        assert!(error.contains(why), "{error}");
    }
    place.assert_as_found();
}

#[test]
fn the_status_of_another_directory_is_refused() {
    let place = Place::new();
    let none = place.refused(&["--status", "/"], 2);
    assert!(none.contains("has mounted nothing on"), "{none}");
}
