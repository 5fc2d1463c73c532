//! Questions about a placement: the library in the program asks over a socket of `terrace`, once
//! for each stack of calls that allocates, and for the bytes of fast memory.

use std::ffi::CStr;

/// The variable that holds a [`task`]: in the program's environment.
pub const VARIABLE: &str = crate::text(VARIABLE_NAME);
/// [`VARIABLE`], for the C library.
pub const VARIABLE_NAME: &CStr = c"TERRACE_PLACEMENT";

/// What the question begins with whether an object belongs in fast memory. Then come the number of
/// return addresses of the calls that allocate it, and these. The answer is 1 where it does, and 0
/// where it does not. All are words of 64 bits.
pub const PLACED: u64 = 0;

/// What the question begins with for more bytes in fast memory. Then come a number of the program
/// that the process runs, and the bytes. The answer is how many more the process may have: as many,
/// or more, or 0.
pub const MORE: u64 = 1;

/// The most return addresses of a stack.
pub const FRAMES: usize = 24;

/// The least size of an object that is placed, in bytes (Oskin & Loh 2015, III).
pub const LEAST: usize = 32 << 10;

/// Returns the text of the variable: the memory node that is the fast memory (`-` if it is all
/// DRAM), and the path of the socket that answers.
pub fn task(node: Option<u32>, socket: &str) -> String {
    let node = node.map_or("-".to_owned(), |node| node.to_string());
    format!("{node} {socket}")
}

/// Returns what a [`task`] says: the memory node, and the path of the socket, which is empty if the
/// text has none. Allocates nothing.
pub fn parse(task: &[u8]) -> (Option<u32>, &[u8]) {
    let mut words = task.splitn(2, |byte| *byte == b' ');
    let node = words.next().and_then(|word| std::str::from_utf8(word).ok());
    let node = node.and_then(|text| text.parse().ok());
    (node, words.next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_read_as_it_was_written() {
        for (node, socket) in [(None, "/tmp/a b/socket"), (Some(3), "/socket")] {
            let text = task(node, socket);
            assert_eq!(parse(text.as_bytes()), (node, socket.as_bytes()));
        }
        assert_eq!(parse(b"2"), (Some(2), &b""[..]));
        assert_eq!(parse(b""), (None, &b""[..]));
    }
}
