//! Pages packed by a general compressor: their length in two bytes, and what the compressor made of
//! them.

use super::page::Page;
use super::place::LINE_BYTES;
use super::{Coder, Contents, Depends, Form, Place, Written};

/// Bytes of the length.
const LENGTH: usize = 2;
/// The most bytes that a packed page may have: with its length a line less than a page.
const MOST: usize = size_of::<Contents>() - LINE_BYTES - LENGTH;
/// Room for what a compressor makes of any page: compressors need it to try.
const ROOM: usize = 2 * size_of::<Contents>();

/// A compressor of pages.
pub(super) trait Compressor: Send + Sync {
    /// Packs `page` into `packed`, which has room for any page, and returns its length; `None` if
    /// it fails.
    fn pack(&self, page: &Contents, packed: &mut [u8]) -> Option<usize>;

    /// Unpacks what [`Compressor::pack`] packed.
    fn unpack(&self, packed: &[u8], page: &mut Contents);
}

/// Writes what a compressor makes of a page, in whole lines; pages that do not become shorter as
/// they are.
pub(super) struct Packed<C>(pub(super) C);

impl<C: Compressor> Coder for Packed<C> {
    fn depends(&self) -> Depends {
        Depends::OnPage
    }

    fn write(&self, page: &Contents, place: &mut Place) -> Written {
        let mut packed = [0; LENGTH + ROOM];
        let length = self.0.pack(page, &mut packed[LENGTH..]);
        let Some(length) = length.filter(|&length| length <= MOST) else {
            return Page.write(page, place);
        };
        packed[..LENGTH].copy_from_slice(&(length as u16).to_le_bytes());
        Written {
            metadata: LENGTH as u64,
            ..Written::lines(place.write_coded(&packed[..LENGTH + length]))
        }
    }

    fn read(&self, place: &Place, page: &mut Contents) {
        if place.form != Form::Coded {
            *page = place.bytes;
            return;
        }
        let coded = place.coded();
        let (length, packed) = coded.split_at(LENGTH);
        let length = usize::from(u16::from_le_bytes([length[0], length[1]]));
        self.0.unpack(&packed[..length.min(MOST)], page);
    }
}
