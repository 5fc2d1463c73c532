//! The text that valgrind's lackey prints with `--trace-mem=yes`.
//!
//! ```text
//! ==1234== lines that begin so, or with --1234-- or **1234**, are valgrind's own
//! I  0401b770,3
//!  L 1fff000748,8
//!  S 1fff000740,8
//!  M 0421c7cc,4
//! ```
//!
//! `I` fetches an instruction, the next ones are its accesses: `L` loads, `S` stores, `M` does
//! both and becomes one access that writes. Addresses are hexadecimal, sizes decimal. A text that
//! was cut between two lines cannot be recognised as cut.
//!
//! From valgrind's `lackey/lk_main.c`.

use terrace_base::Result;

use crate::access::{Access, Block, Columns};
use crate::format::{Content, Declaration, Field, Format};
use crate::input::Input;
use crate::source::{Meta, Source};
use crate::stream::lines;
use crate::text;

/// The declaration of the format.
pub const FORMAT: Format = Format::new(&Declaration {
    name: "lackey",
    help: "text of valgrind's lackey, only read",
    endings: &[".lackey"],
    fields: &[
        Field::read("I ADDRESS,SIZE", "an instruction, which is counted"),
        Field::read(
            "L ADDRESS,SIZE",
            "a load; the address is hexadecimal, the size in bytes",
        ),
        Field::read("S ADDRESS,SIZE", "a store"),
        Field::read(
            "M ADDRESS,SIZE",
            "a load and a store of the same bytes: one access that writes",
        ),
    ],
    example: "I  0401b770,3\n L 1fff000748,8\n",
    content: Content::Text(plausible),
    open,
    create: None,
});

/// What is said of valgrind's own lines.
const MESSAGE: &str = "lines are valgrind's own, and were left out";
/// Their beginnings: what it says, what it says of itself, and what the program asked it to say.
const MESSAGES: [&[u8]; 3] = [b"==", b"--", b"**"];

/// Returns whether `line` is a line of such a text.
fn plausible(line: &[u8]) -> bool {
    is_message(line) || parse(line).is_some()
}

fn is_message(line: &[u8]) -> bool {
    MESSAGES.iter().any(|beginning| {
        let rest = line.strip_prefix(*beginning);
        rest.is_some_and(|rest| rest.first().is_some_and(u8::is_ascii_digit))
    })
}

fn open(input: Input, _: Columns) -> Result<Box<dyn Source>> {
    let like = "lackey's, like ` L 1fff000748,8`";
    // The instructions fetched so far, the current one among them, and its address.
    let (mut instructions, mut ip) = (0_u64, 0);
    let meta = Meta::of(FORMAT, true);
    let tally = meta.tally.clone();
    let next = move |line: &[u8], block: &mut Block| {
        if is_message(line) {
            tally.add(MESSAGE, 1);
            return Some(());
        }
        let (what, address, size) = parse(line)?;
        if what == b'I' {
            instructions += 1;
            ip = address;
            return Some(());
        }
        block.push(Access {
            instruction: instructions.saturating_sub(1),
            address,
            ip,
            size,
            write: what != b'L',
            ..Access::default()
        });
        Some(())
    };
    Ok(lines(meta, input, like, next))
}

/// Parses a line: kind, address and size.
fn parse(line: &[u8]) -> Option<(u8, u64, u32)> {
    let (what, rest) = match line {
        [b'I', b' ', b' ', rest @ ..] => (b'I', rest),
        [b' ', what @ (b'L' | b'S' | b'M'), b' ', rest @ ..] => (*what, rest),
        _ => return None,
    };
    let comma = rest.iter().position(|byte| *byte == b',')?;
    let address = text::number(&rest[..comma], 16)?;
    let size = text::number(&rest[comma + 1..], 10)?;
    Some((what, address, u32::try_from(size).ok()?))
}
