//! Rules of people, kept in the first page of a store behind the superblock: a version, a length
//! and a checksum, and then their bytes. They lie in sectors of their own, so that a write that is
//! torn leaves the superblock.

use std::io;

use bytemuck::{Pod, Zeroable};
use twox_hash::XxHash3_64;

use crate::medium::Medium;
use crate::page::zeroed;

/// The byte of the first page at which they begin.
const BEGIN: usize = 512;

/// Bytes that there is room for.
pub(super) const MOST: usize = crate::page::PAGE_SIZE - BEGIN - size_of::<Head>();

const VERSION: u32 = 1;

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Head {
    version: u32,
    length: u32,
    sum: u64,
}

/// Reads them: nothing where none were written.
///
/// # Errors
/// Returns the error of the medium, and invalid data for what does not check or is of another
/// version.
pub(super) fn read(medium: &dyn Medium) -> io::Result<Vec<u8>> {
    let mut page = zeroed(1);
    medium.read(0, bytemuck::cast_slice_mut(&mut page))?;
    let bytes = &page[0].0[BEGIN..];
    let head: Head = bytemuck::pod_read_unaligned(&bytes[..size_of::<Head>()]);
    if (head.version, head.length, head.sum) == (0, 0, 0) {
        return Ok(Vec::new());
    }
    let body = bytes[size_of::<Head>()..].get(..head.length as usize);
    let body = body.filter(|body| head.version == VERSION && head.sum == XxHash3_64::oneshot(body));
    Ok(body.ok_or(io::ErrorKind::InvalidData)?.to_vec())
}

/// Writes them, and makes them durable.
///
/// # Errors
/// Returns the error of the medium, and invalid input for more than there is room for.
pub(super) fn write(medium: &dyn Medium, notes: &[u8]) -> io::Result<()> {
    if notes.len() > MOST {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut page = zeroed(1);
    medium.read(0, bytemuck::cast_slice_mut(&mut page))?;
    let head = Head {
        version: VERSION,
        length: notes.len() as u32,
        sum: XxHash3_64::oneshot(notes),
    };
    let bytes = &mut page[0].0[BEGIN..];
    bytes.fill(0);
    bytes[..size_of::<Head>()].copy_from_slice(bytemuck::bytes_of(&head));
    bytes[size_of::<Head>()..][..notes.len()].copy_from_slice(notes);
    medium.write(0, bytemuck::cast_slice(&page))?;
    medium.sync()
}
