//! A trace that one thread reads while another one writes it.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use terrace_base::{Error, Result};

use crate::access::Block;
use crate::source::{Meta, Sink, Source};

/// Blocks between the two ends; the faster end waits for the slower one.
const BLOCKS: usize = 16;

/// Returns the two ends of a trace described by `meta`. When the writing end is finished
/// or dropped, the trace has ended; when the reading end is dropped, writing fails.
pub fn channel(meta: Meta) -> (Box<dyn Sink>, Box<dyn Source>) {
    let (to_reader, full) = sync_channel(BLOCKS);
    let (to_writer, used) = sync_channel(BLOCKS + 2);
    let writer = Writer {
        full: to_reader,
        used,
    };
    let reader = Reader {
        meta,
        full,
        used: to_writer,
    };
    (Box::new(writer), Box::new(reader))
}

struct Writer {
    full: SyncSender<Block>,
    /// Blocks that have been read, whose allocations are reused.
    used: Receiver<Block>,
}

impl Sink for Writer {
    fn write(&mut self, block: &Block) -> Result<()> {
        // An empty block would mean the end.
        if block.is_empty() {
            return Ok(());
        }
        let mut copy = self.used.try_recv().unwrap_or_default();
        copy.clone_from(block);
        let sent = self.full.send(copy);
        sent.map_err(|_| Error::failure("nobody reads the trace any more"))
    }

    fn finish(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

struct Reader {
    meta: Meta,
    full: Receiver<Block>,
    used: SyncSender<Block>,
}

impl Source for Reader {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn read(&mut self, block: &mut Block) -> Result<()> {
        let next = self.full.recv().unwrap_or_default();
        let used = std::mem::replace(block, next);
        // There is room for it, or the writer has ended: nothing is lost either way.
        let _ = self.used.try_send(used);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Access;

    fn block(address: u64) -> Block {
        let mut block = Block::default();
        block.push(Access {
            address,
            ..Access::default()
        });
        block
    }

    #[test]
    fn what_goes_in_comes_out_until_the_writer_ends() {
        let (mut sink, mut source) = channel(Meta::default());
        let writer = std::thread::spawn(move || {
            for address in 0..100 {
                sink.write(&block(address)).unwrap();
                sink.write(&Block::default()).unwrap();
            }
            sink.finish().unwrap();
        });
        let mut read = Block::default();
        for address in 0..100 {
            source.read(&mut read).unwrap();
            assert_eq!(read, block(address));
        }
        source.read(&mut read).unwrap();
        assert!(read.is_empty());
        writer.join().unwrap();
    }

    #[test]
    fn writing_for_nobody_fails() {
        let (mut sink, source) = channel(Meta::default());
        drop(source);
        assert!(sink.write(&block(1)).is_err());
    }
}
