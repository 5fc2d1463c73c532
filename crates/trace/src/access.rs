//! An access of a program to memory, and a block of many accesses.

use crate::changes::Changes;
use crate::discard::Discard;
use crate::order::Order;

/// One load or store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// Instructions that the thread had executed before this one; 0 throughout if the format does
    /// not say. Never decreases within a thread.
    pub instruction: u64,
    /// The byte address, virtual within its process.
    pub address: u64,
    /// The address of the instruction, 0 if the format does not say.
    pub ip: u64,
    /// The process, numbered from 0 in the order of appearance.
    pub process: u16,
    /// The thread; its numbers are unique over all processes of the trace.
    pub thread: u16,
    /// Bytes touched, 0 if the format does not say; an access may cross a line or a page.
    pub size: u32,
    /// Whether it stores; a read-modify-write does.
    pub write: bool,
}

/// The columns that a reader has to fill; it may leave the others empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Columns {
    /// Whether [`Block::instruction`] is wanted.
    pub instruction: bool,
    /// Whether [`Block::ip`] is wanted.
    pub ip: bool,
    /// Whether [`Block::process`] and [`Block::thread`] are wanted.
    pub thread: bool,
    /// Whether [`Block::size`] is wanted.
    pub size: bool,
    /// Whether [`Block::changes`] is wanted.
    pub contents: bool,
    /// Whether [`Block::depends`] is wanted.
    pub depends: bool,
    /// Whether [`Block::zeros`] is wanted.
    pub zeros: bool,
}

impl Columns {
    /// All columns.
    pub const ALL: Self = Self {
        instruction: true,
        ip: true,
        thread: true,
        size: true,
        contents: true,
        depends: true,
        zeros: true,
    };
    /// The columns that a simulation of pages needs.
    pub const PAGES: Self = Self {
        instruction: true,
        ip: false,
        thread: true,
        size: true,
        contents: false,
        depends: false,
        zeros: false,
    };
    /// Addresses and whether they are written, which every trace has.
    pub const ADDRESSES: Self = Self {
        instruction: false,
        ip: false,
        thread: false,
        size: false,
        contents: false,
        depends: false,
        zeros: false,
    };
}

/// Many accesses, a vector a field. All columns that are not empty have the length of `address`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// [`Access::instruction`].
    pub instruction: Vec<u64>,
    /// [`Access::address`].
    pub address: Vec<u64>,
    /// [`Access::ip`].
    pub ip: Vec<u64>,
    /// [`Access::process`].
    pub process: Vec<u16>,
    /// [`Access::thread`].
    pub thread: Vec<u16>,
    /// [`Access::size`].
    pub size: Vec<u32>,
    /// [`Access::write`].
    pub write: Vec<bool>,
    /// How many instructions before each access the load was from which its address comes; 0 where
    /// it comes from none, or from one more than 255 instructions before. Empty where the trace
    /// does not say.
    pub depends: Vec<u8>,
    /// Whether the page of each access held nothing but zeros when its run had ended; empty where
    /// the trace does not say.
    pub zeros: Vec<bool>,
    /// What the accesses changed in their pages; empty where the trace has no contents.
    pub changes: Changes,
    /// The pages that were given back before some of the accesses, in their order; most traces do
    /// not say.
    pub discards: Vec<Discard>,
    /// How threads are ordered before some of the accesses, in their order; most traces do not say.
    pub orders: Vec<Order>,
}

/// Does the same to every column of a block: `each_column!(block, column => column.clear())`.
macro_rules! each_column {
    ($block:expr, $column:ident => $same:expr) => {{
        each_column!(@ $block, $column => $same,
            instruction, address, ip, process, thread, size, write);
    }};
    (@ $block:expr, $column:ident => $same:expr, $($name:ident),*) => {$({
        let $column = &mut $block.$name;
        $same;
    })*};
}

impl Block {
    /// Returns the number of accesses.
    pub fn len(&self) -> usize {
        self.address.len()
    }

    /// Returns whether there is no access.
    pub fn is_empty(&self) -> bool {
        self.address.is_empty()
    }

    /// Removes all accesses and keeps the allocations.
    pub fn clear(&mut self) {
        each_column!(self, column => column.clear());
        self.depends.clear();
        self.zeros.clear();
        self.changes.clear();
        self.discards.clear();
        self.orders.clear();
    }

    /// Keeps the first `len` accesses.
    pub fn truncate(&mut self, len: usize) {
        each_column!(self, column => column.truncate(len));
        self.depends.truncate(len);
        self.zeros.truncate(len);
        self.changes.truncate(len);
        self.discards.retain(|discard| discard.row < len as u64);
        self.orders.retain(|order| order.row < len as u64);
    }

    /// Gives every column but the changes, dependences and zeros `len` accesses, and leaves
    /// discards alone; fields of those that are new are 0.
    pub(crate) fn resize(&mut self, len: usize) {
        each_column!(self, column => column.resize(len, Default::default()));
    }

