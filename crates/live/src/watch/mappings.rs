//! The names of the regions in which a program faulted, by `/proc/PID/maps`.
//!
//! A process must be asked while it lives. That takes the lock of its address space for a moment,
//! so it is done ever more rarely: after each look, a run goes on half as long again before the
//! next.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use terrace_policy::{PAGE_BYTES, Page, Space};

use crate::watch::fault_sample::SampledFault;

/// Time of the first look after the start.
const FIRST: Duration = Duration::from_millis(5);
/// Processes that one look asks, and whose latest regions are kept.
const MOST_PROCESSES: usize = 32;
/// Bytes of a process's list that are read: some thousand mappings.
const LONGEST: u64 = 1 << 18;

/// A mapped region: neighbouring mappings of one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// Pages.
    pub pages: Range<u64>,
    /// Name for people: `heap`, `stack`, the name of a file without directories, or `anonymous`.
    pub name: String,
}

/// The regions found so far in which a program faulted.
#[derive(Clone, Debug, Default)]
pub struct Mappings {
    regions: BTreeMap<(Space, u64), Region>,
    /// All regions at the latest looks, for faults since.
    latest: BTreeMap<Space, Vec<Region>>,
    next_look: Duration,
}

impl Mappings {
    /// Looks up the regions of these faults, if a look is due `elapsed` after the start.
    pub fn look(&mut self, elapsed: Duration, faults: impl FnOnce() -> Vec<SampledFault>) {
        if elapsed < self.next_look.max(FIRST) {
            return;
        }
        self.next_look = elapsed * 3 / 2;
        // Of many processes the latest.
        for (space, pages) in pages(&faults()).into_iter().rev().take(MOST_PROCESSES) {
            let regions = read(space);
            if !regions.is_empty() {
                self.note(space, &pages, &regions);
                self.latest.insert(space, regions);
            }
        }
        while self.latest.len() > MOST_PROCESSES {
            self.latest.pop_first();
        }
    }

    /// Returns the regions of these faults, of all processes, as far as they are known.
    pub fn finish(mut self, faults: &[SampledFault]) -> Vec<Region> {
        for (space, pages) in pages(faults) {
            if let Some(regions) = self.latest.remove(&space) {
                self.note(space, &pages, &regions);
            }
        }
        self.regions.into_values().collect()
    }

    /// Notes which of a process's regions have one of these pages.
    fn note(&mut self, space: Space, pages: &[Page], regions: &[Region]) {
        for page in pages {
            let next = regions.partition_point(|region| region.pages.end <= page.0);
            let region = regions.get(next).filter(|it| it.pages.contains(&page.0));
            if let Some(region) = region {
                let key = (space, region.pages.start);
                self.regions
                    .entry(key)
                    .or_insert_with(|| region.clone())
                    .pages = region.pages.clone();
            }
        }
    }
}

/// Returns the faulted pages by process.
fn pages(faults: &[SampledFault]) -> BTreeMap<Space, Vec<Page>> {
    let mut pages: BTreeMap<Space, Vec<Page>> = BTreeMap::new();
    for fault in faults {
        pages.entry(fault.at.space).or_default().push(fault.at.page);
    }
    pages
}

/// Reads the regions of a process in the order of their addresses; none if it has ended.
fn read(space: Space) -> Vec<Region> {
    let mut text = Vec::new();
    // What was read before an error counts.
    let _ = File::open(format!("/proc/{}/maps", space.0))
        .and_then(|file| file.take(LONGEST).read_to_end(&mut text));
    parse(&String::from_utf8_lossy(&text))
}

fn parse(maps: &str) -> Vec<Region> {
    let mut regions: Vec<Region> = Vec::new();
    for region in maps.lines().filter_map(mapping) {
        match regions.last_mut() {
            Some(last) if last.pages.end == region.pages.start && last.name == region.name => {
                last.pages.end = region.pages.end;
            }
            _ => regions.push(region),
        }
    }
    regions
}

/// Parses a line: addresses, permissions, offset, device, inode and, from the sixth column on, the
/// path.
fn mapping(line: &str) -> Option<Region> {
    let (addresses, rest) = line.split_once(' ')?;
    let (start, end) = addresses.split_once('-')?;
    let page = |text| Some(u64::from_str_radix(text, 16).ok()? / PAGE_BYTES);
    let path = rest.splitn(5, ' ').nth(4)?.trim_start();
    Some(Region {
        pages: page(start)?..page(end)?,
        name: name(path),
    })
}

fn name(path: &str) -> String {
    let special = path
        .strip_prefix('[')
        .and_then(|name| name.strip_suffix(']'));
    let file = || Path::new(path).file_name()?.to_str();
    let name = special.or_else(file).unwrap_or("anonymous");
    name.strip_prefix("anon:").unwrap_or(name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use terrace_policy::Location;

    const MAPS: &str = "\
55d0c0000000-55d0c0021000 rw-p 00000000 00:00 0                          [heap]
7f0000000000-7f0000100000 rw-p 00000000 00:00 0 
7f0000100000-7f0000180000 ---p 00000000 00:00 0 
7f0000180000-7f0000200000 r--p 00001000 08:01 77                         /usr/lib/a library.so.6
7f0000300000-7f0000301000 rw-p 00000000 00:00 0                          [anon:arena]
";

    #[test]
    fn regions_have_short_names_and_neighbours_are_one() {
        let regions = parse(MAPS);
        let names: Vec<_> = regions.iter().map(|region| region.name.as_str()).collect();
        assert_eq!(names, ["heap", "anonymous", "a library.so.6", "arena"]);
        assert_eq!(regions[1].pages, 0x7_f000_0000..0x7_f000_0180);
        assert_eq!(parse("\nno mapping\n1-2"), []);
    }

    #[test]
    fn only_regions_with_faults_are_noted() {
        let mut mappings = Mappings::default();
        let pages = [0x7_f000_017f, 0x7_f000_0250, 0x5_5d0c_0000].map(Page);
        mappings.note(Space(1), &pages, &parse(MAPS));
        let names = mappings.finish(&[]).into_iter().map(|region| region.name);
        assert_eq!(names.collect::<Vec<_>>(), ["heap", "anonymous"]);
    }

    #[test]
    fn a_process_names_its_own_regions_ever_more_rarely() {
        let own = Space(std::process::id());
        let fault = |page| SampledFault {
            time: Duration::ZERO,
            at: Location::new(own, page),
        };
        let here = 0_u8;
        let stack = Page::of(&raw const here as u64);
        let mut mappings = Mappings::default();
        mappings.look(FIRST, || vec![fault(stack)]);
        mappings.look(FIRST + FIRST / 4, || panic!("a look too many"));
        // In a region that had no fault at the look.
        let code = Page::of(pages as fn(&[SampledFault]) -> _ as usize as u64);
        let regions = mappings.finish(&[fault(stack), fault(code)]);
        let has = |page: Page| regions.iter().any(|it| it.pages.contains(&page.0));
        assert!(has(stack) && has(code), "{regions:?}");
    }
}
