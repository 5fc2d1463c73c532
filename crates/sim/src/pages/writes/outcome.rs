//! What a scheme wrote under one wear levelling, as results.

use std::iter;

use serde::{Deserialize, Serialize};
use terrace_base::Nanos;
use terrace_base::bytes::PAGE_BYTES;
use terrace_device::{Energy, Wear, Worn, lifetime};

use super::Writes;
use super::account::{Account, Levelled};

/// What a scheme wrote under one wear levelling.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SchemeOutcome {
    /// The scheme with its settings.
    pub scheme: String,
    /// Whether pages went back to their own places.
    pub pinned: bool,
    /// The wear levelling with its settings.
    pub levelling: String,
    /// Pages that left DRAM: what `page` would write. `None` where lines are written without a page
    /// that leaves.
    pub left: Option<u64>,
    /// Pages of those with something written.
    pub pages: Option<u64>,
    /// Bytes of the lines and sectors that were written.
    pub bytes: u64,
    /// Lines with something written.
    pub lines: u64,
    /// Sectors with something written.
    pub sectors: u64,
    /// Cells that were programmed, one a bit.
    pub cells: u64,
    /// Bytes that only say how the others are to be read.
    pub metadata: u64,
    /// Lines that the levelling wrote.
    pub moved_lines: u64,
    /// Cells that the levelling programmed.
    pub moved_cells: u64,
    /// Energy of programming all these cells, in joules, if the powers are known.
    pub energy_j: Option<f64>,
    /// Years until the first line for which there is no spare wears out, if the run is repeated and
    /// the levelling goes on.
    pub first_years: Option<f64>,
    /// Years until all lines wear out, if they are written evenly.
    pub even_years: Option<f64>,
    /// Places of lines in the memory.
    pub places: u64,
    /// Places that were written.
    pub places_written: u64,
    /// Mean writes of a place.
    pub wear_mean: f64,
    /// Writes that half of the places, 90, 99 and 99.9 % do not exceed, and the most.
    pub wear_quantiles: [f64; 5],
    /// Writes of the first place in the order of wear, of the second, the fourth, and so on, as far
    /// as places were written.
    pub ranks: Vec<Rank>,
}

/// A place in the order of wear.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rank {
    /// Its number; the most worn place is the first.
    pub rank: u64,
    /// Writes of a line there.
    pub writes: f64,
}

/// Shares of the places in [`SchemeOutcome::wear_quantiles`].
const SHARES: [f64; 5] = [0.5, 0.9, 0.99, 0.999, 1.0];

impl SchemeOutcome {
    /// Returns the cells that were programmed in all, as a share of those of whole pages.
    pub fn cells_share(&self) -> Option<f64> {
        let left = self.left?;
        Some(share(self.cells + self.moved_cells, 8 * PAGE_BYTES * left))
    }

    /// Returns the bytes that the scheme wrote, as a share of those of whole pages.
    pub fn bytes_share(&self) -> Option<f64> {
        Some(share(self.bytes, PAGE_BYTES * self.left?))
    }

    /// Returns what there is to say of wear alone: what was written is for the caller to say.
    pub(in super::super) fn of_wear(
        wear: &Wear,
        spares: u64,
        endurance: Option<f64>,
        elapsed: Nanos,
    ) -> Self {
        let worn = wear.worn();
        let runs = endurance.and_then(|endurance| wear.runs(endurance, spares));
        Self {
            moved_lines: wear.moved_lines(),
            moved_cells: wear.moved_cells(),
            first_years: runs.map(|runs| lifetime::repeated(runs, elapsed)),
            even_years: endurance.and_then(|endurance| worn.even(endurance, elapsed)),
            places: worn.places(),
            places_written: worn.written(),
            wear_mean: worn.mean(),
            wear_quantiles: SHARES.map(|share| worn.quantile(share)),
            ranks: ranks(&worn),
            ..Self::default()
        }
    }
}

/// Returns a share; 1 of nothing.
fn share(part: u64, all: u64) -> f64 {
    match all {
        0 => 1.0,
        all => part as f64 / all as f64,
    }
}

impl Writes {
    /// Returns the results of each scheme under each levelling, given the energy and the endurance
    /// of the memory and the time that passed.
    pub(in super::super) fn outcome(
        &self,
        energy: Option<Energy>,
        endurance: Option<f64>,
        elapsed: Nanos,
    ) -> Vec<SchemeOutcome> {
        let all = self.accounts.iter();
        let all = all.flat_map(|one| one.levelled.iter().map(move |levelled| (one, levelled)));
        let one = |(account, levelled): (&Account, &Levelled)| {
            let (written, wear) = (&account.written, &levelled.wear);
            let cells = written.cells + wear.moved_cells();
            let rows = account.pages + wear.moved_lines();
            SchemeOutcome {
                scheme: account.spec.to_string(),
                pinned: account.scheme.pinned,
                levelling: levelled.spec.to_string(),
                left: Some(self.left),
                pages: Some(account.pages),
                bytes: written.bytes,
                lines: written.lines,
                sectors: written.sectors,
                cells: written.cells,
                metadata: written.metadata,
                energy_j: energy.map(|energy| energy.programming(cells, rows)),
                ..SchemeOutcome::of_wear(wear, levelled.spares, endurance, elapsed)
            }
        };
        all.map(one).collect()
    }
}

/// Returns the ranks that are powers of two, and the last.
fn ranks(worn: &Worn) -> Vec<Rank> {
    let last = worn.written();
    let powers = iter::successors(Some(1), |rank| Some(2 * rank));
    let powers = powers.take_while(|rank| *rank < last);
    let ranks = powers.chain((last > 0).then_some(last));
    let ranks = ranks.map(|rank| Rank {
        rank,
        writes: worn.at(rank - 1),
    });
    ranks.collect()
}
