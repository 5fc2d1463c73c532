//! Heat: how often each part of memory was touched, over time.
//!
//! A picture has some hundred columns and rows, and a trace may have any number of accesses and
//! pages. [`Gathering`] begins with an access a column and a page a row, and puts neighbours
//! together whenever there are too many; so it takes the same memory for every trace, and neither
//! its length nor its addresses have to be known.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;
use terrace_base::Result;
use terrace_base::bytes::PAGE_BYTES;

use crate::access::Block;
use crate::source::{Meta, Source};

/// The most columns; at the end there are more than half of them, if there are so many accesses.
pub const COLUMNS: usize = 256;
/// The most regions with a touch.
const REGIONS: usize = 4096;

/// How often each part of memory was touched, over time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heat {
    /// Accesses, in the order of the trace.
    pub accesses: u64,
    /// Accesses of a column; the last may have fewer.
    pub per_column: u64,
    /// Pages of a region.
    pub region_pages: u64,
    /// Regions with a touch, by process and address.
    pub regions: Vec<Region>,
}

/// A range of addresses, aligned to its size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// Its process.
    pub process: u16,
    /// Its first page.
    pub first: u64,
    /// Accesses that begin in it, of each column.
    pub touches: Vec<u64>,
}

impl Heat {
    /// Reads a trace, at most so many accesses of it.
    ///
    /// # Errors
    /// Returns the errors of the source.
    pub fn of(source: &mut dyn Source, limit: Option<u64>) -> Result<Self> {
        let mut gathering = Gathering::default();
        let mut block = Block::default();
        let mut left = limit.unwrap_or(u64::MAX);
        while left > 0 && source.next_block(&mut block)? {
            if let Ok(left) = usize::try_from(left) {
                block.truncate(left);
            }
            left -= block.len() as u64;
            gathering.add(&block);
        }
        Ok(gathering.heat())
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.accesses.div_ceil(self.per_column.max(1)) as usize
    }
}

/// What is gathered while a trace is read.
#[derive(Debug)]
pub struct Gathering {
    accesses: u64,
    per_column: u64,
    /// Binary logarithm of the pages of a region.
    scale: u32,
    /// Touches by process and number of the region.
    regions: FxHashMap<(u16, u64), Vec<u64>>,
}

impl Default for Gathering {
    fn default() -> Self {
        Self {
            accesses: 0,
            per_column: 1,
            scale: 0,
            regions: FxHashMap::default(),
        }
    }
}

impl Gathering {
    /// Adds the accesses of a block.
    pub fn add(&mut self, block: &Block) {
        for (row, address) in block.address.iter().enumerate() {
            let process = block.process.get(row).copied().unwrap_or_default();
            self.touch(process, address / PAGE_BYTES);
        }
    }

    fn touch(&mut self, process: u16, page: u64) {
        if self.accesses == self.per_column * COLUMNS as u64 {
            self.halve_columns();
        }
        let column = (self.accesses / self.per_column) as usize;
        self.accesses += 1;
        let region = self.regions.entry((process, page >> self.scale));
        let touches = region.or_default();
        if touches.len() <= column {
            touches.resize(column + 1, 0);
        }
        touches[column] += 1;
        while self.regions.len() > REGIONS && self.scale < u64::BITS - 1 {
            self.join_regions();
        }
    }

    fn halve_columns(&mut self) {
        self.per_column *= 2;
        for touches in self.regions.values_mut() {
            *touches = touches.chunks(2).map(|pair| pair.iter().sum()).collect();
        }
    }

    fn join_regions(&mut self) {
        self.scale += 1;
        for ((process, region), touches) in std::mem::take(&mut self.regions) {
            let joined = self.regions.entry((process, region >> 1)).or_default();
            if joined.len() < touches.len() {
                joined.resize(touches.len(), 0);
            }
            let pairs = joined.iter_mut().zip(&touches);
            pairs.for_each(|(sum, touches)| *sum += touches);
        }
    }

