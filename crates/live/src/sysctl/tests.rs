use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::*;

/// A file in place of the knob, and the directory of its lock.
fn knob() -> (tempfile::TempDir, PathBuf) {
    let state = tempfile::tempdir().unwrap();
    let knob = state.path().join("knob");
    fs::write(&knob, "3\n").unwrap();
    (state, knob)
}

fn taken(attempt: Result<Attempt>) -> PageCluster {
    match attempt.unwrap() {
        Attempt::Taken(knob) => knob,
        other => panic!("{other:?}"),
    }
}

fn value(knob: &Path) -> String {
    fs::read_to_string(knob).unwrap().trim().to_owned()
}

#[test]
fn one_owner_at_a_time_and_put_back() {
    let (state, knob) = knob();
    let acquire = || PageCluster::acquire_knob(&knob, state.path());
    let owner = taken(acquire());
    let second = acquire().unwrap();
    assert!(matches!(second, Attempt::Another(pid) if pid == Some(std::process::id())));
    let refusal = second.refusal().unwrap();
    assert!(
        refusal.contains("another run of terrace (process "),
        "{refusal}"
    );
    owner.set(true).unwrap();
    assert_eq!(value(&knob), "0");
    drop(owner);
    assert_eq!(value(&knob), "3");
    taken(acquire());
}

#[test]
fn what_another_program_writes_meanwhile_is_left_and_told_once() {
    let (state, knob) = knob();
    let acquire = || taken(PageCluster::acquire_knob(&knob, state.path()));
    // Each value that the owner may have written last, and what another program writes.
    for (single, foreign) in [(true, "5"), (false, "5"), (false, "0")] {
        fs::write(&knob, "3\n").unwrap();
        let owner = acquire();
        let hand = owner.hand();
        owner.set(true).unwrap();
        owner.set(single).unwrap();
        assert_eq!(hand.notice(), None);
        fs::write(&knob, foreign).unwrap();
        owner.set(!single).unwrap();
        assert_eq!(value(&knob), foreign);
        let notice = hand.notice().unwrap();
        assert!(
            notice.contains(&format!("to {foreign}; it is left")),
            "{notice}"
        );
        assert_eq!(hand.notice(), None, "once");
        drop(owner);
        assert_eq!(value(&knob), foreign);
    }
    let owner = acquire();
    assert_eq!(owner.found(), "0", "the next owner finds that");
    let hand = owner.hand();
    owner.set(true).unwrap();
    fs::write(&knob, "4").unwrap();
    drop(owner);
    assert_eq!(value(&knob), "4");
    assert!(
        hand.notice().is_some(),
        "also when nobody looked in between"
    );
}

#[test]
fn what_was_written_after_a_kill_is_what_the_next_owner_finds() {
    let (state, knob) = knob();
    let take = || taken(PageCluster::take(&knob, state.path()));
    let killed = take();
    killed.set(true).unwrap();
    killed.lock.unlock().unwrap();
    std::mem::forget(killed);
    fs::write(&knob, "5").unwrap();
    let next = take();
    assert_eq!(next.found(), "5");
    drop(next);
    assert_eq!(value(&knob), "5");
}

#[test]
fn a_guardian_leaves_what_another_program_has_written() {
    let (state, knob) = knob();
    let owner = Owner::start(state.path());
    fs::write(&knob, "5").unwrap();
    for signal in [libc::SIGSTOP, libc::SIGCONT] {
        owner.send(signal);
        // Longer than its pause; a slow machine sees less of it.
        std::thread::sleep(Duration::from_millis(200));
        assert_eq!(value(&knob), "5");
    }
    let guardian = owner.children().remove(0);
    owner.send(libc::SIGKILL);
    wait_for("the guardian to end", || {
        let stat = fs::read_to_string(format!("/proc/{guardian}/stat")).unwrap_or_default();
        stat.is_empty() || stat.contains(") Z ")
    });
    assert_eq!(value(&knob), "5");
}

#[test]
fn after_a_kill_the_next_owner_knows_what_to_put_back() {
    let (state, knob) = knob();
    // Without a guardian, which may have been killed as well.
    let take = || PageCluster::take(&knob, state.path());
    let killed = taken(take());
    killed.set(true).unwrap();
    // A kill releases the lock and runs no destructor.
    killed.lock.unlock().unwrap();
    std::mem::forget(killed);
    let next = taken(take());
    assert_eq!(next.found(), "3");
    drop(next);
    assert_eq!(value(&knob), "3");
}

#[test]
fn what_a_lock_says_is_a_number_that_root_or_the_caller_wrote() {
    let (state, knob) = knob();
    let lock = state.path().join("terrace-page-cluster.lock");
    let take = || PageCluster::take(&knob, state.path());
    fs::write(&lock, "../../etc/passwd").unwrap();
    assert_eq!(taken(take()).found(), "3");

    let open = std::os::unix::fs::PermissionsExt::from_mode(0o666);
    fs::set_permissions(&lock, open).unwrap();
    let error = take().unwrap_err().to_string();
    assert!(error.contains("may be written by other users"), "{error}");
    fs::remove_file(&lock).unwrap();
    std::os::unix::fs::symlink(&knob, &lock).unwrap();
    assert!(take().is_err(), "a link is not followed");
}

