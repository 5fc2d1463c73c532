//! Noticing that groups come and go.
//!
//! A thread waits for the kernel to say that a group was made or removed (inotify), and reads the
//! groups then, no more than a few times a second. So a machine on which nothing is started costs
//! nothing. Where the kernel has no room for watches, and for what has to be asked for, it looks by
//! itself from time to time.

use std::collections::BTreeMap;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fs::inotify;
use terrace_base::{Context, Result, lock};

use super::{Found, Lookup, Tree};
use crate::configuration::By;

/// Time between two looks at the groups, while they come and go.
const PAUSE: Duration = Duration::from_millis(250);
/// Time between two looks where nobody tells of changes.
const SLOW: Duration = Duration::from_secs(5);
/// Time between two looks where the kernel does. It may forget some when very many come at once.
const RARE: Duration = Duration::from_secs(60);

/// Targets by name.
type Targets = BTreeMap<String, By>;

/// Watches the groups.
pub struct Watch {
    targets: Arc<Mutex<Targets>>,
    changed: Arc<OwnedFd>,
}

impl Watch {
    /// Begins to watch the groups below the top. `tell` is called with what was found, at first and
    /// after each change, and returns whether to go on.
    ///
    /// # Errors
    /// A failure if the kernel cannot be asked.
    pub fn start(
        top: PathBuf,
        targets: Targets,
        tell: impl FnMut(Found) -> bool + Send + 'static,
    ) -> Result<Self> {
        let cannot = || "cannot watch the control groups".to_owned();
        let changed = eventfd(0, rustix::event::EventfdFlags::CLOEXEC);
        let changed = Arc::new(changed.map_err(std::io::Error::from).or_fail(cannot)?);
        let targets = Arc::new(Mutex::new(targets));
        let flags = inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK;
        let watcher = Watcher {
            top,
            targets: Arc::clone(&targets),
            changed: Arc::clone(&changed),
            groups: inotify::init(flags).ok(),
            lookup: Lookup::default(),
        };
        let thread = thread::Builder::new().name("terraced-groups".into());
        let stack = thread.stack_size(512 << 10);
        stack.spawn(move || watcher.run(tell)).or_fail(cannot)?;
        Ok(Self { targets, changed })
    }

    /// Looks for other targets from now on.
    pub fn look_for(&self, targets: Targets) {
        *lock(&self.targets) = targets;
        let _ = rustix::io::write(&*self.changed, &1_u64.to_ne_bytes());
    }
}

struct Watcher {
    top: PathBuf,
    targets: Arc<Mutex<Targets>>,
    /// Readable when there are other targets.
    changed: Arc<OwnedFd>,
    /// What tells of groups; `None` if the kernel has no room for it.
    groups: Option<OwnedFd>,
    lookup: Lookup,
}

impl Watcher {
    fn run(mut self, mut tell: impl FnMut(Found) -> bool) {
        loop {
            let (tree, is_told) = self.read();
            let targets = lock(&self.targets).clone();
            if !tell(self.lookup.find(&tree, &targets)) {
                return;
            }
            thread::sleep(PAUSE);
            self.wait(match is_told && !Lookup::is_asking(&targets) {
                true => RARE,
                false => SLOW,
            });
        }
    }

    /// Reads the groups, and tells whether the kernel tells of every change from now on. Each is
    /// watched before it is read, so that none is missed.
    fn read(&self) -> (Tree, bool) {
        let mut is_told = self.groups.is_some();
        let tree = Tree::read(&self.top, &mut |directory| {
            is_told = is_told && self.watch(directory);
        });
        (tree, is_told)
    }

    /// Watches a directory, and returns whether it is watched, or gone. One that is watched already
    /// has the same watch.
    fn watch(&self, directory: &Path) -> bool {
        use inotify::WatchFlags as Flags;
        let flags = Flags::CREATE | Flags::DELETE | Flags::MOVE | Flags::ONLYDIR;
        let groups = self.groups.as_ref().expect("asked only then");
        match inotify::add_watch(groups, directory, flags) {
            Ok(_) | Err(rustix::io::Errno::NOENT) => true,
            Err(_) => false,
        }
    }

    /// Waits for a change, and forgets what was told of it.
    fn wait(&self, longest: Duration) {
        let mut all = vec![PollFd::new(&*self.changed, PollFlags::IN)];
        all.extend(self.groups.iter().map(|fd| PollFd::new(fd, PollFlags::IN)));
        let timeout = Timespec {
            tv_sec: longest.as_secs() as i64,
            tv_nsec: 0,
        };
        let _ = poll(&mut all, Some(&timeout));
        if all[0].revents().contains(PollFlags::IN) {
            let _ = rustix::io::read(&*self.changed, &mut [0; 8]);
        }
        if let Some(groups) = &self.groups {
            let mut buffer = [MaybeUninit::uninit(); 4096];
            let mut events = inotify::Reader::new(groups, &mut buffer);
            while events.next().is_ok() {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::mpsc;

    use super::*;

    const LONG: Duration = Duration::from_secs(4);

    fn named(name: &str) -> Targets {
        [(name.to_owned(), By::Unit(format!("{name}.service")))].into()
    }

    #[test]
    fn a_service_that_comes_goes_and_comes_again() {
        let top = tempfile::tempdir().unwrap();
        let (tell, told) = mpsc::channel();
        let watch = Watch::start(top.path().into(), named("a"), move |found| {
            tell.send(found).is_ok()
        })
        .unwrap();
        // Less than the time between looks without the kernel.
        let until = |is_it: &dyn Fn(&Found) -> bool| loop {
            let found = told.recv_timeout(LONG).expect("the kernel tells of groups");
            if is_it(&found) {
                return found;
            }
        };
        let has = |name: &'static str, number: usize| {
            move |found: &Found| {
                let groups = found.get(name).and_then(|groups| groups.as_ref().ok());
                groups.is_some_and(|groups| groups.len() == number)
            }
        };
        until(&has("a", 0));
        let group = top.path().join("system.slice/a.service");
        fs::create_dir_all(&group).unwrap();
        let first = until(&has("a", 1));
        fs::remove_dir(&group).unwrap();
        until(&has("a", 0));
        // So that the file system has another number for it.
        fs::create_dir(top.path().join("other")).unwrap();
        fs::create_dir(&group).unwrap();
        let second = until(&has("a", 1));
        assert_eq!(first["a"].as_ref().unwrap()[0].path, group);
        assert_eq!(second["a"].as_ref().unwrap()[0].path, group);
        fs::create_dir(top.path().join("system.slice/b.service")).unwrap();
        watch.look_for(named("b"));
        let third = until(&has("b", 1));
        assert!(!third.contains_key("a"));
    }
}
