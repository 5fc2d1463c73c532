//! One swap area: made, switched on, switched off, removed.

use std::ffi::{CString, OsString};
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use terrace_policy::PAGE_BYTES;

use terrace_base::Bytes;
use terrace_base::{Context, Error, Result};

/// The smallest area worth having.
pub(super) const SMALLEST: Bytes = Bytes(64 << 20);
/// Before everything else that the machine swaps to.
const PRIORITY: libc::c_int = 0x8000 | 0x7fff;
/// The volume name in a header of ours.
const LABEL: &[u8; 7] = b"terrace";
const LABEL_AT: usize = 1052;
const SIGNATURE: &[u8; 10] = b"SWAPSPACE2";
const SIGNATURE_AT: u64 = PAGE_BYTES - SIGNATURE.len() as u64;
/// File systems have their signatures within this; a device blank so far is taken to be blank.
const PROBED: usize = 128 * 1024;

/// A swap area of ours: what it is and how to undo it. Kept in the journal too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Area {
    /// A file of this many bytes.
    File(PathBuf, Bytes),
    /// A block device; `true` where it was blank and the swap header is ours.
    Device(PathBuf, bool),
    /// A zram device by number, and its size; `true` where we added the device itself.
    Zram(u32, Bytes, bool),
}

impl Area {
    pub(super) fn zram(size: Bytes) -> Result<Self> {
        let add = "/sys/class/zram-control/hot_add";
        if let Ok(number) = fs::read_to_string(add) {
            let number = number.trim().parse().unwrap_or(0);
            return Ok(Self::Zram(number, size, true));
        }
        match fs::read_to_string("/sys/block/zram0/disksize") {
            Ok(used) if used.trim() == "0" => return Ok(Self::Zram(0, size, false)),
            Ok(_) => {
                return Err(Error::usage(
                    "the only zram device is in use already; choose another tier",
                ));
            }
            Err(_) => {}
        }
        Err(Error::failure(
            "this kernel has no zram; load it (modprobe zram) or choose another tier",
        ))
    }

    pub(super) fn device(path: &Path, needed: Bytes) -> Result<Self> {
        let name = path.display();
        // `/proc/swaps` names a device by its own path, not by a link to it.
        let path = path
            .canonicalize()
            .or_fail(|| format!("cannot use the device {name}"))?;
        let (mut device, content) = open_device(&path)?;
        let size = size_of(&mut device).or_fail(|| format!("cannot read the device {name}"))?;
        if size < needed {
            return Err(Error::usage(format!(
                "the device {name} has {size}, and {needed} are needed; name a larger one"
            )));
        }
        match content {
            Content::Blank => Ok(Self::Device(path, true)),
            Content::SwapHeader => Ok(Self::Device(path, false)),
            Content::Data => Err(Error::usage(format!(
                "the device {name} holds data, which swapping would destroy; \
                 if it is not needed, erase it first (wipefs -a, blkdiscard -z)"
            ))),
        }
    }

    /// The path that is swapped to.
    pub fn path(&self) -> PathBuf {
        match self {
            Self::File(path, _) | Self::Device(path, _) => path.clone(),
            Self::Zram(number, ..) => PathBuf::from(format!("/dev/zram{number}")),
        }
    }

    pub(super) fn make(&self) -> Result<()> {
        match self {
            Self::File(path, size) => make_file(path, *size),
            Self::Device(path, true) => format_device(path),
            Self::Device(_, false) => Ok(()),
            Self::Zram(number, size, _) => {
                let knob = format!("/sys/block/zram{number}/disksize");
                fs::write(&knob, size.0.to_string()).or_fail(|| format!("cannot set {knob}"))?;
                format_device(&self.path())
            }
        }
    }

    pub(super) fn switch_on(&self) -> Result<()> {
        let path = self.path();
        let name = c_path(&path).or_fail(|| format!("cannot use {}", path.display()))?;
        // SAFETY: `name` ends in NUL; swapon reads nothing else of ours.
        if unsafe { libc::swapon(name.as_ptr(), PRIORITY) } == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        let advice = match error.raw_os_error() {
            Some(libc::EPERM) => "CAP_SYS_ADMIN is needed, run as root",
            Some(libc::EINVAL) => "this file system holds no swap files, name another directory",
            Some(libc::EBUSY) => "it is in use already",
            _ => "choose another tier",
        };
        Err(Error::failure(format!(
            "cannot swap to {}: {error}; {advice}",
            path.display()
        )))
    }

    /// Whether the kernel swaps to it now.
    pub fn is_on(&self) -> bool {
        active_areas().contains(&self.path())
    }

    /// What the kernel can put on it, while it is on.
    pub(super) fn active_size(&self) -> Option<Bytes> {
        let path = self.path();
        let (_, size) = swaps().into_iter().find(|(area, _)| *area == path)?;
        Some(size)
    }

    /// Whether nothing of it is left.
    pub fn is_undone(&self) -> bool {
        match self {
            Self::File(path, _) => !path.exists(),
            Self::Device(..) => !self.is_on(),
            Self::Zram(number, _, true) => !Path::new(&format!("/sys/block/zram{number}")).exists(),
            Self::Zram(..) => !self.is_on(),
        }
    }

