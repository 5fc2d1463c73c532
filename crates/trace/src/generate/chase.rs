//! A pointer chase: every load needs the one before.
//!
//! `for (;;) p = p->next;` over a circular list of all nodes in random order.
//!
//! Three instructions a load: the load, and the loop's two.

use terrace_base::{Bytes, Error, Result};

use super::kernel::{KernelSettings, MAX_FOOTPRINT, generated};
use super::log::{Heap, Log};
use super::permutation::Permutation;
use super::random::Random;
use crate::source::Source;

const POINTER: u64 = 8;
/// Instructions of the loop; the first loads.
const LOOP: u8 = 3;

/// A pointer chase over a circular list of all nodes in random order
///
/// Every load depends on the one before, so nothing overlaps, and only a predictor that remembers
/// the order can foresee the next node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct Chase {
    /// The size of a node, with the pointer at its beginning
    #[cfg_attr(feature = "clap", arg(long, value_name = "SIZE", default_value = "64", value_parser = Bytes::parse, allow_hyphen_values = true))]
    pub node: Bytes,
}

impl Chase {
    /// Returns the trace.
    ///
    /// # Errors
    /// Returns a usage error if a node holds no pointer, or the footprint holds no node or is
    /// absurdly large.
    pub fn source(&self, settings: &KernelSettings) -> Result<Box<dyn Source>> {
        settings.check(self.node.0, MAX_FOOTPRINT)?;
        if self.node.0 < POINTER {
            return Err(Error::usage(format!(
                "a node of {} holds no pointer; it takes at least {POINTER} B",
                self.node
            )));
        }
        let nodes = settings.footprint.0 / self.node.0;
        let node = self.node.0;
        let array = Heap::new().array(nodes * node);
        let order = Permutation::new(nodes, &mut Random::new(settings.seed));
        let mut next = 0;
        let step = move |log: &mut Log| {
            log.dependent_load(0, array + order.at(next) * node, POINTER, LOOP);
            log.work(u64::from(LOOP) - 1);
            next = (next + 1) % nodes;
            true
        };
        let options = [("node", node.to_string())];
        Ok(generated("chase", settings, &options, step))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::testing::{HEAP, settings, touches};
    use super::*;
    use crate::access::Block;

    #[test]
    fn one_circle_of_all_nodes() {
        let node = Bytes(96);
        let trace = Chase { node }.source(&settings(300, 100 * 96, 4)).unwrap();
        let trace = touches(trace);
        let (first, again) = trace.split_at(100);
        assert_eq!(first, &again[..100]);
        let nodes: BTreeSet<u64> = first.iter().map(|t| t.0).collect();
        assert_eq!(nodes, (0..100).map(|i| HEAP + i * 96).collect());
        assert!(trace.iter().all(|t| (t.1, t.2) == (8, false)));
    }

    #[test]
    fn every_load_needs_the_one_before() {
        let node = Bytes(64);
        let mut trace = Chase { node }
            .source(&settings(40_000, 1 << 20, 1))
            .unwrap();
        let mut block = Block::default();
        let mut loads = 0;
        while trace.next_block(&mut block).unwrap() {
            assert_eq!(block.depends, vec![3; block.len()]);
            assert!(block.instruction.windows(2).all(|two| two[1] - two[0] == 3));
            loads += block.len();
        }
        assert_eq!(loads, 40_000);
    }
}
