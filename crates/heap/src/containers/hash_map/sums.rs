//! The checksums of a map whose pool has them: of its table, of the pages of its directory, and of
//! lines. That of an entry is in `entry`.

use crate::checksum::checksum;
use crate::error::{Error, Result, ensure};
use crate::medium::{LINE_BYTES, WORD_BYTES};
use crate::sink::{Contents, Sink};

use super::layout::{DIRECTORY_WORD, LINE_WORDS, TABLE_WORDS};

/// Index of the words with the checks of the words before the directory, and of the directory.
pub(super) const HEAD_CHECK: usize = TABLE_WORDS - 2;
/// Index of the word of a line with its check.
pub(super) const LINE_CHECK: usize = LINE_WORDS - 1;

/// The two checks of a table at an offset.
pub(super) fn table_checks(at: u64, words: &[u64]) -> [u64; 2] {
    let (head, directory) = words[..HEAD_CHECK].split_at(DIRECTORY_WORD as usize);
    [checksum(at, head), checksum(!at, directory)]
}

/// Puts the checks into a new table at an offset, with the words behind it.
pub(super) fn sealed(at: u64, words: &[u64]) -> Vec<u64> {
    let mut words = words.to_vec();
    let checks = table_checks(at, &words);
    words[HEAD_CHECK..TABLE_WORDS].copy_from_slice(&checks);
    words
}

/// Checks the words of a table.
///
/// # Errors
///
/// They are not those that were written.
pub(super) fn expect_table(at: u64, words: &[u64; TABLE_WORDS]) -> Result<()> {
    let same = table_checks(at, words) == words[HEAD_CHECK..];
    ensure(same, || Error::damaged("a hash map's table is damaged"))
}

/// Puts the check into a line at an offset.
pub(super) fn seal_line(at: u64, line: &mut [u64]) {
    line[LINE_CHECK] = checksum(at, &line[..LINE_CHECK]);
}

/// Checks a line.
///
/// # Errors
///
/// It is not the one that was written.
#[inline]
pub(super) fn expect_line(at: u64, line: &[u64; LINE_WORDS]) -> Result<()> {
    let same = checksum(at, &line[..LINE_CHECK]) == line[LINE_CHECK];
    ensure(same, || {
        Error::damaged(format!("a hash map is damaged: its line at {at} is"))
    })
}

/// Returns empty lines from an offset on.
pub(super) fn empty_lines(at: u64, bytes: u64) -> Vec<u64> {
    let mut words = vec![0; (bytes / WORD_BYTES) as usize];
    let places = (at..).step_by(LINE_BYTES as usize);
    for (at, line) in places.zip(words.chunks_mut(LINE_WORDS)) {
        seal_line(at, line);
    }
    words
}

/// Makes lines that are all empty.
///
/// # Errors
///
/// The pool is full, or a fence failed.
pub(super) fn make_lines<S: Sink>(sink: &mut S, bytes: u64) -> Result<u64> {
    match sink.pool().geometry.checksums {
        false => sink.make(&Contents::Zeros(bytes)),
        true => sink.make(&Contents::Placed(bytes, &|at| empty_lines(at, bytes))),
    }
}

/// Makes an overflow line of these words.
pub(super) fn make_line<S: Sink>(sink: &mut S, words: &[u64; LINE_WORDS]) -> Result<u64> {
    match sink.pool().geometry.checksums {
        false => sink.make_words(words),
        true => sink.make(&Contents::Placed(LINE_BYTES, &|at| {
            let mut words = words.to_vec();
            seal_line(at, &mut words);
            words
        })),
    }
}
