use super::*;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

/// The process that `a_signal_that_nobody_receives_acts_by_its_default` starts: this test, by
/// itself.
const CHILD: &str = "TERRACE_TEST_UNHEARD";

#[test]
fn a_signal_that_nobody_receives_acts_by_its_default() {
    if std::env::var_os(CHILD).is_some() {
        let (first, second) = (Signals::receive().unwrap(), Signals::receive().unwrap());
        drop(first);
        drop(second);
        drop(Signals::receive().unwrap());
        // SAFETY: takes an integer.
        unsafe { libc::raise(libc::SIGTERM) };
        std::process::exit(7);
    }
    let name = "signals::tests::a_signal_that_nobody_receives_acts_by_its_default";
    let ended = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name])
        .env(CHILD, "1")
        .stdout(Stdio::null())
        .status();
    assert_eq!(ended.unwrap().signal(), Some(libc::SIGTERM));
}

/// The process that `a_program_has_what_its_group_was_sent_before_it_was_there` starts, which is
/// sent a signal at this moment.
const MOMENT: &str = "TERRACE_TEST_MOMENT";

#[test]
fn a_program_has_what_its_group_was_sent_before_it_was_there() {
    use std::os::unix::process::CommandExt;
    if let Some(moment) = std::env::var_os(MOMENT) {
        return start_a_program(moment.to_str().unwrap());
    }
    let name = "signals::tests::a_program_has_what_its_group_was_sent_before_it_was_there";
    for moment in ["before", "unseen", "late", "forked", "after"] {
        let ended = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name])
            .env(MOMENT, moment)
            .process_group(0)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&ended.stdout);
        assert!(ended.status.success(), "{moment}: {}, {said}", ended.status);
    }
}

/// Sends the process group SIGINT at this moment of the start of a program, and awaits its end by
/// that.
fn start_a_program(moment: &str) {
    use std::os::unix::process::CommandExt;
    // By another process, as this one takes no orders from itself.
    let interrupt = || Command::new("sh").args(["-c", "kill -INT 0"]).status();
    let signals = Signals::receive().unwrap();
    let await_it = || {
        while signals.asked_to_end().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
    };
    signals.aim(Target::Starting);
    if ["before", "unseen"].contains(&moment) {
        interrupt().unwrap();
    }
    if moment == "before" {
        await_it();
    }
    let newborn = signals.newborn();
    if moment == "late" {
        interrupt().unwrap();
        await_it();
    }
    let (is_forked, found) = (moment == "forked", Inherited::found());
    let mut command = Command::new("sleep");
    command.arg("60");
    // SAFETY: system calls alone.
    unsafe {
        command.pre_exec(move || {
            if is_forked {
                libc::kill(0, libc::SIGINT);
            }
            newborn.catch_up();
            found.give()
        });
    }
    let blocked = crate::Blocked::all();
    let mut child = command.spawn().unwrap();
    drop(blocked);
    if moment == "after" {
        interrupt().unwrap();
    }
    signals.aim(Target::program(child.id()));
    signals.pass_on();
    assert_eq!(
        child.wait().unwrap().signal(),
        Some(libc::SIGINT),
        "{moment}"
    );
    // The kernel may give the signal to a thread of this process that runs later than the program
    // ends. Nobody would receive it then, and it would end this process.
    await_it();
}

#[test]
fn what_another_receiver_has_stops_nothing() {
    assert!(Stop::by(libc::SIGTSTP, &Target::Elsewhere).is_none());
    assert!(Stop::by(libc::SIGTSTP, &Target::Nobody).is_some());
    assert!(!Target::Elsewhere.is_running());
}
