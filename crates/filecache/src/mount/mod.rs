//! A FUSE mount above a directory.
//!
//! Everything is passed through to the source; reads of its files go through a [`Cache`]. Writes
//! reach the source before they are acknowledged. The kernel's page cache stays above (*victim*),
//! or is left out for a DRAM level of ours (*exact*).

mod attributes;
mod caller;
mod changes;
pub mod control;
mod file_system;
mod handles;
mod kernel_cache;
mod listing;
mod log;
mod mark;
mod nodes;
mod opened;
mod passing;
mod pinned;
mod place;
mod promise;
mod queries;
mod ruled;
mod status;
mod uncertain;

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use fuser::{BackgroundSession, Config, MountOption, Session, SessionACL};
use rustix::fs::{Mode as FileMode, OFlags};
use rustix::process::{Resource, Rlimit, geteuid, getrlimit, setrlimit};
use terrace_base::mounts::{SUBTYPE, is_mounted, unmount};
use terrace_base::{Bytes, Context, Error, Result};
use terrace_policy::admission::{Chain, Machine};
use terrace_policy::replacement;

use crate::cache::Cache;
use crate::dram::Dram;
use crate::endurance::Endurance;
use crate::medium::{Disk, Emulated, Medium, Slowdown};
use crate::store::Store;
use file_system::PassThrough;
use log::Log;
pub use log::{Logged, PART};
use nodes::Nodes;
pub use promise::Promise;
use ruled::Ruled;
pub use status::Figures;
use status::Status;
use uncertain::Uncertain;

/// The extended attribute of a mount's root that holds its [`Figures`] as JSON.
pub const STATUS: &str = "user.terrace.status";

/// The flash level.
#[derive(Clone, Debug, PartialEq)]
pub enum Flash {
    /// A file or a block device, and the size to use if it is not the whole.
    Disk(PathBuf, Option<Bytes>),
    /// Emulated: contents in DRAM, slowed down.
    Emulated(Bytes, Slowdown),
}

/// What fills the flash level.
#[derive(Clone, Debug, PartialEq)]
pub enum Mode {
    /// Reads that the kernel's page cache does not serve.
    Victim,
    /// What a DRAM level of this size evicts by this policy.
    Exact(Bytes, replacement::Spec),
}

/// What is mounted, and how.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The directory that is passed through.
    pub source: PathBuf,
    /// Where it is mounted.
    pub mountpoint: PathBuf,
    /// The flash level; without one, reads are passed through as well.
    pub flash: Option<Flash>,
    /// What fills it.
    pub mode: Mode,
    /// Which pages it admits.
    pub admission: Chain,
    /// How much may be written to it.
    pub endurance: Option<Endurance>,
    /// How long names, attributes and directories are kept without asking the source; none are
    /// names and attributes for a second.
    pub attributes: Duration,
}

/// A mount, which is there until it is dropped.
pub struct Mount {
    mountpoint: PathBuf,
    session: Option<BackgroundSession>,
    cache: Option<Arc<Cache>>,
    beside: Beside,
}

/// What a mount has beside its files.
#[derive(Clone)]
struct Beside {
    status: Arc<Status>,
    log: Arc<Log>,
    uncertain: Arc<Uncertain>,
    ruled: Arc<Ruled>,
}

/// How a mount has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// No program used it any more.
    Unmounted,
    /// Programs still have files of it open, which give errors from now on.
    InUse,
}

impl Settings {
    /// Checks what can be checked before anything is changed.
    ///
    /// # Errors
    /// Returns a usage error if the source or the mountpoint cannot be used, or `/dev/fuse` is
    /// missing.
    pub fn check(&self) -> Result<()> {
        let source = directory(&self.source)?;
        let mountpoint = directory(&self.mountpoint)?;
        let (from, at) = (self.source.display(), self.mountpoint.display());
        if source == mountpoint {
            return Err(Error::usage(format!(
                "SOURCE and MOUNTPOINT are the same directory, {from}; name an empty directory elsewhere to mount on"
            )));
        }
        if mountpoint.starts_with(&source) || source.starts_with(&mountpoint) {
            return Err(Error::usage(format!(
                "{from} and {at} lie one inside the other, so that the mount would cover its own files; mount elsewhere"
            )));
        }
        if is_mounted(&mountpoint) {
            return Err(Error::usage(format!(
                "{at} has a file system mounted by terrace already; unmount that first (umount {at})"
            )));
        }
        let is_empty = mountpoint
            .read_dir()
            .map(|mut names| names.next().is_none());
        if !is_empty.unwrap_or(true) {
            return Err(Error::usage(format!(
                "{at} is not empty, and the mount would cover what is in it; name an empty directory"
            )));
        }
        if let Some(Flash::Disk(path, _)) = &self.flash
            && lies_in(path, &source)
        {
            return Err(Error::usage(format!(
                "the flash file {} lies inside {from}, whose files it is to hold; put it elsewhere",
                path.display()
            )));
        }
        if !Path::new("/dev/fuse").exists() {
            return Err(Error::usage(
                "there is no /dev/fuse; load the module (modprobe fuse), or give the container that device",
            ));
        }
        Ok(())
    }

