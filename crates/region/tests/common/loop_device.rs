//! A file as a block device, with blocks of a size.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A loop device over a file of its own; detached when it is dropped.
pub struct Loop {
    pub path: PathBuf,
    _image: tempfile::NamedTempFile,
}

impl Loop {
    pub fn new(bytes: u64, block: u32) -> Self {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let image = tempfile::NamedTempFile::new_in(directory).unwrap();
        File::set_len(image.as_file(), bytes).unwrap();
        let made = Command::new("losetup")
            .args(["--find", "--show", "--direct-io=on", "--sector-size"])
            .arg(block.to_string())
            .arg(image.path())
            .output()
            .expect("this test needs losetup");
        let said = String::from_utf8_lossy(&made.stderr);
        assert!(
            made.status.success(),
            "this test needs loop devices: {said}"
        );
        Self {
            path: String::from_utf8(made.stdout).unwrap().trim().into(),
            _image: image,
        }
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup")
            .arg("--detach")
            .arg(&self.path)
            .status();
    }
}
