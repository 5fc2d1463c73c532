//! The machine's swap areas, as the kernel lists them.

use std::fs;
use std::path::PathBuf;

use crate::bytes::Bytes;
use crate::mountinfo::unescape;

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
    let text = fs::read("/proc/swaps").unwrap_or_default();
    let lines = text.split(|byte| *byte == b'\n').skip(1);
    lines.filter_map(parse).collect()
}

/// Parses path, type, size, used and priority; sizes are in KiB.
fn parse(line: &[u8]) -> Option<Swap> {
    let columns = line.split(u8::is_ascii_whitespace);
    let mut columns = columns.filter(|column| !column.is_empty());
    let path = unescape(columns.next()?);
    let mut kilobytes = columns.skip(1);
    let mut next = || {
        std::str::from_utf8(kilobytes.next()?)
            .ok()?
            .parse::<i64>()
            .ok()
    };
    let (size, used, priority) = (next()?, next()?, next()?);
    Some(Swap {
        path,
        size: Bytes(size as u64 * 1024),
        used: Bytes(used as u64 * 1024),
        priority: priority as i32,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_as_the_kernel_lists_them() {
        let line = "/mnt/my\\040disk/a\tfile\t\t524284\t\t76\t\t32767";
        let swap = Swap {
            path: "/mnt/my disk/a".into(),
            size: Bytes(524_284 << 10),
            used: Bytes(76 << 10),
            priority: 32767,
        };
        assert_eq!(parse(line.as_bytes()), Some(swap));
        let partition = parse(b"/dev/sda2 partition 8 0 -2").unwrap();
        assert_eq!(partition.priority, -2);
        assert_eq!(parse(b"/dev/sda2 partition"), None);
        let odd = parse(b"/mnt/\xff/a file 8 0 -2").unwrap();
        assert_eq!(odd.path.as_os_str().as_encoded_bytes(), b"/mnt/\xff/a");
    }
}
