//! What a trace says and the format to which it is written cannot: counted while it is written.

use std::fmt;

use crate::access::Block;

/// A kind of information, and of how much of it there was no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// The kind.
    pub kind: Kind,
    /// Of how many accesses, or how many things.
    pub count: u64,
}

/// What a trace may say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// That accesses write.
    Writes,
    /// That one access is to several pages.
    Crossings,
    /// Which bytes of its page an access touches.
    Bytes,
    /// How many bytes an access touches.
    Sizes,
    /// By which process and thread an access is made.
    Threads,
    /// How many instructions a thread had executed.
    Instructions,
    /// Which instruction makes an access.
    Ips,
    /// What pages hold.
    Contents,
    /// From which load an address comes.
    Dependences,
    /// Which pages hold zeros.
    Zeros,
    /// That memory was given back.
    Discards,
    /// What orders threads.
    Orders,
    /// What a program allocated.
    Allocations,
    /// What was recorded, how and on what.
    About,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 14] = [
        Self::Writes,
        Self::Crossings,
        Self::Bytes,
        Self::Sizes,
        Self::Threads,
        Self::Instructions,
        Self::Ips,
        Self::Contents,
        Self::Dependences,
        Self::Zeros,
        Self::Discards,
        Self::Orders,
        Self::Allocations,
        Self::About,
    ];

    /// Returns the name, and what is said before and behind a count.
    fn words(self) -> [&'static str; 3] {
        match self {
            Self::Writes => ["writes", "that", "accesses wrote"],
            Self::Crossings => [
                "crossings",
                "that",
                "accesses were to several pages (each page has one of its own)",
            ],
            Self::Bytes => ["bytes", "which bytes of their pages", "accesses touched"],
            Self::Sizes => ["sizes", "the sizes of", "accesses"],
            Self::Threads => ["threads", "the process and the thread of", "accesses"],
            Self::Instructions => ["instructions", "the instruction counts of", "accesses"],
            Self::Ips => ["ips", "the instruction addresses of", "accesses"],
            Self::Contents => ["contents", "what pages hold after", "accesses"],
            Self::Dependences => ["dependences", "the loads from which", "addresses came"],
            Self::Zeros => ["zeros", "that a page held zeros after", "accesses"],
            Self::Discards => ["discards", "that memory was given back", "times"],
            Self::Orders => ["orders", "what ordered threads", "times"],
            Self::Allocations => ["allocations", "what", "allocations were of"],
            Self::About => ["about", "what", "keys of the metadata said"],
        }
    }

    /// Returns the name.
    pub fn name(self) -> &'static str {
        self.words()[0]
    }
}

impl fmt::Display for Loss {
    /// Writes a part of a sentence: what a file does not say.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [_, before, behind] = self.kind.words();
        write!(f, "{before} {} {behind}", self.count)
    }
}

/// Counts of what was lost.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lost([u64; Kind::ALL.len()]);

impl Lost {
    /// Counts what a block says of these kinds, which the format does not keep.
    pub(crate) fn note(&mut self, block: &Block, unkept: &[Kind]) {
        unkept
            .iter()
            .for_each(|kind| self.add(*kind, said(block, *kind)));
    }

    /// Adds to the count of a kind.
    pub(crate) fn add(&mut self, kind: Kind, count: u64) {
        self.0[kind as usize] += count;
    }

    /// Returns what was lost.
    pub(crate) fn losses(&self) -> Vec<Loss> {
        let all = Kind::ALL.into_iter().map(|kind| Loss {
            kind,
            count: self.0[kind as usize],
        });
        all.filter(|loss| loss.count > 0).collect()
    }
}

/// Returns of how many accesses, or how many things, a block says what is of a kind.
fn said(block: &Block, kind: Kind) -> u64 {
    fn differ<T: PartialEq + Default>(column: &[T]) -> usize {
        let nothing = T::default();
        column.iter().filter(|value| **value != nothing).count()
    }
    let count = match kind {
        Kind::Writes => differ(&block.write),
        Kind::Bytes => {
            let sizes = block.size.iter().copied().chain(std::iter::repeat(0));
            let accesses = block.address.iter().zip(sizes);
            let whole = |size: u32| size > 0 && size.is_multiple_of(4096);
            let parts = accesses.filter(|(address, size)| *address % 4096 != 0 || !whole(*size));
            parts.count()
        }
        Kind::Sizes => differ(&block.size),
        Kind::Threads => {
            let threads = block.thread.iter().copied().chain(std::iter::repeat(0));
            let names = block.process.iter().zip(threads);
            names
                .filter(|(process, thread)| (**process, *thread) != (0, 0))
                .count()
        }
        Kind::Instructions => differ(&block.instruction),
        Kind::Ips => differ(&block.ip),
        Kind::Contents => differ(&block.changes.versions),
        Kind::Dependences => differ(&block.depends),
        Kind::Zeros => differ(&block.zeros),
        Kind::Discards => block.discards.len(),
        Kind::Orders => block.orders.len(),
        // Blocks do not say it: writers count it.
        Kind::Crossings | Kind::Allocations | Kind::About => 0,
    };
    count as u64
}
