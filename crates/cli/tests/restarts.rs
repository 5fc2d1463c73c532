//! A supervisor that restarts what was killed, as systemd does with `Restart=always`: each start
//! works, without a hand, and nothing is left at the end.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

mod common;
use common::{any_machine, changes, text, wait_for};

/// How often a command is killed and started again.
const ROUNDS: usize = 5;
/// The latest moment of a kill, after the start.
const LATEST: Duration = Duration::from_millis(1500);

/// Moments from a seed, which is printed.
struct Moments(u64);

impl Moments {
    fn new() -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let seed = now.expect("a time after 1970").as_nanos() as u64 | 1;
        println!("seed {seed}");
        Self(seed)
    }

    fn next(&mut self) -> Duration {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        LATEST.mul_f64((self.0 >> 11) as f64 / (1_u64 << 53) as f64)
    }
}

/// Starts a command and kills it, again and again, and returns the last, which is left alive.
fn restarted(mut start: impl FnMut() -> Child) -> Child {
    let mut moments = Moments::new();
    for _ in 0..ROUNDS {
        let mut child = start();
        sleep(moments.next());
        let ended = child.try_wait().expect("its state");
        // One that has done its work is started again as well.
        assert!(ended.is_none_or(|end| end.success()), "{}", said(child));
        let _ = child.kill();
        child.wait().expect("its end");
    }
    start()
}

fn said(child: Child) -> String {
    text(&child.wait_with_output().expect("its output"))
}

fn spawned(command: &mut Command) -> Child {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("terrace runs")
}

fn interrupt(child: &Child) {
    // SAFETY: takes integers; the child was not waited for.
    unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn a_run_is_started_again() {
    let machine = any_machine();
    let script = "seq 6000000 | tail -c 40000000 | cksum; sleep 0.3";
    let plain = Command::new("sh").args(["-c", script]).output().unwrap();
    let last = restarted(|| {
        let options = ["run", "-q", "--dram", "16M", "--footprint", "64M", "--"];
        spawned(machine.command(&options).args(["sh", "-c", script]))
    });
    let output = last.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    assert_eq!(output.stdout, plain.stdout);
    machine.wait_until_as_found();
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn an_attach_is_started_again_and_its_program_goes_on() {
    let mut machine = any_machine();
    let state = machine.state.path().to_owned();
    let (number, stop) = (state.join("number"), state.join("stop"));
    let script = format!(
        "trap 'echo signalled' HUP INT TERM; echo $$ >{0}.new; mv {0}.new {0}
         until test -e {1}; do sleep 0.05; done; exit 6",
        number.display(),
        stop.display()
    );
    let options = ["run", "-q", "--dram", "64M", "--footprint", "128M"];
    let mut run = machine.command(&options);
    run.args(["--prefetch", "off", "--", "sh", "-c", &script]);
    let run = spawned(&mut run);
    wait_for("the program", || number.exists());
    let before = std::mem::replace(&mut machine.before, changes());
    let pid = fs::read_to_string(&number).unwrap().trim().to_owned();

    let last = restarted(|| spawned(&mut machine.command(&["attach", "--json=-", &pid])));
    let owns_the_knob = || {
        let of_last = |name: &String| {
            let text = fs::read_to_string(state.join(name)).unwrap_or_default();
            name.contains(&last.id().to_string()) && text.contains("page_cluster")
        };
        machine.files().iter().any(of_last)
    };
    wait_for("it to be at work", owns_the_knob);
    interrupt(&last);
    let output = last.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    wait_for("all but the run to be put back", || {
        changes() == machine.before
    });

    fs::write(stop, "").unwrap();
    let output = run.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(6), "{}", text(&output));
    assert_eq!(output.stdout, b"", "it was sent a signal");
    machine.before = before;
    machine.wait_until_as_found();
}

#[test]
#[ignore = "needs root and FUSE; run by make test-root"]
fn a_mount_is_started_again() {
    let machine = any_machine();
    let place = |name: &str| -> PathBuf {
        let path = machine.state.path().join(name);
        fs::create_dir(&path).unwrap();
        path
    };
    let (source, mounted) = (place("source"), place("mounted"));
    fs::write(source.join("file"), "contents").unwrap();
    let flash = machine.state.path().join("flash");
    let last = restarted(|| {
        let mut command = machine.command(&["mount", "--size", "64M", "--flash"]);
        spawned(command.arg(&flash).args([&source, &mounted]))
    });
    let file = mounted.join("file");
    wait_for("the mount", || {
        fs::read(&file).is_ok_and(|it| it == b"contents")
    });
    interrupt(&last);
    let output = last.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    assert!(!mounts.contains(mounted.to_str().unwrap()), "{mounts}");
    machine.wait_until_as_found();
}
