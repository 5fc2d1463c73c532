//! Numbers in text formats.

/// Parses a decimal number, or a hexadecimal one after `0x`.
pub(crate) fn either(digits: &[u8]) -> Option<u64> {
    match digits {
        [b'0', b'x' | b'X', digits @ ..] => number(digits, 16),
        _ => number(digits, 10),
    }
}

/// Parses a number of 64 bits without prefix or sign.
pub(crate) fn number(digits: &[u8], base: u32) -> Option<u64> {
    // A sign is not a digit.
    let digits = str::from_utf8(digits)
        .ok()
        .filter(|d| !d.starts_with('+'))?;
    u64::from_str_radix(digits, base).ok()
}

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    /// It reads.
    Read,
    /// It writes.
    Write,
    /// It takes an object away.
    Delete,
}

/// Parses whether an access writes: `w`, `store`, `true`, `1` and the like, or `r` and the like.
pub(crate) fn writes(text: &[u8]) -> Option<bool> {
    match text.to_ascii_lowercase().as_slice() {
        b"1" | b"true" | b"w" | b"s" | b"write" | b"store" => Some(true),
        b"0" | b"false" | b"r" | b"l" | b"read" | b"load" => Some(false),
        _ => None,
    }
}

/// Parses what a request does: as an access ([`writes`]), by a command of memcached or of CacheLib,
/// or by the number of a SCSI command.
pub(crate) fn operation(text: &[u8]) -> Option<Operation> {
    if let Some(writes) = writes(text) {
        return Some(match writes {
            true => Operation::Write,
            false => Operation::Read,
        });
    }
    match text.to_ascii_lowercase().as_slice() {
        b"get" | b"gets" | b"get_lease" => Some(Operation::Read),
        b"set" | b"set_lease" | b"add" | b"cas" | b"replace" | b"append" | b"prepend" | b"incr"
        | b"decr" | b"update" => Some(Operation::Write),
        b"delete" | b"del" => Some(Operation::Delete),
        code if code.len() == 2 => scsi(number(code, 16)?.try_into().ok()?),
        _ => None,
    }
}

/// Returns what a SCSI command does that reads or writes blocks, of 6, 10, 12 or 16 bytes.
pub(crate) fn scsi(code: u8) -> Option<Operation> {
    match code {
        0x08 | 0x28 | 0xa8 | 0x88 => Some(Operation::Read),
        // Written, and verified.
        0x0a | 0x2a | 0xaa | 0x8a | 0x2e | 0xae | 0x8e => Some(Operation::Write),
        _ => None,
    }
}

/// Returns the column that tables with a header call `name`: `op` and `is_write` are `write`.
pub(crate) fn column(name: &str) -> String {
    let name = name.to_ascii_lowercase();
    match &*name {
        "op" | "is_write" => "write".to_owned(),
        _ => name,
    }
}

/// Quotes the beginning of a text for a message.
pub(crate) fn quote(bytes: &[u8]) -> String {
    const SHOWN: usize = 40;
    let shown = &bytes[..bytes.len().min(SHOWN)];
    let dots = if bytes.len() > SHOWN { "…" } else { "" };
    format!("`{}{dots}`", String::from_utf8_lossy(shown).escape_debug())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_no_number_is_none() {
        for text in [
            "",
            "0x",
            "-1",
            "+1",
            "1 ",
            "g",
            "18446744073709551616",
            "0x1_0",
        ] {
            assert_eq!(either(text.as_bytes()), None, "{text}");
        }
        assert_eq!(number(b"a", 10), None);
        assert_eq!(number(b"10000000000000000", 16), None);
    }

    proptest! {
        #[test]
        fn every_number_is_read(number: u64) {
            prop_assert_eq!(either(format!("{number}").as_bytes()), Some(number));
            prop_assert_eq!(either(format!("{number:#x}").as_bytes()), Some(number));
            prop_assert_eq!(super::number(format!("{number:X}").as_bytes(), 16), Some(number));
        }
    }
}
