//! The profile of a program: what of it the time of a placement depends on.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use terrace_base::Result;
use terrace_policy::PAGE_BYTES;
use terrace_trace::allocation::{Allocations, Site, file_name};
use terrace_trace::record::{COMMAND, FILTER, PRIVATE_CACHES};
use terrace_trace::{Block, Meta, Sink};

use super::groups::{Groups, Lines};
use super::memory::Memories;
use super::objects::peaks;
use super::owned::{self, Shared};
use super::{PlaceMachine, Recording};
use crate::llc::model::{CYCLE, ISSUE};
use crate::llc::{Mix, Sinks, run};

/// What is known of a site.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SiteProfile {
    /// The calls that lead to it.
    pub site: Site,
    /// Objects that it allocated.
    pub objects: u64,
    /// The most bytes that they had at a time.
    pub bytes: u64,
    /// Accesses to them in the trace.
    pub accesses: u64,
    /// Lines of them that the last-level cache read from memory.
    pub reads: u64,
    /// Lines of them that it wrote back.
    pub writes: u64,
}

/// The profile of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// The name of the program's file, or of the trace where it does not say.
    pub program: String,
    /// The sites, in the order of their numbers.
    pub sites: Vec<SiteProfile>,
    /// The most bytes that recorded objects had at a time, and bytes of the pages with anything
    /// else.
    pub footprint: u64,
    /// Rows of the trace.
    pub accesses: u64,
    /// Instructions.
    pub instructions: u64,
    /// Groups of requests to memory that overlap, and how often each was met; in no order.
    pub(super) groups: Vec<(Vec<Lines>, u64)>,
}

impl Profile {
    /// Returns the time of the program without its requests to memory, in picoseconds.
    pub fn compute(&self) -> u64 {
        compute(self.instructions)
    }

    /// Returns the lines that the last-level cache reads from memory.
    pub fn reads(&self) -> u64 {
        let groups = self.groups.iter();
        let reads = groups.map(|(group, count)| {
            let lines: u64 = group.iter().map(|lines| u64::from(lines.reads)).sum();
            lines * count
        });
        reads.sum()
    }

    /// Returns the number of different groups of requests to memory, and of all.
    pub fn groups(&self) -> (usize, u64) {
        let all = self.groups.iter().map(|(_, count)| count);
        (self.groups.len(), all.sum())
    }
}

/// Returns the time of instructions without requests to memory, in picoseconds.
pub(super) fn compute(instructions: u64) -> u64 {
    instructions.saturating_mul(CYCLE) / ISSUE
}

/// Returns the time of a group, in picoseconds, by whether the memory of an owner is fast.
pub(super) fn time(
    memories: &Memories,
    group: &[Lines],
    fast: impl Fn(owned::Owner) -> bool,
) -> u64 {
    let lines = |wanted: bool| {
        let those = group.iter().filter(|lines| fast(lines.owner) == wanted);
        those.fold((0, 0), |(reads, writes), lines| {
            (
                reads + u64::from(lines.reads),
                writes + u64::from(lines.writes),
            )
        })
    };
    let ((reads, writes), (slow_reads, slow_writes)) = (lines(true), lines(false));
    let in_fast = memories.fast.time(reads, writes);
    in_fast.max(memories.slow.time(slow_reads, slow_writes))
}

/// Gets the requests of the last-level cache to memory, and hands groups of them on.
struct Requests<F> {
    groups: Groups,
    shared: Shared,
    each: F,
}

impl<F: FnMut(&[Lines]) + Send> Sink for Requests<F> {
    fn write(&mut self, block: &Block) -> Result<()> {
        let read = self.shared.read();
        let owner = |mark| read.owner(mark);
        self.groups.add(block, owner, &mut self.each);
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.groups.end(&mut self.each);
        Ok(())
    }
}

/// What a simulation of the caches tells beside groups.
pub(super) struct Simulated {
    pub program: String,
    pub allocations: Arc<Allocations>,
    pub shared: Shared,
    pub accesses: u64,
    pub instructions: u64,
}

/// Simulates the caches, and calls `each` with each group of requests to memory.
pub(super) fn simulate(
    recording: &Recording,
    machine: &PlaceMachine,
    mut each: impl FnMut(&[Lines]) + Send,
    progress: impl FnMut(u64),
) -> Result<Simulated> {
    let (source, allocations, shared) = owned::open(recording)?;
    let program = program(source.meta(), &recording.path.display().to_string());
    let mut settings = machine.caches.clone();
    settings.traffic = true;
    if has_passed_private_levels(source.meta()) {
        settings.private = [None, None];
    }
    let mix = Mix::single(recording.path.display().to_string(), source, 1)?;
    let mut requests = Box::new(Requests {
        groups: Groups::default(),
        shared: shared.clone(),
        each: &mut each,
    });
    let sinks = Sinks {
        traffic: Some(&mut *requests),
        ..Sinks::default()
    };
    let pass = run(&settings, mix, sinks, progress)?;
    requests.finish()?;
    Ok(Simulated {
        program,
        allocations,
        shared,
        accesses: pass.accesses,
        instructions: pass.instructions.iter().sum(),
    })
}

/// Whether the rows of a trace are those that private caches have let through.
fn has_passed_private_levels(meta: &Meta) -> bool {
    let mut about = meta.about.iter();
    about.any(|(key, value)| key == FILTER && value == PRIVATE_CACHES)
}

/// Returns the name of the program that was recorded, or of the trace's file where it does not say.
pub(crate) fn program(meta: &Meta, path: &str) -> String {
    let command = meta.about.iter().find(|(key, _)| key == COMMAND);
    let name = command.and_then(|(_, words)| words.split(' ').next());
    file_name(name.unwrap_or(path)).to_owned()
}

/// Simulates the caches once, and returns the profile of the program.
///
/// # Errors
/// Errors of the trace; a usage error where it says nothing of allocations, or where the caches
/// cannot be simulated.
pub fn profile(
    recording: &Recording,
    machine: &PlaceMachine,
    progress: impl FnMut(u64),
) -> Result<Profile> {
    let mut counts: FxHashMap<Vec<Lines>, u64> = FxHashMap::default();
    let count = |group: &[Lines]| match counts.get_mut(group) {
        Some(count) => *count += 1,
        None => drop(counts.insert(group.to_vec(), 1)),
    };
    let simulated = simulate(recording, machine, count, progress)?;
    let read = simulated.shared.read();
    let (bytes, peak) = peaks(&simulated.allocations);
    let mut sites: Vec<SiteProfile> = (simulated.allocations.sites.iter().enumerate())
        .map(|(number, site)| SiteProfile {
            site: site.clone(),
            bytes: bytes[number],
            accesses: read.accesses[number],
            ..SiteProfile::default()
        })
        .collect();
    for object in &simulated.allocations.objects {
        sites[object.site as usize].objects += 1;
    }
    for (group, count) in &counts {
        for lines in group {
            if let Some(site) = lines.owner {
                sites[site].reads += count * u64::from(lines.reads);
                sites[site].writes += count * u64::from(lines.writes);
            }
        }
    }
    Ok(Profile {
        program: simulated.program,
        sites,
        footprint: peak.saturating_add(read.other_pages.len() as u64 * PAGE_BYTES),
        accesses: simulated.accesses,
        instructions: simulated.instructions,
        groups: counts.into_iter().collect(),
    })
}
