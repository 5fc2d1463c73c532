//! A chip that really compares all rows: slow, and right as far as one can see.

use std::net::IpAddr;

use crate::block::{FlashBlock, ShadowBlock};
use crate::chip::{Chip, Location, Match};
use crate::length::Length;
use crate::longest;
use crate::port_word::PortWord;
use crate::prefix::Prefix;
use crate::route::Route;
use crate::word::Key;

/// All blocks of a chip.
#[derive(Clone, Debug)]
pub struct Structural {
    flash: Vec<FlashBlock>,
    shadows: Vec<ShadowBlock>,
    shadow_rows: u32,
}

impl Structural {
    /// Makes a chip of erased blocks of these rows; shadow blocks are made as they are used.
    pub fn new(blocks: u32, rows: u32, shadow_rows: u32) -> Self {
        Self {
            flash: vec![FlashBlock::new(rows); blocks as usize],
            shadows: Vec::new(),
            shadow_rows,
        }
    }

    /// Returns all that the blocks answer, as the block of the longest match gets it.
    fn answers(&self, address: IpAddr) -> Vec<(Length, Location, PortWord)> {
        let key = Key::of(address);
        let mut answers = Vec::new();
        for (block, flash) in (0..).zip(&self.flash) {
            answers.extend(flash.search(&key).map(|(length, port)| {
                let row = port.row();
                (length, Location::Flash { block, row }, port)
            }));
        }
        for (block, shadow) in (0..).zip(&self.shadows) {
            answers.extend(shadow.search(&key).map(|(length, port)| {
                let row = port.row();
                (length, Location::Shadow { block, row }, port)
            }));
        }
        answers
    }
}

impl Chip for Structural {
    fn lookup(&self, address: IpAddr) -> Option<Match> {
        longest::of(
            self.answers(address)
                .into_iter()
                .map(|(length, _, port)| (length, port)),
        )
    }

    fn find(&self, prefix: Prefix) -> Option<Location> {
        let length = Length::of(prefix);
        let mut found = self
            .answers(prefix.address())
            .into_iter()
            .filter(|(of, ..)| *of == length);
        let (_, location, _) = found.next()?;
        assert!(found.next().is_none(), "two rows hold {prefix}");
        Some(location)
    }

    fn write(&mut self, block: u32, row: u32, route: Route) {
        let blocks = self.shadows.len().max(block as usize + 1);
        self.shadows
            .resize_with(blocks, || ShadowBlock::new(self.shadow_rows));
        self.shadows[block as usize].write(row, route);
    }

    fn invalidate(&mut self, location: Location, _: Prefix) {
        match location {
            Location::Flash { block, row } => self.flash[block as usize].set_valid(row, false),
            Location::Shadow { block, row } => self.shadows[block as usize].invalidate(row),
        }
    }

    fn revive(&mut self, block: u32, row: u32, _: Route) {
        self.flash[block as usize].set_valid(row, true);
    }

    fn program(&mut self, block: u32, length: Length, routes: &[Route]) {
        self.flash[block as usize].program(length, routes);
    }

    fn start(&mut self, block: u32, _: &[Route], valid: &[bool]) {
        self.flash[block as usize].start(valid);
    }

    fn stop(&mut self, block: u32) {
        self.flash[block as usize].stop();
    }
}
