//! A medium whose writes are recorded, so that every crash can be tried.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};

use terrace_base::lock;
use terrace_filecache::Medium;

/// What is written as a whole: less than a sector, so that small footers are torn as well.
const SECTOR: usize = 128;

#[derive(Clone)]
enum Act {
    Write(u64, Vec<u8>),
    Resize(u64),
    Sync,
}

/// A medium in memory; clones share it.
#[derive(Clone)]
pub struct Recorded {
    shared: Arc<Mutex<Shared>>,
}

struct Shared {
    /// What is durable after the acts before the number.
    durable: (usize, Vec<u8>),
    now: Vec<u8>,
    acts: Vec<Act>,
    /// What lies in its file from the start on, also behind its end.
    file: Vec<u8>,
    /// Whether writes fail.
    fails: bool,
}

impl Recorded {
    pub fn new(contents: Vec<u8>) -> Self {
        Self {
            shared: Arc::new(Mutex::new(Shared {
                durable: (0, contents.clone()),
                now: contents,
                acts: Vec::new(),
                file: Vec::new(),
                fails: false,
            })),
        }
    }

    /// Returns how much has been done to it.
    pub fn acts(&self) -> usize {
        lock(&self.shared).acts.len()
    }

    /// Changes a bit behind the store's back.
    pub fn damage(&self, offset: usize) {
        lock(&self.shared).now[offset] ^= 4;
    }

    /// Has it be the first part of a file, which is found when it grows.
    pub fn set_file(&self, file: Vec<u8>) {
        lock(&self.shared).file = file;
    }

    pub fn set_failing(&self, fails: bool) {
        lock(&self.shared).fails = fails;
    }

    /// Returns what a crash after `acts` leaves: everything before the last sync, and of the
    /// sectors after it those that `survives` says, whatever their order. Crashes are asked for in
    /// their order.
    pub fn after(&self, acts: usize, mut survives: impl FnMut() -> bool) -> Vec<u8> {
        let mut shared = lock(&self.shared);
        let shared = &mut *shared;
        let (done, durable) = &mut shared.durable;
        let new = &shared.acts[*done..acts];
        let synced = new.iter().rposition(|act| matches!(act, Act::Sync));
        let (synced, lost) = new.split_at(synced.unwrap_or(0));
        synced.iter().for_each(|act| act.apply(durable, || true));
        *done += synced.len();
        let mut image = durable.clone();
        lost.iter()
            .for_each(|act| act.apply(&mut image, &mut survives));
        image
    }
}

impl Act {
    /// Writes those of its sectors that `survives` says.
    fn apply(&self, image: &mut Vec<u8>, mut survives: impl FnMut() -> bool) {
        let (offset, bytes) = match self {
            Self::Write(offset, bytes) => (offset, bytes),
            // What was cut off may still be there; what was added is.
            Self::Resize(bytes) if *bytes >= image.len() as u64 || survives() => {
                image.resize(*bytes as usize, 0);
                return;
            }
            _ => return,
        };
        for (sector, bytes) in bytes.chunks(SECTOR).enumerate() {
            if survives() {
                let offset = *offset as usize + sector * SECTOR;
                image[offset..offset + bytes.len()].copy_from_slice(bytes);
            }
        }
    }
}

impl Medium for Recorded {
    fn bytes(&self) -> u64 {
        lock(&self.shared).now.len() as u64
    }

    fn is_resizable(&self) -> bool {
        true
    }

    fn resize(&self, bytes: u64) -> io::Result<()> {
        let mut shared = lock(&self.shared);
        if shared.fails {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let (end, shared) = (shared.now.len(), &mut *shared);
        let found = shared.file.iter().take(bytes as usize).skip(end);
        shared.now.extend(found);
        shared.now.resize(bytes as usize, 0);
        shared.acts.push(Act::Resize(bytes));
        Ok(())
    }

    fn read(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let offset = offset as usize;
        let shared = lock(&self.shared);
        let there = shared.now.get(offset..offset + into.len());
        into.copy_from_slice(there.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn write(&self, offset: u64, from: &[u8]) -> io::Result<()> {
        let mut shared = lock(&self.shared);
        if shared.fails {
            return Err(io::ErrorKind::StorageFull.into());
        }
        shared.now[offset as usize..offset as usize + from.len()].copy_from_slice(from);
        shared.acts.push(Act::Write(offset, from.to_vec()));
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        lock(&self.shared).acts.push(Act::Sync);
        Ok(())
    }
}

/// Files as the source has them.
#[derive(Clone, Default)]
pub struct Source {
    /// By inode: the version, and what number each page was written with.
    pub files: BTreeMap<u64, (terrace_filecache::Version, Vec<u64>)>,
    clock: i64,
}

impl Source {
    pub fn new(files: u64, pages: usize) -> Self {
        let mut source = Self::default();
        for inode in 0..files {
            source
                .files
                .insert(inode, (Default::default(), vec![0; pages]));
            source.write(inode, 0..pages);
        }
        source
    }

    /// Writes pages of a file, which makes a new version.
    pub fn write(&mut self, inode: u64, pages: std::ops::Range<usize>) {
        self.clock += 1;
        let (version, contents) = self.files.get_mut(&inode).unwrap();
        contents[pages].fill(self.clock as u64);
        version.size = 4096 * contents.len() as u64;
        version.changed = self.clock;
        version.modified = self.clock;
    }

    pub fn page(&self, inode: u64, page: u64) -> terrace_filecache::Page {
        let written = self.files[&inode].1[page as usize];
        let mut contents = terrace_filecache::page::zeroed(1)[0];
        for (at, word) in contents.0.chunks_mut(24).enumerate() {
            let words = [inode + 1, page + 1, written + at as u64];
            word.copy_from_slice(&bytes_of(words)[..word.len()]);
        }
        contents
    }
}

fn bytes_of(words: [u64; 3]) -> [u8; 24] {
    let mut bytes = [0; 24];
    for (at, word) in words.into_iter().enumerate() {
        bytes[at * 8..at * 8 + 8].copy_from_slice(&word.to_le_bytes());
    }
    bytes
}
