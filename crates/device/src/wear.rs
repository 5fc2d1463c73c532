//! Wear of the lines of a memory under wear levelling, write by write.
//!
//! A memory has lines of 64 bytes; levelling decides at which *place* each lies, and moves lines
//! from time to time, which writes as well. What counts is cells that are programmed, one a bit: a
//! write of a line may leave some as they are (data-comparison write, Awad 2016, 5.1.2). Within a
//! line cells are taken to be worn evenly, so a line *was written* as often as 512 of its cells
//! were programmed.

use terrace_base::{Bytes, Error, Nanos, Result};

use crate::failure::{self, Limit, Run};
use crate::levelling::Levelling;
use crate::lifetime;
use crate::regions::{Region, Regions, Step};
use crate::swaps::Swaps;

/// Cells of a line, one a bit of its 64 bytes.
pub const LINE_CELLS: u32 = 512;

/// A movement of lines, after it was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moved {
    /// The line was copied to the gap: one write.
    Copied {
        /// The line.
        line: u64,
        /// Number of the region of start-gap.
        region: u64,
    },
    /// The lines have changed places: two writes.
    Swapped(u64, u64),
}

/// The wear of the places of a memory.
#[derive(Clone, Debug)]
pub struct Wear {
    map: Map,
    /// Lines whose writes made a movement due.
    due: Vec<u64>,
    /// Cells programmed at each place.
    cells: Vec<u32>,
    /// Cells of each line that were programmed other than by movements, if lines move.
    lines: Vec<u32>,
    /// Lines written by movements, and cells programmed by them.
    moved: (u64, u64),
}

#[derive(Clone, Debug)]
enum Map {
    InPlace,
    StartGap(Regions),
    Swaps(Swaps),
}

impl Wear {
    /// Makes a new memory of `lines` lines; 0 counts as 1. `seed` decides what is random.
    ///
    /// # Errors
    /// A usage error if there are more lines than can be counted. That there is enough memory is
    /// for the caller to see to ([`Wear::memory`]).
    pub fn new(levelling: Levelling, lines: u64, seed: u64) -> Result<Self> {
        let count = u32::try_from(lines.max(1))
            .ok()
            .filter(|count| *count < u32::MAX);
        let count = count.ok_or_else(|| {
            Error::usage(format!(
                "a memory of {lines} lines of 64 bytes is larger than one whose wear can be simulated, \
                 which has {}", u32::MAX - 1
            ))
        })?;
        let map = match levelling {
            Levelling::None => Map::InPlace,
            Levelling::StartGap {
                psi,
                regions,
                random,
            } => Map::StartGap(Regions::new(
                count.into(),
                regions,
                psi,
                random.then_some(seed),
            )),
            Levelling::Randomised { psi } => Map::Swaps(Swaps::new(count, psi, seed)),
        };
        let (places, moving) = match &map {
            Map::InPlace => (count.into(), 0),
            Map::StartGap(map) => (map.places(), count),
            Map::Swaps(_) => (count.into(), count),
        };
        Ok(Self {
            map,
            due: Vec::new(),
            cells: vec![0; places as usize],
            lines: vec![0; moving as usize],
            moved: (0, 0),
        })
    }

    /// Returns the memory that the wear of `lines` lines takes here, beside that of
    /// [`Wear::calculating`].
    pub fn memory(levelling: Levelling, lines: u64) -> Bytes {
        let (a_line, a_gap) = match levelling {
            Levelling::None => (4, 0),
            Levelling::StartGap { .. } => (8, 4 + size_of::<Region>() as u64),
            Levelling::Randomised { .. } => (12, 0),
        };
        let gaps = levelling.gaps(lines).saturating_mul(a_gap);
        Bytes(lines.saturating_mul(a_line).saturating_add(gaps))
    }

    /// Returns the memory that [`Wear::runs`] and [`Wear::worn`] take at most while they calculate.
    pub fn calculating(levelling: Levelling, lines: u64) -> Bytes {
        let places = lines.saturating_add(levelling.gaps(lines));
        Bytes(match levelling {
            // Lines as they are mapped, the sums before them, and places with their regions.
            Levelling::StartGap { .. } => places.saturating_mul(4 + 8 + 16),
            Levelling::None | Levelling::Randomised { .. } => places.saturating_mul(4),
        })
    }

