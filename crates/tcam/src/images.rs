//! What the flash blocks hold, in the DRAM of the firmware (Fedorov 2016, 4.3.3): routes and flags
//! of every row.

use crate::length::Length;
use crate::route::Route;

/// What a block is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// For nothing: no row is valid.
    Free,
    /// It is being erased and programmed.
    Written,
    /// It answers lookups.
    Online,
    /// It answers lookups while its valid rows are written to another block.
    Copied,
}

/// The image of a block.
#[derive(Clone, Debug)]
pub struct Image {
    /// What the block is used for.
    pub used: Use,
    /// Routes in the first rows; the rows behind them are erased.
    pub routes: Vec<Route>,
    valid: Vec<bool>,
    valid_rows: u32,
}

impl Image {
    /// Returns the number of valid rows.
    pub fn valid_rows(&self) -> u32 {
        self.valid_rows
    }

    /// Returns the valid rows with their routes.
    pub fn valid(&self) -> impl Iterator<Item = (u32, Route)> {
        let rows = (0..).zip(self.routes.iter().zip(&self.valid));
        rows.filter(|(_, (_, valid))| **valid)
            .map(|(row, (route, _))| (row, *route))
    }

    /// Sets the flag of a row.
    pub fn set_valid(&mut self, row: u32, valid: bool) {
        let flag = &mut self.valid[row as usize];
        self.valid_rows = self.valid_rows + u32::from(valid) - u32::from(*flag);
        *flag = valid;
    }

    /// Replaces all rows; none is valid.
    fn replace(&mut self, routes: Vec<Route>) {
        self.valid = vec![false; routes.len()];
        (self.routes, self.valid_rows) = (routes, 0);
    }
}

/// The images of all blocks.
#[derive(Clone, Debug)]
pub struct Images {
    rows: u32,
    blocks: Vec<Image>,
    /// Blocks that answer lookups, of each length.
    online: Vec<Vec<u32>>,
}

impl Images {
    /// Makes the images of erased blocks of these rows.
    pub fn new(blocks: u32, rows: u32) -> Self {
        let erased = Image {
            used: Use::Free,
            routes: Vec::new(),
            valid: Vec::new(),
            valid_rows: 0,
        };
        Self {
            rows,
            blocks: vec![erased; blocks as usize],
            online: vec![Vec::new(); Length::COUNT],
        }
    }

    /// Returns the image of a block.
    pub fn block(&self, block: u32) -> &Image {
        &self.blocks[block as usize]
    }

    /// Returns the image of a block, to set its flags.
    pub fn block_mut(&mut self, block: u32) -> &mut Image {
        &mut self.blocks[block as usize]
    }

    /// Begins to write these routes to a block. Tells whether it must be erased before.
    pub fn write(&mut self, block: u32, routes: Vec<Route>) -> bool {
        let image = &mut self.blocks[block as usize];
        let was_programmed = !image.routes.is_empty();
        image.replace(routes);
        image.used = Use::Written;
        was_programmed
    }

    /// Brings a block on-line with these flags.
    pub fn start(&mut self, block: u32, length: Length, valid: &[bool]) {
        let image = &mut self.blocks[block as usize];
        image.used = Use::Online;
        image.valid_rows = valid.iter().map(|valid| u32::from(*valid)).sum();
        image.valid.copy_from_slice(valid);
        self.online[length.index()].push(block);
    }

    /// Takes a block off-line; its rows stay programmed.
    pub fn stop(&mut self, block: u32, length: Length) {
        self.blocks[block as usize].used = Use::Free;
        let online = &mut self.online[length.index()];
        let place = online.iter().position(|other| *other == block);
        online.swap_remove(place.expect("it is on-line"));
    }

    /// Returns the block of a length with the most holes: `None` if none has any, or all that have
    /// are copied.
    pub fn most_holes(&self, length: Length) -> Option<u32> {
        let online = self.online[length.index()].iter().copied();
        online
            .map(|block| (self.blocks[block as usize].valid_rows, block))
            .filter(|(valid_rows, block)| {
                *valid_rows < self.rows && self.block(*block).used == Use::Online
            })
            .min()
            .map(|(_, block)| block)
    }

    /// Returns the blocks of a length that answer lookups.
    pub fn online(&self, length: Length) -> &[u32] {
        &self.online[length.index()]
    }
}
