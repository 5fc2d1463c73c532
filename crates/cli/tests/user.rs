//! Whom a program runs as: under sudo the user who called it.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

mod common;
use common::{Machine, any_machine, machine, needs};

/// A user of each Linux, and its number.
const USER: (&str, &str) = ("nobody", "65534");

struct Sudo {
    machine: Machine,
    /// Where the user may go, too.
    open: tempfile::TempDir,
}

fn found(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

/// Root's rights on this machine.
fn sudo(machine: Machine) -> Sudo {
    assert_eq!(
        found("id", &["-u"]).as_deref(),
        Some("0"),
        "this test needs root"
    );
    let user = found("id", &["-u", USER.0]);
    assert_eq!(
        user.as_deref(),
        Some(USER.1),
        "this test needs the user {}",
        USER.0
    );
    let open = tempfile::tempdir().unwrap();
    fs::set_permissions(open.path(), PermissionsExt::from_mode(0o755)).unwrap();
    Sudo { machine, open }
}

impl Sudo {
    /// Terrace as `nobody` calls it by sudo.
    fn terrace(&self, arguments: &[&str]) -> Command {
        let mut command = self.machine.command(arguments);
        command
            .env("SUDO_UID", USER.1)
            .env("SUDO_USER", USER.0)
            .env("HOME", "/root")
            .env("MAIL", "/var/mail/root")
            .current_dir("/")
            .stdin(Stdio::null());
        command
    }

    /// What a program prints with these options.
    fn run(&self, options: &[&str], program: &[&str]) -> Output {
        let common = ["run", "--dram", "64M", "--footprint", "64M", "-q"];
        let arguments = [&common, options, &["--"], program].concat();
        self.terrace(&arguments).output().unwrap()
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn printed(output: &Output) -> String {
    assert!(output.status.success(), "{}", said(output));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Tells who it is, in lines.
const WHO: &str = "id -u; id -g; id -G; echo $HOME $USER $LOGNAME $SHELL $MAIL; echo $PATH; \
                   cat /proc/self/cgroup";

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn a_program_runs_as_the_user_who_called_sudo() {
    let sudo = sudo(machine());
    for options in [&[][..], &["--user", USER.0]] {
        let output = sudo.run(options, &["sh", "-c", WHO]);
        let printed = printed(&output);
        let lines: Vec<&str> = printed.lines().collect();
        assert_eq!(lines[0], USER.1);
        assert_eq!(Some(lines[1].into()), found("id", &["-g", USER.0]));
        assert_eq!(Some(lines[2].into()), found("id", &["-G", USER.0]));
        let login = found("getent", &["passwd", USER.0]).unwrap();
        let login: Vec<&str> = login.split(':').collect();
        assert_eq!(
            lines[3],
            format!("{} nobody nobody {} /var/mail/nobody", login[5], login[6])
        );
        assert_eq!(lines[4], std::env::var("PATH").unwrap());
        // It joined its group while it was root.
        assert!(lines[5..].iter().any(|line| line.contains("terrace-")));
    }
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn a_suite_runs_as_the_user_who_called_sudo() {
    let sudo = sudo(machine());
    let who = sudo.open.path().join("who");
    fs::write(&who, "").unwrap();
    fs::set_permissions(&who, PermissionsExt::from_mode(0o666)).unwrap();
    let suite = "dram = ['64M']\nrepeat = 1\n[[program]]\nname = 'who'\ndescription = 'tells'\n\
                 prepare = ['sh', '-c', 'id -u >>who']\ncommand = ['sh', '-c', 'id -u >>who']\n\
                 footprint = '64M'\n";
    fs::write(sudo.open.path().join("suite.toml"), suite).unwrap();
    let folder = sudo.open.path().to_str().unwrap();
    let output = sudo.terrace(&["bench", folder, "-q"]).output().unwrap();
    assert!(printed(&output).contains("| who"));
    assert_eq!(said(&output), "", "quiet is quiet");
    // Made ready once, and run four ways.
    let expected = format!("{}\n", USER.1).repeat(5);
    assert_eq!(fs::read_to_string(&who).unwrap(), expected);
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn root_is_kept_for_the_asking_and_where_sudo_was_not_called() {
    let sudo = sudo(machine());
    let output = sudo.run(&["--user", "root"], &["sh", "-c", WHO]);
    assert!(printed(&output).starts_with("0\n"));
    let arguments = ["run", "--dram", "64M", "--footprint", "64M", "-q"];
    let program = ["--", "sh", "-c", WHO];
    let mut command = sudo.terrace(&[&arguments[..], &program].concat());
    let output = command.env_remove("SUDO_UID").output().unwrap();
    assert!(printed(&output).starts_with("0\n"));
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn what_the_user_may_not_run_is_said() {
    let sudo = sudo(machine());
    let closed = sudo.open.path().join("closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, PermissionsExt::from_mode(0o700)).unwrap();
    let program = closed.join("program");
    fs::write(&program, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    let output = sudo.run(&[], &[program.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    let said = said(&output);
    assert!(said.contains("the user nobody may not run"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn a_recorded_program_runs_as_the_user_and_all_of_it_is_recorded() {
    let sudo = sudo(any_machine());
    needs("qemu-x86_64");
    let trace = sudo.open.path().join("trace.csv");
    let output = sudo
        .terrace(&["record", "--level", "pages", "-o", trace.to_str().unwrap()])
        .args(["--", "sh", "-c", WHO])
        .env("TERRACE_RECORDER", sudo.plugin())
        .output()
        .unwrap();
    let lines = printed(&output);
    let lines: Vec<&str> = lines.lines().collect();
    assert_eq!(lines[0], USER.1);
    assert_eq!(Some(lines[2].into()), found("id", &["-G", USER.0]));
    assert!(lines[3].contains("nobody nobody"));
    // The shell, four times `id` and `cat`, each of which found the shared memory.
    let said = said(&output);
    assert!(
        said.contains(", 5 processes,") || said.contains(", 9 processes,"),
        "{said}"
    );
    assert!(!said.contains("outside the emulator"), "{said}");
    let owner = trace.metadata().unwrap().uid().to_string();
    assert_eq!(owner, USER.1, "the trace belongs to who called sudo");
}

impl Sudo {
    /// The plug-in, where the user may read it.
    fn plugin(&self) -> PathBuf {
        let name = "libterrace_recorder_plugin.so";
        let there = self.open.path().join(name);
        let beside = Path::new(env!("CARGO_BIN_EXE_terrace")).parent().unwrap();
        let built = [beside.join("deps").join(name), beside.join(name)];
        let built = built
            .iter()
            .find(|file| file.is_file())
            .expect("the plug-in is built");
        fs::copy(built, &there).unwrap();
        there
    }
}
