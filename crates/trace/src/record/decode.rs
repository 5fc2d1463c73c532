//! Decodes the plug-in's records into rows.

use terrace_recorder::page::BYTES;
use terrace_recorder::pool::{Chunk, RecordSettings};
use terrace_recorder::record::{Record, Said};

use crate::access::{Access, Block};
use crate::changes::{Change, Changes, Word};
use crate::discard::Discard;
use crate::order::{Event, Order};

/// Replaces the accesses of `block` by the first `limit` accesses of `chunk`. Discards and orders
/// may lie behind the last. The block says where addresses come from, and which pages hold zeros,
/// if that was recorded.
pub fn decode(chunk: &Chunk, settings: RecordSettings, limit: u64, block: &mut Block) {
    let tell_zeros = settings.tell_zeros();
    let records = chunk.records();
    // A block that is reused has this length already; every value is overwritten.
    block.resize(records.len());
    let mut instruction = chunk.instruction();
    let mut rows = 0;
    block.discards.clear();
    block.orders.clear();
    block.depends.clear();
    block.zeros.clear();
    let mut distance = 0;
    let mut columns = (block.instruction.iter_mut())
        .zip(&mut block.address)
        .zip(&mut block.ip)
        .zip(&mut block.size)
        .zip(&mut block.write);
    for record in records {
        match record.said() {
            Said::Instruction(count) => instruction = count,
            Said::Depends(instructions) => distance = instructions,
            Said::Word { .. }
            | Said::Reported { .. }
            | Said::Frame(_)
            | Said::Allocated { .. }
            | Said::Freed { .. } => {}
            Said::Discard { page, pages } => {
                block.discards.push(discard(chunk, rows, page, pages));
            }
            Said::Order(event) => block.orders.push(order(chunk, rows, event)),
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
                if settings.depends {
                    block.depends.push(std::mem::take(&mut distance));
                }
                if tell_zeros {
                    block.zeros.push(kind.zeros());
                }
                rows += 1;
            }
        }
    }
    block.process.fill(saturated(chunk.process()));
    block.thread.fill(saturated(chunk.thread()));
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    block.resize(rows.min(limit));
    block.depends.truncate(limit);
    block.zeros.truncate(limit);
    if rows >= limit {
        block.discards.retain(|discard| discard.row < limit as u64);
        block.orders.retain(|order| order.row < limit as u64);
    }
}

/// What a chunk's process gave back before a row.
fn discard(chunk: &Chunk, row: usize, page: u64, pages: u64) -> Discard {
    Discard {
        row: row as u64,
        process: saturated(chunk.process()),
        page,
        pages,
    }
}

/// How a chunk's thread is ordered with others before a row.
fn order(chunk: &Chunk, row: usize, event: Event) -> Order {
    Order {
        row: row as u64,
        process: saturated(chunk.process()),
        thread: saturated(chunk.thread()),
        event,
    }
}

/// Processes and threads beyond 65535 share the last number.
pub(super) fn saturated(number: u32) -> u16 {
    u16::try_from(number).unwrap_or(u16::MAX)
}

/// A chunk of rows with reports; a part of it may have been read.
#[derive(Debug, Default)]
pub struct Reports {
    /// Records that were read.
    read: usize,
    /// Instructions up to them.
    instruction: u64,
    /// Records that are read next, kept for their memory.
    records: Vec<Record>,
    /// Words whose report has no end yet.
    words: Vec<Word>,
}

