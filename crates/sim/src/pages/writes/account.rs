//! What one scheme has written, and how that wears the memory out under each levelling.

use terrace_base::Result;
use terrace_device::{LINE_CELLS, Moved, Wear};
use terrace_policy::write::{Contents, Depends, LINES, Line, Place, Scheme, Spec, Turn, Written};

use super::super::levelling::{self, Plan};
use super::Writing;
use super::contents::{Shared, Unwritten};

/// The account of a scheme.
pub(super) struct Account {
    pub(super) spec: Spec,
    pub(super) scheme: Scheme,
    /// Index of the placement.
    pub(super) placement: usize,
    unwritten: Unwritten,
    /// What places hold, if the scheme looks at it and lays pages down in a way of its own.
    own: Option<Vec<Option<Box<Place>>>>,
    /// Where coded pages begin in places, if the scheme looks at nothing else of them.
    turns: Vec<Turn>,
    /// Pages with something written.
    pub(super) pages: u64,
    pub(super) written: Written,
    pub(super) levelled: Vec<Levelled>,
}

/// The wear under one levelling.
pub(super) struct Levelled {
    pub(super) spec: levelling::Spec,
    pub(super) wear: Wear,
    /// Lines in spare.
    pub(super) spares: u64,
    /// What the cells of start-gap's gaps hold, by region.
    gaps: Vec<Line>,
}

impl Account {
    /// Opens the account of a scheme whose pages lie at `places` places.
    pub(super) fn new(
        spec: &Spec,
        scheme: Scheme,
        placement: usize,
        places: u64,
        writing: &Writing,
        seed: u64,
    ) -> Result<Self> {
        let unwritten = writing.unwritten;
        let levelled = writing.levellings.iter().map(|spec| {
            let plan = levelling::Make::of(spec).map_err(terrace_base::Error::usage)?;
            let Plan { levelling, spares } = plan;
            let lines = places * LINES as u64;
            let gap = |region: u64| Line::holding(unwritten.line(lines + region));
            Ok(Levelled {
                spec: spec.clone(),
                wear: Wear::new(levelling, lines, seed)?,
                spares,
                gaps: (0..levelling.gaps(lines)).map(gap).collect(),
            })
        });
        let looks = scheme.coder.depends() != Depends::OnPage;
        Ok(Self {
            spec: spec.clone(),
            placement,
            unwritten,
            own: (looks && !scheme.coder.is_plain()).then(|| vec![None; places as usize]),
            turns: vec![Turn::default(); if looks { 0 } else { places as usize }],
            scheme,
            pages: 0,
            written: Written::default(),
            levelled: levelled.collect::<Result<_>>()?,
        })
    }

    /// Writes a page to a place, which held `copy` if pages are left as they are and one was
    /// written there. `scratch` is room for a place, whatever it holds.
    pub(super) fn write(
        &mut self,
        page: &Contents,
        place: u32,
        copy: Option<&Shared>,
        scratch: &mut Place,
    ) {
        let coder = &self.scheme.coder;
        let unwritten = || self.unwritten.place(place);
        let target = match &mut self.own {
            Some(own) => {
                own[place as usize].get_or_insert_with(|| Box::new(Place::holding(unwritten())))
            }
            None => {
                if coder.depends() != Depends::OnPage {
                    let held = copy.map_or_else(unwritten, |copy| **copy);
                    *scratch = Place::holding(held);
                }
                if let Some(turn) = self.turns.get(place as usize) {
                    scratch.turn = *turn;
                }
                scratch
            }
        };
        let before = (coder.depends() == Depends::OnCells).then(|| target.clone());
        let written = coder.write(page, target);
        if let Some(turn) = self.turns.get_mut(place as usize) {
            *turn = target.turn;
        }
        self.pages += u64::from(written.lines > 0);
        self.written += written;
        let mut cells = [LINE_CELLS; LINES];
        if let Some(before) = before {
            for line in lines(written.which) {
                cells[line] = target.line(line).differing(&before.line(line));
            }
        }
        let first = u64::from(place) * LINES as u64;
        for Levelled { wear, .. } in &mut self.levelled {
            for line in lines(written.which) {
                wear.write(first + line as u64, cells[line]);
            }
        }
    }

    /// Makes the movements of lines that are due. `copies` is what places hold if pages are left as
    /// they are.
    pub(super) fn settle(&mut self, copies: Option<&[Option<Shared>]>) {
        let compares = self.scheme.coder.depends() == Depends::OnCells;
        let own = &self.own;
        let line = |line: u64| {
            let (place, at) = (
                (line / LINES as u64) as usize,
                (line % LINES as u64) as usize,
            );
            let written = match own {
                Some(own) => own[place].as_ref().map(|place| place.line(at)),
                None => copies.and_then(|copies| Some(Line::of(copies[place].as_ref()?, at))),
            };
            written.unwrap_or_else(|| Line::holding(self.unwritten.line(line)))
        };
        for Levelled { wear, gaps, .. } in &mut self.levelled {
            wear.settle(|moved| match moved {
                _ if !compares => LINE_CELLS,
                Moved::Copied {
                    line: moved,
                    region,
                } => {
                    let gap = &mut gaps[region as usize];
                    let before = std::mem::replace(gap, line(moved));
                    gap.differing(&before)
                }
                Moved::Swapped(one, other) => line(one).differing(&line(other)),
            });
        }
    }

    /// Resets the counters, keeps the placement.
    pub(super) fn renew(&mut self) {
        self.pages = 0;
        self.written = Written::default();
        self.levelled
            .iter_mut()
            .for_each(|levelled| levelled.wear.renew());
    }
}

/// Returns the lines that are set in a map of a page's lines.
pub(in super::super) fn lines(mut map: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let line = (map != 0).then(|| map.trailing_zeros() as usize)?;
        map &= map - 1;
        Some(line)
    })
}
