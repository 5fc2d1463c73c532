//! Pinned files, looked for below the root of the source: their pages stay on flash, also before a
//! program opens them.

use std::fs::{File, Metadata};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rustc_hash::{FxHashMap, FxHashSet};
use terrace_base::lock;
use terrace_policy::admission::rules::Rules;

use super::attributes::file_system;
use crate::cache::Cache;
use crate::file::Identity;

/// What was found, and who looks.
#[derive(Default)]
pub(super) struct Pinned {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    bytes: u64,
    is_looking: bool,
    /// Which look is the last that was begun: earlier ones end.
    last: u64,
}

/// A look for pinned files.
struct Look {
    pinned: Arc<Pinned>,
    number: u64,
    cache: Arc<Cache>,
    found: FxHashSet<Identity>,
    bytes: u64,
    /// Ids of file systems by the numbers of their devices.
    file_systems: FxHashMap<u64, u64>,
}

impl Pinned {
    /// Returns the bytes of pinned files, and whether they are being looked for.
    pub fn found(&self) -> (u64, bool) {
        let state = lock(&self.state);
        (state.bytes, state.is_looking)
    }

    /// Notes that nothing is pinned.
    pub fn none(&self) {
        let mut state = lock(&self.state);
        state.last += 1;
        state.bytes = 0;
        state.is_looking = false;
    }

    /// Ends a look that goes on.
    pub fn end(&self) {
        lock(&self.state).last += 1;
    }

    /// Looks in a thread of its own for the files that rules pin, and pins their pages and no
    /// others.
    pub fn look(self: &Arc<Self>, cache: Arc<Cache>, root: Arc<OwnedFd>, rules: Rules) {
        let number = {
            let mut state = lock(&self.state);
            state.last += 1;
            state.is_looking = true;
            state.last
        };
        let mut look = Look {
            pinned: Arc::clone(self),
            number,
            cache,
            found: FxHashSet::default(),
            bytes: 0,
            file_systems: FxHashMap::default(),
        };
        std::thread::spawn(move || {
            let root = PathBuf::from(format!("/proc/self/fd/{}", root.as_raw_fd()));
            for path in &rules.pinned {
                look.below(&root.join(path));
            }
            look.end();
        });
    }
}

impl Look {
    fn is_over(&self) -> bool {
        lock(&self.pinned.state).last != self.number
    }

    /// Pins what is at a path and below it. What cannot be looked at is pinned when it is opened.
    fn below(&mut self, path: &Path) {
        let mut left = vec![path.to_owned()];
        while let Some(path) = left.pop() {
            if self.is_over() {
                return;
            }
            let Ok(about) = path.symlink_metadata() else {
                continue;
            };
            if about.is_file() {
                let _ = self.pin(&path, &about);
            } else if about.is_dir() {
                let entries = path.read_dir().into_iter().flatten().flatten();
                left.extend(entries.map(|entry| entry.path()));
            }
        }
    }

    fn pin(&mut self, path: &Path, about: &Metadata) -> io::Result<()> {
        let known = self.file_systems.get(&about.dev()).copied();
        let file_system = match known {
            Some(known) => known,
            None => {
                let mut options = File::options();
                let open = options.read(true).custom_flags(libc::O_PATH).open(path)?;
                file_system(open.as_fd(), about.dev())
            }
        };
        self.file_systems.insert(about.dev(), file_system);
        let identity = Identity {
            file_system,
            inode: about.ino(),
        };
        if self.found.insert(identity) {
            self.bytes += about.len();
        }
        self.cache.store().pin(identity, true);
        Ok(())
    }

    /// Lets the pages of all other files go.
    fn end(self) {
        if self.is_over() {
            return;
        }
        for file in self.cache.store().files() {
            if !self.found.contains(&file) {
                self.cache.store().pin(file, false);
            }
        }
        let mut state = lock(&self.pinned.state);
        if state.last == self.number {
            state.bytes = self.bytes;
            state.is_looking = false;
        }
    }
}