impl Reports {
    /// Replaces the accesses of `block` by the first `limit` accesses of `chunk` that were not read
    /// yet, each with its report. Unless the chunk is `whole`, its last access waits: its run may
    /// go on.
    pub fn decode(&mut self, chunk: &Chunk, whole: bool, limit: u64, block: &mut Block) {
        block.clear();
        self.records.clear();
        self.records.extend(chunk.records().skip(self.read));
        // Only now: the chunk has its owner before it has a record.
        if self.read == 0 {
            self.instruction = chunk.instruction();
        }
        if !whole {
            let last = self.records.iter().rposition(|record| record.is_access());
            self.records.truncate(last.unwrap_or(0));
        }
        self.read += self.records.len();
        for record in &self.records {
            match record.said() {
                Said::Instruction(count) => self.instruction = count,
                Said::Access {
                    address,
                    kind,
                    ip,
                    step,
                } => {
                    if block.len() as u64 == limit {
                        return;
                    }
                    self.instruction = self.instruction.wrapping_add(step);
                    // What came before it without an end is no report.
                    self.words.clear();
                    block.push(Access {
                        instruction: self.instruction,
                        address,
                        ip,
                        process: saturated(chunk.process()),
                        thread: saturated(chunk.thread()),
                        size: kind.bytes(),
                        write: kind.write(),
                    });
                    block.changes.push(Change::default());
                }
                // Contents are of runs, and what addresses depend on is of accesses.
                Said::Depends(_) | Said::Frame(_) | Said::Allocated { .. } | Said::Freed { .. } => {
                }
                Said::Word { address, value } => self.words.push(word(address, value)),
                Said::Discard { page, pages } => {
                    let rows = block.len();
                    block.discards.push(discard(chunk, rows, page, pages));
                }
                Said::Order(event) => {
                    let rows = block.len();
                    block.orders.push(order(chunk, rows, event));
                }
                Said::Reported { version, checksum } => {
                    let words = &self.words;
                    replace_last(
                        &mut block.changes,
                        Change {
                            words,
                            version,
                            checksum,
                        },
                    );
                }
            }
        }
    }

    /// Begins with an unread chunk.
    pub fn begin(&mut self) {
        self.read = 0;
        self.words.clear();
    }
}

fn word(address: u64, value: u64) -> Word {
    let index = (address as usize % BYTES / 8) as u16;
    Word { index, value }
}

