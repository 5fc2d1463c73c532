//! Ways out: a mount that is killed, unmounted by hand, or in use.

use super::*;

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

    // Where its journal is gone with them, nothing but the mountpoint says so.
    let mut mount = place.mount(&[]);
    kill_process(mount.guardian(), Signal::KILL).unwrap();
    mount.signal(Signal::KILL);
    mount.child.wait().unwrap();
    fs::remove_dir_all(place.path("state")).unwrap();
    let mount = place.mount_over(&[]);
    assert!(mount.read("a") == contents);
    let (_, said) = mount.end(Signal::TERM);
    assert!(said.contains("of a process that was killed"), "{said}");
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