    /// Whether it can have outlived a boot of the machine: all but files are gone, and another
    /// may have their names.
    pub fn outlives_boot(&self) -> bool {
        matches!(self, Self::File(..))
    }

    /// Switches it off and removes what we made. Does nothing twice.
    ///
    /// # Errors
    /// A failure where the kernel cannot take its pages back or the file stays.
    pub fn remove(&self) -> Result<()> {
        let path = self.path();
        let what = || format!("cannot take back the swap area {}", path.display());
        switch_off(&path).or_fail(what)?;
        match self {
            Self::File(..) => match fs::remove_file(&path) {
                Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
                removed => removed,
            },
            Self::Device(_, true) => erase_header(&path),
            Self::Device(_, false) => Ok(()),
            Self::Zram(number, _, added) => remove_zram(*number, *added),
        }
        .or_fail(what)
    }
}

impl fmt::Display for Area {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path, size) => write!(f, "swap file of {size} in {}", parent(path)),
            Self::Device(path, _) => write!(f, "device {}", path.display()),
            Self::Zram(_, size, _) => write!(f, "zram of {size}"),
        }
    }
}

fn parent(path: &Path) -> std::path::Display<'_> {
    path.parent().unwrap_or(path).display()
}

fn make_file(path: &Path, size: Bytes) -> Result<()> {
    let cannot = |e: io::Error| {
        Error::usage(format!(
            "cannot make a swap file in {}: {e}; name a directory that can be written",
            parent(path)
        ))
    };
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .map_err(cannot)?;
    // SAFETY: fallocate takes a descriptor that is ours and integers.
    let allocated = match unsafe { libc::fallocate(file.as_raw_fd(), 0, 0, size.0 as libc::off_t) }
    {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    };
    allocated
        .and_then(|()| write_header(&mut file, size))
        .map_err(|e| {
            let _ = fs::remove_file(path);
            cannot(e)
        })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    Blank,
    SwapHeader,
    Data,
}

fn format_device(path: &Path) -> Result<()> {
    let (mut device, _) = open_device(path)?;
    size_of(&mut device)
        .and_then(|size| write_header(&mut device, size))
        .or_fail(|| format!("cannot prepare the device {}", path.display()))
}

/// Opens a device that nobody else uses, and looks what is on it.
fn open_device(path: &Path) -> Result<(File, Content)> {
    let name = path.display();
    let mut device = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_EXCL)
        .open(path)
        .map_err(|e| match e.raw_os_error() {
            Some(libc::EBUSY) => Error::usage(format!(
                "the device {name} is mounted or in use; name one that is free"
            )),
            _ => Error::usage(format!("cannot open the device {name}: {e}")),
        })?;
    let what = || format!("cannot read the device {name}");
    let content = content(&mut device).or_fail(what)?;
    Ok((device, content))
}

fn size_of(device: &mut File) -> io::Result<Bytes> {
    device.seek(SeekFrom::End(0)).map(Bytes)
}

/// What a device holds, by its beginning, where every file system has its signature.
fn content(device: &mut File) -> io::Result<Content> {
    let mut start = vec![0u8; PROBED];
    device.seek(SeekFrom::Start(0))?;
    device.read_exact(&mut start)?;
    Ok(if start[..PAGE_BYTES as usize].ends_with(SIGNATURE) {
        Content::SwapHeader
    } else if start.iter().all(|&byte| byte == 0) {
        Content::Blank
    } else {
        Content::Data
    })
}

/// The kernel's `union swap_header`: at 1024 the version, the last page, the number of bad
/// pages; the signature ends the first page.
fn write_header(file: &mut File, size: Bytes) -> io::Result<()> {
    let mut page = [0u8; PAGE_BYTES as usize];
    let last_page = u32::try_from(size.0 / PAGE_BYTES - 1).unwrap_or(u32::MAX);
    page[1024..1028].copy_from_slice(&1u32.to_ne_bytes());
    page[1028..1032].copy_from_slice(&last_page.to_ne_bytes());
    page[LABEL_AT..LABEL_AT + LABEL.len()].copy_from_slice(LABEL);
    page[SIGNATURE_AT as usize..].copy_from_slice(SIGNATURE);
    file.seek(SeekFrom::Start(0))?;
    file.write_all(&page)?;
    file.sync_all()
}

/// Makes a device blank again, as it was found, if the header on it is ours. Anything else is
/// somebody's: the device may have got another use, or its name another device, since.
fn erase_header(path: &Path) -> io::Result<()> {
    let mut device = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_EXCL)
        .open(path)?;
    let mut header = [0u8; PAGE_BYTES as usize];
    device.read_exact(&mut header)?;
    if !header.ends_with(SIGNATURE) || !header[LABEL_AT..].starts_with(LABEL) {
        return Ok(());
    }
    device.seek(SeekFrom::Start(0))?;
    device.write_all(&[0u8; PROBED])?;
    device.sync_all()
}

