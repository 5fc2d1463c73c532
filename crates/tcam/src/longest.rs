//! The LPM block: of what the blocks answer it lets the longest prefix through (Fedorov 2016,
//! definition 3).

use crate::chip::Match;
use crate::length::Length;
use crate::port_word::PortWord;

/// Returns the answer with the longest prefix. All are of the family that was looked for.
pub fn of(answers: impl Iterator<Item = (Length, PortWord)>) -> Option<Match> {
    let longest = answers.max_by_key(|(length, _)| length.bits);
    longest.map(|(length, port)| Match {
        length: length.bits,
        port: port.port(),
    })
}
