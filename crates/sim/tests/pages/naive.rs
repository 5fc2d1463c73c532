//! A memory of physical lines, each of which is searched, and carried from place to place.

use std::ops::Range;

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use terrace_device::feistel::Feistel;
use terrace_policy::write::{
    Contents, Depends, Form, LINE_BYTES, LINES, Place, Scheme, Turn, Written,
};
use terrace_sim::pages::Unwritten;

use crate::writes::{CELLS, PAGE};

/// A memory of physical lines: bytes, the cells beside them, and cells programmed so far.
pub struct Naive {
    cells: Vec<([u8; LINE_BYTES], u16)>,
    /// Cells programmed at each physical place.
    pub wear: Vec<u64>,
    /// The line that lies at each physical place.
    lines: Vec<Option<usize>>,
    /// How each place's page is laid down, and where.
    forms: Vec<(Form, Turn)>,
    levelling: Levelling,
    /// The physical places of each region of start-gap, of which there is one without regions, and
    /// writes until its next movement.
    regions: Vec<(Range<usize>, u32)>,
    /// Lines and cells that the levelling wrote.
    pub moved: (u64, u64),
    /// What the scheme wrote.
    pub written: Written,
    /// Pages of which it wrote something.
    pub pages: u64,
}

/// What a line holds that was not written yet.
fn first(unwritten: Unwritten, line: u64) -> [u8; LINE_BYTES] {
    if unwritten == Unwritten::Zeros {
        return [0; LINE_BYTES];
    }
    let mut random = SplitMix64::seed_from_u64(line);
    let words: Vec<u8> = (0..LINE_BYTES / 8)
        .flat_map(|_| random.next_u64().to_le_bytes())
        .collect();
    words.try_into().expect("a line")
}

#[derive(Clone, Copy, Debug)]
pub enum Levelling {
    None,
    StartGap(u32),
    /// Start-gap in so many regions, behind the random mapping of a seed.
    Regions(u32, usize, u64),
    Randomised(u32),
}

impl Levelling {
    /// Writes until the next movement; for swaps, drawn from the inverse of the geometric
    /// distribution.
    fn distance(self, random: &mut SplitMix64) -> u32 {
        match self {
            Self::None => u32::MAX,
            Self::StartGap(psi) | Self::Regions(psi, ..) => psi,
            Self::Randomised(psi) => {
                let share = ((random.next_u64() >> 11) + 1) as f64 * 0.5_f64.powi(53);
                match psi {
                    1 => 1,
                    psi => 1 + (share.ln() / (-1.0 / f64::from(psi)).ln_1p()).floor() as u32,
                }
            }
        }
    }
}

impl Naive {
    pub fn new(
        places: usize,
        levelling: Levelling,
        unwritten: Unwritten,
        random: &mut SplitMix64,
    ) -> Self {
        let count = places * LINES;
        let mut mapped: Vec<_> = (0..count).collect();
        if let Levelling::Regions(_, _, seed) = levelling {
            let feistel = Feistel::new(count as u64, seed);
            mapped.sort_by_key(|line| feistel.map(*line as u64));
        }
        let (parts, gap) = match levelling {
            Levelling::None | Levelling::Randomised(_) => (1, false),
            Levelling::StartGap(_) => (1, true),
            Levelling::Regions(_, regions, _) => (regions, true),
        };
        let (mut lines, mut cells, mut regions) = (Vec::new(), Vec::new(), Vec::new());
        for part in 0..parts {
            let begin = lines.len();
            let own = mapped.iter().enumerate();
            let own = own.filter(|(at, _)| at * parts / count == part);
            for (_, line) in own {
                lines.push(Some(*line));
                cells.push((first(unwritten, *line as u64), 0));
            }
            if gap {
                lines.push(None);
                cells.push((first(unwritten, (count + part) as u64), 0));
            }
            regions.push((begin..lines.len(), levelling.distance(random)));
        }
        Self {
            cells,
            wear: vec![0; lines.len()],
            lines,
            forms: vec![(Form::Plain, Turn::default()); places],
            levelling,
            regions,
            moved: (0, 0),
            written: Written::default(),
            pages: 0,
        }
    }

