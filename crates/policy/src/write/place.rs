//! A place of the slow memory that holds one page.

use crate::page::PAGE_BYTES;

/// Bytes of a line, the unit in which memory on the memory bus is written (Awad 2016, 5.1.1).
pub const LINE_BYTES: usize = 64;
/// Bytes of a sector, the unit in which block devices are written.
pub const SECTOR_BYTES: usize = 512;

/// Lines of a page.
pub const LINES: usize = PAGE_BYTES as usize / LINE_BYTES;

/// The bytes of a page.
pub type Contents = [u8; PAGE_BYTES as usize];

/// How the bytes of a place are to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The page as it is.
    Plain,
    /// The page in the coding of the scheme, shorter than a page.
    Coded,
    /// The same in the coding of one of several schemes, by its number among them.
    CodedBy(u8),
    /// The page with some of its words inverted: a bit for each word of 4 bytes, from the lowest
    /// bit of the first word on. Each is a cell beside the word that it is about.
    Flipped([u64; 16]),
}

/// What decides how much a coder writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depends {
    /// The page alone: all cells of so many lines are written, wherever they begin ([`Turn`]).
    OnPage,
    /// What the place holds too: all cells of some lines are written.
    OnBytes,
    /// Each cell of the place: those that keep their value are not written.
    OnCells,
}

/// A place of the slow memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// What its cells hold.
    pub bytes: Contents,
    /// How they are to be read.
    pub form: Form,
    /// Where coded pages begin.
    pub turn: Turn,
}

/// Where in a place coded pages begin. Each begins behind the one before, and goes on at the first
/// line behind the last one, so that all lines of the place wear alike. A driver keeps it with the
/// place's [`Form`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Turn {
    /// The line at which the page that was coded last begins.
    from: u8,
    /// The line behind it.
    next: u8,
}

impl Turn {
    /// Returns the lines of the page that was coded last, a bit each.
    pub fn lines(self) -> u64 {
        let lines = (usize::from(self.next) + LINES - usize::from(self.from)) % LINES;
        ((1_u64 << lines) - 1).rotate_left(self.from.into())
    }

    /// Returns the turn of a page of fewer `lines` than a place has.
    fn next(self, lines: usize) -> Self {
        Self {
            from: self.next,
            next: ((usize::from(self.next) + lines) % LINES) as u8,
        }
    }
}

impl Place {
    /// Returns a place that holds these bytes as they are: a page that was written, or what another
    /// page left there.
    pub fn holding(bytes: Contents) -> Self {
        Self {
            bytes,
            form: Form::Plain,
            turn: Turn::default(),
        }
    }

    /// Writes a coded page that is shorter than a page by a line or more, filled up with zeros to a
    /// line, and returns the lines written, a bit each.
    pub(super) fn write_coded(&mut self, coded: &[u8]) -> u64 {
        self.form = Form::Coded;
        self.turn = self.turn.next(coded.len().div_ceil(LINE_BYTES));
        let (lines, _) = self.bytes.as_chunks_mut::<LINE_BYTES>();
        for (at, part) in coded.chunks(LINE_BYTES).enumerate() {
            let line = &mut lines[(usize::from(self.turn.from) + at) % LINES];
            line[..part.len()].copy_from_slice(part);
            line[part.len()..].fill(0);
        }
        self.turn.lines()
    }

    /// Returns the page that was coded last, from its beginning, then the rest of the place.
    pub(super) fn coded(&self) -> Contents {
        let mut coded = self.bytes;
        coded.rotate_left(usize::from(self.turn.from) * LINE_BYTES);
        coded
    }

    /// Returns what the cells of a line hold.
    pub fn line(&self, line: usize) -> Line {
        let inverted = match self.form {
            Form::Plain | Form::Coded | Form::CodedBy(_) => 0,
            Form::Flipped(flips) => (flips[line / 4] >> (line % 4 * 16)) as u16,
        };
        Line {
            inverted,
            ..Line::of(&self.bytes, line)
        }
    }
}

/// What the cells of a line hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    bytes: [u8; LINE_BYTES],
    /// The cells that say which words of 4 bytes are inverted ([`Form::Flipped`]).
    inverted: u16,
}

impl Line {
    /// Returns a line that holds these bytes as they are.
    pub fn holding(bytes: [u8; LINE_BYTES]) -> Self {
        Self { bytes, inverted: 0 }
    }

    /// Returns a line of a page that is written as it is.
    pub fn of(page: &Contents, line: usize) -> Self {
        let (lines, _) = page.as_chunks();
        Self::holding(lines[line])
    }

    /// Returns the number of cells in which two lines differ.
    pub fn differing(&self, other: &Self) -> u32 {
        let (ones, _) = self.bytes.as_chunks::<8>();
        let (others, _) = other.bytes.as_chunks::<8>();
        let words = ones.iter().zip(others);
        let words = words.map(|(one, other)| u64::from_le_bytes(*one) ^ u64::from_le_bytes(*other));
        (self.inverted ^ other.inverted).count_ones() + words.map(u64::count_ones).sum::<u32>()
    }
}
