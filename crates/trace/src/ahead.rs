//! Reading ahead: a trace is read and decoded on a thread of its own.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use terrace_base::{Error, Result};

use crate::access::Block;
use crate::source::{Meta, Source};

/// Blocks that are decoded ahead of the reader.
const BLOCKS: usize = 2;

/// Returns the same trace, read ahead. Blocks and errors come in the same order.
pub fn ahead(source: Box<dyn Source>) -> Box<dyn Source> {
    let (to_reader, full) = sync_channel(BLOCKS);
    let (empty, from_reader) = sync_channel(BLOCKS + 1);
    let meta = source.meta().clone();
    // It ends with its channels, when the reader is dropped.
    thread::spawn(move || decode(source, &to_reader, &from_reader));
    Box::new(Ahead {
        meta,
        full,
        empty,
        ended: false,
    })
}

/// Fills blocks until the end, an error, or the reader is dropped.
fn decode(mut source: Box<dyn Source>, full: &SyncSender<Result<Block>>, empty: &Receiver<Block>) {
    loop {
        let mut block = empty.try_recv().unwrap_or_default();
        let result = source.read(&mut block);
        let last = result.is_err() || block.is_empty();
        if full.send(result.map(|()| block)).is_err() || last {
            return;
        }
    }
}

struct Ahead {
    meta: Meta,
    full: Receiver<Result<Block>>,
    empty: SyncSender<Block>,
    ended: bool,
}

impl Source for Ahead {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn read(&mut self, block: &mut Block) -> Result<()> {
        let next = match self.full.recv() {
            _ if self.ended => Block::default(),
            Ok(next) => next?,
            Err(_) => return Err(Error::failure("the thread that reads the trace has died")),
        };
        self.ended = next.is_empty();
        let used = std::mem::replace(block, next);
        // There is room for it, or the reader has ended: nothing is lost either way.
        let _ = self.empty.try_send(used);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number of blocks of one access each, then an error or the end.
    struct Counting {
        meta: Meta,
        next: u64,
        end: u64,
        fails: bool,
    }

    impl Source for Counting {
        fn meta(&self) -> &Meta {
            &self.meta
        }
        fn read(&mut self, block: &mut Block) -> Result<()> {
            block.clear();
            if self.next == self.end {
                return match self.fails {
                    true => Err(Error::failure("corrupt")),
                    false => Ok(()),
                };
            }
            block.push(crate::Access {
                address: self.next,
                ..crate::Access::default()
            });
            self.next += 1;
            Ok(())
        }
    }

    fn read_all(fails: bool) -> (Vec<u64>, bool) {
        let mut source = ahead(Box::new(Counting {
            meta: Meta::default(),
            next: 0,
            end: 100,
            fails,
        }));
        let (mut block, mut seen) = (Block::default(), Vec::new());
        loop {
            match source.read(&mut block) {
                Err(_) => return (seen, true),
                Ok(()) if block.is_empty() => break,
                Ok(()) => seen.extend(&block.address),
            }
        }
        source.read(&mut block).expect("the end stays the end");
        assert!(block.is_empty());
        (seen, false)
    }

    #[test]
    fn blocks_come_in_order_and_the_end_stays() {
        assert_eq!(read_all(false), ((0..100).collect(), false));
    }

    #[test]
    fn an_error_comes_after_what_was_right() {
        assert_eq!(read_all(true), ((0..100).collect(), true));
    }
}
