//! A mount on this machine: what a program sees through it is what it sees without it.
//! Long: what all tests of mounts share.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use terrace_base::Bytes;
use terrace_filecache::medium::Slowdown;
use terrace_filecache::mount::{End, Flash, Mode, Mount, Settings};
use terrace_policy::admission::Chain;
use terrace_policy::replacement;

mod behind;
mod control;
mod late;
mod names;

/// A directory, and one to mount it on.
struct Place {
    directory: TempDir,
}

impl Place {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        for name in ["source", "mounted"] {
            fs::create_dir(directory.path().join(name)).unwrap();
        }
        Self { directory }
    }

    /// Lets every user into the source and what is above it.
    fn open_to_all(&self) {
        for directory in [self.directory.path(), &self.source()] {
            fs::set_permissions(directory, fs::Permissions::from_mode(0o777)).unwrap();
        }
    }

    fn source(&self) -> PathBuf {
        self.directory.path().join("source")
    }

    fn mounted(&self) -> PathBuf {
        self.directory.path().join("mounted")
    }

    fn settings(&self) -> Settings {
        Settings {
            source: self.source(),
            mountpoint: self.mounted(),
            flash: Some(Flash::Disk(
                self.directory.path().join("flash"),
                Some(Bytes(32 << 20)),
            )),
            mode: Mode::Victim,
            admission: Chain::parse("all").unwrap(),
            endurance: None,
            attributes: Duration::ZERO,
        }
    }

    fn exact(&self) -> Settings {
        Settings {
            mode: Mode::Exact(Bytes(64 << 12), replacement::Spec::parse("lru").unwrap()),
            ..self.settings()
        }
    }

    fn all(&self) -> [Settings; 4] {
        let emulated = Flash::Emulated(Bytes(8 << 20), Slowdown::Factors(2.0, 2.0));
        let none = Settings {
            flash: None,
            ..self.settings()
        };
        let emulated = Settings {
            flash: Some(emulated),
            ..self.settings()
        };
        [self.settings(), self.exact(), none, emulated]
    }
}

fn pattern(pages: usize, seed: u8) -> Vec<u8> {
    (0..pages * 4096)
        .map(|at| (at / 7 + at / 4096) as u8 ^ seed)
        .collect()
}

/// How long a test waits for what has to happen: longer than the slowest machine takes.
const PATIENCE: Duration = Duration::from_secs(600);

/// Lets the changes of a file be old enough for it to be admitted.
fn settle() {
    std::thread::sleep(Duration::from_millis(40));
}

/// Drops the kernel's pages of a file.
fn drop_pages(path: &Path) {
    let file = File::open(path).unwrap();
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
}

#[test]
#[ignore = "needs /dev/fuse and root; run by make test-root"]
fn files_are_the_same_below_and_above() {
    let place = Place::new();
    for settings in place.all() {
        let mount = Mount::start(&settings).unwrap();
        let (above, below) = (place.mounted().join("a"), place.source().join("a"));
        fs::write(&above, pattern(5, 1)).unwrap();
        assert_eq!(fs::read(&below).unwrap(), pattern(5, 1));
        settle();
        for _ in 0..3 {
            drop_pages(&above);
            assert_eq!(fs::read(&above).unwrap(), pattern(5, 1));
        }
        let file = File::options().read(true).write(true).open(&above).unwrap();
        file.write_all_at(b"changed", 4096 * 2 - 3).unwrap();
        file.set_len(4096 * 4 + 100).unwrap();
        file.set_len(4096 * 5).unwrap();
        let mut expected = pattern(5, 1);
        expected[4096 * 2 - 3..4096 * 2 + 4].copy_from_slice(b"changed");
        expected[4096 * 4 + 100..].fill(0);
        for path in [&above, &below] {
            assert_eq!(fs::read(path).unwrap(), expected, "{path:?}");
        }
        drop(file);
        fs::remove_file(&above).unwrap();
        assert!(!below.exists());
        assert_eq!(mount.end().unwrap().1, End::Unmounted);
    }
}

#[test]
#[ignore = "needs /dev/fuse and root; run by make test-root"]
fn a_second_mount_finds_the_pages_of_the_first() {
    let place = Place::new();
    fs::write(place.source().join("a"), pattern(500, 2)).unwrap();
    settle();
    let mount = Mount::start(&place.settings()).unwrap();
    assert_eq!(
        fs::read(place.mounted().join("a")).unwrap(),
        pattern(500, 2)
    );
    let (figures, _) = mount.end().unwrap();
    // Pages that come while a full segment is written are refused, as many as the disk makes wait.
    let flash = figures.flash;
    assert_eq!((flash.admitted + flash.refused_busy, flash.hits), (500, 0));
    let mount = Mount::start(&place.settings()).unwrap();
    assert_eq!(
        fs::read(place.mounted().join("a")).unwrap(),
        pattern(500, 2)
    );
    let (figures, _) = mount.end().unwrap();
    assert_eq!(
        (figures.flash.hits, figures.flash.misses),
        (flash.admitted, flash.refused_busy)
    );
}

