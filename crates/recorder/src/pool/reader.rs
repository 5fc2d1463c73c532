//! The reader's side of the pool.

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::system::{is_alive, wait, wake};
use super::{
    Chunk, FREE, HELD, Layout, MAGIC, Pool, READY, RECORDS, RecordSettings, WRITTEN, text,
};
use crate::lacked::LONGEST;

impl Pool {
    /// Creates a pool.
    ///
    /// # Errors
    /// Returns the error of the system, which refused the file or the mapping.
    pub fn create(settings: RecordSettings) -> io::Result<Self> {
        // SAFETY: a name that ends in zero, and flags.
        let fd = unsafe { libc::memfd_create(c"terrace-record".as_ptr(), libc::MFD_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: just opened, and owned by nothing else.
        let file = unsafe { File::from_raw_fd(fd) };
        file.set_len(size_of::<Layout>() as u64)?;
        let layout = Self::map(&file)?;
        let file = Some(file);
        let pool = Self { layout, file };
        let layout = pool.layout();
        layout.reader.store(std::process::id(), Ordering::Relaxed);
        layout.level.store(settings.level as u32, Ordering::Relaxed);
        let filtered = settings.filtered.into();
        layout.filtered.store(filtered, Ordering::Relaxed);
        let contents = settings.contents.into();
        layout.contents.store(contents, Ordering::Relaxed);
        let least = settings.least_mapping.unwrap_or(0);
        layout.least_mapping.store(least, Ordering::Relaxed);
        let allocations = settings.allocations.into();
        layout.allocations.store(allocations, Ordering::Relaxed);
        let depends = settings.depends.into();
        layout.depends.store(depends, Ordering::Relaxed);
        layout.none.length.store(RECORDS as u32, Ordering::Relaxed);
        layout.magic.store(MAGIC, Ordering::Release);
        Ok(pool)
    }

    /// Returns the path at which other processes of this user [open](Self::open) the pool while the
    /// reader lives; none unless this is the reader's.
    pub fn path(&self) -> Option<String> {
        let descriptor = self.file.as_ref()?.as_raw_fd();
        Some(format!("/proc/{}/fd/{descriptor}", std::process::id()))
    }

    /// Returns the file of the pool; none unless this is the reader's.
    pub fn file(&self) -> Option<&File> {
        self.file.as_ref()
    }

    /// Waits until more chunks were published than `seen`, or `at_most` has passed, and returns the
    /// number of chunks published so far, modulo 2^32.
    pub fn wait(&self, seen: u32, at_most: Duration) -> u32 {
        let published = &self.layout().published.0;
        published.awaited.store(1, Ordering::SeqCst);
        if published.count.load(Ordering::SeqCst) == seen {
            wait(&published.count, seen, at_most);
        }
        published.awaited.store(0, Ordering::SeqCst);
        published.count.load(Ordering::Relaxed)
    }

    /// Returns the chunks that are ready, in their order. Those of one thread are without gaps:
    /// what the thread published before one of them is among them, or was handed back.
    pub fn ready(&self) -> Vec<usize> {
        // While the states are looked through, a thread may publish a chunk already passed and then
        // one further on; the second must wait. What was published before the order is asked is
        // seen.
        let next = self.layout().order.0.load(Ordering::Acquire);
        let place = |i: usize| self.chunk(i).place.load(Ordering::Relaxed);
        let mut ready = self.in_state(READY);
        ready.retain(|&i| place(i) < next);
        ready.sort_unstable_by_key(|&i| place(i));
        ready
    }

    /// Returns the chunks that are [ready](Self::ready), and after them those that nobody will make
    /// ready: held by dead processes, or by any once the recording has ended.
    pub fn ready_or_abandoned(&self) -> Vec<usize> {
        // Asked first: what their holders have published is ready then.
        let abandoned = self.abandoned();
        let mut all = self.ready();
        let published: HashSet<usize> = all.iter().copied().collect();
        all.extend(abandoned.iter().filter(|i| !published.contains(i)));
        all
    }

    /// Returns the chunks that threads hold now. What their threads published before is among
    /// [`Pool::ready`] afterwards, or was handed back.
    pub fn held(&self) -> Vec<usize> {
        self.in_state(HELD)
    }

    /// Returns the chunks held by dead processes, or all held chunks once the recording has ended.
    fn abandoned(&self) -> Vec<usize> {
        let mut held = self.held();
        if !self.has_ended() {
            held.retain(|&i| {
                let pid = self.chunk(i).pid.load(Ordering::Relaxed);
                pid != 0 && !is_alive(pid)
            });
        }
        held
    }

    fn in_state(&self, wanted: u32) -> Vec<usize> {
        let states = self.layout().states.iter().enumerate();
        states
            .filter(|(_, state)| state.load(Ordering::Acquire) == wanted)
            .map(|(index, _)| index)
            .collect()
    }

    /// Returns a chunk of [`Pool::ready`] or [`Pool::ready_or_abandoned`].
    ///
    /// # Panics
    /// Panics where `index` is not below `CHUNKS`.
    pub fn chunk(&self, index: usize) -> &Chunk {
        &self.layout().chunks[index]
    }

    /// Hands back a chunk that was read.
    ///
    /// # Panics
    /// Panics where `index` is not below `CHUNKS`.
    pub fn release(&self, index: usize) {
        let layout = self.layout();
        let chunk = self.chunk(index);
        chunk.length.store(0, Ordering::Relaxed);
        // The next holder takes it before signing; until then it must not be found dead.
        chunk.pid.store(0, Ordering::Relaxed);
        let was = layout.states[index].swap(FREE, Ordering::Release);
        if was == READY {
            layout.drained.0.fetch_add(1, Ordering::Release);
            wake(&layout.drained.0);
        }
    }

    /// Returns the number of processes recorded so far.
    pub fn processes(&self) -> u32 {
        self.numbers().processes.load(Ordering::Relaxed)
    }

    /// Returns the number of threads recorded so far.
    pub fn threads(&self) -> u32 {
        self.numbers().threads.load(Ordering::Relaxed)
    }

    /// Returns the number of records that found no chunk.
    pub fn dropped(&self) -> u64 {
        self.numbers().dropped.load(Ordering::Relaxed)
    }

    /// Returns the number of runs whose page could not be reported.
    pub fn unreported(&self) -> u64 {
        self.numbers().unreported.load(Ordering::Relaxed)
    }

    /// Returns the bytes of the last instruction of the block that was translated last.
    pub fn translated(&self) -> [u8; LONGEST] {
        let words = self.numbers().translated.each_ref();
        let [low, high] = words.map(|word| u128::from(word.load(Ordering::Relaxed)));
        let words = (low | high << 64).to_le_bytes();
        std::array::from_fn(|index| words[index])
    }

    /// Returns the process ids of the living recorded processes, without processes that have left
    /// the emulator.
    pub fn living(&self) -> Vec<u32> {
        let pids = &self.layout().pids.0;
        let seen = self.processes() as usize;
        pids.iter()
            .take(seen)
            .map(|pid| pid.load(Ordering::Acquire))
            .filter(|&pid| is_alive(pid) && self.is_mapped_by(pid))
            .collect()
    }

    /// Whether the process maps this pool. The process id of one that has ended may be in use
    /// again.
    fn is_mapped_by(&self, pid: u32) -> bool {
        let Some(Ok(metadata)) = self.file.as_ref().map(File::metadata) else {
            return false;
        };
        let inode = metadata.ino().to_string();
        let maps = std::fs::read(format!("/proc/{pid}/maps")).unwrap_or_default();
        String::from_utf8_lossy(&maps).lines().any(|line| {
            let mut fields = line.split_ascii_whitespace().skip(4);
            let named = |path: &str| path.starts_with("/memfd:terrace-record");
            fields.next() == Some(&inode) && fields.next().is_some_and(named)
        })
    }

    /// Returns the path of a module, by its number in a [`Frame`](crate::frame::Frame).
    pub fn module_path(&self, number: u16) -> Option<Vec<u8>> {
        let module = self.layout().modules.get(usize::from(number))?;
        (module.state.load(Ordering::Acquire) == WRITTEN).then(|| text(&module.path))
    }

    /// Returns how many times a process left the emulator, and the paths of some of those programs.
    pub fn departures(&self) -> (u32, Vec<Vec<u8>>) {
        let layout = self.layout();
        let taken = layout
            .departures
            .iter()
            .filter(|departure| departure.taken.load(Ordering::Acquire) != 0);
        let paths = taken.map(|departure| text(&departure.path));
        let departed = self.numbers().departed.load(Ordering::Relaxed);
        (departed, paths.collect())
    }
}
