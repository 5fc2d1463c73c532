//! The time of a placement from a profile: where a site moves, only the groups with lines of it are
//! looked at.

use terrace_policy::placement::Evaluation;

use super::memory::Memories;
use super::profile::{Profile, time};

/// The evaluation of a profile.
#[derive(Clone, Debug)]
pub struct Incremental<'a> {
    profile: &'a Profile,
    memories: &'a Memories,
    fast: Vec<bool>,
    /// By site, the groups with lines of it.
    groups: Vec<Vec<u32>>,
    /// The time of each group now.
    times: Vec<u64>,
    /// The time of the program now.
    time: u64,
}

impl<'a> Incremental<'a> {
    /// Returns the evaluation of a program whose memory is all slow.
    pub fn new(profile: &'a Profile, memories: &'a Memories) -> Self {
        let mut groups = vec![Vec::new(); profile.sites.len()];
        for (number, (group, _)) in profile.groups.iter().enumerate() {
            let sites = group.iter().filter_map(|lines| lines.owner);
            sites.for_each(|site| groups[site].push(number as u32));
        }
        let times = profile.groups.iter();
        let times: Vec<u64> = times
            .map(|(group, _)| time(memories, group, |_| false))
            .collect();
        let counts = profile.groups.iter().map(|(_, count)| count);
        let waits: u64 = times
            .iter()
            .zip(counts)
            .map(|(time, count)| time * count)
            .sum();
        Self {
            profile,
            memories,
            fast: vec![false; profile.sites.len()],
            groups,
            times,
            time: profile.compute() + waits,
        }
    }
}

impl Evaluation for Incremental<'_> {
    fn toggle(&mut self, site: usize) {
        self.fast[site] = !self.fast[site];
        let fast = &self.fast;
        for &group in &self.groups[site] {
            let group = group as usize;
            let (lines, count) = &self.profile.groups[group];
            let now = time(self.memories, lines, |owner| {
                owner.is_some_and(|site| fast[site])
            });
            self.time = self.time - self.times[group] * count + now * count;
            self.times[group] = now;
        }
    }

    fn time(&mut self) -> u64 {
        self.time
    }
}

#[cfg(test)]
mod tests {
    use super::super::groups::Lines;
    use super::super::memory::Memory;
    use super::super::profile::SiteProfile;
    use super::*;
    use proptest::prelude::*;
    use terrace_policy::placement::{Room, Whole, climb};

    fn memories() -> Memories {
        let memory = |name: &str, latency, transfer| Memory {
            name: name.to_owned(),
            latency,
            transfer,
        };
        Memories {
            fast: memory("fast", 40, 3),
            slow: memory("slow", 70, 15),
        }
    }

    fn profile() -> impl Strategy<Value = Profile> {
        let lines = (prop::option::of(0..6_usize), 0..4_u32, 0..3_u32);
        let group = (
            prop::collection::btree_map(lines.0, (lines.1, lines.2), 1..4),
            1..50_u64,
        );
        let bytes = prop::collection::vec(1..100_u64, 6);
        (bytes, prop::collection::vec(group, 0..20), 0..1000_u64).prop_map(
            |(bytes, groups, instructions)| {
                let sites = bytes.into_iter().map(|bytes| SiteProfile {
                    bytes,
                    ..SiteProfile::default()
                });
                let group = |(lines, count): (std::collections::BTreeMap<_, _>, u64)| {
                    let lines = lines.into_iter().map(|(owner, (reads, writes))| Lines {
                        owner,
                        reads,
                        writes,
                    });
                    (lines.collect(), count)
                };
                Profile {
                    sites: sites.collect(),
                    instructions,
                    groups: groups.into_iter().map(group).collect(),
                    ..Profile::default()
                }
            },
        )
    }

    /// The time from nothing: all groups are summed up.
    fn slow(profile: &Profile, fast: &[bool]) -> u64 {
        let memories = memories();
        let is_fast = |lines: &&Lines| lines.owner.is_some_and(|site| fast[site]);
        let groups = profile.groups.iter().map(|(group, count)| {
            let of = |wanted: bool| {
                let those: Vec<_> = group
                    .iter()
                    .filter(|lines| is_fast(lines) == wanted)
                    .collect();
                let reads: u32 = those.iter().map(|lines| lines.reads).sum();
                let writes: u32 = those.iter().map(|lines| lines.writes).sum();
                (u64::from(reads), u64::from(writes))
            };
            let time = |memory: &Memory, (reads, writes): (u64, u64)| {
                let first = if reads > 0 { memory.latency } else { 0 };
                let further = (reads + writes) - u64::from(reads > 0);
                first + further * memory.transfer
            };
            count * time(&memories.fast, of(true)).max(time(&memories.slow, of(false)))
        });
        profile.instructions * 250 + groups.sum::<u64>()
    }

    proptest! {
        #[test]
        fn a_sum_over_the_changed_is_a_sum_over_all(
            profile in profile(), toggles in prop::collection::vec(0..6_usize, 0..20),
        ) {
            let memories = memories();
            let mut evaluation = Incremental::new(&profile, &memories);
            let mut fast = [false; 6];
            prop_assert_eq!(evaluation.time(), slow(&profile, &fast));
            for site in toggles {
                fast[site] = !fast[site];
                evaluation.toggle(site);
                prop_assert_eq!(evaluation.time(), slow(&profile, &fast));
            }
        }

        #[test]
        fn a_climb_ends_where_the_whole_one_does(profile in profile(), fast in 0..300_u64) {
            let memories = memories();
            let bytes = profile.sites.iter().map(|site| site.bytes).collect();
            let room = Room { bytes, fast };
            let mut whole = Whole::new(6, |fast: &[bool]| slow(&profile, fast));
            prop_assert_eq!(
                climb(&room, &mut Incremental::new(&profile, &memories)), climb(&room, &mut whole)
            );
        }
    }
}