#[test]
#[ignore = "needs /dev/fuse and root; run by make test-root"]
fn second_read_admits_what_is_read_again() {
    let place = Place::new();
    let path = place.mounted().join("a");
    fs::write(place.source().join("a"), pattern(100, 3)).unwrap();
    settle();
    let settings = Settings {
        admission: Chain::parse("second-read").unwrap(),
        ..place.settings()
    };
    let mount = Mount::start(&settings).unwrap();
    for (hits, admitted) in [(0, 0), (0, 100), (100, 100)] {
        drop_pages(&path);
        assert_eq!(fs::read(&path).unwrap(), pattern(100, 3));
        // Pages are put after the reader has them.
        let since = Instant::now();
        while mount.figures().flash.admitted < admitted && since.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(1));
        }
        let figures = mount.figures();
        assert_eq!(
            (figures.flash.hits, figures.flash.admitted),
            (hits, admitted)
        );
    }
}

#[test]
#[ignore = "needs /dev/fuse and root; run by make test-root"]
fn changes_behind_the_mount_are_seen() {
    let place = Place::new();
    let (above, below) = (place.mounted().join("a"), place.source().join("a"));
    for settings in place.all() {
        fs::write(&below, pattern(9, 4)).unwrap();
        settle();
        let mount = Mount::start(&settings).unwrap();
        for _ in 0..2 {
            assert_eq!(fs::read(&above).unwrap(), pattern(9, 4));
            drop_pages(&above);
        }
        let times = fs::metadata(&below).unwrap();
        let file = File::options().write(true).open(&below).unwrap();
        file.write_all_at(&pattern(1, 9), 4096).unwrap();
        // Also by a program that hides that it wrote.
        file.set_modified(times.modified().unwrap()).unwrap();
        let mut expected = pattern(9, 4);
        expected[4096..8192].copy_from_slice(&pattern(1, 9));
        drop_pages(&above);
        assert_eq!(fs::read(&above).unwrap(), expected);
        drop(mount);
    }
}

