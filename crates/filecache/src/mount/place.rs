//! Where a file of the source is: a descriptor while there are not too many of them, and found
//! again otherwise.
//!
//! A descriptor that is closed leaves a mark, which no other file has. The file is opened again by
//! its handle where the system lets us (root), and by the name that it was looked up by otherwise.
//! A file with another mark is another file: the answer is ESTALE then, and the kernel looks the
//! name up anew.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak};

use rustix::fs::{Mode, OFlags};
use terrace_base::lock;

use super::mark::Mark;

/// How a mere path is opened.
const PATH: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Directories above a file that are opened to find it, at most: names that are known of an earlier
/// time can go round.
const DEEPEST: usize = 1024;

/// Descriptors that are looked at to close one.
const TRIES: usize = 64;

/// Where a file is.
pub(super) struct Place {
    state: RwLock<State>,
    /// Whether it was asked for since it was last thought of closing.
    is_used: AtomicBool,
    descriptors: Arc<Descriptors>,
}

struct State {
    file: Option<Arc<OwnedFd>>,
    /// Whether the descriptor stays open: nothing finds the file again.
    stays: bool,
    /// Taken when the descriptor is closed first.
    mark: Option<Arc<Mark>>,
    named: Option<Named>,
}

/// The name by which a file was looked up last.
#[derive(Clone)]
pub(super) struct Named {
    parent: Arc<Place>,
    name: Box<OsStr>,
}

impl Named {
    pub fn new(parent: &Arc<Place>, name: &OsStr) -> Self {
        Self {
            parent: Arc::clone(parent),
            name: name.into(),
        }
    }
}

/// The open descriptors of places, up to a number that is said.
pub(super) struct Descriptors {
    most: usize,
    /// Places with a descriptor, the one that was opened first at the front.
    queue: Mutex<VecDeque<Weak<Place>>>,
    /// The root of the source, by which handles are opened.
    root: Option<(File, Mark)>,
}

impl Descriptors {
    /// Allows so many, of the source with this root.
    pub fn new(most: usize, root: &OwnedFd) -> Self {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(root, c".", flags, Mode::empty()).ok();
        Self {
            most: most.max(1),
            queue: Mutex::default(),
            root: opened.and_then(|root| Mark::of(&root).map(|mark| (root.into(), mark))),
        }
    }

    /// Counts an open place, and closes others for it.
    fn add(&self, place: Weak<Place>) {
        let mut queue = lock(&self.queue);
        queue.push_back(place);
        for _ in 0..TRIES {
            if queue.len() <= self.most {
                return;
            }
            let Some(first) = queue.pop_front() else {
                return;
            };
            let Some(place) = first.upgrade() else {
                continue;
            };
            if place.is_used.swap(false, Ordering::Relaxed) || !place.close() {
                queue.push_back(first);
            }
        }
    }
}

impl Place {
    /// Takes what is open as a mere path.
    pub fn new(file: OwnedFd, named: Option<Named>, descriptors: &Arc<Descriptors>) -> Arc<Self> {
        let is_root = named.is_none();
        let place = Arc::new(Self {
            state: RwLock::new(State {
                file: Some(Arc::new(file)),
                stays: is_root,
                mark: None,
                named,
            }),
            is_used: AtomicBool::new(false),
            descriptors: Arc::clone(descriptors),
        });
        if !is_root {
            descriptors.add(Arc::downgrade(&place));
        }
        place
    }

    /// Returns the file as a mere path.
    ///
    /// # Errors
    /// Returns ESTALE if it is not found any more, and the error of the system.
    pub fn path(self: &Arc<Self>) -> io::Result<Arc<OwnedFd>> {
        self.path_within(DEEPEST)
    }

    fn path_within(self: &Arc<Self>, depth: usize) -> io::Result<Arc<OwnedFd>> {
        if let Some(file) = self.now() {
            return Ok(file);
        }
        let file = self.find(depth)?;
        Ok(self.reopened(file))
    }

    /// Returns the file if it is open.
    fn now(&self) -> Option<Arc<OwnedFd>> {
        let file = self.read().file.clone();
        if file.is_some() {
            self.is_used.store(true, Ordering::Relaxed);
        }
        file
    }

    /// Keeps a descriptor of this very file.
    pub fn reopened(self: &Arc<Self>, file: OwnedFd) -> Arc<OwnedFd> {
        let mut state = self.write();
        if let Some(file) = &state.file {
            return Arc::clone(file);
        }
        let file = Arc::new(file);
        state.file = Some(Arc::clone(&file));
        drop(state);
        self.descriptors.add(Arc::downgrade(self));
        file
    }

