//! The rules of a mount in force, and the commands that change them.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, RwLock};

use rustix::fs::OFlags;
use terrace_base::Bytes;
use terrace_policy::admission::rules::Rules;

use super::control::{Command, Held, WINDOW};
use super::handles::Handle;
use super::nodes::{Judged, Node};
use super::pinned::Pinned;
use crate::cache::Cache;
use crate::warm::Warmed;

/// The rules in force.
pub(super) struct Ruled {
    cache: Option<Arc<Cache>>,
    root: Arc<OwnedFd>,
    rules: RwLock<Rules>,
    /// Numbers the rules; 0 for none at all, ever.
    generation: AtomicU64,
    pinned: Arc<Pinned>,
    /// Whether the rules that were kept could not be read.
    is_lost: AtomicBool,
}

impl Ruled {
    /// Takes up the rules that the flash level has kept.
    pub fn new(cache: Option<Arc<Cache>>, root: OwnedFd) -> Arc<Self> {
        let kept = cache.as_ref().filter(|cache| cache.has_flash());
        let kept = kept.map_or(Ok(Rules::default()), |cache| kept_rules(cache));
        let is_lost = AtomicBool::new(kept.is_err());
        let rules = kept.unwrap_or_default();
        let ruled = Arc::new(Self {
            cache,
            root: Arc::new(root),
            generation: AtomicU64::new(u64::from(!rules.is_empty())),
            rules: RwLock::new(rules),
            pinned: Arc::default(),
            is_lost,
        });
        ruled.look_for_pinned();
        ruled
    }

    /// Whether the flash level had rules that could not be read.
    pub fn has_lost_rules(&self) -> bool {
        self.is_lost.load(Ordering::Relaxed)
    }

    /// Lets the mount end.
    pub fn end(&self) {
        self.pinned.end();
    }

    /// Judges a file anew whose names may have changed, if there are rules.
    pub fn forget_judgement(&self, node: &Node) {
        if self.generation.load(Ordering::Relaxed) != 0 {
            *node.judged() = Judged::default();
        }
    }

    /// Judges a file by the rules, if it was not since they changed.
    pub fn judge(&self, node: &Node) {
        let generation = self.generation.load(Ordering::Acquire);
        if node.judged().generation == generation {
            return;
        }
        let rules = self.rules();
        let rule = node.place.name().map(|path| rules.of_path(&path));
        *node.judged() = Judged {
            generation,
            rule: rule.unwrap_or_default(),
            largest: rules.largest,
        };
    }

    /// Carries a command out.
    ///
    /// # Errors
    /// As [`super::control::send`].
    pub fn obey(&self, command: &Command) -> io::Result<()> {
        let cache = self.cache()?;
        let mut rules = self.rules().clone();
        let is_changed = match command {
            Command::Size(bytes) => return cache.store().resize(Bytes(*bytes)),
            Command::Flush => return cache.store().clear(),
            Command::Pin(path) => {
                rules.pin(path);
                true
            }
            Command::Exclude(pattern) => {
                let excluded = rules.exclude(pattern);
                excluded.map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
                true
            }
            Command::Unpin(path) => rules.unpin(path),
            Command::Include(pattern) => rules.include(pattern),
            Command::Largest(largest) => {
                let was = std::mem::replace(&mut rules.largest, *largest);
                largest.or(was).is_some()
            }
        };
        if !is_changed {
            return Err(io::Error::from_raw_os_error(libc::ENODATA));
        }
        self.put(cache, rules)?;
        if matches!(command, Command::Pin(_) | Command::Unpin(_)) {
            self.look_for_pinned();
        }
        Ok(())
    }

    fn put(&self, cache: &Cache, rules: Rules) -> io::Result<()> {
        let text = serde_json::to_vec(&rules)?;
        let kept = cache.store().keep_notes(&text);
        kept.map_err(|error| match error.kind() {
            io::ErrorKind::InvalidInput => io::Error::from_raw_os_error(libc::E2BIG),
            _ => error,
        })?;
        *self.rules.write().unwrap_or_else(|e| e.into_inner()) = rules;
        self.is_lost.store(false, Ordering::Relaxed);
        self.generation.fetch_add(1, Ordering::Release);
        Ok(())
    }

    /// Returns what holds.
    ///
    /// # Errors
    /// Returns unsupported without a flash level.
    pub fn held(&self) -> io::Result<Held> {
        let held = self.cache()?.store().held();
        let (pinned_bytes, is_looking) = self.pinned.found();
        Ok(Held {
            rules: self.rules().clone(),
            pinned_bytes,
            is_looking,
            pinned_pages: held.pinned,
            most_pinned: held.most_pinned,
            flash_pages: held.pages,
            flash_room: held.room,
        })
    }

    /// Warms a part of a file.
    ///
    /// # Errors
    /// Returns the error of the source, and unsupported without a flash level.
    pub fn warm(&self, node: Arc<Node>, offset: u64) -> io::Result<Warmed> {
        let cache = self.cache()?;
        self.forget_judgement(&node);
        self.judge(&node);
        let identity = node.identity;
        let handle = Handle::open(node, OFlags::RDONLY | OFlags::NONBLOCK)?;
        cache.warm(identity, &handle, offset, WINDOW)
    }

    /// Forgets the pages of a file, and returns whether it had any.
    ///
    /// # Errors
    /// Returns unsupported without a flash level.
    pub fn forget(&self, node: &Node) -> io::Result<bool> {
        let cache = self.cache()?;
        let had = cache.store().has_pages(node.identity);
        cache.forget(node.identity);
        Ok(had)
    }

    fn cache(&self) -> io::Result<&Arc<Cache>> {
        let cache = self.cache.as_ref().filter(|cache| cache.has_flash());
        cache.ok_or_else(|| io::Error::from_raw_os_error(libc::EOPNOTSUPP))
    }

    fn rules(&self) -> std::sync::RwLockReadGuard<'_, Rules> {
        self.rules.read().unwrap_or_else(|e| e.into_inner())
    }

    /// Has the pages of pinned files stay, and those of others not, beside what the mount does.
    fn look_for_pinned(&self) {
        let Ok(cache) = self.cache() else { return };
        let rules = self.rules().clone();
        if rules.pinned.is_empty() && cache.store().held().pinned == 0 {
            self.pinned.none();
            return;
        }
        self.pinned
            .look(Arc::clone(cache), Arc::clone(&self.root), rules);
    }
}

fn kept_rules(cache: &Cache) -> io::Result<Rules> {
    let kept = cache.store().notes()?;
    match kept.is_empty() {
        true => Ok(Rules::default()),
        false => Ok(serde_json::from_slice(&kept)?),
    }
}