/// Names the directory in which [`an_owner_in_another_process`] takes the knob.
const OWNER_IN: &str = "TERRACE_TEST_OWNER_IN";

/// The owner that other tests stop and kill; no test by itself.
#[test]
#[ignore = "started by other tests"]
fn an_owner_in_another_process() {
    let directory = std::env::var_os(OWNER_IN).expect("started by another test");
    let directory = PathBuf::from(directory);
    let knob = directory.join("knob");
    let owner = taken(PageCluster::acquire_knob(&knob, &directory));
    owner.set(true).unwrap();
    let ready = directory.join("ready");
    fs::write(&ready, "").unwrap();
    while ready.exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
    owner.set(false).unwrap();
    owner.set(true).unwrap();
}

/// Returns the command that has `launcher` run [`an_owner_in_another_process`].
fn owner_by(launcher: &[&str]) -> Command {
    let mut command = Command::new(launcher[0]);
    command
        .args(&launcher[1..])
        .arg(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact"])
        .arg("sysctl::tests::an_owner_in_another_process");
    command
}

/// An owner in a process group of its own, as a shell's job is; killed at the end.
struct Owner(Child);

impl Owner {
    fn start(directory: &Path) -> Self {
        let ready = directory.join("ready");
        let _ = fs::remove_file(&ready);
        let child = owner_by(&["env"])
            .env(OWNER_IN, directory)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .unwrap();
        let owner = Self(child);
        wait_for("the owner", || ready.exists());
        owner
    }

    fn send(&self, signal: i32) {
        // SAFETY: kill takes two integers; the group is the child's, which was not waited for.
        assert_eq!(unsafe { libc::kill(-(self.0.id() as i32), signal) }, 0);
    }

    /// Returns its children.
    fn children(&self) -> Vec<String> {
        let pid = self.0.id();
        let tasks = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
        tasks
            .flat_map(|task| fs::read_to_string(task.unwrap().path().join("children")))
            .flat_map(|text| {
                text.split_whitespace()
                    .map(str::to_owned)
                    .collect::<Vec<_>>()
            })
            .collect()
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn wait_for(what: &str, mut happened: impl FnMut() -> bool) {
    let since = Instant::now();
    while !happened() {
        let waited = since.elapsed();
        assert!(waited < Duration::from_secs(600), "waited for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_stopped_owner_changes_nothing_and_goes_on_where_it_was() {
    let (state, knob) = knob();
    let mut owner = Owner::start(state.path());
    assert_eq!(value(&knob), "0");
    for stop in [libc::SIGSTOP, libc::SIGTSTP] {
        owner.send(stop);
        wait_for("the knob to be put back", || value(&knob) == "3");
        owner.send(libc::SIGCONT);
        wait_for("the knob to be set again", || value(&knob) == "0");
    }
    let guardians = owner.children();
    assert_eq!(guardians.len(), 1, "one guardian");
    fs::remove_file(state.path().join("ready")).unwrap();
    assert!(owner.0.wait().unwrap().success());
    assert_eq!(value(&knob), "3");
    let gone = || !Path::new("/proc").join(&guardians[0]).exists();
    assert!(gone(), "its guardian went before it, and was waited for");
}

#[test]
fn a_killed_owner_s_knob_is_put_back_and_nothing_of_it_is_held() {
    let (state, knob) = knob();
    for stop_first in [false, true] {
        let mut owner = Owner::start(state.path());
        let guardian = owner.children().remove(0);
        let held = || {
            fs::read_dir(format!("/proc/{guardian}/fd"))
                .unwrap()
                .count()
        };
        wait_for("the guardian to hold what it needs", || held() == 4);
        if stop_first {
            owner.send(libc::SIGSTOP);
        }
        owner.send(libc::SIGKILL);
        // Its output ends with it, although its guardian lives on for a moment.
        let mut output = String::new();
        let mut pipe = owner.0.stdout.take().unwrap();
        pipe.read_to_string(&mut output).unwrap();
        owner.0.wait().unwrap();
        wait_for("the knob to be put back", || value(&knob) == "3");
        wait_for("the knob to be free", || {
            matches!(
                PageCluster::take(&knob, state.path()).unwrap(),
                Attempt::Taken(_)
            )
        });
        wait_for("the guardian to end", || {
            let stat = fs::read_to_string(format!("/proc/{guardian}/stat")).unwrap_or_default();
            // A machine whose init does not reap orphans keeps their numbers.
            stat.is_empty() || stat.contains(") Z ")
        });
        let lock = state.path().join("terrace-page-cluster.lock");
        assert_eq!(fs::read_to_string(lock).unwrap(), "");
    }
}

#[test]
#[ignore = "needs root for a PID namespace; run by make test-root"]
fn an_owner_whose_session_is_led_from_outside_its_namespace() {
    let (state, knob) = knob();
    let launched = owner_by(&["unshare", "--pid", "--fork", "--kill-child"])
        .env(OWNER_IN, state.path())
        .stdout(Stdio::null())
        .spawn();
    let mut owner = Owner(launched.unwrap());
    let ready = state.path().join("ready");
    wait_for("the owner", || ready.exists());
    assert_eq!(value(&knob), "0");
    fs::remove_file(ready).unwrap();
    assert!(owner.0.wait().unwrap().success());
    assert_eq!(value(&knob), "3");
}
