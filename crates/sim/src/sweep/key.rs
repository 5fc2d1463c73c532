//! Keys of results: digests of all that a result depends on. They are the same on every host, and
//! say nothing of paths, times and the program's file.

use terrace_trace::{Digest, Reading};

use super::version::version;
use crate::pages::{Choice, PageMachine};

/// Returns the key of a workload: all that its simulation depends on, except the machine. `format`
/// is the trace's own, which its name may have told.
pub fn workload(trace: &Digest, format: &str, reading: &Reading, limit: Option<u64>) -> Digest {
    let Reading {
        format: _,
        objects,
        layout,
        tallies: _,
    } = reading;
    let version = version();
    let key = format!("{version} {trace} {format:?} {objects:?} {layout:?} {limit:?}");
    Digest::of(key.as_bytes())
}

/// Returns the key of a machine: all of its settings, and the content of what they name, such as
/// the memory, the costs of faults, the placement file, and the version of a policy of another
/// crate. Whatever a machine holds is in it.
pub fn machine(settings: &PageMachine) -> Digest {
    Digest::of(format!("{settings:?}").as_bytes())
}

/// Returns the key of a machine whose programs nobody has looked at yet.
pub fn choice(choice: &Choice) -> Digest {
    const FOOTPRINT: u64 = 1 << 20;
    let machine = choice
        .machine(FOOTPRINT)
        .map(|machine| self::machine(&machine));
    Digest::of(format!("{} {:?}", choice.dram(), machine.ok()).as_bytes())
}

/// Returns the key of a pass: a workload on some machines.
pub fn pass(workload: Digest, machines: impl Iterator<Item = Digest>) -> Digest {
    let keys: Vec<_> = std::iter::once(workload).chain(machines).collect();
    Digest::of_all(&keys)
}

#[cfg(test)]
pub(super) mod tests {
    use std::collections::HashSet;
    use std::path::{Path, PathBuf};

    use terrace_base::Result;
    use terrace_device::{Catalogue, Energy};
    use terrace_trace::Layout;
    use terrace_trace::objects::Extent;

    use super::*;
    use crate::pages::Grid;
    use crate::pages::options::settings;
    use crate::setting::Values;

    /// Texts; every setting without names takes some of them.
    pub const TEXTS: &str = "0 1 2 3 64M 128M pcm flash lru fifo kernel hold off stream linux 700 1us 2us \
         1TBW 2TBW 1GB/s 2GB/s pcm:9p flash:9p plain elevator fault never page inclusive none start-gap senpai";

    /// Other settings, beside which each setting has an effect.
    pub const BESIDE: [&[(&str, &str)]; 5] = [
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
    pub fn made(values: &[(&str, &str)]) -> Result<PageMachine> {
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
                    made(&all).ok().map(|made| machine(&made))
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
            assert!(keys.insert(machine(&made(&values).unwrap())));
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
            assert!(keys.insert(machine(made)), "{made:?}");
        }
    }

    /// Nor does the placement file's own place.
    #[test]
    fn where_a_file_lies_is_not_in_the_key() {
        let directory = tempfile::tempdir().unwrap();
        let keys = ["a", "b"].map(|name| {
            let path = directory.path().join(name);
            placement(&path, "p", 1);
            let values = [
                ("dram", "500p"),
                ("migration", "never"),
                ("slow-line", "1ns"),
                ("place", path.to_str().unwrap()),
            ];
            machine(&made(&values).unwrap())
        });
        assert_eq!(keys[0], keys[1]);
    }

    /// The version of a policy of another crate is all that tells its decisions from earlier ones.
    #[test]
    fn the_version_of_a_policy_is_in_the_key() {
        let mut entry = terrace_policy::replacement::lru::ENTRY;
        entry.name = "with-a-version";
        terrace_policy::registry::register(entry, "of 1999").unwrap();
        let made = made(&[("dram", "500p"), ("replacement", "with-a-version")]).unwrap();
        let keys = ["of 1999", "of 2000"].map(|version| {
            let text = format!("{made:?}").replace("of 1999", version);
            Digest::of(text.as_bytes())
        });
        assert_eq!(keys[0], machine(&made));
        assert_ne!(keys[1], machine(&made));
    }

    #[test]
    fn another_trace_and_another_part_of_it_are_other_workloads() {
        let (a, b) = (Digest::of(b"a"), Digest::of(b"b"));
        let plain = Reading::default();
        let objects = Reading {
            objects: Some(Extent::Sized),
            ..Reading::default()
        };
        let layout = Reading {
            layout: Some(Layout::parse("libcachesim").unwrap()),
            ..Reading::default()
        };
        let keys = [
            workload(&a, "csv", &plain, None),
            workload(&b, "csv", &plain, None),
            workload(&a, "lackey", &plain, None),
            workload(&a, "csv", &objects, None),
            workload(&a, "csv", &layout, None),
            workload(&a, "csv", &plain, Some(1)),
        ];
        assert_eq!(keys.iter().collect::<HashSet<_>>().len(), keys.len());
    }

    #[test]
    fn a_pass_is_named_by_all_of_it() {
        let [a, b, c] = ["a", "b", "c"].map(|text| Digest::of(text.as_bytes()));
        let of = |workload, machines: &[Digest]| pass(workload, machines.iter().copied());
        let keys = [
            of(a, &[]),
            of(a, &[b]),
            of(a, &[c]),
            of(a, &[b, c]),
            of(a, &[c, b]),
            of(b, &[a]),
        ];
        assert_eq!(keys.iter().collect::<HashSet<_>>().len(), keys.len());
    }

    /// A hash that is drawn anew in each process, or an address, would show here. Where a machine
    /// gets another setting its key is another one: write it here.
    #[test]
    fn keys_are_the_same_on_every_host() {
        let keys = [
            workload(&Digest::of(b"a"), "csv", &Reading::default(), None),
            machine(&made(&[("dram", "500p")]).unwrap()),
        ];
        let begin = keys.map(|key| key.to_string()[..16].to_owned());
        assert_eq!(begin, ["1ef0613ad8eaa726", "2c29028c498b9433"]);
    }
}
