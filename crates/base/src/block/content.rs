//! Data on a block device: found by `wipefs`, and by reading many places.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::bytes::Bytes;
use rustix::fs::{Advice, fadvise};
use serde::Deserialize;

use super::header::HEADER;

/// Paths of `wipefs`, independent of `PATH`, because it is run as root.
const WIPEFS: [&str; 4] = [
    "/usr/sbin/wipefs",
    "/sbin/wipefs",
    "/usr/bin/wipefs",
    "/bin/wipefs",
];

/// Bytes from the beginning that are read completely, with btrfs's mirror at 64 MiB.
const BEGINNING: u64 = (64 << 20) + (128 << 10);
/// Bytes before the end that are read completely, with headers of RAID and partition tables.
const END: u64 = 1 << 20;
/// Number of places in between, at equal distances.
const PLACES: u64 = 1024;
/// Bytes of each such place.
const PLACE: u64 = 4096;
/// Bytes of a transfer.
const CHUNK: u64 = 1 << 20;
/// Places that are read at the same time, so that a disk can take the nearest first.
const READERS: usize = 8;

/// Returns the signatures that `wipefs` finds on a device, for people; `None` without `wipefs`.
pub fn signatures(device: &Path) -> io::Result<Option<Vec<String>>> {
    let Some(wipefs) = WIPEFS.iter().find(|path| Path::new(path).exists()) else {
        return Ok(None);
    };
    let output = Command::new(wipefs)
        .args(["--no-act", "--json", "--"])
        .arg(device)
        .env("LC_ALL", "C")
        .output()?;
    if !output.status.success() {
        let told = String::from_utf8_lossy(&output.stderr);
        return Err(io::Error::other(told.trim().to_owned()));
    }
    parse(&output.stdout).map(Some)
}

/// Parses the output of `wipefs --json`, which is empty if it finds nothing.
fn parse(output: &[u8]) -> io::Result<Vec<String>> {
    #[derive(Deserialize)]
    struct Found {
        signatures: Vec<Signature>,
    }
    #[derive(Deserialize)]
    struct Signature {
        #[serde(rename = "type")]
        kind: String,
        label: Option<String>,
    }
    if output.trim_ascii().is_empty() {
        return Ok(Vec::new());
    }
    let found: Found = serde_json::from_slice(output)?;
    let mut names = Vec::new();
    for Signature { kind, label } in found.signatures {
        let label = label.filter(|label| !label.is_empty());
        let name = label.map_or(kind.clone(), |label| format!("{kind} `{label}`"));
        if !names.contains(&name) {
            names.push(name);
        }
    }
    Ok(names)
}

/// A part of a device: offset and length.
type Part = (u64, u64);

/// Returns the parts that are read, in order; they may overlap on a small device.
fn parts(size: Bytes) -> Vec<Part> {
    let beginning = (0..BEGINNING.min(size.0)).step_by(CHUNK as usize);
    let chunk = |start| (start, CHUNK.min(BEGINNING.min(size.0) - start));
    let between = size.0.saturating_sub(BEGINNING + END);
    let places = (0..PLACES).map(|index| {
        let into = u128::from(between) * u128::from(index) / u128::from(PLACES);
        BEGINNING + into as u64 / PLACE * PLACE
    });
    let places = places
        .map(|start| (start, PLACE))
        .filter(|_| between >= PLACE);
    let end = size.0.saturating_sub(END).max(BEGINNING);
    let end = Some((end, size.0.saturating_sub(end))).filter(|&(_, length)| length > 0);
    let mut parts: Vec<_> = beginning.map(chunk).chain(places).chain(end).collect();
    parts.dedup();
    parts
}

