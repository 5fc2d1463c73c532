//! The stream of major faults of a cgroup or of some processes, read without a wake-up for each
//! fault.
//!
//! There is one perf ring a CPU, so that all processes are seen, forks included. Each sample names
//! its cgroup, and samples of other groups are dropped here: a filter in the kernel would schedule
//! the events at every switch to the program and away from it, two of which come with a fault and
//! then take 3 us more (9.2 us for both switches with the filter, 6.2 unwatched, 6.4 watched this
//! way). The event is the *major* fault: first-touch faults, and touches of pages that were fetched
//! ahead, then cost the program nothing more than without us (a sample costs it about 0.6 us, a
//! first touch in all 1.5 us). What a major-fault stream cannot show, the first use of fetched
//! pages, is read from the page table instead ([`crate::watch::pagemap`]).

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use perf_event::data::{Record, Sample};
use perf_event::events::Software;
use perf_event::{Builder, Clock, SampleFlag, Sampler};
use rustc_hash::FxHashMap;
use terrace_policy::{Fault, Space, Thread};

use crate::group::members::Members;
use crate::system::clock;
use crate::system::cpus::Cpus;
use crate::system::perf;
use crate::watch::fault_sample::FaultSample;
use terrace_base::{Error, Result, lock};

/// Bytes of one CPU's ring: room for 6500 samples, a tenth of a second of the densest faults.
const RING_BYTES: usize = 256 * 1024;
/// Bytes of one CPU's ring of minor faults, of which a scan of NUMA balancing makes 65,536 at once.
const MINOR_RING_BYTES: usize = 4 << 20;

/// Bytes of one CPU's ring of faults of all kinds, which first touches make the most of: 26,000
/// samples, a twentieth of a second of the densest.
const ALL_RING_BYTES: usize = 1 << 20;

/// The least that an event takes in a ring: a record's head, and the time. So no ring has more
/// events than its bytes divided by this.
const LEAST_EVENT: usize = 16;

/// The major faults of a cgroup and the groups below it, or of processes.
pub struct FaultStream {
    rings: Vec<Ring>,
    watched: Watched,
    lost: u64,
    /// Losses that the last call of [`FaultStream::drain`] found.
    losses: Vec<Loss>,
    /// Buffer of the faults to deliver, each with its time by [`clock::now`]; kept for reuse.
    fresh: Vec<(u64, Fault)>,
    sample: Arc<Mutex<FaultSample>>,
}

/// The ring of one CPU.
struct Ring {
    sampler: Sampler,
    /// Time of its last event so far, in nanoseconds.
    last: u64,
    /// Its events so far, those that were lost included.
    known: u64,
    /// Events that fit into it at most.
    most: usize,
}

/// Events that found a ring full. The ring is of all programs on its CPU, so some may be of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Loss {
    /// Time of the last event before them, by [`clock::now`].
    pub from: Duration,
    /// Time of the first event behind them.
    pub to: Duration,
    /// Their number.
    pub events: u64,
}

/// Programs whose faults are watched.
#[derive(Clone, Debug)]
pub(crate) enum Whose {
    /// Those of the cgroup at this directory.
    Group(PathBuf),
    /// Those of processes.
    Members(Members),
    /// Those of all programs.
    All,
}

impl From<&Whose> for Watched {
    fn from(whose: &Whose) -> Self {
        match whose {
            Whose::Group(directory) => Self::Group(Group::at(directory)),
            Whose::Members(members) => Self::Members(members.clone()),
            Whose::All => Self::All,
        }
    }
}

/// Whose faults are delivered.
enum Watched {
    Group(Group),
    Members(Members),
    All,
}

impl FaultStream {
    /// Opens the stream of the cgroup at `directory` (of the hierarchy that has `perf_event`).
    ///
    /// # Errors
    /// A failure if the kernel has no such events or the privilege is missing.
    pub fn open(directory: &Path) -> Result<Self> {
        Self::of(Watched::Group(Group::at(directory)))
    }

    /// Opens the stream of processes, whatever groups they are in.
    ///
    /// # Errors
    /// See [`FaultStream::open`].
    pub(crate) fn of_members(members: Members) -> Result<Self> {
        Self::of(Watched::Members(members))
    }

    /// Opens the stream of the minor faults of a cgroup instead: first touches, and the hint faults
    /// of NUMA balancing.
    ///
    /// # Errors
    /// See [`FaultStream::open`].
    pub(crate) fn open_minor(directory: &Path) -> Result<Self> {
        let watched = Watched::Group(Group::at(directory));
        Self::with(watched, Software::PAGE_FAULTS_MIN, MINOR_RING_BYTES)
    }

