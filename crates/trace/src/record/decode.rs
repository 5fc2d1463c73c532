//! Decodes the plug-in's records into rows.

use terrace_recorder::pool::Chunk;
use terrace_recorder::record::Said;

use crate::access::Block;

/// Replaces the accesses of `block` by the first `limit` accesses of `chunk`.
pub fn decode(chunk: &Chunk, limit: u64, block: &mut Block) {
    let records = chunk.records();
    // A block that is reused has this length already; every value is overwritten.
    block.resize(records.len());
    let mut instruction = chunk.instruction();
    let mut rows = 0;
    let mut columns = (block.instruction.iter_mut())
        .zip(&mut block.address)
        .zip(&mut block.ip)
        .zip(&mut block.size)
        .zip(&mut block.write);
    for record in records {
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
    // Processes and threads beyond 65535 share the last number.
    let saturated = |number: u32| u16::try_from(number).unwrap_or(u16::MAX);
    block.process.fill(saturated(chunk.process()));
    block.thread.fill(saturated(chunk.thread()));
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    block.resize(rows.min(limit));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Access;
    use proptest::prelude::*;
    use terrace_recorder::level::Level;
    use terrace_recorder::pool::{Owner, Pool, RecordSettings};
    use terrace_recorder::record::{Kind, Record};

    fn record() -> impl Strategy<Value = Record> {
        let access = (
            0..1_u64 << 47,
            0..1_u64 << 47,
            0..4096_u32,
            any::<(bool, u16)>(),
        );
        prop_oneof![
            9 => access.prop_map(|(address, ip, bytes, (write, step))| {
                Record::access(address, Kind::new(bytes, write), ip, step.into())
            }),
            1 => (0..1_u64 << 60).prop_map(Record::instruction),
        ]
    }

    /// Decodes one record after the other.
    fn slow(records: &[Record], owner: Owner, limit: usize) -> Block {
        let mut block = Block::default();
        let mut now = owner.instruction;
        for record in records {
            match record.said() {
                Said::Instruction(count) => now = count,
                Said::Access {
                    address,
                    kind,
                    ip,
                    step,
                } => {
                    now += step;
                    if block.len() < limit {
                        block.push(Access {
                            instruction: now,
                            address,
                            ip,
                            process: owner.process as u16,
                            thread: owner.thread.min(65535) as u16,
                            size: kind.bytes(),
                            write: kind.write(),
                        });
                    }
                }
            }
        }
        block
    }

    proptest! {
        #[test]
        fn chunks_become_blocks(
            chunks in prop::collection::vec(prop::collection::vec(record(), 0..50), 1..4),
            limit in 0..60_usize,
        ) {
            let pool = Pool::create(RecordSettings { level: Level::Accesses, filtered: false }).unwrap();
            let owner = Owner { process: 3, thread: 70_000, instruction: 1 << 40 };
            let mut block = Block::default();
            for records in chunks {
                let chunk = pool.take(owner).unwrap();
                prop_assert!(records.iter().all(|&record| chunk.push(record)));
                decode(chunk, limit as u64, &mut block);
                prop_assert_eq!(&block, &slow(&records, owner, limit));
            }
        }
    }
}