/// Returns the offset of the first byte that is not zero; `None` on a device that is blank in the
/// parts that are read: the first 64 MiB, the last MiB, and 1,024 pages in between.
pub fn first_data(device: &File, size: Bytes) -> io::Result<Option<u64>> {
    // Everything is read once: readahead would be wasted.
    let _ = fadvise(device, 0, None, Advice::Random);
    let parts = parts(size);
    let (next, first) = (AtomicUsize::new(0), AtomicU64::new(u64::MAX));
    let read = || -> io::Result<()> {
        let mut buffer = vec![0; CHUNK as usize];
        while let Some(&(start, length)) = parts.get(next.fetch_add(1, Ordering::Relaxed)) {
            if start > first.load(Ordering::Relaxed) {
                return Ok(());
            }
            let part = &mut buffer[..length as usize];
            device.read_exact_at(part, start)?;
            if let Some(at) = part.iter().position(|&byte| byte != 0) {
                first.fetch_min(start + at as u64, Ordering::Relaxed);
            }
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..READERS).map(|_| scope.spawn(read)).collect();
        readers.into_iter().try_for_each(|reader| {
            let ended = reader.join();
            ended.unwrap_or_else(|_| Err(io::Error::other("a thread that read ended")))
        })
    })?;
    Ok(Some(first.into_inner()).filter(|&first| first != u64::MAX))
}

/// Makes the parts blank that [`first_data`] reads. The first page, with the header that identifies
/// the area as ours, comes last.
pub fn blank(device: &File, size: Bytes) -> io::Result<()> {
    let zeros = vec![0; CHUNK as usize];
    for &(start, length) in parts(size).iter().skip(1) {
        device.write_all_at(&zeros[..length as usize], start)?;
    }
    let first = CHUNK.min(size.0) as usize;
    device.write_all_at(&zeros[HEADER.min(first)..first], HEADER as u64)?;
    device.sync_all()?;
    device.write_all_at(&zeros[..HEADER.min(first)], 0)?;
    device.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes a file of this size that is one hole.
    fn sparse(size: u64) -> File {
        let file = tempfile::tempfile().unwrap();
        file.set_len(size).unwrap();
        file
    }

    #[test]
    fn data_is_seen_wherever_it_begins() {
        let size = 1 << 30;
        let file = sparse(size);
        let found = || first_data(&file, Bytes(size)).unwrap();
        assert_eq!(found(), None);
        let place = parts(Bytes(size))[700].0;
        // Of a backup of a partition table, of a middle, and of 2 MiB, where it was once lost.
        for at in [size - 1, place + 7, 2 << 20, 0] {
            file.write_all_at(&[1], at).unwrap();
            assert_eq!(found(), Some(at));
        }
        blank(&file, Bytes(size)).unwrap();
        assert_eq!(found(), None);
    }

    #[test]
    fn small_devices_are_looked_at_as_a_whole() {
        for size in [
            4096,
            1 << 20,
            5_000_704,
            64 << 20,
            BEGINNING,
            BEGINNING + 4096,
            66 << 20,
        ] {
            let file = sparse(size);
            let mut seen = 0;
            for (start, length) in parts(Bytes(size)) {
                assert!(start <= seen, "{size}: from {seen} to {start}");
                seen = seen.max(start + length);
            }
            assert_eq!(seen, size);
            file.write_all_at(&[1], size - 1).unwrap();
            assert_eq!(first_data(&file, Bytes(size)).unwrap(), Some(size - 1));
            blank(&file, Bytes(size)).unwrap();
            assert_eq!(first_data(&file, Bytes(size)).unwrap(), None);
            assert_eq!(file.metadata().unwrap().len(), size, "not a byte longer");
        }
    }

    #[test]
    fn large_devices_take_as_many_places() {
        let parts = parts(Bytes(16 << 40));
        assert_eq!(parts.len(), 65 + PLACES as usize + 1);
        assert!(parts.windows(2).all(|two| two[0].0 < two[1].0));
    }

    #[test]
    fn signatures_as_wipefs_lists_them() {
        let text = br#"{"signatures": [
            {"device":"loop0", "offset":"0x438", "type":"ext4", "uuid":"a", "label":"photos"},
            {"device":"loop0", "offset":"0x200", "type":"gpt", "uuid":null, "label":null},
            {"device":"loop0", "offset":"0xfe00", "type":"gpt", "uuid":null, "label":null}]}"#;
        assert_eq!(parse(text).unwrap(), ["ext4 `photos`", "gpt"]);
        assert_eq!(parse(b"\n").unwrap(), [] as [&str; 0]);
        assert!(parse(b"{").is_err());
    }
}
