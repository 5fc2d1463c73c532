//! Flushes: the routes of full shadow blocks are written to flash, while lookups go on.
//!
//! Flushes of one length follow one another, those of different lengths overlap. A flush writes all
//! its blocks at the same time, for as long as erasing and programming take. If there are not
//! enough free blocks for all its routes, it has several such rounds.

use std::cmp::Reverse;
use std::collections::VecDeque;

use terrace_base::{Error, Nanos, Result};

use super::Router;
use crate::chip::{Chip, Location};
use crate::images::Use;
use crate::length::Length;
use crate::policy::Held;
use crate::route::Route;

/// A full shadow block whose routes are to be written.
#[derive(Debug)]
pub(super) struct Flush {
    /// The shadow block.
    shadow: u32,
    /// Routes that are not in a block yet, with their rows.
    remaining: VecDeque<(u32, Route)>,
    /// Blocks that are being written.
    blocks: Vec<Programmed>,
}

/// A block that is being written.
#[derive(Debug)]
struct Programmed {
    block: u32,
    /// The block whose valid rows are in it as well.
    source: Option<u32>,
    /// Where the routes of its rows lie until then.
    origins: Vec<Location>,
}

/// A flush that began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flushed {
    /// When the shadow block was full.
    pub at: Nanos,
    /// The length of its prefixes.
    pub length: Length,
    /// Entries that are written.
    pub entries: u32,
}

impl<C: Chip> Router<C> {
    /// Returns the shadow block that takes the updates of a length; `None` if there is none.
    pub(super) fn accepting(&mut self, lane: usize) -> Option<u32> {
        let lane = &mut self.lanes[lane];
        if lane.accepting.is_none() {
            lane.accepting = self.shadows.take(lane.owned());
        }
        lane.accepting
    }

    /// Seals the shadow block of a length if it is full, and begins to write it if no other is.
    pub(super) fn seal_if_full(&mut self, lane: usize) -> Result<()> {
        let Some(shadow) = self.lanes[lane].accepting else {
            return Ok(());
        };
        if self.shadows.block(shadow).hole().is_some() {
            return Ok(());
        }
        let held: Vec<(u32, Held)> = self.shadows.block(shadow).held().collect();
        let rows: Vec<Held> = held.iter().map(|(_, held)| *held).collect();
        let stays = self.policy.keep(self.now, &rows);
        self.lanes[lane].accepting = None;
        let mut flush = Flush {
            shadow,
            remaining: VecDeque::new(),
            blocks: Vec::new(),
        };
        // The sealed block is among those of the length from now on.
        let owned = self.lanes[lane].owned() + 1;
        let next = match stays.contains(&true) {
            true => self.shadows.take(owned),
            false => None,
        };
        self.lanes[lane].accepting = next;
        for ((row, held), stays) in held.into_iter().zip(stays) {
            match next.filter(|_| stays) {
                Some(block) => self.keep_row(lane, (shadow, row), block, held),
                None => flush.remaining.push_back((row, held.route)),
            }
        }
        let length = Length::of(rows[0].route.prefix);
        let entries = flush.remaining.len() as u32;
        let lane_state = &mut self.lanes[lane];
        lane_state.counts.flushes += 1;
        lane_state.counts.flushed += u64::from(entries);
        lane_state.sealed.push_back(flush);
        self.flushed.push(Flushed {
            at: self.now,
            length,
            entries,
        });
        match self.lanes[lane].sealed.len() {
            1 => self.begin_round(lane, length),
            _ => Ok(()),
        }
    }

    /// Moves a row from a full shadow block to the next one.
    fn keep_row(&mut self, lane: usize, (shadow, row): (u32, u32), next: u32, held: Held) {
        let location = Location::Shadow { block: shadow, row };
        self.chip.invalidate(location, held.route.prefix);
        let row = self.shadows.block(next).add(held);
        self.chip.write(next, row, held.route);
        self.lanes[lane].counts.kept += 1;
    }

    /// Begins to write as many of the first sealed block's routes as there are free blocks for.
    fn begin_round(&mut self, lane: usize, length: Length) -> Result<()> {
        while !self.lanes[lane].sealed[0].remaining.is_empty() {
            let Some((block, source)) = self.next_block(length) else {
                break;
            };
            self.program(lane, length, block, source);
        }
        if self.lanes[lane].sealed[0].blocks.is_empty() {
            return self.wait_for_a_block(lane, length);
        }
        self.ends
            .push(Reverse((self.now + self.settings.write_time(), lane)));
        Ok(())
    }

    /// Takes a free block, and if few are left, one with holes whose rows go with the new routes.
    fn next_block(&mut self, length: Length) -> Option<(u32, Option<u32>)> {
        let reserve = self.settings.blocks_a_flush() as usize;
        let free = self.pool.of(length);
        let source = match free.len() > reserve {
            true => None,
            false => self.images.most_holes(length),
        };
        Some((free.take()?, source))
    }