    /// Removes the first `count` accesses.
    ///
    /// # Panics
    /// Panics if there are fewer.
    pub fn drain_front(&mut self, count: usize) {
        assert!(count <= self.len(), "the block has fewer accesses");
        each_column!(self, column => column.drain(..count.min(column.len())));
        self.depends.drain(..count.min(self.depends.len()));
        self.zeros.drain(..count.min(self.zeros.len()));
        self.changes.drain_front(count);
        let count = count as u64;
        self.discards.retain(|discard| discard.row >= count);
        self.discards
            .iter_mut()
            .for_each(|discard| discard.row -= count);
        self.orders.retain(|order| order.row >= count);
        self.orders.iter_mut().for_each(|order| order.row -= count);
    }

    /// Takes out the discards behind the last access; they are those before the first access of the
    /// next block.
    pub(crate) fn take_late_discards(&mut self) -> Vec<Discard> {
        let len = self.len() as u64;
        let late = self.discards.extract_if(.., |discard| discard.row >= len);
        late.map(|discard| Discard { row: 0, ..discard }).collect()
    }

    /// Takes out the orders behind the last access; they are those before the first access of the
    /// next block.
    pub(crate) fn take_late_orders(&mut self) -> Vec<Order> {
        let len = self.len() as u64;
        let late = self.orders.extract_if(.., |order| order.row >= len);
        late.map(|order| Order { row: 0, ..order }).collect()
    }

    /// Appends an access to every column but the changes, which a block of a trace with contents
    /// gets by [`Changes::push`], the dependences and the zeros.
    pub fn push(&mut self, access: Access) {
        self.instruction.push(access.instruction);
        self.address.push(access.address);
        self.ip.push(access.ip);
        self.process.push(access.process);
        self.thread.push(access.thread);
        self.size.push(access.size);
        self.write.push(access.write);
    }

    /// Returns the end of the accesses from `begin` on, at most to `end`, that one thread of one
    /// process makes.
    ///
    /// # Panics
    /// Panics if `begin` is not below `end`, or `end` is above [`Block::len`].
    pub fn thread_run(&self, begin: usize, end: usize) -> usize {
        equal_run(&self.process, begin, equal_run(&self.thread, begin, end))
    }

    /// Returns the accesses one by one.
    pub fn iter(&self) -> impl Iterator<Item = Access> {
        (0..self.len()).map(|index| self.get(index))
    }

    /// Returns the access at `index`; fields of columns that were not read are 0.
    ///
    /// # Panics
    /// Panics if `index` is not below [`Block::len`].
    pub fn get(&self, index: usize) -> Access {
        Access {
            instruction: self.instruction.get(index).copied().unwrap_or_default(),
            address: self.address[index],
            ip: self.ip.get(index).copied().unwrap_or_default(),
            process: self.process.get(index).copied().unwrap_or_default(),
            thread: self.thread.get(index).copied().unwrap_or_default(),
            size: self.size.get(index).copied().unwrap_or_default(),
            write: self.write[index],
        }
    }
}

/// Returns the end of the equal values of a column from `begin` on, at most `end`, which is also
/// that of an empty column.
fn equal_run(column: &[u16], begin: usize, end: usize) -> usize {
    /// Values that are compared at once, by the vectors of a processor.
    const PART: usize = 64;
    /// Values that are compared one by one before: where threads alternate, runs are short.
    const NEAR: usize = 8;
    if column.is_empty() {
        return end;
    }
    let (value, column) = (column[begin], &column[begin..end]);
    let differs = |other: &u16| *other != value;
    let near = column.len().min(NEAR);
    if let Some(other) = column[..near].iter().position(differs) {
        return begin + other;
    }
    let parts = column[near..].chunks_exact(PART);
    let is_equal = |part: &&[u16]| part.iter().fold(0, |bits, other| bits | (other ^ value)) == 0;
    let equal = near + PART * parts.take_while(is_equal).count();
    let other = column[equal..].iter().position(differs);
    other.map_or(end, |other| begin + equal + other)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Runs of all lengths end where the process or thread changes, one access after another.
        #[test]
        fn a_run_is_one_thread_s(
            runs in prop::collection::vec((0..2_u16, 0..2_u16, 1..200_usize), 1..8),
            at in any::<prop::sample::Index>(),
        ) {
            let mut block = Block::default();
            for (process, thread, length) in runs {
                let access = Access { process, thread, ..Access::default() };
                (0..length).for_each(|_| block.push(access));
            }
            let begin = at.index(block.len());
            let owner = |index: usize| (block.process[index], block.thread[index]);
            for end in [begin + 1, block.len()] {
                let slow = (begin..end).find(|index| owner(*index) != owner(begin));
                prop_assert_eq!(block.thread_run(begin, end), slow.unwrap_or(end));
            }
        }
    }

    #[test]
    fn all_accesses_are_of_one_thread_where_none_is_named() {
        let block = Block {
            address: vec![0; 100],
            ..Block::default()
        };
        assert_eq!(block.thread_run(3, 90), 90);
    }
}
