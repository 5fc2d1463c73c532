//! The machine's swap areas, as the kernel lists them.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use crate::bytes::Bytes;

/// An active swap area.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Swap {
    /// Path.
    pub path: PathBuf,
    /// Size.
    pub size: Bytes,
    /// Bytes in use.
    pub used: Bytes,
    /// Priority; areas are filled from the highest down.
    pub priority: i32,
}

/// Returns the areas of `/proc/swaps`.
pub fn active() -> Vec<Swap> {
    let text = fs::read_to_string("/proc/swaps").unwrap_or_default();
    text.lines().skip(1).filter_map(parse).collect()
}

/// Parses path, type, size, used and priority; sizes are in KiB.
fn parse(line: &str) -> Option<Swap> {
    let mut columns = line.split_whitespace();
    let path = unescape(columns.next()?);
    let mut kilobytes = columns.skip(1);
    let mut next = || kilobytes.next()?.parse::<i64>().ok();
    let (size, used, priority) = (next()?, next()?, next()?);
    Some(Swap {
        path,
        size: Bytes(size as u64 * 1024),
        used: Bytes(used as u64 * 1024),
        priority: priority as i32,
    })
}

/// Decodes a path in which the kernel writes blanks and the like as `\040`.
pub fn unescape(text: &str) -> PathBuf {
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
    }

    #[test]
    fn areas_as_the_kernel_lists_them() {
        let line = "/mnt/my\\040disk/a\tfile\t\t524284\t\t76\t\t32767";
        let swap = Swap {
            path: "/mnt/my disk/a".into(),
            size: Bytes(524_284 << 10),
            used: Bytes(76 << 10),
            priority: 32767,
        };
        assert_eq!(parse(line), Some(swap));
        assert_eq!(parse("/dev/sda2 partition 8 0 -2").unwrap().priority, -2);
        assert_eq!(parse("/dev/sda2 partition"), None);
    }
}