    /// Counts a write of `line`, which is below the number of lines, that programs `cells` of its
    /// cells. Movements that become due wait for [`Wear::settle`].
    pub fn write(&mut self, line: u64, cells: u32) {
        let (place, is_due) = match &mut self.map {
            Map::InPlace => {
                program(&mut self.cells, line, cells);
                return;
            }
            Map::StartGap(map) => map.write(line),
            Map::Swaps(map) => map.write(line),
        };
        program(&mut self.cells, place, cells);
        program(&mut self.lines, line, cells);
        if is_due {
            self.due.push(line);
        }
    }

    /// Makes the movements that are due. `cells` tells how many cells of a line each programs: of
    /// the one that is copied to, or of either line that changes places with the other, which is
    /// the same number.
    pub fn settle(&mut self, mut cells: impl FnMut(Moved) -> u32) {
        for index in 0..self.due.len() {
            let line = self.due[index];
            let (moved, to) = match &mut self.map {
                Map::InPlace => return,
                Map::StartGap(map) => match map.step(line) {
                    Some(Step { line, to, region }) => {
                        (Some(Moved::Copied { line, region }), [Some(to), None])
                    }
                    None => (None, [None, None]),
                },
                Map::Swaps(map) => match map.swap(line) {
                    Some(other) => (
                        Some(Moved::Swapped(line, other)),
                        [Some(map.place(line)), Some(map.place(other))],
                    ),
                    None => (None, [None, None]),
                },
            };
            let Some(moved) = moved else { continue };
            let each = cells(moved);
            for place in to.into_iter().flatten() {
                program(&mut self.cells, place, each);
                self.moved.0 += 1;
                self.moved.1 += u64::from(each);
            }
        }
        self.due.clear();
    }

    /// Forgets all wear until now; lines stay where they are.
    pub fn renew(&mut self) {
        self.cells.fill(0);
        self.lines.fill(0);
        self.moved = (0, 0);
        match &mut self.map {
            Map::InPlace => {}
            Map::StartGap(map) => map.renew(),
            Map::Swaps(map) => map.renew(),
        }
    }

    /// Returns the number of lines that movements wrote.
    pub fn moved_lines(&self) -> u64 {
        self.moved.0
    }

    /// Returns the number of cells that movements programmed.
    pub fn moved_cells(&self) -> u64 {
        self.moved.1
    }

    /// Returns how often what was written until now can be repeated, from a new memory on, until
    /// it fails, with the levelling going on all the time: until one line more than `spares` has
    /// been written as often as it endures (`failure`). `None` if nothing was written, or
    /// nothing is endured.
    pub fn runs(&self, endurance: f64, spares: u64) -> Option<f64> {
        let limit = Limit {
            cells: endurance * f64::from(LINE_CELLS),
            spares,
        };
        let moved = match self.moved {
            // None was made yet.
            (0, _) => f64::from(LINE_CELLS),
            (lines, cells) => cells as f64 / lines as f64,
        };
        let cells = &self.lines;
        match &self.map {
            Map::InPlace => failure::in_place(&self.cells, limit),
            Map::StartGap(map) => failure::rotation(Run { cells, moved }, map, limit),
            Map::Swaps(map) => failure::exchange(Run { cells, moved }, map.swaps(), limit),
        }
    }

    /// Returns the wear of all places by its size.
    pub fn worn(&self) -> Worn {
        let written = self.cells.iter().copied().filter(|cells| *cells > 0);
        let mut cells: Vec<u32> = written.collect();
        cells.sort_unstable_by(|one, other| other.cmp(one));
        Worn {
            places: self.cells.len() as u64,
            cells,
        }
    }
}

/// Counts cells that were programmed at a place.
fn program(places: &mut [u32], place: u64, cells: u32) {
    let place = &mut places[place as usize];
    *place = place.saturating_add(cells);
}

/// The wear of all places of a memory, in writes of a line (that is, of all its cells).
#[derive(Clone, Debug)]
pub struct Worn {
    /// Number of places.
    places: u64,
    /// Cells programmed at places that were written, the most worn first.
    cells: Vec<u32>,
}

impl Worn {
    /// Returns the number of places, whether written or not.
    pub fn places(&self) -> u64 {
        self.places
    }

    /// Returns the number of places that were written.
    pub fn written(&self) -> u64 {
        self.cells.len() as u64
    }

    /// Returns the number of cells that were programmed at all places.
    pub fn cells(&self) -> u64 {
        self.cells.iter().map(|cells| u64::from(*cells)).sum()
    }

