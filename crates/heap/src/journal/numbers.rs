//! The numbers of the header that belong to the journal.

use crate::error::Result;
use crate::layout::header;
use crate::medium::Medium;

/// Returns a number of the header: the journal's first chunk, or its generation.
///
/// # Errors
///
/// Its check is wrong.
pub fn number<M: Medium>(medium: &M, at: u64) -> Result<u64> {
    match medium.load_word(at) {
        0 => Ok(0),
        word => header::decode_count(at, word),
    }
}

/// Stores such a number, durably.
pub fn set_number<M: Medium>(medium: &M, at: u64, number: u64) -> Result<()> {
    let word = match number {
        0 => 0,
        _ => header::encode_count(at, number),
    };
    medium.write_through(at, &word.to_le_bytes())
}
