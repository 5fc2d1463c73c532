//! The side that reads.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::system::{is_alive, wait, wake};
use super::{Chunk, FREE, HELD, Layout, MAGIC, Pool, READY, RECORDS, Settings};

impl Pool {
    /// A new one.
    ///
    /// # Errors
    /// Where the system refuses the file or the mapping.
    pub fn create(settings: Settings) -> io::Result<Self> {
        // SAFETY: a name that ends in zero, and flags.
        let fd = unsafe { libc::memfd_create(c"terrace-record".as_ptr(), libc::MFD_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: just opened, and nobody else's.
        let file = unsafe { File::from_raw_fd(fd) };
        file.set_len(size_of::<Layout>() as u64)?;
        let layout = Self::map(&file)?;
        let file = Some(file);
        let pool = Self { layout, file };
        let layout = pool.layout();
        layout.reader.store(std::process::id(), Ordering::Relaxed);
        layout.level.store(settings.level as u32, Ordering::Relaxed);
        let filtered = u32::from(settings.filtered);
        layout.filtered.store(filtered, Ordering::Relaxed);
        layout.none.length.store(RECORDS as u32, Ordering::Relaxed);
        layout.magic.store(MAGIC, Ordering::Release);
        Ok(pool)
    }

    /// Where other processes of this user [open](Self::open) it while the reader lives; none
    /// where this is not the reader's.
    pub fn path(&self) -> Option<String> {
        let descriptor = self.file.as_ref()?.as_raw_fd();
        Some(format!("/proc/{}/fd/{descriptor}", std::process::id()))
    }

    /// Waits until more chunks were published than `seen`, or `at_most` has passed; how many
    /// were published by now, modulo 2^32.
    pub fn wait(&self, seen: u32, at_most: Duration) -> u32 {
        let published = &self.layout().published.0;
        published.awaited.store(1, Ordering::SeqCst);
        if published.count.load(Ordering::SeqCst) == seen {
            wait(&published.count, seen, at_most);
        }
        published.awaited.store(0, Ordering::SeqCst);
        published.count.load(Ordering::Relaxed)
    }

    /// The chunks that are ready, in their order.
    pub fn ready(&self) -> Vec<usize> {
        let mut ready = self.in_state(READY);
        ready.sort_unstable_by_key(|&i| self.chunk(i).place.load(Ordering::Relaxed));
        ready
    }

    /// The chunks held by processes that are dead; all that are held once the recording has
    /// ended.
    pub fn abandoned(&self) -> Vec<usize> {
        let mut held = self.in_state(HELD);
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

    /// One of [`Pool::ready`] or [`Pool::abandoned`].
    ///
    /// # Panics
    /// Where `index` is not below [`CHUNKS`].
    pub fn chunk(&self, index: usize) -> &Chunk {
        &self.layout().chunks[index]
    }

    /// Hands a chunk back that was read.
    ///
    /// # Panics
    /// Where `index` is not below [`CHUNKS`].
    pub fn release(&self, index: usize) {
        let layout = self.layout();
        let chunk = self.chunk(index);
        chunk.length.store(0, Ordering::Relaxed);
        // Who takes it next holds it before it has signed; until then nobody must find it dead.
        chunk.pid.store(0, Ordering::Relaxed);
        let was = layout.states[index].swap(FREE, Ordering::Release);
        if was == READY {
            layout.drained.0.fetch_add(1, Ordering::Release);
            wake(&layout.drained.0);
        }
    }

    /// How many processes have been recorded.
    pub fn processes(&self) -> u32 {
        let numbers = &self.layout().numbers.0;
        numbers.processes.load(Ordering::Relaxed)
    }

    /// How many threads.
    pub fn threads(&self) -> u32 {
        let numbers = &self.layout().numbers.0;
        numbers.threads.load(Ordering::Relaxed)
    }

    /// How many records found no chunk.
    pub fn dropped(&self) -> u64 {
        let numbers = &self.layout().numbers.0;
        numbers.dropped.load(Ordering::Relaxed)
    }

    /// The process ids of the recorded processes that live. One that has become a program beyond
    /// our sight is none of them.
    pub fn living(&self) -> Vec<u32> {
        let pids = &self.layout().pids.0;
        let seen = self.processes() as usize;
        pids.iter()
            .take(seen)
            .map(|pid| pid.load(Ordering::Acquire))
            .filter(|&pid| is_alive(pid) && self.is_mapped_by(pid))
            .collect()
    }

    /// Whether the process maps this pool. The system may have given the number of one that has
    /// ended to somebody else.
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

    /// How often a process became a program beyond our sight, and some of the programs' paths.
    pub fn departures(&self) -> (u32, Vec<Vec<u8>>) {
        let layout = self.layout();
        let taken = layout
            .departures
            .iter()
            .filter(|departure| departure.taken.load(Ordering::Acquire) != 0);
        let paths = taken.map(|departure| {
            let bytes = departure.path.iter();
            bytes
                .map(|byte| byte.load(Ordering::Relaxed))
                .take_while(|&byte| byte != 0)
                .collect()
        });
        let numbers = &layout.numbers.0;
        (numbers.departed.load(Ordering::Relaxed), paths.collect())
    }
}