    /// Returns what the file system of the source promises.
    pub fn promise(&self) -> Promise {
        open_directory(&self.source).map_or(Promise::WriteBack, Promise::of)
    }

    fn cache(&self) -> Result<Option<Cache>> {
        let is_exact = matches!(self.mode, Mode::Exact(..));
        if self.flash.is_none() && !is_exact {
            return Ok(None);
        }
        let medium: Box<dyn Medium> = match &self.flash {
            Some(Flash::Disk(path, size)) => Box::new(Disk::open(path, *size)?),
            Some(Flash::Emulated(size, slowdown)) => Box::new(Emulated::new(*size, *slowdown)),
            // Versions of files are known by a store, which holds nothing here.
            None => {
                let none = Slowdown::Factors(1.0, 1.0);
                Box::new(Emulated::new(Bytes(Store::LEAST), none))
            }
        };
        let flash_pages = Bytes(medium.bytes()).pages();
        let store = Store::open(medium, self.endurance.as_ref())?;
        let (dram, dram_pages) = match &self.mode {
            Mode::Victim => (None, 0),
            Mode::Exact(size, policy) => (
                Some(Dram::new(*size, policy).map_err(Error::usage)?),
                size.pages(),
            ),
        };
        let machine = Machine {
            flash: flash_pages,
            dram: dram_pages,
        };
        let admission = self.admission.policy(&machine).map_err(Error::usage)?;
        Ok(Some(Cache::new(
            store,
            self.flash.is_some(),
            dram,
            admission,
        )))
    }
}

impl Mount {
    /// Mounts.
    ///
    /// # Errors
    /// Returns those of [`Settings::check`] and of the flash, and a failure if the system does not
    /// mount.
    pub fn start(settings: &Settings) -> Result<Self> {
        Self::logged(settings, None)
    }

    /// Mounts, and logs each read and write of a file to `to` until the end of the mount.
    ///
    /// # Errors
    /// Returns those of [`Mount::start`].
    pub fn logged(settings: &Settings, to: Option<SyncSender<Logged>>) -> Result<Self> {
        settings.check()?;
        let cache = settings.cache()?.map(Arc::new);
        let from = settings.source.display();
        let is_exact = matches!(settings.mode, Mode::Exact(..));
        let open = || open_directory(&settings.source).or_fail(|| format!("cannot open {from}"));
        let beside = Beside {
            status: Arc::new(Status::new(cache.clone(), settings.endurance)),
            log: Arc::new(Log::new(to)),
            uncertain: Arc::default(),
            ruled: Ruled::new(cache.clone(), open()?),
        };
        let nodes = Nodes::new(open()?, descriptors());
        let nodes = nodes.or_fail(|| format!("cannot look at {from}"))?;
        let kept_for = settings.attributes;
        let passed = PassThrough::new(nodes, cache.clone(), beside.clone(), is_exact, kept_for);
        let mountpoint = directory(&settings.mountpoint)?;
        let cannot = || format!("cannot mount on {}", settings.mountpoint.display());
        let session = serve(passed, &mountpoint, &settings.source).or_fail(cannot)?;
        Arc::clone(&beside.uncertain).forget_until_end(session.notifier());
        Ok(Self {
            mountpoint,
            session: Some(session),
            cache,
            beside,
        })
    }

    /// Whether it was unmounted by someone else.
    pub fn has_ended(&self) -> bool {
        self.session
            .as_ref()
            .is_none_or(|session| session.guard.is_finished())
    }

    /// Returns the directory it is on, without links.
    pub fn mountpoint(&self) -> &Path {
        &self.mountpoint
    }

    /// Whether the flash level had rules of people that cannot be read any more.
    pub fn has_lost_rules(&self) -> bool {
        self.beside.ruled.has_lost_rules()
    }

    /// Returns what it has done so far.
    pub fn figures(&self) -> Figures {
        self.beside.status.figures()
    }

    /// Unmounts, and writes what the flash level has not written yet.
    ///
    /// # Errors
    /// Returns a failure if the system does not unmount.
    pub fn end(mut self) -> Result<(Figures, End)> {
        let end = self.unmount()?;
        Ok((self.figures(), end))
    }

