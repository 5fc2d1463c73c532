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
    let acquire = || PageCluster::take(&knob, state.path());
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
    let acquire = || taken(PageCluster::take(&knob, state.path()));
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
fn after_a_kill_the_next_owner_knows_what_to_put_back() {
    let (state, knob) = knob();
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

#[test]
fn a_stopped_owner_s_knob_is_as_found_and_goes_on_where_it_was() {
    let (state, knob) = knob();
    let us = std::process::id();
    let owner = taken(PageCluster::take(&knob, state.path()));
    for single in [true, false] {
        owner.set(single).unwrap();
        let wanted = value(&knob);
        suspend_knob(&knob, state.path(), us);
        assert_eq!(value(&knob), "3");
        carry_on_with(&knob, state.path(), us);
        assert_eq!(value(&knob), wanted);
    }
}

#[test]
fn a_guardian_leaves_what_another_program_has_written() {
    let (state, knob) = knob();
    let us = std::process::id();
    let owner = taken(PageCluster::take(&knob, state.path()));
    owner.set(true).unwrap();
    fs::write(&knob, "5").unwrap();
    suspend_knob(&knob, state.path(), us);
    carry_on_with(&knob, state.path(), us);
    assert_eq!(value(&knob), "5");
}

#[test]
fn the_knob_of_another_owner_is_left_alone() {
    let (state, knob) = knob();
    let owner = taken(PageCluster::take(&knob, state.path()));
    owner.set(true).unwrap();
    suspend_knob(&knob, state.path(), 1);
    assert_eq!(value(&knob), "0");
    drop(owner);
    fs::write(&knob, "0").unwrap();
    suspend_knob(&knob, state.path(), std::process::id());
    assert_eq!(value(&knob), "0", "nobody owns it any more");
}