    /// Opens the streams of the beginnings of faults of all kinds, and of the ends of major and of
    /// minor ones.
    ///
    /// # Errors
    /// See [`FaultStream::open`].
    pub(crate) fn open_all(watched: &Whose) -> Result<[Self; 3]> {
        let stream = |event| Self::with(watched.into(), event, ALL_RING_BYTES);
        Ok([
            stream(Software::PAGE_FAULTS)?,
            stream(Software::PAGE_FAULTS_MAJ)?,
            stream(Software::PAGE_FAULTS_MIN)?,
        ])
    }

    fn of(watched: Watched) -> Result<Self> {
        Self::with(watched, Software::PAGE_FAULTS_MAJ, RING_BYTES)
    }

    fn with(watched: Watched, event: Software, ring_bytes: usize) -> Result<Self> {
        let rings = Cpus::online()?
            .iter()
            .map(|cpu| Ring::open(cpu, event, ring_bytes))
            .collect::<io::Result<_>>()
            .map_err(|e| {
                Error::failure(format!(
                    "cannot watch page faults through perf events: {e}; {} (terrace run --prefetch off needs none)",
                    perf::remedy(&e)
                ))
            })?;
        Ok(Self {
            rings,
            watched,
            lost: 0,
            losses: Vec::new(),
            fresh: Vec::new(),
            sample: Arc::new(Mutex::new(FaultSample::new(clock::now().as_nanos() as u64))),
        })
    }

    /// Returns the sample of the delivered faults, which grows as they are delivered.
    pub fn sample(&self) -> Arc<Mutex<FaultSample>> {
        Arc::clone(&self.sample)
    }

    /// Delivers the faults since the last call, each with the time of its end by [`clock::now`], in
    /// the order of time, because a thread moves between CPUs. Returns their number.
    pub fn drain(&mut self, mut deliver: impl FnMut(Duration, Fault)) -> usize {
        self.fresh.clear();
        self.losses.clear();
        for ring in &mut self.rings {
            let Ring {
                sampler,
                last,
                known,
                most,
            } = ring;
            // The kernel tells of losses right before the next event that finds room.
            let mut lost = 0;
            // No more than a ring holds: where events come faster than they are read, this would
            // never return.
            for _ in 0..*most {
                let Some(record) = sampler.next_record() else {
                    break;
                };
                match record.parse_record() {
                    Ok(Record::Sample(sample)) => {
                        *known += 1;
                        let time = sample.time().unwrap_or(*last);
                        let from = std::mem::replace(last, time);
                        if lost > 0 {
                            self.losses.push(Loss {
                                from: Duration::from_nanos(from),
                                to: Duration::from_nanos(time),
                                events: std::mem::take(&mut lost),
                            });
                        }
                        if self.watched.may_have(&sample)
                            && let Some(fault) = fault_of(&sample)
                        {
                            self.fresh.push((time, fault));
                        }
                    }
                    Ok(Record::Lost(found)) => {
                        self.lost += found.lost;
                        lost += found.lost;
                        *known += found.lost;
                    }
                    _ => {}
                }
            }
        }
        if let Watched::Members(members) = &self.watched {
            members.retain(|(_, fault)| fault.at.space.0, &mut self.fresh);
        }
        self.fresh.sort_by_key(|(time, _)| *time);
        if !self.fresh.is_empty() {
            let mut sample = lock(&self.sample);
            for (time, fault) in &self.fresh {
                sample.add(*time, fault.at);
            }
        }
        for (time, fault) in &self.fresh {
            deliver(Duration::from_nanos(*time), *fault);
        }
        self.fresh.len()
    }

    /// Stops the events, and delivers the faults that are left as [`FaultStream::drain`] does.
    ///
    /// The kernel tells of losses with the event that follows them. Those that no event followed
    /// are found by its count of all events.
    pub(crate) fn end(&mut self, deliver: impl FnMut(Duration, Fault)) {
        self.watch(false);
        self.drain(deliver);
        let now = clock::now();
        for ring in &mut self.rings {
            // An event that cannot be read has no count: what is known of it stays.
            let events = ring.sampler.read().unwrap_or(ring.known);
            let untold = events.saturating_sub(ring.known);
            if untold > 0 {
                self.lost += untold;
                self.losses.push(Loss {
                    from: Duration::from_nanos(ring.last),
                    to: now,
                    events: untold,
                });
            }
        }
    }

    /// Switches the events on or off. Switched off, faults cost the program nothing more.
    pub fn watch(&mut self, on: bool) {
        lock(&self.sample).watch(on, clock::now().as_nanos() as u64);
        for Ring { sampler, .. } in &mut self.rings {
            // An event that cannot be switched stays as it is.
            let _ = if on {
                sampler.enable()
            } else {
                sampler.disable()
            };
        }
    }

    /// Returns the number of faults that found a ring full.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Returns when faults found a ring full, as far as the last call of [`FaultStream::drain`]
    /// told it.
    pub(crate) fn losses(&self) -> &[Loss] {
        &self.losses
    }
}

