//! Collects what the program tells of its allocations.

use rustc_hash::FxHashMap;
use terrace_recorder::frame::Frame;
use terrace_recorder::pool::{Chunk, Pool};
use terrace_recorder::record::Said;

use super::decode::saturated;
use super::symbols::Symbols;
use crate::allocation::{Allocations, Object};

/// The objects so far.
#[derive(Debug, Default)]
pub(super) struct Collected {
    objects: Vec<Object>,
    /// By process and address, the object that lives there.
    living: FxHashMap<(u16, u64), usize>,
    /// By their frames, the numbers of sites.
    sites: FxHashMap<Vec<Frame>, u32>,
    /// The frames of the next object, as far as they were read.
    stack: Vec<Frame>,
}

impl Collected {
    /// Adds what a chunk tells, whose first access is row `first` of the trace, which has `limit`
    /// rows at most.
    pub(super) fn add(&mut self, chunk: &Chunk, first: u64, limit: u64) {
        let process = saturated(chunk.process());
        let mut row = first;
        self.stack.clear();
        for record in chunk.records() {
            match record.said() {
                Said::Access { .. } => row += 1,
                Said::Frame(frame) => self.stack.push(frame),
                Said::Allocated { address, bytes } if row < limit => {
                    self.begin(row, process, address, bytes);
                }
                Said::Freed { address } if row < limit => self.end(row, process, address),
                _ => {}
            }
        }
    }

    fn begin(&mut self, row: u64, process: u16, address: u64, bytes: u64) {
        // Freed in a way that was not seen.
        self.end(row, process, address);
        let sites = self.sites.len() as u32;
        let stack = std::mem::take(&mut self.stack);
        let site = *self.sites.entry(stack).or_insert(sites);
        self.living.insert((process, address), self.objects.len());
        self.objects.push(Object {
            began: row,
            ended: None,
            process,
            site,
            address,
            bytes,
        });
    }

    fn end(&mut self, row: u64, process: u16, address: u64) {
        if let Some(object) = self.living.remove(&(process, address)) {
            self.objects[object].ended = Some(row);
        }
    }

    /// Returns the objects, with what the files of the program say of their sites.
    pub(super) fn finish(mut self, pool: &Pool) -> Allocations {
        let mut symbols = Symbols::default();
        let mut stacks: Vec<(Vec<Frame>, u32)> = self.sites.drain().collect();
        stacks.sort_unstable_by_key(|(_, site)| *site);
        let call = |frame: &Frame| {
            let path = frame.module.and_then(|module| pool.module_path(module));
            let module = String::from_utf8_lossy(&path.unwrap_or_default()).into_owned();
            (module, frame.offset)
        };
        let sites = stacks.iter();
        let sites = sites.map(|(frames, _)| symbols.site(frames.iter().map(call)));
        Allocations {
            sites: sites.collect(),
            objects: self.objects,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use terrace_recorder::pool::{Owner, RecordSettings};
    use terrace_recorder::record::{Kind, Record};

    #[derive(Clone, Debug)]
    enum Step {
        Access,
        Allocate { address: u64, site: u64 },
        Free { address: u64 },
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            3 => Just(Step::Access),
            2 => (0..4_u64, 0..3_u64).prop_map(|(address, site)| Step::Allocate { address, site }),
            1 => (0..4_u64).prop_map(|address| Step::Free { address }),
        ]
    }

    /// The rows at which an object begins and ends, found by looking ahead.
    fn slow(steps: &[Step], limit: u64) -> Vec<(u64, Option<u64>, u64)> {
        let row = |until: usize| {
            let accesses = steps[..until]
                .iter()
                .filter(|step| matches!(step, Step::Access));
            accesses.count() as u64
        };
        let ends = |step: &Step, at: u64| match step {
            Step::Allocate { address, .. } | Step::Free { address } => *address == at,
            Step::Access => false,
        };
        let begun = steps
            .iter()
            .enumerate()
            .filter_map(|(index, step)| match step {
                Step::Allocate { address, .. } if row(index) < limit => {
                    let later =
                        (index + 1..steps.len()).find(|later| ends(&steps[*later], *address));
                    let ended = later.map(row).filter(|row| *row < limit);
                    Some((row(index), ended, *address))
                }
                _ => None,
            });
        begun.collect()
    }

    proptest! {
        #[test]
        fn objects_begin_and_end_where_they_do(
            steps in prop::collection::vec(step(), 0..60), limit in 0..40_u64,
        ) {
            let pool = Pool::create(RecordSettings::default()).unwrap();
            let chunk = pool.take(Owner { process: 1, thread: 0, instruction: 0 }).unwrap();
            for step in &steps {
                match step {
                    Step::Access => assert!(chunk.push(Record::access(0, Kind::new(8, false), 0, 0))),
                    Step::Allocate { address, site } => {
                        let frame = Frame { module: None, offset: *site };
                        assert!(chunk.push(Record::frame(frame)) && chunk.push(Record::allocated(*address, 9)));
                    }
                    Step::Free { address } => assert!(chunk.push(Record::freed(*address))),
                }
            }
            let mut collected = Collected::default();
            collected.add(chunk, 0, limit);
            let found = collected.finish(&pool);
            let objects: Vec<_> = found.objects.iter().map(|o| (o.began, o.ended, o.address)).collect();
            prop_assert_eq!(objects, slow(&steps, limit));
            let sites = found.objects.iter().map(|object| found.sites[object.site as usize].stack[0].offset);
            let told = steps.iter().filter_map(|step| match step {
                Step::Allocate { site, .. } => Some(*site),
                _ => None,
            });
            prop_assert!(sites.zip(told).all(|(found, told)| found == told));
        }
    }
}
