//! The places of an address space's pages: sorted leaves in a tree, shorter the sparser the pages.
//! An entry takes 6 bytes whether every page is swapped or one in some hundred, and adding one
//! moves a leaf at most.

use std::collections::BTreeMap;

use terrace_policy::Page;

use super::places::Cell;

/// Pages of a span: as many as 16 bits can number. A leaf can hold any of them.
const SPAN: u64 = 1 << 16;
/// Entries of a leaf.
const MOST: usize = 1024;
/// Spare room of a leaf: one entry in this many.
const SPARE: usize = 16;

/// A page's number within its span, and its cell, in 6 bytes.
#[derive(Clone, Copy)]
struct Entry {
    page: u16,
    cell: [u16; 2],
}

impl Entry {
    fn new(page: Page, Cell(cell): Cell) -> Self {
        Self {
            page: page.0 as u16,
            cell: [(cell >> 16) as u16, cell as u16],
        }
    }

    fn cell(self) -> Cell {
        let [high, low] = self.cell.map(u32::from);
        Cell(high << 16 | low)
    }
}

/// Places of an address space's pages. The key of a leaf is the first page that it can hold; it
/// holds pages of one span, up to the next leaf.
#[derive(Default)]
pub struct Leaves(BTreeMap<u64, Vec<Entry>>);

impl Leaves {
    /// Returns the place of a page.
    pub fn get(&self, page: Page) -> Option<Cell> {
        let (first, leaf) = self.0.range(..=page.0).next_back()?;
        let index = index(leaf, page).ok()?;
        in_one_span(*first, page.0).then(|| leaf[index].cell())
    }

    /// Sets the place of a page; returns the former one.
    pub fn insert(&mut self, page: Page, cell: Cell) -> Option<Cell> {
        let entry = Entry::new(page, cell);
        let leaf = match self.leaf(page) {
            Some((_, leaf)) => leaf,
            None => self.0.entry(page.0 / SPAN * SPAN).or_default(),
        };
        match index(leaf, page) {
            Ok(index) => return Some(std::mem::replace(&mut leaf[index], entry).cell()),
            Err(index) if leaf.len() < MOST => put(leaf, index, entry),
            // Pages mostly come in order: then the full leaf stays full.
            Err(MOST) => {
                self.0.insert(page.0, vec![entry]);
            }
            Err(index) => {
                let mut right = leaf.split_off(MOST / 2);
                leaf.shrink_to_fit();
                let first = page.0 / SPAN * SPAN + u64::from(right[0].page);
                match index.checked_sub(leaf.len()) {
                    Some(index) if index > 0 => put(&mut right, index, entry),
                    _ => put(leaf, index, entry),
                }
                self.0.insert(first, right);
            }
        }
        None
    }

    /// Removes the place of a page.
    pub fn remove(&mut self, page: Page) {
        let Some((first, leaf)) = self.leaf(page) else {
            return;
        };
        if let Ok(index) = index(leaf, page) {
            leaf.remove(index);
        }
        if leaf.is_empty() {
            self.0.remove(&first);
        } else if leaf.len() < leaf.capacity() / 2 {
            leaf.shrink_to(leaf.len() + leaf.len() / SPARE);
        }
    }

    /// Takes out the last leaf, which was mostly allocated last, so that the heap shrinks a little
    /// each time and not completely with the final one (8 ms at 75 GiB swapped).
    pub fn pop(&mut self) -> Option<impl ExactSizeIterator<Item = (Page, Cell)> + use<>> {
        let (first, leaf) = self.0.pop_last()?;
        let span = first / SPAN * SPAN;
        let named = move |entry: Entry| (Page(span + u64::from(entry.page)), entry.cell());
        Some(leaf.into_iter().map(named))
    }

    /// Returns the leaf that can hold a page, and its key.
    fn leaf(&mut self, page: Page) -> Option<(u64, &mut Vec<Entry>)> {
        let (first, leaf) = self.0.range_mut(..=page.0).next_back()?;
        in_one_span(*first, page.0).then_some((*first, leaf))
    }
}

fn in_one_span(a: u64, b: u64) -> bool {
    a / SPAN == b / SPAN
}

fn index(leaf: &[Entry], page: Page) -> Result<usize, usize> {
    leaf.binary_search_by_key(&(page.0 as u16), |entry| entry.page)
}

/// Inserts into a leaf, which grows by a little: with doubling a quarter would be empty.
fn put(leaf: &mut Vec<Entry>, index: usize, entry: Entry) {
    if leaf.len() == leaf.capacity() {
        leaf.reserve_exact((leaf.len() / SPARE).max(4));
    }
    leaf.insert(index, entry);
}
