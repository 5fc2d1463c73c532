//! What people ask of a mount while it is there.

use terrace_filecache::Warmed;
use terrace_filecache::mount::control::{self, Command};

use super::*;

/// Admits nothing by itself.
fn closed(place: &Place) -> Settings {
    Settings {
        admission: Chain::parse("size:most=1").unwrap(),
        ..place.settings()
    }
}

fn warm(path: &Path) -> Warmed {
    control::warm(&File::open(path).unwrap(), 0).unwrap()
}

/// Reads a file past the kernel's pages.
fn read(path: &Path) -> Vec<u8> {
    drop_pages(path);
    fs::read(path).unwrap()
}

/// Waits until something is so, of what goes on beside the mount.
fn wait_for(what: &str, is_so: impl Fn() -> bool) {
    let since = Instant::now();
    while !is_so() {
        assert!(since.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn pin(place: &Place, path: &str) {
    let root = place.mounted();
    control::send(&root, &Command::Pin(path.to_owned())).unwrap();
    wait_for("the look", || !control::held(&root).unwrap().is_looking);
}

#[test]
#[ignore = "needs /dev/fuse and root; run by make test-root"]
fn a_file_is_warmed_whatever_the_admission_says() {
    for exact in [false, true] {
        let place = Place::new();
        let (above, below) = (place.mounted().join("a"), place.source().join("a"));
        fs::write(&below, pattern(300, 1)).unwrap();
        settle();
        let mut settings = closed(&place);
        if exact {
            settings.mode = place.exact().mode;
        }
        let mount = Mount::start(&settings).unwrap();
        assert_eq!(read(&above), pattern(300, 1));
        assert_eq!(mount.figures().flash.admitted, 0);
        let warmed = warm(&above);
        assert_eq!((warmed.pages, warmed.admitted), (300, 300));
        assert_eq!((warm(&above).had, warm(&above).admitted), (300, 0));
        let before = mount.figures().flash.hits;
        assert_eq!(read(&above), pattern(300, 1));
        assert!(mount.figures().flash.hits >= before + 200);
        // A file that is being changed is not, and is told.
        let writer = File::options().write(true).open(&below).unwrap();
        writer.write_all_at(b"changed", 0).unwrap();
        assert_eq!(warm(&above).changed, 300);
        drop(writer);
        assert_eq!(read(&above)[..7], *b"changed");
    }
}

#[test]
#[ignore = "needs /dev/fuse and root; run by make test-root"]
fn a_pinned_directory_is_admitted_and_stays_and_is_pinned_by_the_next_mount() {
    let place = Place::new();
    fs::create_dir(place.source().join("db")).unwrap();
    for name in ["db/a", "db/b", "other"] {
        fs::write(place.source().join(name), pattern(100, 2)).unwrap();
    }
    fs::write(place.source().join("large"), pattern(20_000, 3)).unwrap();
    settle();
    let path = |name: &str| place.mounted().join(name);
    let mut mount = Mount::start(&closed(&place)).unwrap();
    pin(&place, "db");
    for name in ["db/a", "other"] {
        read(&path(name));
    }
    let pinned = || control::held(&place.mounted()).unwrap().pinned_pages;
    wait_for("pages", || pinned() == 100);
    assert_eq!(mount.figures().flash.admitted, 100);
    assert_eq!(
        control::held(&place.mounted()).unwrap().pinned_bytes,
        200 * 4096
    );
    for round in 0..2 {
        // More than the flash level has room for; what was filled when the mount ended is read
        // again.
        for offset in (0..20_000 * 4096).step_by(control::WINDOW as usize) {
            control::warm(&File::open(path("large")).unwrap(), offset).unwrap();
        }
        let before = mount.figures().flash.hits;
        assert_eq!(read(&path("db/a")), pattern(100, 2));
        let hits = mount.figures().flash.hits - before;
        assert!(hits == 100 || round == 1, "{hits}");
        drop(mount);
        mount = Mount::start(&closed(&place)).unwrap();
        wait_for("the look", || {
            !control::held(&place.mounted()).unwrap().is_looking
        });
        let held = control::held(&place.mounted()).unwrap();
        assert!(held.rules.pinned.contains("db"));
        read(&path("db/a"));
        wait_for("pages", || pinned() == 100);
    }
    control::send(&place.mounted(), &Command::Unpin("db".into())).unwrap();
    wait_for("the look", || pinned() == 0);
}

#[test]
#[ignore = "needs /dev/fuse and root; run by make test-root"]
fn what_is_excluded_is_read_and_not_admitted() {
    let place = Place::new();
    for (name, pages) in [("a.iso", 10), ("small", 10), ("large", 50)] {
        fs::write(place.source().join(name), pattern(pages, 4)).unwrap();
    }
    settle();
    let mount = Mount::start(&place.settings()).unwrap();
    let (root, path) = (place.mounted(), |name: &str| place.mounted().join(name));
    let admitted = |name: &str| {
        let before = mount.figures().flash.admitted;
        read(&path(name));
        std::thread::sleep(Duration::from_millis(100));
        mount.figures().flash.admitted - before
    };
    control::send(&root, &Command::Exclude("*.iso".into())).unwrap();
    control::send(&root, &Command::Largest(Some(20 * 4096))).unwrap();
    assert_eq!(
        (admitted("a.iso"), admitted("large"), admitted("small")),
        (0, 0, 10)
    );
    assert_eq!(warm(&path("a.iso")).excluded, 10);
    // A name that the mount gives or others give is the one that counts.
    for (directory, from, to, excluded) in [
        (place.mounted(), "a.iso", "a.bin", 0),
        (place.source(), "a.bin", "a.iso", 10),
    ] {
        fs::rename(directory.join(from), directory.join(to)).unwrap();
        wait_for(to, || path(to).exists() && !path(from).exists());
        assert_eq!(warm(&path(to)).excluded, excluded, "{to}");
        control::forget(&File::open(path(to)).unwrap()).unwrap();
    }
    // Also of a file that is open already, and by its new name.
    let open = File::open(path("a.iso")).unwrap();
    control::send(&root, &Command::Include("*.iso".into())).unwrap();
    open.read_exact_at(&mut [0; 4096], 0).unwrap();
    assert_eq!(warm(&path("a.iso")).excluded, 0);
    let none = control::send(&root, &Command::Include("*.iso".into()));
    assert_eq!(none.unwrap_err().raw_os_error(), Some(libc::ENODATA));
    let wrong = control::send(&root, &Command::Exclude("a[".into()));
    assert_eq!(wrong.unwrap_err().raw_os_error(), Some(libc::EINVAL));
    let long = Command::Exclude("x".repeat(5000));
    let long = control::send(&root, &long);
    assert_eq!(long.unwrap_err().raw_os_error(), Some(libc::E2BIG));
}

#[test]
#[ignore = "needs /dev/fuse and root; run by make test-root"]
fn the_size_changes_while_files_are_read() {
    let place = Place::new();
    fs::write(place.source().join("a"), pattern(5_000, 5)).unwrap();
    settle();
    let mount = Mount::start(&place.settings()).unwrap();
    let (root, path) = (place.mounted(), place.mounted().join("a"));
    let (flash, room) = (
        place.directory.path().join("flash"),
        mount.figures().flash_room,
    );
    warm(&path);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            for _ in 0..5 {
                assert!(read(&path) == pattern(5_000, 5));
            }
        });
        for mebibytes in [64, 16, 48] {
            control::send(&root, &Command::Size(mebibytes << 20)).unwrap();
            assert_eq!(flash.metadata().unwrap().len(), mebibytes << 20);
            let now = mount.figures().flash_room;
            assert!(
                now.abs_diff(room * mebibytes / 32) < room / 8,
                "{now} {room}"
            );
        }
        reader.join().unwrap();
    });
    let small = control::send(&root, &Command::Size(4096));
    assert_eq!(small.unwrap_err().raw_os_error(), Some(libc::EINVAL));
    let large = control::send(&root, &Command::Size(1 << 60));
    assert!(large.is_err());
    // A place that is gone is a gap, before which the next mount finds nothing.
    control::send(&root, &Command::Flush).unwrap();
    warm(&path);
    assert!(read(&path) == pattern(5_000, 5));
    drop(mount);
    let mut settings = place.settings();
    settings.flash = Some(Flash::Disk(flash, None));
    let mount = Mount::start(&settings).unwrap();
    assert!(read(&path) == pattern(5_000, 5));
    assert!(mount.figures().flash.hits > 2_000);
}

