//! What the tests of formats share.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use terrace_base::Result;
use terrace_trace::{Access, Block, Columns, Format, Meta, create, open_as};

/// The accesses as what they may be: of a size that there is, and with instructions that go on.
pub fn sound(mut accesses: Vec<Access>) -> Vec<Access> {
    let mut executed = HashMap::new();
    for access in &mut accesses {
        access.size %= 1 << 20;
        let done = executed.entry((access.process, access.thread)).or_insert(0);
        access.instruction = access.instruction.max(*done);
        *done = access.instruction;
    }
    accesses
}

/// The accesses as one block.
pub fn block(accesses: &[Access]) -> Block {
    let mut block = Block::default();
    accesses.iter().for_each(|access| block.push(*access));
    block
}

/// Writes `accesses` as `name` in `directory`, in blocks of `piece`.
pub fn write(directory: &Path, name: &str, accesses: &[Access], piece: usize) -> Result<PathBuf> {
    let path = directory.join(name);
    let mut sink = create(&path, &[])?;
    for piece in accesses.chunks(piece) {
        sink.write(&block(piece))?;
    }
    sink.finish()?;
    Ok(path)
}

/// Reads all of a trace, and what is known of it.
pub fn read_as(path: &Path, format: Format) -> Result<(Meta, Vec<Access>)> {
    let mut source = open_as(path, format, Columns::ALL)?;
    let mut accesses = Vec::new();
    let mut block = Block::default();
    while source.next_block(&mut block)? {
        accesses.extend(block.iter());
    }
    Ok((source.meta().clone(), accesses))
}
