//! Keys of results: what a result depends on, by which a resumed sweep finds it in the journal.

use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::Serialize;
use serde_json::Value;
use terrace_base::schema::{Field, Tree};
use terrace_base::{Context, Error, Result};
use terrace_trace::Reading;
use terrace_trace::kept::place;

use crate::pages::{PageMachine, Placement};
use crate::place::PlacementFile;

/// Version of the keys; increases with every change that makes results in older journals invalid.
const VERSION: u32 = 6;

/// Identity of a file at a moment: changed content shows in another size or modification time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stamp {
    /// Path without symbolic links.
    path: PathBuf,
    bytes: u64,
    /// Modification time in nanoseconds since 1970.
    modified_ns: u64,
}

impl Stamp {
    /// Returns the stamp of a trace.
    ///
    /// # Errors
    /// A failure where the file does not exist; a usage error where it is not a regular file, as a
    /// sweep reads its traces many times.
    pub fn of(path: &Path) -> Result<Self> {
        let cannot = || format!("cannot read the trace `{}`", path.display());
        let metadata = place(path).metadata().or_fail(cannot)?;
        if !metadata.is_file() {
            return Err(Error::usage(format!(
                "`{}` is not a regular file; a sweep reads its traces several times, and finds \
                 them again when it goes on: write what comes through a pipe to a file",
                path.display()
            )));
        }
        let path = path.canonicalize().or_fail(cannot)?;
        Ok(Self::new(path, &metadata))
    }

    /// Returns the stamp of the running program, as another build may simulate differently; `None`
    /// if the system does not tell its path.
    fn of_program() -> Option<Self> {
        let path = std::env::current_exe().ok()?;
        let metadata = path.metadata().ok()?;
        Some(Self::new(path, &metadata))
    }

    fn new(path: PathBuf, metadata: &Metadata) -> Self {
        let modified = metadata.modified().ok();
        let modified = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        Self {
            path,
            bytes: metadata.len(),
            modified_ns: modified.map_or(0, |since| since.as_nanos() as u64),
        }
    }
}

/// Returns the key of a workload: all that its simulation depends on, except the machine.
pub fn workload(trace: &Stamp, reading: &Reading, limit: Option<u64>) -> Value {
    #[derive(Serialize)]
    struct Key<'a> {
        version: u32,
        program: Option<Stamp>,
        trace: &'a Stamp,
        reading: String,
        limit: Option<u64>,
    }
    value(&Key {
        version: VERSION,
        program: Stamp::of_program(),
        trace,
        reading: format!("{reading:?}"),
        limit,
    })
}

/// Returns the key of a machine: all effective settings, which are the `fields`, and the content of
/// what they name: the memory, the costs of faults, and the placement file.
pub fn machine(fields: &[Field<PageMachine>], settings: &PageMachine) -> Value {
    #[derive(Serialize)]
    struct Key<'a> {
        settings: Tree,
        memory: String,
        fault: String,
        place: Option<&'a PlacementFile>,
    }
    value(&Key {
        settings: Tree::of(fields, settings),
        memory: format!("{:?}", settings.tier),
        fault: format!("{:?}", settings.fault),
        place: settings.place.as_deref().map(Placement::file),
    })
}

