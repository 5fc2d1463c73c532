//! What other users than root can do: nothing, and they are told what to type; or all that a run
//! needs, with the capabilities that the book's requirements name.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

mod common;
use common::{install, machine, text};

const NOBODY: u32 = 65534;
/// What the book's requirements name; the last is not needed for each program.
const CAPABILITIES: [&str; 4] = ["sys_admin", "dac_override", "sys_nice", "sys_ptrace"];

/// The command, a program to run and a state directory where any user reaches them.
struct Place(tempfile::TempDir);

impl Place {
    /// On a disk: `/tmp` may be DRAM, where no tier can be, and a checkout may be where only its
    /// owner may look.
    fn make() -> Self {
        let place = tempfile::tempdir_in("/var/tmp").expect("a directory in /var/tmp");
        fs::set_permissions(place.path(), Permissions::from_mode(0o755)).unwrap();
        let place = Self(place);
        install(env!("CARGO_BIN_EXE_terrace").as_ref(), &place.terrace());
        fs::create_dir(place.state()).unwrap();
        place
    }

    fn terrace(&self) -> PathBuf {
        self.0.path().join("terrace")
    }

    fn state(&self) -> PathBuf {
        self.0.path().join("state")
    }

    /// As `nobody` with these capabilities and no others.
    fn command(&self, capabilities: &[&str], arguments: &[&str]) -> Command {
        let _ = chown(self.state(), Some(NOBODY), Some(NOBODY));
        let only: String = capabilities.iter().map(|c| format!(",+{c}")).collect();
        let mut command = Command::new("setpriv");
        command
            .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
            .arg("--no-new-privs")
            .arg(format!("--inh-caps=-all{only}"))
            .arg(format!("--ambient-caps=-all{only}"))
            .arg(format!("--bounding-set=-all{only}"))
            .arg(self.terrace())
            .args(arguments)
            .env("TERRACE_STATE_DIR", self.state())
            .current_dir("/")
            .stdin(Stdio::null());
        command
    }

    fn run(&self, capabilities: &[&str], arguments: &[&str]) -> Output {
        let output = self.command(capabilities, arguments).output();
        output.expect("setpriv is part of Debian's util-linux")
    }

    /// Checks that nothing is left of a run but empty lock files: a run may have opened one to lock
    /// it, so that to remove it would be unsafe.
    fn assert_empty(&self) {
        let files = fs::read_dir(self.state()).unwrap().flatten();
        let is_lock = |file: &fs::DirEntry| {
            let is_empty = file
                .metadata()
                .is_ok_and(|data| data.is_file() && data.len() == 0);
            is_empty && file.path().extension().is_some_and(|end| end == "lock")
        };
        let left: Vec<_> = files.filter(|file| !is_lock(file)).collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

fn without(left_out: &str) -> Vec<&'static str> {
    let all = CAPABILITIES.into_iter();
    all.filter(|name| *name != left_out).collect()
}

/// The check of this name in `terrace doctor`.
fn check(output: &Output, name: &str) -> Value {
    let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let checks = found["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["name"] == name);
    check.unwrap_or_else(|| panic!("{found}")).clone()
}

#[test]
#[ignore = "needs root; run by make test-root"]
fn a_newcomer_is_told_the_line_to_type() {
    let place = Place::make();
    let program = ["./your-program", "--its", "an option"];
    for command in [
        &["run", "--dram", "4G", "--"][..],
        &["run", "--compare", "--dram=25%", "--"],
    ] {
        // A program that is there: what is not is another sentence.
        let program = [&["/bin/echo"], &program[1..]].concat();
        let output = place.run(&[], &[command, &program].concat());
        assert_eq!(output.status.code(), Some(1), "{}", text(&output));
        let expected = format!(
            "terrace: this needs root; run: sudo 'TERRACE_STATE_DIR={}' {} {} /bin/echo --its 'an option'\n",
            place.state().display(),
            place.terrace().display(),
            command.join(" "),
        );
        assert_eq!(text(&output).replace('\'', ""), expected.replace('\'', ""));
        assert!(
            text(&output).ends_with("'an option'\n"),
            "{}",
            text(&output)
        );
    }
    place.assert_empty();
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn the_capabilities_that_are_named_are_enough() {
    let _machine = machine();
    let place = Place::make();
    // Also without the one that only some programs need.
    for capabilities in [&CAPABILITIES[..], &without("sys_ptrace")] {
        let arguments = ["run", "-q", "--dram", "16M", "--footprint", "64M", "--"];
        let program = [
            "sh",
            "-c",
            "head -c 32M /dev/zero | tail -c 32M | wc -c; exit 7",
        ];
        let output = place.run(capabilities, &[&arguments[..], &program].concat());
        assert_eq!(output.status.code(), Some(7), "{}", text(&output));
        assert_eq!(output.stdout, b"33554432\n", "{}", text(&output));
        let told = text(&output).matches("root's alone to set").count();
        assert!(told <= 1, "{}", text(&output));
        place.assert_empty();
    }
    // What reads single pages for comparison is refused before the first run.
    let compare = [
        "run",
        "--compare",
        "--dram",
        "16M",
        "--footprint",
        "64M",
        "--",
    ];
    let output = place.run(&CAPABILITIES, &[&compare[..], &["echo", "run"]].concat());
    if fs::read_to_string("/proc/sys/vm/page-cluster").unwrap() != "0\n" {
        assert_eq!(output.status.code(), Some(1), "{}", text(&output));
        assert_eq!(output.stdout, b"", "{}", text(&output));
        assert!(text(&output).contains("run as root"), "{}", text(&output));
        place.assert_empty();
    }
    let output = place.run(&CAPABILITIES, &["doctor", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert_eq!(check(&output, "privileges")["verdict"], "ok");
    let knob = check(&output, "vm.page-cluster");
    assert_eq!(knob["verdict"], "optional", "it is uid 0's");
}

#[test]
#[ignore = "needs root; run by make test-root"]
fn each_that_is_missing_is_named_with_what_it_is_for() {
    let place = Place::make();
    for name in CAPABILITIES {
        let rest = without(name);
        let written = format!("CAP_{}", name.to_uppercase());
        let output = place.run(&rest, &["doctor", "--json"]);
        let privileges = check(&output, "privileges");
        let found = privileges["found"].as_str().unwrap();
        assert!(
            found.starts_with(&format!("without {written} to ")),
            "{found}"
        );
        if name == "sys_ptrace" {
            assert_eq!(privileges["verdict"], "optional");
            continue;
        }
        assert_eq!(privileges["verdict"], "missing");
        assert_eq!(output.status.code(), Some(1));
        let output = place.run(&rest, &["run", "--dram", "64M", "--", "true"]);
        assert_eq!(output.status.code(), Some(1), "{}", text(&output));
        let expected = format!("terrace: {written} to ");
        assert!(text(&output).starts_with(&expected), "{}", text(&output));
        place.assert_empty();
    }
}

#[test]
#[ignore = "needs root; run by make test-root"]
fn a_root_without_rights_is_not_told_to_be_root() {
    let place = Place::make();
    let output = Command::new("setpriv")
        .args(["--bounding-set=-all", "--inh-caps=-all"])
        .arg(place.terrace())
        .args(["run", "--dram", "64M", "--", "true"])
        .env("TERRACE_STATE_DIR", place.state())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(
        text(&output).contains("this root lacks CAP_SYS_ADMIN"),
        "{}",
        text(&output)
    );
    assert!(!text(&output).contains("sudo"), "{}", text(&output));
}