/// Switches an area off; one that is not on is no error.
fn switch_off(path: &Path) -> io::Result<()> {
    let name = c_path(path)?;
    loop {
        // SAFETY: `name` ends in NUL; swapoff reads nothing else of ours.
        if unsafe { libc::swapoff(name.as_ptr()) } == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            // A signal ends it half way; it goes on where it was.
            Some(libc::EINTR) => {}
            Some(libc::EINVAL | libc::ENOENT) => return Ok(()),
            _ => return Err(error),
        }
    }
}

fn remove_zram(number: u32, added: bool) -> io::Result<()> {
    if !Path::new(&format!("/sys/block/zram{number}")).exists() {
        return Ok(());
    }
    // Whoever looks at new devices may still have it open for a moment.
    let reset = format!("/sys/block/zram{number}/reset");
    let mut tries = 0;
    while let Err(e) = fs::write(&reset, "1") {
        tries += 1;
        if e.raw_os_error() != Some(libc::EBUSY) || tries == 50 {
            return Err(e);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    if added {
        fs::write("/sys/class/zram-control/hot_remove", number.to_string())?;
    }
    Ok(())
}

pub(super) fn c_path(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes())
        .map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))
}

/// The swap areas in use.
pub fn active_areas() -> Vec<PathBuf> {
    swaps().into_iter().map(|(path, _)| path).collect()
}

/// The areas of `/proc/swaps` and their sizes, which it has in KiB.
fn swaps() -> Vec<(PathBuf, Bytes)> {
    let text = fs::read_to_string("/proc/swaps").unwrap_or_default();
    text.lines().skip(1).filter_map(parse_swap).collect()
}

/// Path, type, size, used, priority.
fn parse_swap(line: &str) -> Option<(PathBuf, Bytes)> {
    let mut columns = line.split_whitespace();
    let path = unescape(columns.next()?);
    let size = columns.nth(1)?.parse::<u64>().ok()?;
    Some((path, Bytes(size * 1024)))
}

/// The kernel writes blanks and the like in paths as `\040`.
fn unescape(text: &str) -> PathBuf {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, behind)) = rest.split_first() {
        let octal = rest.get(1..4).filter(|_| byte == b'\\');
        let code =
            octal.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        bytes.push(code.unwrap_or(byte));
        rest = if code.is_some() { &rest[4..] } else { behind };
    }
    PathBuf::from(OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_as_the_kernel_writes_them() {
        let path = |text| unescape(text).display().to_string();
        assert_eq!(path("/mnt/my\\040disk/a"), "/mnt/my disk/a");
        assert_eq!(path("/a\\b\\04"), "/a\\b\\04");
        assert_eq!(path(""), "");

        let line = "/mnt/my\\040disk/a\tfile\t\t524284\t\t76\t\t32767";
        let area = (PathBuf::from("/mnt/my disk/a"), Bytes(524_284 << 10));
        assert_eq!(parse_swap(line), Some(area));
    }

    #[test]
    fn only_a_header_of_ours_is_erased() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(1 << 20).unwrap();
        let mut handle = file.reopen().unwrap();
        write_header(&mut handle, Bytes(1 << 20)).unwrap();
        handle.seek(SeekFrom::Start(LABEL_AT as u64)).unwrap();
        handle.write_all(b"another").unwrap();
        erase_header(file.path()).unwrap();
        assert_eq!(content(&mut handle).unwrap(), Content::SwapHeader);
        write_header(&mut handle, Bytes(1 << 20)).unwrap();
        erase_header(file.path()).unwrap();
        assert_eq!(content(&mut handle).unwrap(), Content::Blank);
    }

    #[test]
    fn the_header_is_what_the_kernel_expects() {
        let mut file = tempfile::tempfile().unwrap();
        write_header(&mut file, Bytes(1 << 20)).unwrap();
        let mut page = vec![0u8; 4096];
        file.seek(SeekFrom::Start(0)).unwrap();
        file.read_exact(&mut page).unwrap();
        assert_eq!(page[1024..1028], 1u32.to_ne_bytes());
        assert_eq!(page[1028..1032], 255u32.to_ne_bytes());
        assert_eq!(&page[4086..], SIGNATURE);
    }

    #[test]
    fn a_device_with_a_file_system_is_not_taken_for_blank() {
        let mut file = tempfile::tempfile().unwrap();
        file.set_len(1 << 20).unwrap();
        assert_eq!(content(&mut file).unwrap(), Content::Blank);
        write_header(&mut file, Bytes(1 << 20)).unwrap();
        assert_eq!(content(&mut file).unwrap(), Content::SwapHeader);
        file.set_len(0).unwrap();
        file.set_len(1 << 20).unwrap();
        // The superblock of an ext4 file system begins at 1024, its magic at 1080.
        file.seek(SeekFrom::Start(1080)).unwrap();
        file.write_all(&[0x53, 0xef]).unwrap();
        assert_eq!(content(&mut file).unwrap(), Content::Data);
    }
}
