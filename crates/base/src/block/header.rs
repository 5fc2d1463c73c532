//! The header of a swap area, by which the kernel recognises an area, and runs their own.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use crate::bytes::{Bytes, PAGE_BYTES};
use uuid::Uuid;

/// Bytes of a header: the first page of an area.
pub const HEADER: usize = PAGE_BYTES as usize;
/// Volume name in headers of runs.
const LABEL: &[u8; 7] = b"terrace";

// The kernel's `union swap_header` (include/linux/swap.h): at 1024 the version, the last page, the
// number of bad pages, the UUID and the volume name; the signature ends the page.
const VERSION_AT: usize = 1024;
const LAST_PAGE_AT: usize = 1028;
const UUID_AT: usize = 1036;
const LABEL_AT: usize = 1052;
const LABEL_ENDS: usize = LABEL_AT + 16;
const SIGNATURE: &[u8; 10] = b"SWAPSPACE2";
const SIGNATURE_AT: usize = HEADER - SIGNATURE.len();

/// The header of a swap area.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Volume name.
    pub label: String,
    /// UUID of the area.
    pub uuid: Uuid,
}

impl Header {
    /// Whether a run wrote it.
    pub fn is_ours(&self) -> bool {
        self.label.as_bytes() == LABEL
    }

    /// Reads the header of `file`; `None` if it is no swap area.
    pub fn read(file: &File) -> io::Result<Option<Self>> {
        let mut page = [0; HEADER];
        match file.read_exact_at(&mut page, 0) {
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            read => read?,
        }
        Ok(Self::parse(&page))
    }

    /// Whether the place of the header is blank.
    pub fn is_blank(file: &File) -> bool {
        let mut page = [1; HEADER];
        file.read_exact_at(&mut page, 0).is_ok() && page.iter().all(|&byte| byte == 0)
    }

    fn parse(page: &[u8; HEADER]) -> Option<Self> {
        if !page.ends_with(SIGNATURE) {
            return None;
        }
        let label = &page[LABEL_AT..LABEL_ENDS];
        let label = label.split(|&byte| byte == 0).next().unwrap_or_default();
        Some(Self {
            label: String::from_utf8_lossy(label).into_owned(),
            uuid: Uuid::from_slice(&page[UUID_AT..LABEL_AT]).unwrap_or_default(),
        })
    }
}

/// Writes the header of an area with `bytes`, and syncs it.
pub fn write(file: &File, size: Bytes, uuid: Uuid) -> io::Result<()> {
    let mut page = [0; HEADER];
    let last_page = u32::try_from(size.pages() - 1).unwrap_or(u32::MAX);
    page[VERSION_AT..LAST_PAGE_AT].copy_from_slice(&1u32.to_ne_bytes());
    page[LAST_PAGE_AT..LAST_PAGE_AT + 4].copy_from_slice(&last_page.to_ne_bytes());
    page[UUID_AT..LABEL_AT].copy_from_slice(uuid.as_bytes());
    page[LABEL_AT..LABEL_AT + LABEL.len()].copy_from_slice(LABEL);
    page[SIGNATURE_AT..].copy_from_slice(SIGNATURE);
    file.write_all_at(&page, 0)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_is_what_the_kernel_expects() {
        let file = tempfile::tempfile().unwrap();
        let uuid = Uuid::new_v4();
        write(&file, Bytes(1 << 20), uuid).unwrap();
        let mut page = [0; HEADER];
        file.read_exact_at(&mut page, 0).unwrap();
        assert_eq!(page[1024..1028], 1u32.to_ne_bytes());
        assert_eq!(page[1028..1032], 255u32.to_ne_bytes());
        assert_eq!(&page[4086..], SIGNATURE);
        let header = Header::read(&file).unwrap().unwrap();
        assert!(header.is_ours());
        assert_eq!(header.uuid, uuid);
    }

    #[test]
    fn what_another_made_is_not_ours() {
        let file = tempfile::tempfile().unwrap();
        assert_eq!(Header::read(&file).unwrap(), None, "an empty file");
        file.set_len(1 << 20).unwrap();
        assert_eq!(Header::read(&file).unwrap(), None, "a blank one");
        write(&file, Bytes(1 << 20), Uuid::new_v4()).unwrap();
        file.write_all_at(b"terraces", LABEL_AT as u64).unwrap();
        assert!(!Header::read(&file).unwrap().unwrap().is_ours());
    }
}
