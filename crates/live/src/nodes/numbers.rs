//! Numbers for the pages of a program, as policies want them: dense, and used again when a page is
//! gone.

use rustc_hash::FxHashMap;
use terrace_policy::replacement::PageId;
use terrace_policy::{Location, Page, Space};

/// The known pages of all processes.
#[derive(Default)]
pub(super) struct Numbers {
    spaces: FxHashMap<Space, FxHashMap<Page, PageId>>,
    locations: Vec<Option<Location>>,
    free: Vec<PageId>,
}

impl Numbers {
    /// Returns the number of a page; `None` if it is not known.
    pub fn of(&self, at: Location) -> Option<PageId> {
        self.spaces.get(&at.space)?.get(&at.page).copied()
    }

    /// Returns where the page of a number is; `None` if it is gone.
    pub fn location(&self, page: PageId) -> Option<Location> {
        self.locations.get(page.index()).copied().flatten()
    }

    /// Gives a number to a page that has none.
    pub fn add(&mut self, at: Location) -> PageId {
        let number = self.free.pop().unwrap_or_else(|| {
            self.locations.push(None);
            PageId(self.locations.len() as u32 - 1)
        });
        self.locations[number.index()] = Some(at);
        self.spaces
            .entry(at.space)
            .or_default()
            .insert(at.page, number);
        number
    }

    /// Forgets a page.
    pub fn remove(&mut self, page: PageId) {
        let Some(at) = self.locations.get_mut(page.index()).and_then(Option::take) else {
            return;
        };
        if let Some(pages) = self.spaces.get_mut(&at.space) {
            pages.remove(&at.page);
            if pages.is_empty() {
                self.spaces.remove(&at.space);
            }
        }
        self.free.push(page);
    }

    /// Returns the numbers of a process's pages.
    pub fn in_space(&self, space: Space) -> impl Iterator<Item = PageId> {
        self.spaces
            .get(&space)
            .into_iter()
            .flat_map(|pages| pages.values().copied())
    }

    /// Returns the processes with known pages.
    pub fn spaces(&self) -> Vec<Space> {
        self.spaces.keys().copied().collect()
    }

    /// Returns one more than the largest number.
    pub fn end(&self) -> usize {
        self.locations.len()
    }

    /// Returns how many pages are known.
    pub fn len(&self) -> usize {
        self.locations.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    use super::*;

    proptest! {
        /// The slow twin is a map from places to numbers, which all differ.
        #[test]
        fn as_a_map(acts in prop::collection::vec((0..3_u32, 0..6_u64, any::<bool>()), 1..80)) {
            let mut numbers = Numbers::default();
            let mut twin: BTreeMap<(u32, u64), PageId> = BTreeMap::new();
            for (space, page, comes) in acts {
                let at = Location::new(Space(space), Page(page));
                match (numbers.of(at), comes) {
                    (None, true) => {
                        let number = numbers.add(at);
                        prop_assert!(twin.values().all(|other| *other != number));
                        twin.insert((space, page), number);
                    }
                    (Some(number), false) => {
                        numbers.remove(number);
                        prop_assert_eq!(twin.remove(&(space, page)), Some(number));
                    }
                    _ => {}
                }
                prop_assert_eq!(numbers.len(), twin.len());
                for ((space, page), number) in &twin {
                    let at = Location::new(Space(*space), Page(*page));
                    prop_assert_eq!(numbers.of(at), Some(*number));
                    prop_assert_eq!(numbers.location(*number), Some(at));
                }
                let all: usize = (0..3).map(|space| numbers.in_space(Space(space)).count()).sum();
                prop_assert_eq!(all, twin.len());
                prop_assert!(numbers.end() <= 18);
            }
        }
    }
}
