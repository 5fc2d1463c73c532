//! A file as a block device, for those that use nothing else.
//!
//! Linux, Documentation/admin-guide/blockdev and drivers/block/loop.c. The device vanishes with its
//! last user, so a run that is killed leaves none behind.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use linux_raw_sys::loop_device::{
    LO_FLAGS_AUTOCLEAR, LO_FLAGS_DIRECT_IO, LOOP_CONFIGURE, LOOP_CTL_GET_FREE, loop_config,
};
use terrace_base::answered;
use terrace_policy::PAGE_BYTES;

const CONTROL: &str = "/dev/loop-control";
/// Number of devices that are tried: another program may take one before us.
const TRIES: usize = 8;

/// A loop device; it is there until this and all other users have closed it.
#[derive(Debug)]
pub(super) struct LoopDevice {
    /// Path of the device.
    pub path: PathBuf,
    _file: File,
}

impl LoopDevice {
    /// Makes a device of `file`, in blocks of a page. It passes the page cache by where the file
    /// system can: otherwise the pages of the file would be in DRAM as well.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn over(file: &File) -> io::Result<Self> {
        let control = File::options().read(true).write(true).open(CONTROL)?;
        for _ in 1..TRIES {
            match Self::first_free(&control, file) {
                Err(e) if e.raw_os_error() == Some(libc::EBUSY) => {}
                made => return made,
            }
        }
        Self::first_free(&control, file)
    }

    fn first_free(control: &File, file: &File) -> io::Result<Self> {
        // SAFETY: the request takes no argument, and returns a number.
        let number =
            unsafe { libc::ioctl(control.as_raw_fd(), libc::Ioctl::from(LOOP_CTL_GET_FREE)) };
        let number = answered(number)?;
        let path = PathBuf::from(format!("/dev/loop{number}"));
        let device = open(&path)?;
        // SAFETY: a structure of numbers, for which zero is valid and means the default.
        let mut config: loop_config = unsafe { std::mem::zeroed() };
        config.fd = file.as_raw_fd() as u32;
        config.block_size = PAGE_BYTES as u32;
        config.info.lo_flags = LO_FLAGS_AUTOCLEAR as u32 | LO_FLAGS_DIRECT_IO as u32;
        // SAFETY: the kernel reads the structure, which is initialised and outlives the call.
        let done = unsafe {
            libc::ioctl(
                device.as_raw_fd(),
                libc::Ioctl::from(LOOP_CONFIGURE),
                &raw const config,
            )
        };
        answered(done).map(|_| Self {
            path,
            _file: device,
        })
    }
}

fn open(path: &Path) -> io::Result<File> {
    File::options().read(true).write(true).open(path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;
    use std::time::Duration;

    use super::*;
    use crate::system::busy::while_busy;

    #[test]
    #[ignore = "needs root and loop devices; run by make test-root"]
    fn a_loop_device_is_its_file_and_goes_away_with_its_last_user() {
        let file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        file.set_len(1 << 20).unwrap();
        let device = LoopDevice::over(&file).expect("loop devices");
        let other_user = open(&device.path).unwrap();
        let name = device.path.file_name().unwrap().to_owned();
        drop(device);
        other_user
            .write_all_at(b"through the device", 8192)
            .unwrap();
        other_user.sync_all().unwrap();
        let mut found = [0; 18];
        file.read_exact_at(&mut found, 8192).unwrap();
        assert_eq!(&found, b"through the device");
        drop(other_user);
        let bound = Path::new("/sys/block").join(name).join("loop");
        let gone = || match bound.exists() {
            true => Err(io::Error::from_raw_os_error(libc::EBUSY)),
            false => Ok(()),
        };
        while_busy(100, Duration::from_millis(20), gone).expect("the device is free again");
    }
}
