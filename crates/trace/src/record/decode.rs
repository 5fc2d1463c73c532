//! From what the plug-in wrote to rows.

use terrace_recorder::pool::Chunk;
use terrace_recorder::record::Said;

use crate::access::Block;

/// Replaces what is in `block` by what is in `chunk`, at most `limit` accesses.
pub fn decode(chunk: &Chunk, limit: u64, block: &mut Block) {
    let length = chunk.len();
    // A block that is used again has this length already; what is in it is overwritten.
    resize(block, length);
    let mut instruction = chunk.instruction();
    let mut rows = 0;
    let mut columns = (block.instruction.iter_mut())
        .zip(&mut block.address)
        .zip(&mut block.ip)
        .zip(&mut block.size)
        .zip(&mut block.write);
    for record in chunk.records().take(length) {
        match record.said() {
            Said::Instruction(count) => instruction = count,
            Said::Access {
                address,
                kind,
                ip,
                step,
            } => {
                let Some(row) = columns.next() else {
                    break;
                };
                instruction = instruction.wrapping_add(step);
                let ((((to_instruction, to_address), to_ip), to_size), to_write) = row;
                *to_instruction = instruction;
                *to_address = address;
                *to_ip = ip;
                *to_size = kind.bytes();
                *to_write = kind.write();
                rows += 1;
            }
        }
    }
    block.process.fill(saturated(chunk.process()));
    block.thread.fill(saturated(chunk.thread()));
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    resize(block, rows.min(limit));
}

/// Makes every column of `block` have `length` accesses, whatever they are.
fn resize(block: &mut Block, length: usize) {
    block.instruction.resize(length, 0);
    block.address.resize(length, 0);
    block.ip.resize(length, 0);
    block.process.resize(length, 0);
    block.thread.resize(length, 0);
    block.size.resize(length, 0);
    block.write.resize(length, false);
}

/// Processes and threads beyond 65535 share the last number.
fn saturated(number: u32) -> u16 {
    u16::try_from(number).unwrap_or(u16::MAX)
}
