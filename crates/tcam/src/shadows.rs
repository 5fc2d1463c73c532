//! The shadow blocks: CMOS blocks that take updates while flash cannot (Fedorov 2016, 4.3.3 and
//! 4.4.1).

use crate::policy::Held;

/// A shadow block and its holes.
#[derive(Clone, Debug)]
pub struct Shadow {
    rows: Vec<Option<Held>>,
    holes: Vec<u32>,
}

impl Shadow {
    fn new(rows: u32) -> Self {
        Self {
            rows: vec![None; rows as usize],
            holes: (0..rows).rev().collect(),
        }
    }

    /// Returns the hole at which the pointer points.
    pub fn hole(&self) -> Option<u32> {
        self.holes.last().copied()
    }

    /// Returns the routes, with their rows.
    pub fn held(&self) -> impl Iterator<Item = (u32, Held)> {
        (0..)
            .zip(&self.rows)
            .filter_map(|(row, held)| Some((row, (*held)?)))
    }

    /// Writes into the hole at which the pointer points, and returns the row.
    pub fn add(&mut self, held: Held) -> u32 {
        let row = self.holes.pop().expect("a full block is sealed at once");
        self.rows[row as usize] = Some(held);
        row
    }

    /// Writes a row anew.
    pub fn replace(&mut self, row: u32, held: Held) {
        self.rows[row as usize] = Some(held);
    }

    /// Makes a row a hole.
    pub fn remove(&mut self, row: u32) {
        self.rows[row as usize] = None;
        self.holes.push(row);
    }
}

/// All shadow blocks. Each prefix length has one; further ones buffer twice or more, as far as
/// there are.
#[derive(Clone, Debug)]
pub struct Shadows {
    rows: u32,
    blocks: Vec<Shadow>,
    free: Vec<u32>,
    /// Further blocks at most; `None`: as many as needed.
    buffers: Option<u32>,
    buffers_used: u32,
    buffers_peak: u32,
}

impl Shadows {
    /// Makes blocks of these rows.
    pub fn new(rows: u32, buffers: Option<u32>) -> Self {
        Self {
            rows,
            blocks: Vec::new(),
            free: Vec::new(),
            buffers,
            buffers_used: 0,
            buffers_peak: 0,
        }
    }

    /// Returns a block that was taken.
    pub fn block(&mut self, block: u32) -> &mut Shadow {
        &mut self.blocks[block as usize]
    }

    /// Takes a block for a length that has `owned` of them; `None` if no further one may be used.
    pub fn take(&mut self, owned: usize) -> Option<u32> {
        if owned > 0 {
            if self.buffers.is_some_and(|most| self.buffers_used >= most) {
                return None;
            }
            self.buffers_used += 1;
            self.buffers_peak = self.buffers_peak.max(self.buffers_used);
        }
        let block = self.free.pop().unwrap_or_else(|| {
            self.blocks.push(Shadow::new(self.rows));
            self.blocks.len() as u32 - 1
        });
        Some(block)
    }

    /// Gives a block back, of a length that keeps `owned` others.
    pub fn give(&mut self, block: u32, owned: usize) {
        self.buffers_used -= u32::from(owned > 0);
        self.blocks[block as usize] = Shadow::new(self.rows);
        self.free.push(block);
    }

    /// Returns the most blocks that were in use at one time beside the first of each length.
    pub fn buffers_peak(&self) -> u32 {
        self.buffers_peak
    }
}
