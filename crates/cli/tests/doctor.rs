//! `terrace doctor` and what killed runs have left, with and without their journals.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

mod common;
use common::lasting::{Run, areas};
use common::neighbour::Neighbour;
use common::{Machine, machine, text, wait_for};

/// The group of the neighbour.
const GROUP: &str = "doctor-neighbour";

/// Returns all that a command has printed.
fn all(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &text(output)
}

/// Runs doctor; returns its code, and all that it has printed.
fn doctor(machine: &Machine, options: &[&str]) -> (i32, String) {
    let output = machine.terrace(&[&["doctor"], options].concat());
    (output.status.code().expect("a code"), all(&output))
}

/// The journals of this state directory.
fn journals(machine: &Machine) -> Vec<PathBuf> {
    let files = machine.files().into_iter();
    let journals = files.filter(|name| name.ends_with(".json"));
    journals
        .map(|name| machine.state.path().join(name))
        .collect()
}

/// Groups of runs that are there now, and were not when the test began.
fn groups(machine: &Machine) -> Vec<String> {
    let now = common::changes().into_iter();
    now.filter(|it| {
        it.contains("/terrace-") && it.starts_with("/sys") && !machine.before.contains(it)
    })
    .collect()
}

/// Kills a run with its guardian, and waits until its program has ended.
fn left_by_a_killed_run(machine: &Machine, name: &str) -> PathBuf {
    let mut run = Run::start(machine, name);
    run.kill();
    let journal = journals(machine).remove(0);
    drop(run);
    wait_for("the program to end", || {
        let listed = groups(machine).into_iter();
        let listed =
            listed.filter_map(|it| fs::read_to_string(Path::new(&it).join("cgroup.procs")).ok());
        listed.into_iter().all(|pids| pids.is_empty())
    });
    assert_eq!(areas(machine).len(), 1);
    assert!(!groups(machine).is_empty());
    journal
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn a_journal_that_cannot_be_read_hides_nothing() {
    let machine = machine();
    for (number, cut) in [0, 1, 2].into_iter().enumerate() {
        let journal = left_by_a_killed_run(&machine, &format!("run-{number}"));
        let whole = fs::read_to_string(&journal).unwrap();
        let length = whole.len() * cut / 3;
        fs::write(&journal, &whole[..length]).unwrap();
        let (code, said) = doctor(&machine, &[]);
        assert_eq!(code, 1, "{said}");
        let area = machine.swap_files().remove(0).display().to_string();
        let name = journal.display().to_string();
        for part in [
            &name,
            &format!("the swap area {area} is on"),
            &groups(&machine)[0],
        ] {
            assert!(said.contains(part), "{part} is not in: {said}");
        }
        let (code, said) = doctor(&machine, &["--clean"]);
        assert_eq!(code, 1, "the journal stays: {said}");
        assert!(said.contains(&format!("rm {name}")), "{said}");
        assert!(said.contains(&format!("{area} is removed")), "{said}");
        assert_eq!(
            (areas(&machine).len(), groups(&machine).len()),
            (0, 0),
            "{said}"
        );
        fs::remove_file(&journal).unwrap();
        let (code, said) = doctor(&machine, &[]);
        assert_eq!(code, 0, "{said}");
        machine.assert_as_found();
    }
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn what_no_journal_names_is_taken_back_when_its_program_has_ended() {
    let machine = machine();
    let mut run = Run::start(&machine, "run");
    run.kill();
    for journal in journals(&machine) {
        fs::remove_file(journal).unwrap();
    }
    let (code, said) = doctor(&machine, &["--clean"]);
    assert!(
        code == 1 && said.contains("still runs (process "),
        "{code} {said}"
    );
    assert_eq!(areas(&machine).len(), 1, "its program has it");
    drop(run);
    wait_for("the program to end", || {
        doctor(&machine, &["--clean"]).0 == 0
    });
    machine.assert_as_found();
    assert_eq!(doctor(&machine, &["-q"]).0, 0);
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn what_no_journal_names_stays_while_others_pages_in_it_have_no_room() {
    let machine = machine();
    let mut run = Run::start(&machine, "run");
    let neighbour = Neighbour::start(GROUP, 40 << 20, 150);
    wait_for("the neighbour to be swapped out", || {
        areas(&machine)[0] > 90 << 10
    });
    run.kill();
    for journal in journals(&machine) {
        fs::remove_file(journal).unwrap();
    }
    drop(run);
    wait_for("the program to end", || {
        let (code, said) = doctor(&machine, &["--clean"]);
        assert_eq!(code, 1, "{said}");
        said.contains("stays on") && said.contains("has a limit of 40.0 MiB")
    });
    neighbour.end();
    wait_for("the room", || doctor(&machine, &["--clean"]).0 == 0);
    machine.assert_as_found();
}

/// Whose state directory is another, as another user's is.
#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn a_run_with_another_state_directory_is_no_leftover() {
    let machine = machine();
    let here = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let here = here.path().display().to_string();
    let from_here = |options: &[&str]| {
        let mut command = machine.command(&[&["doctor"], options].concat());
        let output = command.env("TERRACE_STATE_DIR", &here).output().unwrap();
        (output.status.code().unwrap(), all(&output))
    };
    // An area beside its journal, and one in a directory without any.
    let elsewhere = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let tier = elsewhere.path().to_str().unwrap();
    for options in [&[][..], &["--tier", tier]] {
        let run = Run::with(&machine, &format!("run-{}", options.len()), options, "");
        let name = format!("terrace-{}", run.id());
        let own = || {
            common::changes()
                .into_iter()
                .filter(|it| it.contains(&name))
                .count()
        };
        let before = own();
        let (code, said) = from_here(&[]);
        assert_eq!(code, 0, "{said}");
        let (code, said) = from_here(&["--clean"]);
        assert!(
            code == 0 && said.contains("nothing was left behind"),
            "{code} {said}"
        );
        assert_eq!(own(), before, "its area and groups are there");
        assert_eq!(text(&run.end()), "");
    }
    // Killed, it is that directory's matter.
    left_by_a_killed_run(&machine, "killed");
    let (code, said) = from_here(&["--clean"]);
    let command = format!("run: TERRACE_STATE_DIR={}", machine.state.path().display());
    assert!(code == 1 && said.contains(&command), "{code} {said}");
    assert_eq!(areas(&machine).len(), 1);
    assert_eq!(doctor(&machine, &[]).0, 1);
    assert_eq!(doctor(&machine, &["--clean"]).0, 0);
    assert_eq!(from_here(&[]).0, 0);
    machine.assert_as_found();
}

#[test]
#[ignore = "needs root and zram; run by make test-root"]
fn a_zram_device_that_no_journal_names_is_taken_back() {
    let machine = machine();
    let mut run = Run::with(&machine, "run", &["--tier", "zram"], "");
    run.kill();
    for journal in journals(&machine) {
        fs::remove_file(journal).unwrap();
    }
    let (code, said) = doctor(&machine, &[]);
    assert!(
        code == 1 && said.contains("the swap area /dev/zram"),
        "{code} {said}"
    );
    drop(run);
    wait_for("the program to end", || {
        doctor(&machine, &["--clean"]).0 == 0
    });
    machine.assert_as_found();
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn an_area_that_an_administrator_switches_off_is_named_as_the_reason() {
    let machine = machine();
    let grows = "head -c 80000000 /dev/zero | tr '\\0' x | tail -c 70000000 | cksum";
    let run = Run::with(&machine, "run", &[], grows);
    let area = machine.swap_files().remove(0);
    let off = Command::new("swapoff").arg(&area).status().unwrap();
    assert!(off.success());
    let said = text(&run.end());
    let reason = format!("has switched off the swap area {}", area.display());
    assert!(said.contains(&reason), "{said}");
    machine.assert_as_found();
}