    /// Returns what was gathered so far.
    pub fn heat(&self) -> Heat {
        let columns = self.accesses.div_ceil(self.per_column) as usize;
        let sorted: BTreeMap<_, _> = self.regions.iter().collect();
        let region = |(&(process, region), touches): (&(u16, u64), &Vec<u64>)| {
            let mut touches = touches.clone();
            touches.resize(columns, 0);
            Region {
                process,
                first: region << self.scale,
                touches,
            }
        };
        Heat {
            accesses: self.accesses,
            per_column: self.per_column,
            region_pages: 1 << self.scale,
            regions: sorted.into_iter().map(region).collect(),
        }
    }
}

/// What is gathered of a trace that someone else reads.
#[derive(Clone, Debug, Default)]
pub struct Seen(Arc<Mutex<Gathering>>);

impl Seen {
    /// Returns what was gathered so far.
    pub fn heat(&self) -> Heat {
        self.lock().heat()
    }

    fn lock(&self) -> MutexGuard<'_, Gathering> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Gathers the heat of a trace while someone else reads it.
pub fn watch(source: Box<dyn Source>) -> (Box<dyn Source>, Seen) {
    let seen = Seen::default();
    let watched = Watched {
        source,
        seen: seen.clone(),
    };
    (Box::new(watched), seen)
}

/// A trace that passes.
struct Watched {
    source: Box<dyn Source>,
    seen: Seen,
}

impl Source for Watched {
    fn meta(&self) -> &Meta {
        self.source.meta()
    }

    fn read(&mut self, block: &mut Block) -> Result<()> {
        self.source.read(block)?;
        self.seen.lock().add(block);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn gathered(touches: &[(u16, u64)]) -> Heat {
        let mut gathering = Gathering::default();
        for part in touches.chunks(700) {
            let mut block = Block::default();
            for &(process, page) in part {
                block.process.push(process);
                block.address.push(page * PAGE_BYTES + 5);
            }
            gathering.add(&block);
        }
        gathering.heat()
    }

    /// Counts with the columns and regions that are right for the whole trace.
    fn counted(touches: &[(u16, u64)]) -> Heat {
        let accesses = touches.len() as u64;
        let mut per_column = 1;
        while accesses > per_column * COLUMNS as u64 {
            per_column *= 2;
        }
        let all = |scale: u32| {
            let regions = touches.iter();
            let mut regions: Vec<_> = regions
                .map(|(process, page)| (*process, page >> scale))
                .collect();
            regions.sort_unstable();
            regions.dedup();
            regions
        };
        let scale = (0..64).find(|scale| all(*scale).len() <= REGIONS).unwrap();
        let region = |(process, region): (u16, u64)| {
            let mut sums = vec![0; accesses.div_ceil(per_column) as usize];
            for (at, touch) in touches.iter().enumerate() {
                let is_there = (touch.0, touch.1 >> scale) == (process, region);
                sums[at / per_column as usize] += u64::from(is_there);
            }
            Region {
                process,
                first: region << scale,
                touches: sums,
            }
        };
        Heat {
            accesses,
            per_column,
            region_pages: 1 << scale,
            regions: all(scale).into_iter().map(region).collect(),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        #[test]
        fn what_is_gathered_is_what_a_count_of_all_finds(
            touches in prop::collection::vec((0..3_u16, prop_oneof![0..50_u64, 1 << 40..(1_u64 << 40) + 900]), 0..2000),
        ) {
            prop_assert_eq!(gathered(&touches), counted(&touches));
        }
    }

    #[test]
    fn many_pages_are_put_together() {
        let touches: Vec<(u16, u64)> = (0..3 * REGIONS as u64).map(|page| (1, page)).collect();
        let heat = gathered(&touches);
        assert_eq!((heat.region_pages, heat.per_column), (4, 64));
        assert_eq!(heat, counted(&touches));
        // Of two processes, regions stay apart however many there are.
        let far: Vec<(u16, u64)> = (0..2 * REGIONS as u64)
            .map(|at| (at as u16 % 2, at << 38))
            .collect();
        assert_eq!(gathered(&far), counted(&far));
    }
}
