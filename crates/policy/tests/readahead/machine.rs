//! What the kernel of this machine reads of a file, page by page.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::ptr;
use std::time::{Duration, Instant};

/// An ext4 without large folios, for which it keeps data in its journal, on a loop device; gone
/// when it is dropped.
pub struct Disk {
    place: tempfile::TempDir,
}

impl Disk {
    /// Makes a file of so many pages that are in no cache.
    pub fn with_file(pages: u64, read_ahead_kb: u64) -> Self {
        let disk = Self {
            place: tempfile::tempdir().unwrap(),
        };
        let (image, point) = (disk.place.path().join("image"), disk.point());
        File::create(&image).unwrap().set_len(96 << 20).unwrap();
        run("mkfs.ext4", &[Path::new("-qF"), &image]);
        fs::create_dir(&point).unwrap();
        disk.mount();
        fs::write(disk.file(), vec![7; 4096 * pages as usize]).unwrap();
        run("umount", &[&point]);
        disk.mount();
        // The kernel takes it over as a file is opened.
        let knob = disk.knob();
        fs::write(knob, read_ahead_kb.to_string()).unwrap();
        disk
    }

    pub fn file(&self) -> PathBuf {
        self.point().join("file")
    }

    fn point(&self) -> PathBuf {
        self.place.path().join("point")
    }

    fn mount(&self) {
        let options = ["-o", "loop,data=journal"].map(Path::new);
        let image = self.place.path().join("image");
        run("mount", &[options[0], options[1], &image, &self.point()]);
    }

    fn knob(&self) -> PathBuf {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
        let point = self.point();
        let here = mounts
            .lines()
            .find(|line| line.contains(point.to_str().unwrap()));
        let device = here.unwrap().split(' ').next().unwrap();
        let name = device.strip_prefix("/dev/").unwrap();
        format!("/sys/block/{name}/queue/read_ahead_kb").into()
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.point()).status();
    }
}

fn run(program: &str, words: &[&Path]) {
    let status = Command::new(program).args(words).status();
    let status = status.unwrap_or_else(|_| panic!("this test needs {program}"));
    assert!(status.success(), "{program} {words:?}");
}

/// Looks at which pages of a file are in the kernel's cache, and evicts some.
pub struct Look {
    file: File,
    pages: u64,
    mapped: *mut libc::c_void,
}

impl Look {
    pub fn at(path: &Path, pages: u64) -> Self {
        let file = File::open(path).unwrap();
        let (bytes, shared) = (4096 * pages as usize, libc::MAP_SHARED);
        // SAFETY: a new mapping of an open file, whose pages are never touched.
        let mapped = unsafe {
            libc::mmap(
                ptr::null_mut(),
                bytes,
                libc::PROT_READ,
                shared,
                file.as_raw_fd(),
                0,
            )
        };
        assert_ne!(mapped, libc::MAP_FAILED);
        Self {
            file,
            pages,
            mapped,
        }
    }

    pub fn held(&self) -> BTreeSet<u64> {
        let mut held = vec![0_u8; self.pages as usize];
        let bytes = 4096 * held.len();
        // SAFETY: the mapping has so many bytes, and the vector one for each of their pages.
        let status = unsafe { libc::mincore(self.mapped, bytes, held.as_mut_ptr()) };
        assert_eq!(status, 0);
        (0..)
            .zip(held)
            .filter(|(_, held)| held & 1 == 1)
            .map(|(page, _)| page)
            .collect()
    }

    /// Waits until just these pages are held; returns what is held.
    pub fn wait_for(&self, expected: &BTreeSet<u64>) -> BTreeSet<u64> {
        let began = Instant::now();
        loop {
            let held = self.held();
            if held == *expected || began.elapsed() > Duration::from_secs(2) {
                return held;
            }
            std::thread::sleep(Duration::from_micros(100));
        }
    }

    pub fn evict(&self, page: u64, pages: u64) {
        let [from, bytes] = [page, pages].map(|pages| 4096 * pages as libc::off_t);
        // SAFETY: advice on an open file, which changes no memory.
        let status = unsafe {
            libc::posix_fadvise(
                self.file.as_raw_fd(),
                from,
                bytes,
                libc::POSIX_FADV_DONTNEED,
            )
        };
        assert_eq!(status, 0);
    }
}

impl Drop for Look {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own.
        unsafe { libc::munmap(self.mapped, 4096 * self.pages as usize) };
    }
}

/// Reads bytes of a file, which may end before.
pub fn read(file: &File, begin: u64, bytes: u64) {
    let mut into = vec![0; bytes as usize];
    file.read_at(&mut into, begin).unwrap();
}