    /// The number of the region of a physical place.
    fn region(&self, at: usize) -> usize {
        let holds = |(places, _): &(Range<usize>, u32)| places.contains(&at);
        self.regions
            .iter()
            .position(holds)
            .expect("a place is in a region")
    }

    fn at(&self, line: usize) -> usize {
        self.lines
            .iter()
            .position(|held| *held == Some(line))
            .expect("a line lies somewhere")
    }

    /// Puts a line to a physical place, and returns how many cells that programs.
    fn program(&mut self, at: usize, line: ([u8; LINE_BYTES], u16), compares: bool) -> u64 {
        let before = std::mem::replace(&mut self.cells[at], line);
        let bytes = before.0.iter().zip(line.0);
        let changed: u32 = bytes
            .map(|(before, byte)| (before ^ byte).count_ones())
            .sum();
        let cells = match compares {
            true => u64::from(changed + (before.1 ^ line.1).count_ones()),
            false => CELLS,
        };
        self.wear[at] += cells;
        cells
    }

    fn read(&self, place: usize) -> Place {
        let mut read = Place::holding([0; PAGE]);
        (read.form, read.turn) = self.forms[place];
        for line in 0..LINES {
            let (bytes, _) = self.cells[self.at(place * LINES + line)];
            read.bytes[line * LINE_BYTES..][..LINE_BYTES].copy_from_slice(&bytes);
        }
        read
    }

    pub fn write(
        &mut self,
        page: &Contents,
        place: usize,
        scheme: &Scheme,
        random: &mut SplitMix64,
    ) {
        let compares = scheme.coder.depends() == Depends::OnCells;
        let mut target = self.read(place);
        let written = scheme.coder.write(page, &mut target);
        self.forms[place] = (target.form, target.turn);
        let mut cells = 0;
        let mut due = Vec::new();
        for line in (0..LINES).filter(|line| written.which >> line & 1 == 1) {
            let bytes = target.bytes[line * LINE_BYTES..][..LINE_BYTES]
                .try_into()
                .expect("a line");
            let inverted = match target.form {
                Form::Flipped(flips) => (0..16).fold(0, |bits, word| {
                    let word_of_page = line * 16 + word;
                    bits | ((flips[word_of_page / 64] >> (word_of_page % 64) & 1) as u16) << word
                }),
                Form::Plain | Form::Coded | Form::CodedBy(_) => 0,
            };
            let line = place * LINES + line;
            let at = self.at(line);
            cells += self.program(at, (bytes, inverted), compares);
            let region = self.region(at);
            let (_, left) = &mut self.regions[region];
            *left -= 1;
            if *left == 0 {
                *left = self.levelling.distance(random);
                due.push(line);
            }
        }
        assert_eq!(
            cells, written.cells,
            "what is written physically is what the scheme says"
        );
        self.written += written;
        self.pages += u64::from(written.lines > 0);
        for line in due {
            self.level(line, compares, random);
        }
    }

    fn level(&mut self, line: usize, compares: bool, random: &mut SplitMix64) {
        let carry = |memory: &mut Self, line: usize, held: ([u8; LINE_BYTES], u16), to: usize| {
            memory.moved.1 += memory.program(to, held, compares);
            memory.moved.0 += 1;
            memory.lines[to] = Some(line);
        };
        match self.levelling {
            Levelling::None => {}
            Levelling::StartGap(_) | Levelling::Regions(..) => {
                let (region, _) = &self.regions[self.region(self.at(line))];
                let mut places = region.clone();
                let gap = places.find(|at| self.lines[*at].is_none()).expect("a gap");
                let from = if gap == region.start { region.end } else { gap } - 1;
                let line = self.lines[from].take().expect("there is one gap");
                let held = self.cells[from];
                carry(self, line, held, gap);
            }
            Levelling::Randomised(_) => {
                let other = (u128::from(random.next_u64()) * self.lines.len() as u128) >> 64;
                let other = other as usize;
                if other != line {
                    let (one, two) = (self.at(line), self.at(other));
                    let (first, second) = (self.cells[one], self.cells[two]);
                    carry(self, other, second, one);
                    carry(self, line, first, two);
                }
            }
        }
    }
}
