//! Version of the simulator, which is a part of every key of a result.

/// Increases with every change of results, or of what an outcome holds: what older builds found is
/// then found anew. The test below fails where it did not increase.
pub const VERSION: u32 = 11;

/// Returns the version of the simulator and that of the package.
pub fn version() -> String {
    format!("{VERSION} {}", env!("CARGO_PKG_VERSION"))
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, HashSet};
    use std::fmt::Write;
    use std::fs;
    use std::path::Path;

    use terrace_base::Result;
    use terrace_policy::{control, eviction, migration, prefetch, replacement, write};
    use terrace_trace::changes::{Change, Word};
    use terrace_trace::{Access, Block, Digest, Meta, Source};

    use super::*;
    use crate::pages::options::settings;
    use crate::pages::{self, Survey};
    use crate::setting::Values;
    use crate::sweep::key;
    use crate::sweep::key::tests::{BESIDE, TEXTS, made};
    use crate::workload::Workload;

    /// Accesses of the trace.
    const ACCESSES: u64 = 2000;
    /// Its pages; machines have 500 pages of DRAM.
    const PAGES: u64 = 700;

    /// A trace that is computed: scans, and pages that are touched again, some of them written, and
    /// what they hold.
    struct Computed {
        meta: Meta,
        next: u64,
    }

    impl Source for Computed {
        fn meta(&self) -> &Meta {
            &self.meta
        }

        fn read(&mut self, block: &mut Block) -> Result<()> {
            block.clear();
            let end = ACCESSES.min(self.next + 1000);
            for access in self.next..end {
                let drawn = access.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
                let page = match access % 5 {
                    0 | 1 => access / 3 % PAGES,
                    2 => drawn % 40,
                    _ => drawn % PAGES * (drawn % 7) / 7,
                };
                let write = drawn.is_multiple_of(3);
                block.push(Access {
                    instruction: 9 * access,
                    address: (page << 12) | (drawn % 512 * 8),
                    ip: 16 * (access % 5),
                    size: 8,
                    write,
                    ..Access::default()
                });
                let word = Word {
                    index: (drawn % 512) as u16,
                    value: drawn,
                };
                block.changes.push(Change {
                    words: &[word][usize::from(!write)..],
                    version: u32::from(write) * access as u32,
                    checksum: 0,
                });
            }
            self.next = end;
            Ok(())
        }
    }

    fn workload() -> Workload {
        let source = Computed {
            meta: Meta {
                counts_instructions: true,
                has_contents: true,
                ..Meta::default()
            },
            next: 0,
        };
        Workload::new(vec![Box::new(source)], None).unwrap()
    }

    /// Returns the names of all policies.
    fn policies() -> Vec<&'static str> {
        let replacement = replacement::REGISTRY.iter().map(|entry| entry.name);
        let prefetch = prefetch::REGISTRY.iter().map(|entry| entry.name);
        let eviction = eviction::REGISTRY.iter().map(|entry| entry.name);
        let migration = migration::REGISTRY.iter().map(|entry| entry.name);
        let write = write::REGISTRY.iter().map(|entry| entry.name);
        let control = control::REGISTRY.iter().map(|entry| entry.name);
        let all = replacement.chain(prefetch).chain(eviction);
        all.chain(migration).chain(write).chain(control).collect()
    }

    /// Returns for each setting and text that it takes a digest of what machines find that have it.
    fn found() -> BTreeMap<String, String> {
        let mut all = BTreeMap::new();
        let mut seen = HashSet::new();
        for setting in settings() {
            let texts = match &setting.values {
                Values::Names(names) => names.iter().map(|known| known.name).collect(),
                _ => TEXTS.split(' ').chain(policies()).collect::<Vec<_>>(),
            };
            for text in texts {
                let machines = BESIDE.iter().filter_map(|others| {
                    let others = others.iter().filter(|(name, _)| *name != setting.name);
                    let others: Vec<_> = others.copied().chain([("dram", "500p")]).collect();
                    made(&[&[(setting.name, text)], &others[..]].concat()).ok()
                });
                let mut digests = Vec::new();
                let new = machines.filter(|machine| seen.insert(key::machine(machine)));
                for machine in new.take(2) {
                    let survey = Survey::of(workload(), machine.foresight(), |_| {}).unwrap();
                    let future = survey.future.as_ref();
                    let outcomes = pages::run(workload(), vec![machine], future, |_| {});
                    if let Ok(outcomes) = outcomes {
                        let bytes = postcard::to_stdvec(&outcomes).unwrap();
                        digests.push(Digest::of(&bytes));
                    }
                }
                if !digests.is_empty() {
                    let digest = Digest::of_all(&digests).to_string()[..16].to_owned();
                    all.insert(format!("{} {text}", setting.name), digest);
                }
            }
        }
        all
    }

    /// Results that are kept by an older build would else be taken for those of this one.
    #[test]
    fn outcomes_change_with_the_version() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/outcomes.txt");
        let known = fs::read_to_string(&file).unwrap_or_default();
        let (version, lines) = known.split_once('\n').unwrap_or_default();
        let lines = lines.lines().filter_map(|line| line.rsplit_once(' '));
        let before: BTreeMap<_, _> = lines.collect();
        let found = found();
        if version == format!("version {VERSION}") {
            let changed = found.iter().filter(|(of, digest)| {
                let before = before.get(of.as_str());
                before.is_some_and(|before| before != digest)
            });
            let changed: Vec<_> = changed.map(|(of, _)| of).collect();
            assert!(
                changed.is_empty(),
                "results of {changed:?} are others: increase VERSION"
            );
        }
        let mut now = format!("version {VERSION}\n");
        for (of, digest) in &found {
            let _ = writeln!(now, "{of} {digest}");
        }
        if std::env::var_os("TERRACE_WRITE_REFERENCE").is_some() {
            fs::write(&file, &now).unwrap();
        }
        assert!(
            fs::read_to_string(&file).is_ok_and(|text| text == now),
            "tests/outcomes.txt is of other settings or of another version; write it anew: \
             TERRACE_WRITE_REFERENCE=1 cargo test -p terrace-sim --lib outcomes_change"
        );
    }
}
