//! What cannot be mounted, in a sentence each.

use super::*;

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
