//! The text that valgrind's lackey prints with `--trace-mem=yes`.
//!
//! ```text
//! ==1234== lines that begin so are valgrind's own
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
use crate::format::{Content, Declaration, Format};
use crate::input::Input;
use crate::source::{Meta, Source};
use crate::stream::{Line, Lines, stream};
use crate::text;

/// The declaration of the format.
pub const FORMAT: Format = Format::new(&Declaration {
    name: "lackey",
    help: "text of valgrind's lackey, only read",
    endings: &[".lackey"],
    content: Content::Text(plausible),
    open,
    create: None,
});

/// Beginning of valgrind's own lines.
const MESSAGE: &[u8] = b"==";

/// Returns whether `line` is a line of such a text.
fn plausible(line: &[u8]) -> bool {
    line.starts_with(MESSAGE) || parse(line).is_some()
}

fn open(input: Input, _: Columns) -> Result<Box<dyn Source>> {
    let reader = Reader::default();
    Ok(stream(Meta::of(FORMAT, true), Lines(input, reader)))
}

#[derive(Default)]
struct Reader {
    /// Instructions fetched so far, the current one among them.
    instructions: u64,
    ip: u64,
}

impl Line for Reader {
    const IS: &str = "lackey's, like ` L 1fff000748,8`";

    fn read(&mut self, line: &[u8], block: &mut Block) -> Option<()> {
        if line.starts_with(MESSAGE) {
            return Some(());
        }
        let (what, address, size) = parse(line)?;
        if what == b'I' {
            self.instructions += 1;
            self.ip = address;
            return Some(());
        }
        block.push(Access {
            instruction: self.instructions.saturating_sub(1),
            address,
            ip: self.ip,
            size,
            write: what != b'L',
            ..Access::default()
        });
        Some(())
    }
}

/// Parses a line: kind, address and size.
fn parse(line: &[u8]) -> Option<(u8, u64, u32)> {
    let (what, rest) = match line {
        [b'I', b' ', b' ', rest @ ..] => (b'I', rest),
        [b' ', what @ (b'L' | b'S' | b'M'), b' ', rest @ ..] => (*what, rest),
        _ => return None,
    };
    let comma = rest.iter().position(|byte| *byte == b',')?;
    let address = text::hexadecimal(&rest[..comma])?;
    let size = text::decimal(&rest[comma + 1..])?;
    Some((what, address, u32::try_from(size).ok()?))
}