    /// Returns the writes of the place that is the `rank`th in the order of wear; the most worn is
    /// the 0th.
    pub fn at(&self, rank: u64) -> f64 {
        let cells = usize::try_from(rank)
            .ok()
            .and_then(|rank| self.cells.get(rank));
        f64::from(*cells.unwrap_or(&0)) / f64::from(LINE_CELLS)
    }

    /// Returns the writes of the most worn place.
    pub fn most(&self) -> f64 {
        self.at(0)
    }

    /// Returns the mean writes of a place.
    pub fn mean(&self) -> f64 {
        self.cells() as f64 / f64::from(LINE_CELLS) / self.places as f64
    }

    /// Returns the writes which a share of the places, 0 to 1, does not exceed.
    pub fn quantile(&self, share: f64) -> f64 {
        let above = ((1.0 - share) * self.places as f64).floor() as u64;
        self.at(above.min(self.places - 1))
    }

    /// Returns the years until the first line wears out if the writes of `elapsed` repeat at the
    /// same places; see [`lifetime::fedorov`].
    pub fn first(&self, endurance: f64, elapsed: Nanos) -> Option<f64> {
        lifetime::fedorov(endurance, self.most(), elapsed)
    }

    /// Returns the years until all lines wear out together if they are written as much as in
    /// `elapsed`, but evenly; see [`lifetime::awad`].
    pub fn even(&self, endurance: f64, elapsed: Nanos) -> Option<f64> {
        lifetime::fedorov(endurance, self.mean(), elapsed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{start_gap, swaps};
    use proptest::prelude::*;

    const START_GAP: Levelling = start_gap(start_gap::PSI);
    const RANDOMISED: Levelling = Levelling::Randomised { psi: swaps::PSI };

    const fn start_gap(psi: u32) -> Levelling {
        Levelling::StartGap {
            psi,
            regions: 1,
            random: false,
        }
    }

    /// A memory after these writes of whole lines.
    fn after(levelling: Levelling, lines: u64, writes: impl IntoIterator<Item = u64>) -> Wear {
        let mut wear = Wear::new(levelling, lines, 1).unwrap();
        for line in writes {
            wear.write(line, LINE_CELLS);
            wear.settle(|_| LINE_CELLS);
        }
        wear
    }

    #[test]
    fn one_hot_line_wears_as_the_levelling_lets_it() {
        let most = |levelling| {
            let wear = after(levelling, 10, std::iter::repeat_n(3, 100_000));
            (wear.worn().most(), wear.moved_lines())
        };
        assert_eq!(most(Levelling::None), (100_000.0, 0));
        let (start_gap, moved) = most(START_GAP);
        assert_eq!(moved, 1000, "1 % of its own");
        assert!((9_000.0..12_000.0).contains(&start_gap), "{start_gap}");
        // 500 swaps, with a deviation of their root; of ten lines one stays where it is.
        let (randomised, moved) = most(RANDOMISED);
        assert!((700..=1100).contains(&moved), "{moved}");
        // 50 stays at each place, each of 200 writes with that deviation, deviate by 200 * 10.
        assert!((10_000.0..18_000.0).contains(&randomised), "{randomised}");
    }

    /// Of a hundred thousand lines, start-gap has moved the hot one not once.
    #[test]
    fn swaps_work_where_start_gap_has_not_got_to() {
        let most = |levelling| {
            after(levelling, 100_000, std::iter::repeat_n(3, 100_000))
                .worn()
                .most()
        };
        assert_eq!(most(START_GAP), 100_000.0);
        // One of 500 stays is longer with the chance 500 (1 - 1 / 200)^3000 = 0.00015.
        assert!(most(RANDOMISED) <= 3_000.0);
    }

    /// A swap finds each of 64 lines with the same chance, so a line stays at a place for more than
    /// 900 swaps, 2813 writes of the page, with the chance (63/64)^900. There are 1280 swaps and 64
    /// lines, so at most 1344 stays; of all pairs of them, 1344^2 / 2 / 4096 = 220 are at one
    /// place, and together as long with a chance 15 times that. 1344 and 220 * 15 times it is 0.3
    /// %. A swap after each 200th write finds 8 lines, and the others stay for 4000 writes.
    #[test]
    fn all_lines_of_a_hot_page_move_whatever_divides_psi() {
        for seed in 1..=5 {
            let mut wear = Wear::new(RANDOMISED, 4096, seed).unwrap();
            for _ in 0..4000 {
                (64..128).for_each(|line| wear.write(line, LINE_CELLS));
                wear.settle(|_| LINE_CELLS);
            }
            let worn = wear.worn();
            assert!(worn.most() <= 2850.0, "{}", worn.most());
            // 4096 (1 - e^(-1280 / 4096)) places are drawn, and three quarters of 64 are the first.
            assert!((1000..1300).contains(&worn.written()), "{}", worn.written());
        }
    }

    #[test]
    fn what_is_not_programmed_does_not_wear() {
        let mut wear = Wear::new(Levelling::None, 4, 1).unwrap();
        wear.write(1, 256);
        wear.write(1, 128);
        wear.write(2, 128);
        let worn = wear.worn();
        assert_eq!((worn.places(), worn.written(), worn.cells()), (4, 2, 512));
        assert_eq!([worn.at(0), worn.at(1), worn.at(2)], [0.75, 0.25, 0.0]);
        assert_eq!(
            (worn.mean(), worn.quantile(0.5), worn.quantile(0.75)),
            (0.25, 0.0, 0.25)
        );
        wear.renew();
        assert_eq!(wear.worn().written(), 0);
    }

    #[test]
    fn the_most_worn_line_fails_first() {
        let minute = Nanos(60_000_000_000);
        let worn = after(Levelling::None, 2, [0, 0, 0, 1]).worn();
        let (first, even) = (
            worn.first(1e6, minute).unwrap(),
            worn.even(1e6, minute).unwrap(),
        );
        assert!((even / first - 1.5).abs() < 1e-12);
        let (capacity, written) = (Bytes(128), Bytes(256));
        let awad = lifetime::awad(1e6, capacity, written, minute).unwrap();
        assert!((even / awad - 1.0).abs() < 1e-12);
        let unused = after(Levelling::None, 2, []).worn();
        assert_eq!(unused.first(1e6, minute), None);
    }

    #[test]
    fn more_lines_than_can_be_counted_are_refused() {
        for levelling in [Levelling::None, START_GAP, RANDOMISED] {
            let error = Wear::new(levelling, u64::MAX, 1).unwrap_err().to_string();
            assert!(error.contains("18446744073709551615 lines"), "{error}");
        }
    }

    /// The places themselves: which line each holds, and how often it was written.
    struct Places(Vec<(Option<u64>, u64)>);

    impl Places {
        fn of(&self, line: u64) -> usize {
            self.0
                .iter()
                .position(|(held, _)| *held == Some(line))
                .expect("each line lies somewhere")
        }
    }

    proptest! {
        /// Places that are searched, with lines carried from one to the other.
        #[test]
        fn every_write_wears_the_place_at_which_the_line_lies(
            lines in 1u64..20, writes in prop::collection::vec(0u64..20, 0..300), psi in 1u32..6,
        ) {
            for levelling in [Levelling::None, start_gap(psi), Levelling::Randomised { psi }] {
                let mut wear = Wear::new(levelling, lines, 9).unwrap();
                let mut places = Places((0..lines).map(|line| (Some(line), 0)).collect());
                if let Levelling::StartGap { .. } = levelling {
                    places.0.push((None, 0));
                }
                for line in writes.iter().map(|line| line % lines) {
                    wear.write(line, LINE_CELLS);
                    let place = places.of(line);
                    places.0[place].1 += 1;
                    wear.settle(|moved| {
                        match moved {
                            Moved::Copied { line, .. } => {
                                let gap = places.0.iter().position(|(held, _)| held.is_none()).expect("a gap");
                                let from = places.of(line);
                                places.0[from].0 = None;
                                places.0[gap] = (Some(line), places.0[gap].1 + 1);
                            }
                            Moved::Swapped(one, other) => {
                                let (one, other) = (places.of(one), places.of(other));
                                let held = places.0[one].0;
                                places.0[one] = (places.0[other].0, places.0[one].1 + 1);
                                places.0[other] = (held, places.0[other].1 + 1);
                            }
                        }
                        LINE_CELLS
                    });
                }
                let cells: Vec<u64> = wear.cells.iter().map(|cells| u64::from(*cells)).collect();
                let expected = places.0.iter().map(|(_, writes)| writes * u64::from(LINE_CELLS));
                prop_assert_eq!(cells, expected.collect::<Vec<_>>());
                let all: u64 = places.0.iter().map(|(_, writes)| writes).sum();
                prop_assert_eq!(wear.moved_lines() + writes.len() as u64, all);
                prop_assert_eq!(wear.worn().cells(), all * u64::from(LINE_CELLS));
            }
        }
    }
}