#[test]
#[ignore = "needs /dev/fuse and root; run by make test-root"]
fn everything_else_is_passed_through() {
    let place = Place::new();
    let mount = Mount::start(&place.settings()).unwrap();
    let (above, below) = (place.mounted(), place.source());
    fs::create_dir(above.join("d")).unwrap();
    fs::write(above.join("d/a"), b"one").unwrap();
    fs::hard_link(above.join("d/a"), above.join("b")).unwrap();
    symlink("d/a", above.join("l")).unwrap();
    assert_eq!(fs::read(above.join("l")).unwrap(), b"one");
    assert_eq!(fs::read_link(below.join("l")).unwrap(), Path::new("d/a"));
    assert_eq!(fs::metadata(above.join("b")).unwrap().nlink(), 2);
    fs::set_permissions(above.join("b"), fs::Permissions::from_mode(0o640)).unwrap();
    assert_eq!(
        fs::metadata(below.join("d/a")).unwrap().mode() & 0o7777,
        0o640
    );
    std::os::unix::fs::chown(above.join("b"), Some(12), Some(34)).unwrap();
    let about = fs::metadata(below.join("b")).unwrap();
    assert_eq!((about.uid(), about.gid()), (12, 34));
    fs::rename(above.join("b"), above.join("d/c")).unwrap();
    let mut names: Vec<_> = fs::read_dir(above.join("d"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["a", "c"]);
    let file = File::create(above.join("sparse")).unwrap();
    file.set_len(1 << 30).unwrap();
    file.write_all_at(b"end", (1 << 30) - 3).unwrap();
    assert!(fs::metadata(below.join("sparse")).unwrap().blocks() < 100);
    rustix::fs::setxattr(
        above.join("d/a"),
        "user.k",
        b"v",
        rustix::fs::XattrFlags::empty(),
    )
    .unwrap();
    let mut value = [0; 8];
    assert_eq!(
        rustix::fs::getxattr(below.join("d/a"), "user.k", &mut value).unwrap(),
        1
    );
    assert!(fs::remove_dir(above.join("d")).is_err());
    file.sync_all().unwrap();
    drop((file, mount));
}

#[test]
#[ignore = "needs /dev/fuse and root; run by make test-root"]
fn many_entries_are_listed_once() {
    let place = Place::new();
    for name in 0..3000 {
        File::create(place.source().join(format!("a-rather-long-name-{name}"))).unwrap();
    }
    let _mount = Mount::start(&place.settings()).unwrap();
    let names = fs::read_dir(place.mounted())
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    let names: std::collections::BTreeSet<_> = names.collect();
    assert_eq!(names.len(), 3000);
}

/// Runs a command of the shell as a user who owns nothing; returns whether it succeeded.
fn as_nobody(directory: &Path, command: &str) -> bool {
    let mut shell = Command::new("setpriv");
    shell.args([
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        "sh",
        "-c",
        command,
    ]);
    shell.current_dir(directory).status().unwrap().success()
}

/// As pjdfstest's chmod/12 has it.
#[test]
#[ignore = "needs /dev/fuse and root; run by make test-root"]
fn a_write_of_another_user_clears_the_id_bits() {
    let place = Place::new();
    place.open_to_all();
    for settings in place.all() {
        let _mount = Mount::start(&settings).unwrap();
        let (above, below) = (place.mounted().join("file"), place.source().join("file"));
        fs::write(&above, b"before").unwrap();
        let mode = || fs::metadata(&below).unwrap().mode() & 0o7777;
        let set = || fs::set_permissions(&above, fs::Permissions::from_mode(0o6777)).unwrap();
        set();
        assert!(as_nobody(&place.mounted(), "printf x >> file"));
        assert_eq!(mode(), 0o777, "{:?}", settings.mode);
        set();
        let file = File::options().write(true).open(&above).unwrap();
        file.write_all_at(b"by root", 0).unwrap();
        assert_eq!(mode(), 0o6777, "{:?}", settings.mode);
    }
}

#[test]
#[ignore = "needs /dev/fuse and root; run by make test-root"]
fn files_belong_to_the_caller_and_are_closed_to_others() {
    let place = Place::new();
    place.open_to_all();
    let _mount = Mount::start(&place.settings()).unwrap();
    let as_nobody = |command: &str| as_nobody(&place.mounted(), command);
    assert!(as_nobody(
        "umask 027; echo x > own; mkdir dir; ln -s own link"
    ));
    for name in ["own", "dir", "link"] {
        let about = fs::symlink_metadata(place.source().join(name)).unwrap();
        assert_eq!((about.uid(), about.gid()), (65534, 65534), "{name}");
    }
    let mode = fs::metadata(place.source().join("own")).unwrap().mode();
    assert_eq!(mode & 0o7777, 0o640);
    fs::write(place.source().join("secret"), b"s").unwrap();
    fs::set_permissions(
        place.source().join("secret"),
        fs::Permissions::from_mode(0o600),
    )
    .unwrap();
    assert!(!as_nobody("cat secret 2> /dev/null"));
    // The threads that served the caller are root's again.
    fs::write(place.mounted().join("of-root"), b"r").unwrap();
    assert_eq!(
        fs::metadata(place.source().join("of-root")).unwrap().uid(),
        0
    );
}

#[test]
#[ignore = "needs /dev/fuse and root; run by make test-root"]
fn mappings_see_writes_of_others() {
    let place = Place::new();
    let path = place.mounted().join("a");
    let _mount = Mount::start(&place.settings()).unwrap();
    fs::write(&path, pattern(4, 5)).unwrap();
    let output = Command::new("python3")
        .args([
            "-c",
            "
import mmap, sys
f = open(sys.argv[1], 'r+b')
m = mmap.mmap(f.fileno(), 0)
m[5000:5004] = b'mmap'
m.flush()
f.seek(9000); f.write(b'write'); f.flush()
assert m[9000:9005] == b'write'
",
        ])
        .arg(&path)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let below = fs::read(place.source().join("a")).unwrap();
    assert_eq!(
        (&below[5000..5004], &below[9000..9005]),
        (&b"mmap"[..], &b"write"[..])
    );
}

#[test]
#[ignore = "needs /dev/fuse and root; run by make test-root"]
fn a_mount_that_is_in_use_is_unmounted_all_the_same() {
    let place = Place::new();
    fs::write(place.source().join("a"), pattern(1, 6)).unwrap();
    let mount = Mount::start(&place.settings()).unwrap();
    let mut open = File::open(place.mounted().join("a")).unwrap();
    assert_eq!(mount.end().unwrap().1, End::InUse);
    assert_eq!(fs::read_dir(place.mounted()).unwrap().count(), 0);
    open.seek(SeekFrom::Start(0)).unwrap();
    let _ = open.read(&mut [0; 10]);
}

#[test]
#[ignore = "needs /dev/fuse and root; run by make test-root"]
fn what_cannot_be_mounted_is_said_in_a_sentence() {
    let place = Place::new();
    let refused = |change: &dyn Fn(&mut Settings)| {
        let mut settings = place.settings();
        change(&mut settings);
        Mount::start(&settings).map(drop).unwrap_err().to_string()
    };
    let same = refused(&|settings| settings.mountpoint = place.source());
    assert!(same.contains("are the same directory"), "{same}");
    let full = place.directory.path().join("full");
    fs::create_dir_all(full.join("inside")).unwrap();
    let full = refused(&|settings| settings.mountpoint = full.clone());
    assert!(full.contains("is not empty"), "{full}");
    fs::create_dir(place.source().join("below")).unwrap();
    let inside = refused(&|settings| settings.mountpoint = place.source().join("below"));
    assert!(inside.contains("one inside the other"), "{inside}");
    let flash = refused(&|settings| {
        settings.flash = Some(Flash::Disk(
            place.source().join("flash"),
            Some(Bytes(1 << 20)),
        ));
    });
    assert!(flash.contains("lies inside"), "{flash}");
    let small = refused(&|settings| {
        settings.flash = Some(Flash::Disk(
            place.directory.path().join("small"),
            Some(Bytes(4096)),
        ));
    });
    assert!(small.contains("too small"), "{small}");
    let large = refused(&|settings| {
        settings.flash = Some(Flash::Disk(
            place.directory.path().join("large"),
            Some(Bytes(1 << 50)),
        ));
    });
    assert!(large.contains("no room"), "{large}");
    fs::write(place.directory.path().join("letter"), b"Dear reader").unwrap();
    let other = refused(&|settings| {
        settings.flash = Some(Flash::Disk(
            place.directory.path().join("letter"),
            Some(Bytes(1 << 20)),
        ));
    });
    assert!(other.contains("something other than a cache"), "{other}");
    let missing = refused(&|settings| settings.source = place.directory.path().join("none"));
    assert!(missing.contains("No such file"), "{missing}");
    let _mount = Mount::start(&place.settings()).unwrap();
    let twice = refused(&|_| ());
    assert!(twice.contains("already"), "{twice}");
    fs::create_dir(place.directory.path().join("elsewhere")).unwrap();
    let in_use =
        refused(&|settings| settings.mountpoint = place.directory.path().join("elsewhere"));
    assert!(in_use.contains("in use by another mount"), "{in_use}");
}

#[test]
#[ignore = "needs /dev/fuse and root; run by make test-root"]
fn threads_that_write_and_read_see_their_bytes() {
    let place = Place::new();
    for settings in [place.settings(), place.exact()] {
        let _mount = Mount::start(&settings).unwrap();
        std::thread::scope(|scope| {
            for thread in 0..4_u8 {
                let path = place.mounted().join(format!("file-{thread}"));
                scope.spawn(move || {
                    let mut file = File::options()
                        .read(true)
                        .write(true)
                        .create(true)
                        .truncate(true)
                        .open(path)
                        .unwrap();
                    let mut expected = pattern(200, thread);
                    file.write_all(&expected).unwrap();
                    for round in 0..300_usize {
                        let at = (round * 7919 + usize::from(thread) * 13) % (199 * 4096);
                        let bytes = [round as u8; 777];
                        file.write_all_at(&bytes, at as u64).unwrap();
                        expected[at..at + 777].copy_from_slice(&bytes);
                        let from = (round * 104_729) % (190 * 4096);
                        let mut read = vec![0; 30_000];
                        file.read_exact_at(&mut read, from as u64).unwrap();
                        assert!(
                            read == expected[from..from + 30_000],
                            "thread {thread}, round {round}"
                        );
                    }
                });
            }
        });
    }
}

/// The crate that speaks to the kernel has no files without names (O_TMPFILE); programs take named
/// ones instead.
#[test]
#[ignore = "needs /dev/fuse and root; run by make test-root"]
fn programs_that_want_files_without_names_get_by() {
    let place = Place::new();
    let _mount = Mount::start(&place.settings()).unwrap();
    let script = "
import errno, os, tempfile
for _ in range(2):
    try:
        os.open('.', os.O_TMPFILE | os.O_RDWR)
        raise SystemExit('there are such files by now: say so in the documents')
    except OSError as error:
        assert error.errno == errno.EOPNOTSUPP, error
with tempfile.TemporaryFile(dir='.') as file:
    file.write(b'x' * 10000)
    file.seek(0)
    assert file.read() == b'x' * 10000
assert os.listdir('.') == []
";
    let mut python = Command::new("python3");
    let python = python.args(["-c", script]).current_dir(place.mounted());
    assert!(python.status().unwrap().success());
}