    /// Begins to write a block: the valid rows of `source`, and new routes.
    fn program(&mut self, lane: usize, length: Length, block: u32, source: Option<u32>) {
        let mut routes: Vec<Route> = Vec::new();
        let mut origins = Vec::new();
        if let Some(source) = source {
            let image = self.images.block_mut(source);
            image.used = Use::Copied;
            for (row, route) in image.valid() {
                routes.push(route);
                origins.push(Location::Flash { block: source, row });
            }
        }
        let copied = routes.len();
        let flush = &mut self.lanes[lane].sealed[0];
        let new = flush
            .remaining
            .len()
            .min(self.settings.rows as usize - copied);
        for (row, route) in flush.remaining.drain(..new) {
            routes.push(route);
            origins.push(Location::Shadow {
                block: flush.shadow,
                row,
            });
        }
        flush.blocks.push(Programmed {
            block,
            source,
            origins,
        });
        self.chip.program(block, length, &routes);
        let erased = self.images.write(block, routes);
        let counts = &mut self.lanes[lane].counts;
        counts.copied += copied as u64;
        counts.programmed += 1;
        counts.erased += u64::from(erased);
        self.wear_out(block);
    }

    /// Ends a round: the blocks come on-line, and the flush goes on or the next one begins.
    pub(super) fn end_round(&mut self, lane: usize) -> Result<()> {
        let blocks = std::mem::take(&mut self.lanes[lane].sealed[0].blocks);
        let mut length = None;
        for programmed in blocks {
            length = Some(self.bring_online(lane, programmed));
        }
        let length = length.expect("a round has blocks");
        if self.lanes[lane].sealed[0].remaining.is_empty() {
            let flush = self.lanes[lane].sealed.pop_front().expect("it was first");
            self.shadows.give(flush.shadow, self.lanes[lane].owned());
        }
        match self.lanes[lane].sealed.is_empty() {
            true => Ok(()),
            false => self.begin_round(lane, length),
        }
    }

    /// Brings a block on-line: its rows are valid whose routes are still where they came from.
    fn bring_online(&mut self, lane: usize, programmed: Programmed) -> Length {
        let Programmed {
            block,
            source,
            origins,
        } = programmed;
        let routes = std::mem::take(&mut self.images.block_mut(block).routes);
        let length = Length::of(routes[0].prefix);
        let mut valid = Vec::with_capacity(routes.len());
        for (route, origin) in routes.iter().zip(&origins) {
            let is_current = self.chip.find(route.prefix) == Some(*origin);
            if is_current {
                self.chip.invalidate(*origin, route.prefix);
            }
            valid.push(is_current);
        }
        self.chip.start(block, &routes, &valid);
        self.images.block_mut(block).routes = routes;
        self.images.start(block, length, &valid);
        if let Some(source) = source {
            self.free(lane, source);
        }
        match self.images.block(block).valid_rows() {
            0 => self.free(lane, block),
            _ if self.policy.revives() => self.remember(block, &valid),
            _ => {}
        }
        length
    }

    /// Remembers the invalid rows of a block, so that they can be revived.
    fn remember(&mut self, block: u32, valid: &[bool]) {
        let routes = (0..).zip(&self.images.block(block).routes).zip(valid);
        for ((row, route), _) in routes.filter(|(_, valid)| !**valid) {
            self.invalid.insert(route.prefix, (block, row));
        }
    }

    /// Gives a block without valid rows to the pool.
    pub(super) fn free(&mut self, lane: usize, block: u32) {
        let image = self.images.block(block);
        let length = Length::of(image.routes[0].prefix);
        debug_assert_eq!(length.index(), lane);
        for (row, route) in (0..).zip(&image.routes) {
            if self.invalid.get(&route.prefix) == Some(&(block, row)) {
                self.invalid.remove(&route.prefix);
            }
        }
        self.chip.stop(block);
        self.images.stop(block, length);
        self.pool.of(length).give(block);
    }

    /// Has the flush of a length wait until another one leaves a block.
    fn wait_for_a_block(&mut self, lane: usize, length: Length) -> Result<()> {
        if self.ends.is_empty() {
            return Err(Error::failure(format!(
                "all {} flash blocks are in use, and {length} has no hole for a route; give the TCAM more blocks",
                self.settings.blocks
            )));
        }
        self.stick(lane);
        Ok(())
    }

    /// Notes that a length waits.
    pub(super) fn stick(&mut self, lane: usize) {
        if !self.stuck.contains(&lane) {
            self.stuck.push(lane);
        }
    }

    /// Lets lengths go on that waited for what has become free.
    pub(super) fn resume(&mut self) -> Result<()> {
        for lane in std::mem::take(&mut self.stuck) {
            let first = self.lanes[lane].sealed.front();
            if let Some(flush) = first.filter(|flush| flush.blocks.is_empty()) {
                let length = Length::of(flush.remaining[0].1.prefix);
                self.begin_round(lane, length)?;
            }
            while let Some((arrived, change)) = self.lanes[lane].waiting.front().copied() {
                if !self.carry_out(lane, change)? {
                    self.stick(lane);
                    break;
                }
                self.lanes[lane].waiting.pop_front();
                self.queue.now -= 1;
                let waited = self.now.saturating_sub(arrived);
                self.queue.longest = self.queue.longest.max(waited);
            }
        }
        Ok(())
    }
}
