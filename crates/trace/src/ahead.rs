//! Reading ahead: a trace is read and decoded on a thread of its own.

use std::thread;

use terrace_base::Error;

use crate::channel::ends;
use crate::source::Source;

/// Blocks that are decoded ahead of the reader.
const BLOCKS: usize = 2;

/// Returns the same trace, read ahead. Blocks and errors come in the same order.
pub fn ahead(mut source: Box<dyn Source>) -> Box<dyn Source> {
    let died = || Err(Error::failure("the thread that reads the trace has died"));
    let (writer, reader) = ends(source.meta().clone(), BLOCKS, died);
    // It ends after an error, or when the reader is dropped: at the end it sends empty blocks.
    thread::spawn(move || {
        loop {
            let mut block = writer.block();
            let read = source.read(&mut block);
            let failed = read.is_err();
            if writer.send(read.map(|()| block)).is_err() || failed {
                return;
            }
        }
    });
    reader
}

#[cfg(test)]
mod tests {
    use terrace_base::Result;

    use super::*;
    use crate::access::Block;
    use crate::source::Meta;

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