impl Watched {
    /// Whether a sample may be one of theirs; of members that is told for many at once.
    fn may_have(&mut self, sample: &Sample) -> bool {
        match self {
            Self::Group(group) => sample.cgroup().is_some_and(|id| group.has(id)),
            Self::Members(_) | Self::All => true,
        }
    }
}

/// A cgroup and the groups below it, by the kernel's numbers, which are their inodes.
struct Group {
    directory: PathBuf,
    /// Whether the group of a number belongs to them, as far as known.
    known: FxHashMap<u64, bool>,
}

impl Group {
    fn at(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
            known: FxHashMap::default(),
        }
    }

    /// Whether the group numbered `id` belongs to them. Numbers are never reused.
    fn has(&mut self, id: u64) -> bool {
        if let Some(&known) = self.known.get(&id) {
            return known;
        }
        let is_ours = is_below(&self.directory, id);
        self.known.insert(id, is_ours);
        is_ours
    }
}

/// Whether `directory` or one below it has this inode; `false` if it cannot be read.
fn is_below(directory: &Path, inode: u64) -> bool {
    let is_it = fs::metadata(directory).is_ok_and(|it| it.ino() == inode);
    let below = || fs::read_dir(directory).into_iter().flatten().flatten();
    is_it
        || below()
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
            .any(|entry| is_below(&entry.path(), inode))
}

impl Ring {
    fn open(cpu: usize, event: Software, bytes: usize) -> io::Result<Self> {
        let last = clock::now().as_nanos() as u64;
        ring(cpu, event, bytes).map(|sampler| Self {
            sampler,
            last,
            known: 0,
            most: bytes / LEAST_EVENT,
        })
    }
}

fn ring(cpu: usize, event: Software, bytes: usize) -> io::Result<Sampler> {
    Builder::new(event)
        .sample_period(1)
        .clockid(Clock::new(clock::KERNEL_ID))
        .sample(SampleFlag::TID | SampleFlag::TIME | SampleFlag::ADDR | SampleFlag::CGROUP)
        .clockid(Clock::new(clock::KERNEL_ID))
        .include_kernel()
        .any_pid()
        .one_cpu(cpu)
        .wakeup_watermark(bytes / 2)
        .build()?
        .sampled(bytes)
        .map(|mut sampler| sampler.enable().map(|()| sampler))?
}

fn fault_of(sample: &Sample) -> Option<Fault> {
    let address = sample.addr()?;
    let (thread, space) = (Thread(sample.tid()?), Space(sample.pid()?));
    Some(Fault::new(thread, space, address))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    #[ignore = "needs root for perf on all CPUs; run by make test-root"]
    fn losses_that_no_event_follows_are_counted() {
        const PAGE: usize = 4096;
        let watched = Watched::Group(Group::at(Path::new("/proc/none")));
        let mut stream = FaultStream::with(watched, Software::PAGE_FAULTS_MIN, PAGE).unwrap();
        let began = clock::now();
        let of_children = || {
            // SAFETY: zeros are a valid rusage, which getrusage fills.
            let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
            // SAFETY: the pointer is to a rusage that lives.
            unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage) };
            usage.ru_minflt as u64
        };
        let before = of_children();
        // Nothing is read meanwhile, so that the rings are full from the first process on.
        for _ in 0..50 {
            assert!(Command::new("true").status().unwrap().success());
        }
        let faults = of_children() - before;
        stream.end(|_, _| {});
        let known: u64 = stream.rings.iter().map(|ring| ring.known).sum();
        // No sample is smaller than its header.
        let room = (stream.rings.len() * PAGE / 8) as u64;
        assert!(known <= room, "{known}: no loss was told");
        // Those that the kernel has on behalf of a program are without an event.
        assert!(stream.lost() + known >= faults / 2, "{faults}");
        let losses: u64 = stream.losses().iter().map(|loss| loss.events).sum();
        assert_eq!(losses, stream.lost());
        assert!(stream.losses().iter().all(|loss| loss.to > began));
        assert!(losses > 0);
    }

    #[test]
    fn groups_below_are_found_by_their_inodes() {
        let top = tempfile::tempdir().unwrap();
        let below = top.path().join("a/b");
        fs::create_dir_all(&below).unwrap();
        let inode = |path: &Path| fs::metadata(path).unwrap().ino();
        let mut group = Group::at(&top.path().join("a"));
        assert!(group.has(inode(&below)));
        assert!(group.has(inode(&top.path().join("a"))));
        assert!(!group.has(inode(top.path())));
        // Numbers are remembered: asked of again, nothing is read.
        fs::remove_dir(&below).unwrap();
        assert_eq!(group.known.len(), 3);
        assert!(!Group::at(&below).has(1));
    }
}