#[test]
#[ignore = "needs /dev/fuse and root; run by make test-root"]
fn what_is_flushed_is_read_from_the_source_again() {
    let place = Place::new();
    for name in ["a", "b"] {
        fs::write(place.source().join(name), pattern(50, 6)).unwrap();
    }
    settle();
    let mount = Mount::start(&place.settings()).unwrap();
    let path = |name: &str| place.mounted().join(name);
    warm(&path("a"));
    warm(&path("b"));
    assert!(control::forget(&File::open(path("a")).unwrap()).unwrap());
    assert!(!control::forget(&File::open(path("a")).unwrap()).unwrap());
    assert_eq!((warm(&path("a")).had, warm(&path("b")).had), (0, 50));
    control::send(&place.mounted(), &Command::Flush).unwrap();
    assert_eq!(mount.figures().flash_pages, 0);
    assert!(!control::forget(&File::open(path("b")).unwrap()).unwrap());
    assert_eq!((warm(&path("a")).had, warm(&path("b")).had), (0, 0));
}

#[test]
#[ignore = "needs /dev/fuse and root; run by make test-root"]
fn other_users_may_not_control_and_some_mounts_cannot_be() {
    let place = Place::new();
    place.open_to_all();
    fs::write(place.source().join("a"), pattern(5, 7)).unwrap();
    settle();
    let mount = Mount::start(&place.settings()).unwrap();
    let python = "import os, sys
for act in (lambda: os.setxattr('.', 'user.terrace.control', b'\"flush\"'),
            lambda: os.getxattr('.', 'user.terrace.control'),
            lambda: os.getxattr('a', 'user.terrace.warm.0'),
            lambda: os.getxattr('a', 'user.terrace.forget')):
    try:
        act()
    except PermissionError:
        continue
    sys.exit('it may')";
    assert!(as_nobody(
        &place.mounted(),
        &format!("python3 -c \"{}\"", python.replace('"', "\\\""))
    ));
    assert_eq!(mount.figures().flash.admitted, 0);
    drop(mount);
    let settings = Settings {
        flash: None,
        ..place.settings()
    };
    let _mount = Mount::start(&settings).unwrap();
    let none = control::held(&place.mounted()).unwrap_err();
    assert_eq!(none.raw_os_error(), Some(libc::EOPNOTSUPP));
}
