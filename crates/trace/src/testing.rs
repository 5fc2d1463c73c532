//! Traces in memory, for tests.

use terrace_base::Result;

use crate::access::{Access, Block};
use crate::source::{Meta, Source};

/// Returns a trace of these accesses, which says how many there are and hands out a few at a time.
pub(crate) fn listed(accesses: Vec<Access>) -> Box<dyn Source> {
    let count = Some(accesses.len() as u64);
    listed_as(count, accesses)
}

/// Returns the same, which does not say how many there are.
pub(crate) fn uncounted(accesses: Vec<Access>) -> Box<dyn Source> {
    listed_as(None, accesses)
}

fn listed_as(count: Option<u64>, accesses: Vec<Access>) -> Box<dyn Source> {
    let meta = Meta {
        format: "listed".into(),
        accesses: count,
        counts_instructions: true,
        ..Meta::default()
    };
    Box::new(Listed(meta, accesses.into_iter()))
}

struct Listed(Meta, std::vec::IntoIter<Access>);

impl Source for Listed {
    fn meta(&self) -> &Meta {
        &self.0
    }

    fn read(&mut self, block: &mut Block) -> Result<()> {
        block.clear();
        self.1.by_ref().take(7).for_each(|a| block.push(a));
        Ok(())
    }
}

/// Returns all accesses of a trace that does not fail.
pub(crate) fn accesses(mut source: Box<dyn Source>) -> Vec<Access> {
    let mut all = Vec::new();
    let mut block = Block::default();
    while source
        .next_block(&mut block)
        .expect("the source does not fail")
    {
        all.extend(block.iter());
    }
    all
}