/// Makes `change` that of the last row.
fn replace_last(changes: &mut Changes, change: Change<'_>) {
    changes.truncate(changes.len().saturating_sub(1));
    changes.push(change);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Access;
    use crate::order::Point;
    use proptest::prelude::*;
    use terrace_recorder::level::Level;
    use terrace_recorder::pool::{Owner, Pool};
    use terrace_recorder::record::{Kind, Record};

    fn record() -> impl Strategy<Value = Record> {
        let access = (
            0..1_u64 << 47,
            0..1_u64 << 47,
            0..2048_u32,
            any::<(bool, bool, u16)>(),
        );
        prop_oneof![
            9 => access.prop_map(|(address, ip, bytes, (write, zeros, step))| {
                let access = Record::access(address, Kind::new(bytes, write), ip, step.into());
                if zeros { access.of_zeros() } else { access }
            }),
            1 => (0..1_u64 << 60).prop_map(Record::instruction),
            3 => any::<u8>().prop_map(Record::depends),
            1 => (0..1_u64 << 36, 1..9_u64).prop_map(|(page, pages)| Record::discard(page, pages)),
            1 => any::<(bool, u64)>().prop_map(|(acquires, point)| Record::order(match acquires {
                true => Event::Acquire(Point(point)),
                false => Event::Release(Point(point)),
            })),
        ]
    }

    /// Decodes one record after the other.
    fn slow(records: &[Record], owner: Owner, settings: RecordSettings, limit: usize) -> Block {
        let mut block = Block::default();
        let (mut now, mut distance) = (owner.instruction, 0);
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
                    let distance = std::mem::take(&mut distance);
                    if block.len() < limit {
                        if settings.depends {
                            block.depends.push(distance);
                        }
                        if settings.level == Level::Pages && !settings.contents {
                            block.zeros.push(kind.zeros());
                        }
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
                Said::Discard { page, pages } => {
                    if block.len() < limit {
                        block.discards.push(Discard {
                            row: block.len() as u64,
                            process: owner.process as u16,
                            page,
                            pages,
                        });
                    }
                }
                Said::Order(event) => {
                    if block.len() < limit {
                        block.orders.push(Order {
                            row: block.len() as u64,
                            process: owner.process as u16,
                            thread: owner.thread.min(65535) as u16,
                            event,
                        });
                    }
                }
                Said::Depends(instructions) => distance = instructions,
                Said::Word { .. }
                | Said::Reported { .. }
                | Said::Frame(_)
                | Said::Allocated { .. }
                | Said::Freed { .. } => {}
            }
        }
        block
    }

    /// The records of a row and its report: whether the row needs a mark and comes after a discard
    /// and an order, how many words it has, whether the report has an end.
    fn row((marked, words, ended): (bool, u16, bool)) -> Vec<Record> {
        let order = Record::order(Event::Release(Point(9)));
        let mark = marked.then(|| [Record::discard(7, 2), order, Record::instruction(1 << 30)]);
        let mark = mark.into_iter().flatten();
        let access = Record::access(5 << 12 | 16, Kind::new(8, true), 7, 3);
        let words = (0..words).map(|word| Record::word(5 << 12 | u64::from(8 * word), word.into()));
        let end = ended.then(|| Record::reported(9, 11));
        (mark.chain([access]).chain(words).chain(end)).collect()
    }

    proptest! {
        /// A chunk that is read in parts, while it grows, gives the same as the whole chunk.
        #[test]
        fn parts_are_the_whole(
            rows in prop::collection::vec((any::<bool>(), 0..4_u16, any::<bool>()), 0..20),
            looks in prop::collection::vec(0..120_usize, 0..6),
        ) {
            let pool = Pool::create(RecordSettings {
                level: Level::Pages, contents: true, ..RecordSettings::default()
            }).unwrap();
            let owner = Owner { process: 3, thread: 70_000, instruction: 1 << 40 };
            let chunk = pool.take(owner).unwrap();
            let records: Vec<Record> = rows.iter().copied().flat_map(row).collect();
            let (mut reports, mut part, mut parts) = (Reports::default(), Block::default(), Block::default());
            let mut append = |whole: bool| {
                reports.decode(chunk, whole, u64::MAX, &mut part);
                part.iter().for_each(|access| parts.push(access));
                let changes = &part.changes;
                parts.changes.extend(changes, 0..changes.len());
                let before = (parts.len() - part.len()) as u64;
                let discards = part.discards.iter();
                parts.discards.extend(discards.map(|one| Discard { row: before + one.row, ..*one }));
                let orders = part.orders.iter();
                parts.orders.extend(orders.map(|one| Order { row: before + one.row, ..*one }));
            };
            for (index, record) in records.iter().enumerate() {
                chunk.push(*record);
                if looks.contains(&index) {
                    append(false);
                }
            }
            append(true);
            let mut whole = Block::default();
            Reports::default().decode(chunk, true, u64::MAX, &mut whole);
            prop_assert_eq!(&parts, &whole);
            let mut slowly = slow(&records, owner, pool.settings(), usize::MAX);
            for (_, words, ended) in &rows {
                let words: Vec<_> = (0..*words).map(|n| Word { index: n, value: n.into() }).collect();
                let change = Change { words: &words, version: 9, checksum: 11 };
                slowly.changes.push(if *ended { change } else { Change::default() });
            }
            prop_assert_eq!(whole, slowly);
        }

        #[test]
        fn chunks_become_blocks(
            chunks in prop::collection::vec(prop::collection::vec(record(), 0..50), 1..4),
            limit in 0..60_usize,
            level in prop::sample::select(&Level::ALL[..]),
            depends: bool,
        ) {
            let settings = RecordSettings { level, depends, ..RecordSettings::default() };
            let pool = Pool::create(settings).unwrap();
            let owner = Owner { process: 3, thread: 70_000, instruction: 1 << 40 };
            let mut block = Block::default();
            for records in chunks {
                let chunk = pool.take(owner).unwrap();
                prop_assert!(records.iter().all(|&record| chunk.push(record)));
                decode(chunk, settings, limit as u64, &mut block);
                prop_assert_eq!(&block, &slow(&records, owner, settings, limit));
            }
        }
    }
}
