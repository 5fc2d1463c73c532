//! The words about chunks: the first level of the allocation log.

use std::collections::BTreeMap;

use super::Findings;
use crate::allocator::class::Classes;
use crate::layout::chunk::Use;
use crate::layout::header;
use crate::medium::Medium;
use crate::pool::Pool;

/// What chunks are used for, as far as their words are sound.
#[derive(Default)]
pub(super) struct Chunks {
    /// Where objects are, by first chunk.
    pub rooms: BTreeMap<u64, Room>,
    /// Chunks of records.
    pub records: Vec<u64>,
    /// Chunks of roots.
    pub roots: Vec<u64>,
    /// Chunks of the naive allocator's headers of runs.
    pub headers: Vec<u64>,
}

/// A run of slots, or a large object, which has one slot.
pub(super) struct Room {
    pub first: u64,
    pub slot: u64,
    pub chunks: u64,
    /// Of each slot, where the record of its object is; 0 if there is none.
    pub records: Vec<u64>,
}

impl Room {
    /// Which slot begins at an offset.
    pub fn slot_at(&self, offset: u64) -> Option<usize> {
        let within = offset.checked_sub(self.first)?;
        let slot = (within / self.slot) as usize;
        (within.is_multiple_of(self.slot) && slot < self.records.len()).then_some(slot)
    }

    fn is_used(&self) -> bool {
        self.records.iter().any(|&record| record != 0)
    }
}

/// Reads the tables of all regions.
pub(super) fn read<M: Medium>(pool: &Pool<M>, findings: &mut Findings) -> Chunks {
    let geometry = &pool.geometry;
    let classes = Classes::new(geometry.chunk_bytes());
    let mut chunks = Chunks::default();
    for chunk in 1..pool.chunks() {
        if geometry.is_table(chunk) {
            check_region(pool, chunk, findings);
        } else if chunk >= pool.used() {
            check_fresh(pool, chunk, findings);
        } else {
            let at = geometry.word_of(chunk);
            match pool.use_of(chunk) {
                Ok(of) => {
                    if let Err(what) = chunks.add(pool, &classes, chunk, of) {
                        findings.add(at, format!("the word about chunk {chunk} {what}"));
                    }
                }
                Err(_) => findings.add(at, format!("the word about chunk {chunk} is damaged")),
            }
        }
    }
    chunks
}

impl Chunks {
    /// Adds a chunk, or says what is wrong with its use.
    fn add<M: Medium>(
        &mut self,
        pool: &Pool<M>,
        classes: &Classes,
        chunk: u64,
        of: Use,
    ) -> Result<(), String> {
        let geometry = &pool.geometry;
        let lanes = geometry.lane_chunks();
        let extends = |count: u64| {
            let end = chunk % geometry.region_chunks() + count;
            let there = chunk + count <= pool.chunks() && end <= geometry.region_chunks();
            there
                .then_some(count)
                .ok_or("says that it is used for more than there is")
        };
        let wanted = match chunk {
            1 => Some(Use::Lanes { chunks: lanes }),
            _ if chunk <= lanes => Some(Use::Free),
            _ => (geometry.bins() == Some(chunk)).then_some(Use::Bins),
        };
        if let Some(wanted) = wanted.filter(|wanted| *wanted != of) {
            return Err(match wanted {
                Use::Bins => "does not say that the allocator's bins are there".into(),
                _ => "does not say that the lanes are there".into(),
            });
        }
        match of {
            Use::Run { slot }
                if classes.of(slot).map(|class| classes.slot(class)) != Some(slot) =>
            {
                return Err(format!(
                    "says that it has slots of {slot} bytes, which is no class"
                ));
            }
            Use::Run { slot } => self.add_room(geometry.offset_of(chunk), chunk, 1, slot, pool),
            Use::Large { chunks } => {
                let chunks = extends(chunks)?;
                let bytes = geometry.offset_of(chunks);
                self.add_room(geometry.offset_of(chunk), chunk, chunks, bytes, pool);
            }
            Use::Log { lane, .. } if lane >= geometry.lanes => {
                return Err(format!(
                    "says that it is a log of lane {lane}, of {}",
                    geometry.lanes
                ));
            }
            Use::Log { chunks, .. } | Use::Journal { chunks } => drop(extends(chunks)?),
            Use::Records => self.records.push(chunk),
            Use::Roots => self.roots.push(chunk),
            Use::Lanes { .. } if wanted.is_none() => {
                return Err("says that the lanes are there".into());
            }
            Use::Bins if wanted.is_none() => {
                return Err("says that the allocator's bins are there".into());
            }
            Use::Headers => self.headers.push(chunk),
            Use::Free | Use::Lanes { .. } | Use::Bins => {}
        }
        Ok(())
    }

    fn add_room<M: Medium>(
        &mut self,
        first: u64,
        chunk: u64,
        chunks: u64,
        slot: u64,
        pool: &Pool<M>,
    ) {
        let bytes = pool.geometry.offset_of(chunks);
        let records = vec![0; (bytes / slot) as usize];
        let room = Room {
            first,
            slot,
            chunks,
            records,
        };
        self.rooms.insert(chunk, room);
    }
}

fn check_region<M: Medium>(pool: &Pool<M>, chunk: u64, findings: &mut Findings) {
    let at = pool.geometry.offset_of(chunk);
    let number = chunk / pool.geometry.region_chunks();
    if pool.load_words(at) != header::region(number) {
        findings.add(at, format!("the header of region {number} is damaged"));
    }
}

/// What was never used is taken for zeros by those who use it first.
fn check_fresh<M: Medium>(pool: &Pool<M>, chunk: u64, findings: &mut Findings) {
    let (at, bytes) = (pool.geometry.word_of(chunk), pool.geometry.chunk_bytes());
    // A crash may have left it while the chunk was being taken.
    if pool.use_of(chunk).is_err() {
        findings.add(at, format!("the word about chunk {chunk} is damaged"));
    }
    let first = pool.geometry.offset_of(chunk);
    let mut words = (first..first + bytes).step_by(8);
    if let Some(at) = words.find(|&at| pool.medium.load_word(at) != 0) {
        findings.add(
            at,
            format!("something lies in chunk {chunk}, which was never used"),
        );
    }
}

/// Whether chunks that are needed are needed for one thing only. Words about runs without an object
/// say nothing.
pub(super) fn check_overlaps<M: Medium>(pool: &Pool<M>, chunks: &Chunks, findings: &mut Findings) {
    let single = |of: &Vec<u64>, what| of.iter().map(move |&chunk| (chunk, 1, what)).collect();
    let rooms = chunks.rooms.iter().filter(|(_, room)| room.is_used());
    let mut needed: Vec<(u64, u64, &str)> = single(&chunks.records, "records");
    needed.extend(single(&chunks.roots, "roots"));
    needed.extend(single(&chunks.headers, "headers of runs"));
    needed.extend(rooms.map(|(&chunk, room)| (chunk, room.chunks, "objects")));
    needed.sort_unstable();
    let mut before = (0, 0, "");
    for (chunk, count, what) in needed {
        if chunk < before.0 + before.1 {
            findings.add(
                pool.geometry.word_of(chunk),
                format!(
                    "chunk {chunk} is used for {what}, and for {} from chunk {} on",
                    before.2, before.0
                ),
            );
        }
        if chunk + count > before.0 + before.1 {
            before = (chunk, count, what);
        }
    }
}
