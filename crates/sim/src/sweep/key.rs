//! Keys of results: what a result depends on, by which a resumed sweep finds it in the journal.

use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::Serialize;
use serde_json::Value;
use terrace_base::{Context, Error, Result};
use terrace_trace::Reading;
use terrace_trace::spooled::place;
use terrace_trace::store::Stored;

use crate::pages::PageMachine;

/// Version of the keys; increases with every change that makes results in older journals invalid.
const VERSION: u32 = 8;

/// Identity of a file at a moment: changed content shows in another size or modification time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stamp {
    /// Path without symbolic links, or a URI.
    path: PathBuf,
    bytes: u64,
    /// Modification time in nanoseconds since 1970.
    modified_ns: u64,
    /// The version, of an object in a store, which has no modification time here.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
}

impl Stamp {
    /// Returns the stamp of a trace, a file or an object in a store.
    ///
    /// # Errors
    /// A failure where it does not exist; a usage error where it is not a regular file, as a
    /// sweep reads its traces many times.
    pub fn of(path: &Path) -> Result<Self> {
        if let Some((bytes, version)) = Stored::identity(path)? {
            return Ok(Self {
                path: path.to_owned(),
                bytes,
                modified_ns: 0,
                version: Some(version),
            });
        }
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
            version: None,
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

/// Returns the key of a machine: all of its settings, and the content of what they name, such as
/// the memory, the costs of faults, and the placement file. Whatever a machine holds is in it.
pub fn machine(settings: &PageMachine) -> Value {
    Value::String(format!("{settings:?}"))
}

fn value(key: &impl Serialize) -> Value {
    serde_json::to_value(key).expect("plain data serializes")
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::path::PathBuf;
    use std::time::{Duration, SystemTime};

    use terrace_device::{Catalogue, Energy};
    use terrace_trace::Format;

    use super::*;
    use crate::pages::Grid;
    use crate::pages::options::settings;
    use crate::setting::Values;

    /// Texts; every setting without names takes some of them.
    const TEXTS: &str = "0 1 2 3 64M 128M pcm flash lru fifo kernel hold off stream linux 700 1us 2us \
         1TBW 2TBW 1GB/s 2GB/s pcm:9p flash:9p plain elevator fault never page inclusive none start-gap";

    /// Other settings, beside which each setting has an effect.
    const BESIDE: [&[(&str, &str)]; 5] = [
        &[],
        &[("prefetch", "readahead")],
        &[("write", "page")],
        &[("migration", "never"), ("slow-line", "1ns")],
        &[
            ("migration", "never"),
            ("slow-line", "1ns"),
            ("fast-bandwidth", "1GB/s"),
        ],
    ];

    /// Returns the machine of these settings.
    fn made(values: &[(&str, &str)]) -> Result<PageMachine> {
        let machines = Grid::parse(values)?.machines(&Catalogue::builtin())?;
        machines[0].machine(1000)
    }

    /// Writes a placement file for a program.
    fn placement(path: &Path, program: &str, bytes: u64) {
        let text = format!("placement = 1\nprogram = \"{program}\"\nfast_bytes = {bytes}\n");
        std::fs::write(path, text).unwrap();
    }

    /// A setting that is missing in the key would return the results of another machine.
    #[test]
    fn every_setting_is_in_the_key() {
        let directory = tempfile::tempdir().unwrap();
        let files = ["a", "b"].map(|program| {
            let path = directory.path().join(program);
            placement(&path, program, 1);
            path.to_str().unwrap().to_owned()
        });
        for setting in settings() {
            let names = match &setting.values {
                Values::Names(names) => names.iter().map(|known| known.name).collect(),
                _ => TEXTS.split(' ').collect::<Vec<_>>(),
            };
            let files = files.iter().map(|path| &**path);
            let texts: Vec<&str> = names.into_iter().chain(files).collect();
            let keys = BESIDE.map(|others| {
                let others = others.iter().filter(|(name, _)| *name != setting.name);
                let others: Vec<_> = others.copied().chain([("dram", "500p")]).collect();
                let keys = texts.iter().filter_map(|text| {
                    let all = [&[(setting.name, *text)], &others[..]].concat();
                    made(&all).ok().map(|made| machine(&made).to_string())
                });
                keys.collect::<HashSet<_>>().len()
            });
            let name = setting.name;
            assert!(
                keys.iter().any(|keys| *keys > 1),
                "--{name} is not in the key, or takes no text"
            );
        }
    }

    /// What is in a file counts, and not only its name.
    #[test]
    fn the_content_of_files_is_in_the_key() {
        let directory = tempfile::tempdir().unwrap();
        let path: PathBuf = directory.path().join("placement");
        let file = path.to_str().unwrap();
        let mut keys = HashSet::new();
        for (program, bytes) in [("a", 1), ("a", 2), ("b", 1)] {
            placement(&path, program, bytes);
            let values = [
                ("dram", "500p"),
                ("migration", "never"),
                ("slow-line", "1ns"),
            ];
            let values = [&values[..], &[("place", file)]].concat();
            assert!(keys.insert(machine(&made(&values).unwrap()).to_string()));
        }
        let energy = |write| Energy {
            read: 1.0,
            write,
            activate: 1.0,
            standby: 1.0,
            refresh: 1.0,
        };
        let changes: [fn(&mut PageMachine); 4] = [
            |_| {},
            |machine| machine.tier.endurance = Some(1.0),
            |machine| machine.tier.timing.bandwidth = Some(1),
            |machine| machine.fault.write_again.0 += 1,
        ];
        let with_energy = [1.0, 2.0].map(|write| {
            let mut made = made(&[("dram", "500p")]).unwrap();
            made.tier.energy = Some(energy(write));
            made
        });
        let changed = changes.map(|change| {
            let mut made = made(&[("dram", "500p")]).unwrap();
            change(&mut made);
            made
        });
        for made in changed.iter().chain(&with_energy) {
            assert!(keys.insert(machine(made).to_string()), "{made:?}");
        }
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