    /// Finds it again by its handle, or by its name. No lock is held meanwhile, so that names may
    /// go round.
    fn find(&self, depth: usize) -> io::Result<OwnedFd> {
        let stale = || io::Error::from_raw_os_error(libc::ESTALE);
        if let Some(found) = self.by_handle(PATH) {
            return Ok(found);
        }
        let named = self.read().named.clone().ok_or_else(stale)?;
        let depth = depth.checked_sub(1).ok_or_else(stale)?;
        let parent = named.parent.path_within(depth)?;
        let found = rustix::fs::openat(&parent, &*named.name, PATH, Mode::empty());
        let found = found.map_err(|error| match error {
            rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR => stale(),
            error => error.into(),
        })?;
        match self.is(&found) {
            true => Ok(found),
            false => Err(stale()),
        }
    }

    /// Opens it by its handle, if it has no descriptor and the system lets us: then none is taken
    /// for it, for which another would have to be closed.
    pub fn open(&self, flags: OFlags) -> Option<File> {
        let is_closed = self.read().file.is_none();
        is_closed
            .then(|| self.by_handle(flags))
            .flatten()
            .map(File::from)
    }

    fn by_handle(&self, flags: OFlags) -> Option<OwnedFd> {
        let (root, of_root) = self.descriptors.root.as_ref()?;
        let mark = self.read().mark.clone()?;
        // No lock is held meanwhile: whoever opens a file may have to wait for others.
        let is_same = mark.is_of_mount_of(of_root);
        is_same.then(|| mark.open(root.as_fd(), flags).ok())?
    }

    /// Whether a file with the same inode is this one.
    pub fn is(&self, file: &OwnedFd) -> bool {
        let state = self.read();
        // One that is open keeps its inode.
        let is_marked = |mark: &Arc<Mark>| Mark::of(file).is_some_and(|of| of == **mark);
        state.file.is_some() || state.mark.as_ref().is_some_and(is_marked)
    }

    /// Returns the path from the root by which it was looked up, without a slash at the start;
    /// bytes that are no text are replaced. `None` if names go round.
    pub fn name(self: &Arc<Self>) -> Option<String> {
        let mut names = Vec::new();
        let mut at = Arc::clone(self);
        for _ in 0..DEEPEST {
            let Some(named) = at.read().named.clone() else {
                names.reverse();
                return Some(names.join("/"));
            };
            names.push(named.name.to_string_lossy().into_owned());
            at = named.parent;
        }
        None
    }

    /// Notes the name by which it was looked up, or got.
    pub fn rename(&self, named: Named) {
        let is_same =
            |known: &Named| Arc::ptr_eq(&known.parent, &named.parent) && known.name == named.name;
        if !self.read().named.as_ref().is_some_and(is_same) {
            self.write().named = Some(named);
        }
    }

    /// Keeps it open, as its last name is about to go. What cannot be found is gone.
    pub fn stay(self: &Arc<Self>) {
        if self.path().is_ok() {
            self.write().stays = true;
        }
    }

    /// Takes that back.
    pub fn need_not_stay(self: &Arc<Self>) {
        self.write().stays = false;
        self.descriptors.add(Arc::downgrade(self));
    }

    /// Closes the descriptor, and returns whether it is not to be thought of any more.
    fn close(&self) -> bool {
        let mut state = self.write();
        let Some(file) = &state.file else {
            return true;
        };
        if state.stays {
            return true;
        }
        if state.mark.is_none() {
            state.mark = Mark::of(&**file).map(Arc::new);
        }
        if state.mark.is_some() {
            state.file = None;
        }
        state.mark.is_some()
    }

    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(|e| e.into_inner())
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(|e| e.into_inner())
    }
}

/// A path by which a file can be opened, whatever its name is, for as long as this is there.
pub(super) struct Magic {
    path: PathBuf,
    _file: Arc<OwnedFd>,
}

impl Magic {
    pub fn of(file: Arc<OwnedFd>) -> Self {
        Self {
            path: format!("/proc/self/fd/{}", file.as_raw_fd()).into(),
            _file: file,
        }
    }
}