fn value(key: &impl Serialize) -> Value {
    serde_json::to_value(key).expect("plain data serializes")
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::{Arc, Mutex};
    use std::time::{Duration, SystemTime};

    use terrace_base::Nanos;
    use terrace_device::lifetime::Endurance;
    use terrace_device::{Energy, Order};
    use terrace_policy::{eviction, migration, prefetch, replacement, write};
    use terrace_trace::Format;

    use super::*;
    use crate::pages::options::effective;
    use crate::pages::{
        FaultCost, Fill, Inclusion, Initial, Mapped, Prefetch, Shootdown, ThreadOrder, Work,
        ZeroPages,
    };

    fn settings() -> PageMachine {
        PageMachine {
            dram_pages: 1,
            ..PageMachine::default()
        }
    }

    fn energy(write: f64) -> Option<Energy> {
        Some(Energy {
            read: 1.0,
            write,
            activate: 1.0,
            standby: 1.0,
            refresh: 1.0,
        })
    }

    /// A placement file for a program, which all have the same path.
    fn placement(program: &str, bytes: u64) -> Arc<Placement> {
        static FILE: Mutex<()> = Mutex::new(());
        let _alone = FILE.lock().unwrap();
        let path = std::env::temp_dir().join(format!("terrace-key-{}", std::process::id()));
        let text = format!("placement = 1\nprogram = \"{program}\"\nfast_bytes = {bytes}\n");
        std::fs::write(&path, text).unwrap();
        let placement = Placement::load(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        placement
    }

    /// A setting that is missing in the key would return the results of another machine.
    #[test]
    fn every_setting_is_in_the_key() {
        let changes: Vec<fn(&mut PageMachine)> = vec![
            |_| {},
            |s| s.dram_pages = 2,
            |s| s.prefetch_cache = 1,
            |s| s.tier.name = "flash".to_owned(),
            |s| s.tier.timing.read = Nanos(2),
            |s| s.tier.timing.write = Nanos(2),
            |s| s.tier.timing.channels = 2,
            |s| s.tier.timing.bandwidth = Some(1),
            |s| s.tier.timing.order = Order::RoundRobin,
            |s| s.tier.energy = energy(1.0),
            |s| s.tier.energy = energy(2.0),
            |s| s.tier.endurance = Some(1e7),
            |s| s.tier.pages = Some(1),
            |s| s.tier.devices = 2,
            |s| s.replacement = (&replacement::REGISTRY[1]).into(),
            |s| {
                s.prefetch =
                    Prefetch::Predictor(prefetch::Spec::parse("stream").expect("it is there"))
            },
            |s| s.prefetch = Prefetch::Readahead { cluster: 2 },
            |s| s.prefetch = Prefetch::Readahead { cluster: 3 },
            |s| s.work = Work::Synchronous,
            |s| s.mapped = Mapped::AtArrival,
            |s| s.zero_pages = ZeroPages::Dropped,
            |s| s.inclusion = Inclusion::Exclusive,
            |s| s.eviction_buffer = 1,
            |s| s.fault = FaultCost::fixed(700),
            |s| s.fault.shootdown = Shootdown::Interrupt,
            |s| s.fault.kernel = Nanos(1),
            |s| s.threads = Some(1),
            |s| s.instruction_ps = 1,
            |s| s.access = Nanos(1),
            |s| s.warmup = 1,
            |s| s.seed = 1,
            |s| s.tier.rated = Endurance::parse("1TBW").ok(),
            |s| s.tier.line_ps = Some(1),
            |s| s.fault.write_again = Nanos(1),
            |s| s.eviction = eviction::Spec::parse("hold").expect("it is there"),
            |s| s.staging = 1,
            |s| s.thread_order = ThreadOrder::Together,
            |s| s.initial = Initial::Zero,
            |s| s.migration = migration::Spec::parse("never").expect("it is there"),
            |s| s.fast_line_ps = 1,
            |s| s.fill = Fill::Sectors,
            |s| s.sample = Nanos(1),
            |s| s.place = Some(placement("a", 1)),
            |s| s.place = Some(placement("a", 2)),
            |s| s.place = Some(placement("b", 1)),
            |s| s.writing.schemes = vec![(&write::REGISTRY[0]).into()],
            |s| s.writing.schemes = vec![(&write::REGISTRY[1]).into()],
        ];
        // A new setting stops this from compiling: it belongs into the list above.
        let PageMachine {
            dram_pages: _,
            prefetch_cache: _,
            tier: _,
            replacement: _,
            eviction: _,
            prefetch: _,
            work: _,
            mapped: _,
            inclusion: _,
            eviction_buffer: _,
            staging: _,
            fault: _,
            threads: _,
            instruction_ps: _,
            access: _,
            warmup: _,
            thread_order: _,
            initial: _,
            zero_pages: _,
            seed: _,
            writing: _,
            migration: _,
            place: _,
            fast_line_ps: _,
            fill: _,
            sample: _,
        } = settings();
        let fields = effective();
        let keys = changes.iter().map(|change| {
            let mut settings = settings();
            change(&mut settings);
            machine(&fields, &settings).to_string()
        });
        assert_eq!(keys.collect::<HashSet<_>>().len(), changes.len());
        assert_eq!(machine(&fields, &settings()), machine(&fields, &settings()));
    }

    #[test]
    fn another_trace_and_another_part_of_it_are_other_workloads() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.csv");
        let stamp = |text: &str, seconds: u64| {
            std::fs::write(&path, text).unwrap();
            let file = std::fs::File::options().append(true).open(&path).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds))
                .unwrap();
            Stamp::of(&path).unwrap()
        };
        let (a, longer, later) = (stamp("a", 1), stamp("aa", 1), stamp("a", 2));
        let keys = [
            workload(&a, &Reading::default(), None),
            workload(&longer, &Reading::default(), None),
            workload(&later, &Reading::default(), None),
            workload(&a, &Some(Format::parse("csv").unwrap()).into(), None),
            workload(&a, &Reading::default(), Some(1)),
        ];
        let keys: HashSet<_> = keys.iter().map(Value::to_string).collect();
        assert_eq!(keys.len(), 5);
        assert!(keys.contains(&workload(&stamp("a", 1), &Reading::default(), None).to_string()));
    }

    #[test]
    fn what_is_no_regular_file_is_refused() {
        let error = Stamp::of(Path::new("/dev/null")).unwrap_err();
        assert_eq!(error.kind, terrace_base::error::Kind::Usage);
        assert!(Stamp::of(Path::new("/no/such/trace")).is_err());
    }
}
