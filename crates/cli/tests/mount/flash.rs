//! The medium of the flash level: its room, its kind, and what it sustains.

use super::common::Loop;
use super::*;

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

/// A megabyte a second, and one segment beyond it, which is written as a whole. A slow machine
/// writes less.
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