impl std::ops::Deref for Magic {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Metadata};
    use std::os::unix::fs::MetadataExt;

    use super::*;

    struct Source {
        directory: tempfile::TempDir,
        root: Arc<Place>,
        descriptors: Arc<Descriptors>,
    }

    impl Source {
        /// A directory whose files are found by their handles, where this user may, or by their
        /// names alone.
        fn new(by_handle: bool) -> Self {
            let directory = tempfile::tempdir().unwrap();
            let root = || rustix::fs::open(directory.path(), PATH, Mode::empty()).unwrap();
            let mut descriptors = Descriptors::new(8, &root());
            if !by_handle {
                descriptors.root = None;
            }
            let descriptors = Arc::new(descriptors);
            Self {
                root: Place::new(root(), None, &descriptors),
                directory,
                descriptors,
            }
        }

        fn both() -> [Self; 2] {
            [true, false].map(Self::new)
        }

        fn at(&self, name: &str) -> PathBuf {
            self.directory.path().join(name)
        }

        fn make(&self, name: &str) {
            fs::write(self.at(name), name).unwrap();
        }

        fn place(&self, name: &str) -> Arc<Place> {
            let file = rustix::fs::open(self.at(name), PATH, Mode::empty()).unwrap();
            let named = Named::new(&self.root, name.as_ref());
            Place::new(file, Some(named), &self.descriptors)
        }
    }

    fn about(place: &Arc<Place>) -> io::Result<Metadata> {
        fs::metadata(&*Magic::of(place.path()?))
    }

    fn is_stale(place: &Arc<Place>) -> bool {
        matches!(place.path(), Err(e) if e.raw_os_error() == Some(libc::ESTALE))
    }

    /// Closes it, as other places do that are opened.
    fn close(place: &Arc<Place>) {
        settle();
        assert!(place.close() && place.read().file.is_none());
    }

    /// Lets files be old enough to be told apart by when they were made.
    fn settle() {
        std::thread::sleep(std::time::Duration::from_millis(30));
    }

    #[test]
    fn few_descriptors_serve_many_files() {
        for source in Source::both() {
            let names: Vec<_> = (0..100).map(|number| format!("file-{number}")).collect();
            names.iter().for_each(|name| source.make(name));
            settle();
            let places: Vec<_> = names.iter().map(|name| source.place(name)).collect();
            for _ in 0..2 {
                for (name, place) in names.iter().zip(&places) {
                    let wanted = fs::metadata(source.at(name)).unwrap().ino();
                    assert_eq!(about(place).unwrap().ino(), wanted);
                }
                let open = places.iter().filter(|place| place.read().file.is_some());
                assert!(open.count() <= 8);
            }
        }
    }

    #[test]
    fn a_file_that_has_taken_the_name_is_not_found_for_it() {
        for source in Source::both() {
            ["file", "other"].iter().for_each(|name| source.make(name));
            let place = source.place("file");
            close(&place);
            fs::rename(source.at("other"), source.at("file")).unwrap();
            assert!(is_stale(&place));
        }
    }

    #[test]
    fn a_file_that_others_rename_is_found_by_its_handle_or_not_at_all() {
        for source in Source::both() {
            source.make("file");
            let inode = fs::metadata(source.at("file")).unwrap().ino();
            let place = source.place("file");
            close(&place);
            fs::rename(source.at("file"), source.at("renamed")).unwrap();
            match about(&place) {
                Ok(found) => assert_eq!(found.ino(), inode),
                Err(e) => assert_eq!(e.raw_os_error(), Some(libc::ESTALE)),
            }
            // The name that it is looked up by anew.
            place.rename(Named::new(&source.root, "renamed".as_ref()));
            assert_eq!(about(&place).unwrap().ino(), inode);
        }
    }

    #[test]
    fn a_file_with_the_inode_of_one_that_is_gone_is_another() {
        for source in Source::both() {
            source.make("file");
            let inode = fs::metadata(source.at("file")).unwrap().ino();
            let place = source.place("file");
            close(&place);
            fs::remove_file(source.at("file")).unwrap();
            for number in 0..100 {
                let name = format!("new-{number}");
                source.make(&name);
                let open = rustix::fs::open(source.at(&name), PATH, Mode::empty()).unwrap();
                assert!(!place.is(&open));
                if fs::metadata(source.at(&name)).unwrap().ino() == inode {
                    fs::rename(source.at(&name), source.at("file")).unwrap();
                    assert!(is_stale(&place));
                    break;
                }
            }
        }
    }

    #[test]
    fn names_that_go_round_end() {
        let source = Source::new(false);
        for name in ["one", "two"] {
            fs::create_dir(source.at(name)).unwrap();
        }
        let (one, two) = (source.place("one"), source.place("two"));
        one.rename(Named::new(&two, "one".as_ref()));
        two.rename(Named::new(&one, "two".as_ref()));
        close(&one);
        close(&two);
        assert!(is_stale(&one) && is_stale(&two));
    }

    #[test]
    fn what_loses_its_last_name_stays_open() {
        for source in Source::both() {
            source.make("file");
            let place = source.place("file");
            close(&place);
            place.stay();
            fs::remove_file(source.at("file")).unwrap();
            assert!(place.close() && about(&place).unwrap().nlink() == 0);
        }
    }
}
