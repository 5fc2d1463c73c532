//! The address traces of Caffeine's simulator: a line an access, `l` or `s`, the address, and
//! the instructions since the last access.
//!
//! ```text
//! s 0x1fffff50 1
//! l 0x1fffff58 1
//! ```
//!
//! From Caffeine's `AddressTraceReader.java`; the traces there are of UCSD's course CSE
//! 240A. A text that was cut between two lines cannot be recognised as cut.

use terrace_base::Result;

use crate::access::{Access, Block, Columns};
use crate::format::{Content, Declaration, Field, Format};
use crate::input::Input;
use crate::source::{Meta, Source};
use crate::stream::lines;
use crate::text;

/// The declaration of the format.
pub const FORMAT: Format = Format::new(&Declaration {
    name: "caffeine",
    help: "address traces of Caffeine's simulator, only read",
    endings: &[],
    fields: &[
        Field::read("l or s", "a load or a store"),
        Field::read("ADDRESS", "in bytes, hexadecimal after 0x"),
        Field::read("INSTRUCTIONS", "those of the program since the line before"),
    ],
    example: "s 0x1fffff50 1\nl 0x1fffff58 1\n",
    content: Content::Text(plausible),
    open,
    create: None,
});

/// Returns whether `line` is a line of such a text.
fn plausible(line: &[u8]) -> bool {
    parse(line).is_some()
}

fn open(input: Input, _: Columns) -> Result<Box<dyn Source>> {
    let like = "an address trace, like `l 0x1fffff58 1`";
    let mut instruction = 0_u64;
    let next = move |line: &[u8], block: &mut Block| {
        let (write, address, instructions) = parse(line)?;
        instruction = instruction.checked_add(instructions)?;
        block.push(Access {
            instruction,
            address,
            write,
            ..Access::default()
        });
        Some(())
    };
    Ok(lines(Meta::of(FORMAT, true), input, like, next))
}

/// Parses a line: whether it stores, the address, and the instructions since the last access.
fn parse(line: &[u8]) -> Option<(bool, u64, u64)> {
    let (write, rest) = match line {
        [b'l', b' ', rest @ ..] => (false, rest),
        [b's', b' ', rest @ ..] => (true, rest),
        _ => return None,
    };
    let rest = rest.strip_prefix(b"0x")?;
    let blank = rest.iter().position(|byte| *byte == b' ')?;
    let address = text::number(&rest[..blank], 16)?;
    let instructions = text::number(&rest[blank + 1..], 10)?;
    Some((write, address, instructions))
}
