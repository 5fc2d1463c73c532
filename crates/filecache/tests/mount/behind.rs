//! Changes that move no version, and those of several at once.

use std::os::fd::AsRawFd;

use super::*;

/// Longer than the kernel keeps pages of a file that others may be storing to.
const SEEN: Duration = Duration::from_millis(1500);

/// A page of a file, mapped shared. The descriptor is closed, as most programs do.
struct Mapped(*mut u8);

impl Mapped {
    fn new(path: &Path, page: i64) -> Self {
        let file = File::options().read(true).write(true).open(path).unwrap();
        let rights = libc::PROT_READ | libc::PROT_WRITE;
        let null = std::ptr::null_mut();
        // SAFETY: a new mapping of a page of an open file.
        let at = unsafe {
            libc::mmap(
                null,
                4096,
                rights,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                page * 4096,
            )
        };
        assert_ne!(at, libc::MAP_FAILED);
        Self(at.cast())
    }

    fn store(&self, byte: u8) {
        // SAFETY: the page is mapped until this is dropped, and nothing else refers to it.
        unsafe { std::ptr::write_bytes(self.0, byte, 4096) };
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: the page was mapped by `new`.
        unsafe { libc::munmap(self.0.cast(), 4096) };
    }
}

/// The second store moves no time, because the kernel has not written back the first.
#[test]
#[ignore = "needs /dev/fuse and root; run by make test-root"]
fn stores_through_mappings_are_seen() {
    for settle_between in [false, true] {
        let place = Place::new();
        for settings in place.all() {
            let (above, below) = (place.mounted().join("a"), place.source().join("a"));
            fs::write(&below, pattern(4, 1)).unwrap();
            settle();
            let mount = Mount::start(&settings).unwrap();
            let open = File::open(&above).unwrap();
            let mapped = Mapped::new(&below, 2);
            mapped.store(b'B');
            if settle_between {
                settle();
            }
            for _ in 0..2 {
                assert_eq!(fs::read(&above).unwrap()[8192..12288], [b'B'; 4096]);
                drop_pages(&above);
            }
            mapped.store(b'C');
            drop(mapped);
            File::open(&below).unwrap().sync_all().unwrap();
            std::thread::sleep(SEEN);
            let mut page = [0; 4096];
            open.read_exact_at(&mut page, 8192).unwrap();
            assert_eq!(page, [b'C'; 4096], "{settings:?}");
            assert_eq!(fs::read(&above).unwrap()[8192..12288], [b'C'; 4096]);
            drop_pages(&above);
            assert_eq!(fs::read(&above).unwrap()[8192..12288], [b'C'; 4096]);
            drop(open);
            drop(mount);
            let _mount = Mount::start(&settings).unwrap();
            assert_eq!(fs::read(&above).unwrap()[8192..12288], [b'C'; 4096]);
        }
    }
}

/// Reads a file past the kernel's pages, and returns how many pages the flash had.
fn hits(mount: &Mount, path: &Path) -> u64 {
    drop_pages(path);
    let before = mount.figures().flash.hits;
    fs::read(path).unwrap();
    // Pages are put after the reader has them.
    std::thread::sleep(Duration::from_millis(100));
    mount.figures().flash.hits - before
}

#[test]
#[ignore = "needs /dev/fuse and root; run by make test-root"]
fn pages_stay_beside_a_write_unless_others_have_the_file_open() {
    let place = Place::new();
    let (above, below) = (place.mounted().join("a"), place.source().join("a"));
    fs::write(&below, pattern(20, 1)).unwrap();
    settle();
    let mount = Mount::start(&place.settings()).unwrap();
    // Also while the mount has it open for writing.
    let file = File::options().read(true).write(true).open(&above).unwrap();
    assert_eq!(hits(&mount, &above), 0);
    assert_eq!(hits(&mount, &above), 20);
    file.write_all_at(b"changed", 5000).unwrap();
    assert_eq!(hits(&mount, &above), 19);
    settle();
    // On a slow machine the page was old enough to be kept before.
    assert!(hits(&mount, &above) >= 19);
    assert_eq!(hits(&mount, &above), 20);
    assert_eq!(mount.figures().flash.changed_beside, 0);
    let other = File::open(&below).unwrap();
    file.write_all_at(b"again", 5000).unwrap();
    assert_eq!(mount.figures().flash.changed_beside, 1);
    drop(other);
    settle();
    assert_eq!(hits(&mount, &above), 0);
    assert_eq!(hits(&mount, &above), 20);
    // One who has it open for writing may change it at any time.
    let _other = File::options().write(true).open(&below).unwrap();
    file.set_len(4096 * 19).unwrap();
    settle();
    assert_eq!(hits(&mount, &above), 0);
    assert_eq!(hits(&mount, &above), 0);
}

/// Attributes are changed without a page being lost.
#[test]
#[ignore = "needs /dev/fuse and root; run by make test-root"]
fn pages_stay_beside_changes_of_attributes() {
    let place = Place::new();
    let above = place.mounted().join("a");
    fs::write(place.source().join("a"), pattern(20, 1)).unwrap();
    settle();
    let mount = Mount::start(&place.settings()).unwrap();
    assert_eq!(hits(&mount, &above), 0);
    fs::set_permissions(&above, fs::Permissions::from_mode(0o600)).unwrap();
    fs::hard_link(&above, place.mounted().join("b")).unwrap();
    fs::remove_file(&above).unwrap();
    fs::rename(place.mounted().join("b"), &above).unwrap();
    assert_eq!(hits(&mount, &above), 20);
}

#[test]
#[ignore = "needs /dev/fuse and root; run by make test-root"]
fn writes_at_the_end_go_there() {
    let place = Place::new();
    let above = place.mounted().join("a");
    for settings in place.all() {
        let _mount = Mount::start(&settings).unwrap();
        fs::write(&above, b"1").unwrap();
        let mut end = File::options().append(true).open(&above).unwrap();
        let mut reading = File::open(&above).unwrap();
        end.write_all(b"2").unwrap();
        fs::write(place.source().join("a"), b"12345").unwrap();
        std::thread::sleep(SEEN);
        end.write_all(b"6").unwrap();
        let mut all = String::new();
        reading.read_to_string(&mut all).unwrap();
        assert_eq!(all, "123456");
    }
}
