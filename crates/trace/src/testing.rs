//! What tests share: traces in memory.

use terrace_base::Result;

use crate::access::{Access, Block};
use crate::source::{Meta, Source};

/// A trace of these accesses, handed out a few at a time.
pub(crate) fn listed(accesses: Vec<Access>) -> Box<dyn Source> {
    let meta = Meta {
        format: "listed".into(),
        accesses: Some(accesses.len() as u64),
        counts_instructions: true,
        about: Vec::new(),
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

/// All accesses of a trace that does not fail.
pub(crate) fn accesses(mut source: Box<dyn Source>) -> Vec<Access> {
    let mut all = Vec::new();
    let mut block = Block::default();
    loop {
        source.read(&mut block).expect("the source does not fail");
        if block.is_empty() {
            return all;
        }
        all.extend((0..block.len()).map(|index| block.get(index)));
    }
}
