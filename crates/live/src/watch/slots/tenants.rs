//! The owners of the pages in places: address spaces under numbers of a few bits.
//!
//! A number outlives its address space until no entry names it, so that an ended process is
//! forgotten at once and its entries are cleared later.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use terrace_policy::{Page, Space};

use super::leaves::Leaves;
use super::places::{Cell, TENANTS};

#[derive(Default)]
struct Tenant {
    /// `None` if it has ended.
    space: Option<Space>,
    leaves: Leaves,
}

/// Tenants of all places.
#[derive(Default)]
pub struct Tenants {
    numbers: FxHashMap<Space, u32>,
    /// Tenants by number.
    tenants: Vec<Tenant>,
    /// Free numbers.
    free: Vec<u32>,
    /// Numbers of ended tenants that entries still name.
    left: VecDeque<u32>,
}

impl Tenants {
    /// Returns the number of an address space, a new one if necessary; `None` if all are assigned.
    pub fn enter(&mut self, space: Space) -> Option<u32> {
        if let Some(&number) = self.numbers.get(&space) {
            return Some(number);
        }
        let number = match self.free.pop() {
            Some(number) => number,
            None if self.tenants.len() < TENANTS as usize => {
                self.tenants.push(Tenant::default());
                self.tenants.len() as u32 - 1
            }
            None => return None,
        };
        self.tenants[number as usize].space = Some(space);
        self.numbers.insert(space, number);
        Some(number)
    }

    /// Records the end of an address space.
    pub fn leave(&mut self, space: Space) {
        if let Some(number) = self.numbers.remove(&space) {
            self.tenants[number as usize].space = None;
            self.left.push_back(number);
        }
    }

    /// Takes a leaf of an ended tenant, if one is left.
    pub fn next_leaf(
        &mut self,
    ) -> Option<(u32, impl ExactSizeIterator<Item = (Page, Cell)> + use<>)> {
        while let Some(&number) = self.left.front() {
            if let Some(leaf) = self.leaves(number).pop() {
                return Some((number, leaf));
            }
            self.left.pop_front();
            self.free.push(number);
        }
        None
    }

    /// Returns the address space of a number; `None` if it has ended.
    pub fn space(&self, number: u32) -> Option<Space> {
        self.tenants[number as usize].space
    }

    /// Returns the places of an address space's pages.
    pub fn of(&self, space: Space) -> Option<&Leaves> {
        let number = *self.numbers.get(&space)?;
        Some(&self.tenants[number as usize].leaves)
    }

    /// Returns the places of the tenant with this number, which may have ended.
    pub fn leaves(&mut self, number: u32) -> &mut Leaves {
        &mut self.tenants[number as usize].leaves
    }
}
