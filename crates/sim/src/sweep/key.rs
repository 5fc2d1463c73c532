//! What a result depends on: by this it is found again when a sweep goes on.

use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::Serialize;
use serde_json::Value;
use terrace_base::{Context, Error, Result};
use terrace_trace::Format;

use crate::pages::Effective;
use crate::pages::Settings;

/// Grows with every change after which results in a journal are not to be taken.
const VERSION: u32 = 3;

/// A file as it was when it was looked at: another content has another size or another time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stamp {
    /// Without symbolic links.
    path: PathBuf,
    bytes: u64,
    /// Nanoseconds since 1970 of the last change.
    modified_ns: u64,
}

impl Stamp {
    /// Of a trace.
    ///
    /// # Errors
    /// A failure where there is no such file; a usage error where it is not a regular one, for a
    /// sweep reads its traces many times.
    pub fn of(path: &Path) -> Result<Self> {
        let cannot = || format!("cannot read the trace `{}`", path.display());
        let metadata = path.metadata().or_fail(cannot)?;
        if !metadata.is_file() {
            return Err(Error::usage(format!(
                "`{}` is not a regular file; a sweep reads its traces several times",
                path.display()
            )));
        }
        let path = path.canonicalize().or_fail(cannot)?;
        Ok(Self::new(path, &metadata))
    }

    /// Of the program that runs: another build may simulate otherwise. None where the system
    /// does not say.
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

    /// The file, without symbolic links.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// What is simulated, whatever the machine.
pub fn workload(trace: &Stamp, format: Option<Format>, limit: Option<u64>) -> Value {
    #[derive(Serialize)]
    struct Key<'a> {
        version: u32,
        program: Option<Stamp>,
        trace: &'a Stamp,
        format: Option<String>,
        limit: Option<u64>,
    }
    value(&Key {
        version: VERSION,
        program: Stamp::of_program(),
        trace,
        format: format.map(|format| format.to_string()),
        limit,
    })
}

/// On what: all effective settings, and of the memory what its name does not fix.
pub fn machine(settings: &Settings) -> Value {
    #[derive(Serialize)]
    struct Key {
        settings: Effective,
        endurance: Option<f64>,
        /// Read, write, activate, standby, refresh.
        energy: Option<[f64; 5]>,
    }
    value(&Key {
        settings: Effective::of(settings),
        endurance: settings.tier.endurance,
        energy: settings
            .tier
            .energy
            .map(|e| [e.read, e.write, e.activate, e.standby, e.refresh]),
    })
}

fn value(key: &impl Serialize) -> Value {
    serde_json::to_value(key).expect("plain data serializes")
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::time::{Duration, SystemTime};

    use terrace_base::Nanos;
    use terrace_device::{Energy, Order, Timing};
    use terrace_policy::{prefetch, replacement};

    use super::*;
    use crate::pages::{FaultCost, Inclusion, Prefetch, Shootdown, Tier, Work};

    fn settings() -> Settings {
        Settings {
            dram_pages: 1,
            prefetch_cache: 0,
            tier: Tier {
                name: "pcm".to_owned(),
                timing: Timing {
                    read: Nanos(1),
                    write: Nanos(1),
                    channels: 1,
                    bandwidth: None,
                    order: Order::Plain,
                },
                devices: 1,
                energy: None,
                endurance: None,
                pages: None,
            },
            replacement: &replacement::REGISTRY[0],
            prefetch: Prefetch::Off,
            work: Work::Asynchronous,
            inclusion: Inclusion::Inclusive,
            eviction_buffer: 0,
            fault: FaultCost::none(),
            threads: None,
            instruction_ps: 0,
            access: Nanos(0),
            warmup: 0,
            seed: 0,
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

    /// A setting that is not in the key would give the results of another machine.
    #[test]
    fn every_setting_is_in_the_key() {
        let changes: Vec<fn(&mut Settings)> = vec![
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
            |s| s.replacement = &replacement::REGISTRY[1],
            |s| {
                s.prefetch =
                    Prefetch::Predictor(prefetch::Spec::parse("stream").expect("it is there"))
            },
            |s| s.prefetch = Prefetch::Readahead { cluster: 2 },
            |s| s.prefetch = Prefetch::Readahead { cluster: 3 },
            |s| s.work = Work::Synchronous,
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
        ];
        let keys = changes.iter().map(|change| {
            let mut settings = settings();
            change(&mut settings);
            machine(&settings).to_string()
        });
        assert_eq!(keys.collect::<HashSet<_>>().len(), changes.len());
        assert_eq!(machine(&settings()), machine(&settings()));
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
            workload(&a, None, None),
            workload(&longer, None, None),
            workload(&later, None, None),
            workload(&a, Some(Format::Csv), None),
            workload(&a, None, Some(1)),
        ];
        let keys: HashSet<_> = keys.iter().map(Value::to_string).collect();
        assert_eq!(keys.len(), 5);
        assert!(keys.contains(&workload(&stamp("a", 1), None, None).to_string()));
    }

    #[test]
    fn what_is_no_regular_file_is_refused() {
        let error = Stamp::of(Path::new("/dev/null")).unwrap_err();
        assert_eq!(error.kind, terrace_base::error::Kind::Usage);
        assert!(Stamp::of(Path::new("/no/such/trace")).is_err());
    }
}
