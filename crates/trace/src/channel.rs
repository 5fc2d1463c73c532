//! A trace that one thread reads while another one writes it.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use terrace_base::{Error, Result};

use crate::access::Block;
use crate::source::{Meta, Sink, Source, made};

/// Blocks between the two ends; the faster end waits for the slower one.
const BLOCKS: usize = 16;

/// Returns the two ends of a trace described by `meta`. When the writing end is finished
/// or dropped, the trace has ended; when the reading end is dropped, writing fails.
pub fn channel(meta: Meta) -> (Box<dyn Sink>, Box<dyn Source>) {
    let (writer, source) = ends(meta, BLOCKS, || Ok(Block::default()));
    (Box::new(writer), source)
}

/// Returns the ends of a channel for `blocks` blocks. The reader returns what `closed` returns once
/// the writer is dropped and every block was read.
pub(crate) fn ends(
    meta: Meta,
    blocks: usize,
    closed: fn() -> Result<Block>,
) -> (Writer, Box<dyn Source>) {
    let (to_reader, full) = sync_channel(blocks);
    let (to_writer, used) = sync_channel(blocks + 2);
    let source = made(meta, move |block| {
        let next = full.recv().unwrap_or_else(|_| closed())?;
        // There is room for it, or the writer has ended: nothing is lost either way.
        let _ = to_writer.try_send(std::mem::replace(block, next));
        Ok(())
    });
    let writer = Writer {
        full: to_reader,
        used,
    };
    (writer, source)
}

pub(crate) struct Writer {
    full: SyncSender<Result<Block>>,
    /// Blocks that have been read, whose allocations are reused.
    used: Receiver<Block>,
}

impl Writer {
    /// Returns a block to fill, with any accesses.
    pub(crate) fn block(&self) -> Block {
        self.used.try_recv().unwrap_or_default()
    }

    /// Sends a block, or an error; fails if the reader is gone.
    pub(crate) fn send(&self, block: Result<Block>) -> Result<()> {
        let sent = self.full.send(block);
        sent.map_err(|_| Error::failure("the trace is no longer read"))
    }
}

impl Sink for Writer {
    fn write(&mut self, block: &Block) -> Result<()> {
        // An empty block would mean the end.
        if block.is_empty() {
            return Ok(());
        }
        let mut copy = self.block();
        copy.clone_from(block);
        self.send(Ok(copy))
    }

    fn keeps_contents(&self) -> bool {
        true
    }

    fn keeps_dependences(&self) -> bool {
        true
    }

    fn finish(self: Box<Self>) -> Result<()> {
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
    fn writing_without_a_reader_fails() {
        let (mut sink, source) = channel(Meta::default());
        drop(source);
        assert!(sink.write(&block(1)).is_err());
    }
}