    fn unmount(&mut self) -> Result<End> {
        let Some(session) = self.session.take() else {
            return Ok(End::Unmounted);
        };
        let mut end = End::Unmounted;
        if !session.guard.is_finished() {
            let cannot = || format!("cannot unmount {}", self.mountpoint.display());
            match unmount(&self.mountpoint, false) {
                Err(e) if e.raw_os_error() == Some(libc::EBUSY) => {
                    unmount(&self.mountpoint, true).or_fail(cannot)?;
                    end = End::InUse;
                }
                done => done.or_fail(cannot)?,
            }
        }
        match end {
            End::Unmounted => session
                .join()
                .or_fail(|| "the mount has failed".to_owned())?,
            // Its threads go on for as long as files are open, or this process runs.
            End::InUse => std::mem::forget(session),
        }
        self.beside.log.close();
        self.beside.uncertain.end();
        self.beside.ruled.end();
        if let Some(cache) = &self.cache {
            cache.flush();
        }
        Ok(end)
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        if let Err(error) = self.unmount() {
            eprintln!("terrace: {error}");
        }
    }
}

/// Mounts, and serves the kernel's requests by threads with an empty umask: the kernel has applied
/// the callers' masks. This process keeps its own for files of its own.
fn serve(passed: PassThrough, mountpoint: &Path, source: &Path) -> io::Result<BackgroundSession> {
    let begin = || {
        // SAFETY: this thread gets a mask of its own, and a working directory, which stays the
        // same.
        if unsafe { libc::unshare(libc::CLONE_FS) } != 0 {
            return Err(io::Error::last_os_error());
        }
        rustix::process::umask(FileMode::empty());
        // Its threads are begun by this one, and so have its mask.
        Session::new(passed, mountpoint, &config(source))?.spawn()
    };
    std::thread::scope(|scope| match scope.spawn(begin).join() {
        Ok(session) => session,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}

/// Reads the figures of a mount.
///
/// # Errors
/// Returns a usage error if terrace has mounted nothing there.
pub fn status(mountpoint: &Path) -> Result<Figures> {
    let none = || {
        Error::usage(format!(
            "terrace has mounted nothing on {}; `findmnt -t fuse.{SUBTYPE}` lists its mounts",
            mountpoint.display()
        ))
    };
    let mut value = vec![0; 1 << 16];
    let bytes = rustix::fs::getxattr(mountpoint, STATUS, &mut value).map_err(|_| none())?;
    serde_json::from_slice(&value[..bytes]).map_err(|_| none())
}

fn directory(path: &Path) -> Result<PathBuf> {
    let name = path.display();
    let found = path
        .canonicalize()
        .and_then(|path| path.metadata().map(|about| (path, about)));
    match found {
        Ok((path, about)) if about.is_dir() => Ok(path),
        Ok(_) => Err(Error::usage(format!("{name} is not a directory; name one"))),
        Err(e) if e.raw_os_error() == Some(libc::ENOTCONN) => Err(Error::usage(format!(
            "{name} is the mount of a process that was killed; unmount it first: terrace doctor --clean"
        ))),
        Err(e) => Err(Error::usage(format!(
            "cannot use the directory {name}: {e}"
        ))),
    }
}

fn open_directory(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, FileMode::empty())?)
}

/// Whether a file that may not be there yet lies in a directory.
fn lies_in(path: &Path, directory: &Path) -> bool {
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    let there = path.canonicalize();
    let there = there.or_else(|_| parent.unwrap_or(Path::new(".")).canonicalize());
    there.is_ok_and(|there| there.starts_with(directory))
}

fn config(source: &Path) -> Config {
    let mut config = Config::default();
    let is_root = geteuid().is_root();
    config.mount_options = vec![
        MountOption::FSName(source.display().to_string().replace(',', "_")),
        // The crate names a subtype to `fusermount3` alone; the kernel takes it as well.
        MountOption::CUSTOM(format!("subtype={SUBTYPE}")),
        MountOption::DefaultPermissions,
    ];
    if is_root {
        config
            .mount_options
            .extend([MountOption::Dev, MountOption::Suid]);
        config.acl = SessionACL::All;
    }
    config.n_threads = Some(threads());
    config.clone_fd = true;
    config
}

/// Returns the number of threads that serve requests: reads of a slow source wait, each in a
/// thread.
fn threads() -> usize {
    let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    (4 * cpus).max(16)
}

/// Descriptors of files that the kernel knows and no program has open, at most: more would only
/// keep memory of the source.
const MOST_DESCRIPTORS: usize = 1 << 14;

/// Allows as many descriptors as the system allows us, and returns how many of them are for files
/// that the kernel knows: half, because files that programs have open take others.
fn descriptors() -> usize {
    let found = getrlimit(Resource::Nofile);
    let most = std::fs::read_to_string("/proc/sys/fs/nr_open").unwrap_or_default();
    let most = most.trim().parse().ok();
    let set = |most| {
        let limit = Rlimit {
            current: most,
            maximum: most,
        };
        setrlimit(Resource::Nofile, limit).is_ok()
    };
    // Only root may go beyond the limit that is set for it.
    let is_more = found
        .maximum
        .zip(most)
        .is_some_and(|(found, most)| most > found);
    if !(is_more && set(most)) {
        set(found.maximum);
    }
    let allowed = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    (allowed / 2).min(MOST_DESCRIPTORS as u64) as usize
}
