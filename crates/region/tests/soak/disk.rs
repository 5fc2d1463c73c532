//! Small file systems, which get full. They are mounted in a namespace of this thread, so that they
//! are gone with it, however it ends.

use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// A mounted file system; unmounted when it is dropped.
pub struct Mounted<'a>(&'a Path);

impl<'a> Mounted<'a> {
    /// Mounts a file system in memory.
    pub fn in_memory(at: &'a Path, bytes: u64) -> Self {
        leave_namespace();
        let size = format!("size={bytes}");
        run("mount", &["-t", "tmpfs", "-o", &size, "tmpfs", text(at)]);
        Self(at)
    }

    /// Makes ext4 in an image, and mounts it by a loop device.
    pub fn ext4(at: &'a Path, image: &Path, bytes: u64) -> Self {
        leave_namespace();
        File::create(image).unwrap().set_len(bytes).unwrap();
        run("mkfs.ext4", &["-q", "-m", "0", text(image)]);
        run("mount", &["-o", "loop", text(image), text(at)]);
        Self(at)
    }
}

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        // A test that has failed already leaves it to the namespace.
        if std::thread::panicking() {
            return;
        }
        // A file that is still open keeps it busy. The kernel closes those of a killed program's
        // io_uring some time after its end.
        let begun = Instant::now();
        while begun.elapsed() < crate::SOON {
            if Command::new("umount")
                .arg(self.0)
                .output()
                .is_ok_and(|umount| umount.status.success())
            {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        run("umount", &[text(self.0)]);
    }
}

/// Gives this thread a mount namespace of its own, in which nothing spreads.
fn leave_namespace() {
    // SAFETY: the call takes flags.
    let left = unsafe { libc::unshare(libc::CLONE_FS | libc::CLONE_NEWNS) };
    let error = std::io::Error::last_os_error();
    assert_eq!(left, 0, "this test needs a mount namespace: {error}");
    run("mount", &["--make-rprivate", "/"]);
}

/// Returns the free bytes of the file system of a directory.
pub fn free(directory: &Path) -> u64 {
    let about = rustix::fs::statvfs(directory).unwrap();
    about.f_bfree * about.f_frsize
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn run(program: &str, words: &[&str]) {
    let output = Command::new(program).args(words).output();
    let output = output.unwrap_or_else(|error| panic!("this test needs {program}: {error}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {words:?}: {said}");
}
