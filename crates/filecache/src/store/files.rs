//! The files that pages are of.

use rustc_hash::FxHashMap;

use super::layout::{Record, Stamp};
use crate::file::{Identity, Version};

/// A file as it is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub stamp: Stamp,
    pub version: Version,
    /// Changes of ours that are under way.
    pub changing: u32,
    /// The last moment at which one began or ended; moments are numbered over all files.
    pub changed: u64,
    /// The last segment with a page of it.
    pub latest: u64,
}

/// The files of a store.
#[derive(Default)]
pub(super) struct Files {
    known: FxHashMap<Identity, Known>,
    identities: FxHashMap<Stamp, Identity>,
    last_stamp: u64,
    moment: u64,
}

impl Files {
    pub fn get(&self, file: Identity) -> Option<&Known> {
        self.known.get(&file)
    }

    pub fn get_mut(&mut self, file: Identity) -> Option<&mut Known> {
        self.known.get_mut(&file)
    }

    /// Returns the file of a stamp, if it is known by that stamp still.
    pub fn of(&self, stamp: Stamp) -> Option<(Identity, &Known)> {
        let identity = *self.identities.get(&stamp)?;
        self.known.get(&identity).map(|known| (identity, known))
    }

    /// Numbers this moment.
    pub fn moment(&mut self) -> u64 {
        self.moment += 1;
        self.moment
    }

    /// Begins to know a file, which has no pages then.
    pub fn meet(&mut self, file: Identity, version: Version) -> Known {
        self.forget(file);
        self.last_stamp += 1;
        let known = Known {
            stamp: Stamp(self.last_stamp),
            version,
            changing: 0,
            changed: self.moment(),
            latest: 0,
        };
        self.known.insert(file, known);
        self.identities.insert(known.stamp, file);
        known
    }

    /// Draws no stamp again that a segment names, also of files that are not known any more: its
    /// pages would be found as those of another file.
    pub fn spend(&mut self, stamp: Stamp) {
        self.last_stamp = self.last_stamp.max(stamp.0);
    }

    /// Knows a file as a segment has recorded it.
    pub fn recall(&mut self, record: &Record, sequence: u64) {
        self.forget(record.identity);
        self.spend(record.stamp);
        let known = Known {
            stamp: record.stamp,
            version: record.version,
            changing: 0,
            changed: self.moment(),
            latest: sequence,
        };
        self.known.insert(record.identity, known);
        self.identities.insert(record.stamp, record.identity);
    }

    /// Forgets a file, and with it its pages; returns as what it was known.
    pub fn forget(&mut self, file: Identity) -> Option<Known> {
        let known = self.known.remove(&file)?;
        self.identities.remove(&known.stamp);
        Some(known)
    }

    /// Forgets the files whose last page was in a segment before `oldest`, and that nothing
    /// changes. Those that never had a page stay until they are not open any more: DRAM may have
    /// pages of them.
    pub fn forget_before(&mut self, oldest: u64) {
        let identities = &mut self.identities;
        self.known.retain(|_, known| {
            let may_have_pages = known.latest == 0 || known.latest >= oldest;
            let stays = may_have_pages || known.changing > 0;
            if !stays {
                identities.remove(&known.stamp);
            }
            stays
        });
    }

    /// Returns the files that may have pages.
    pub fn with_pages(&self) -> Vec<Identity> {
        let known = self.known.iter().filter(|(_, known)| known.latest > 0);
        known.map(|(identity, _)| *identity).collect()
    }

    /// Notes that no file has a page any more.
    pub fn forget_pages(&mut self) {
        self.known.values_mut().for_each(|known| known.latest = 0);
    }

    /// Returns the record of a stamp, if its file is known by that stamp still.
    pub fn record(&self, stamp: Stamp) -> Option<Record> {
        self.of(stamp).map(|(identity, known)| Record {
            identity,
            stamp,
            version: known.version,
        })
    }

    pub fn len(&self) -> usize {
        self.known.len()
    }
}
