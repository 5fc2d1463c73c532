//! Cache of page tables: all that was found in one look of steering, and for longer which pages are
//! in memory. Those who ask as of late also get what was found some looks ago.
//!
//! A pass by columns has most of its pages in memory, and steering comes to each of them several
//! times. To read them anew at each look took two thirds of its time. A page that is in memory
//! mostly stays there for as long as others take to fill DRAM; if it does not, a fault on it shows
//! that.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;
use terrace_policy::{Location, Residence, Space};

use super::table::{self, Table};

/// Longest generation, because a program can give memory back by itself.
const AGE: Duration = Duration::from_millis(50);
/// Time for which a page that was in the tier counts as being there for those who ask as of late.
const LATELY: Duration = Duration::from_millis(5);
/// Questions about a table, two for each that takes a read, beyond which it is worth to read the
/// whole table, which takes as long as some eight reads of a few pages: about this one, and about
/// the one before, which is like it.
const ENOUGH: (u32, u32) = (6, 10);

/// Cached tables by their numbers.
pub struct Cache {
    tables: FxHashMap<(Space, u64), Table>,
    /// Number of the present look.
    look: u64,
    /// Number of the first look of late, and the times of it and of those after it.
    first_of_late: u64,
    looks: VecDeque<Instant>,
    /// Table that was last read.
    latest: (Space, u64),
    /// Number of the present generation, when it began, and its number for the caller.
    generation: u64,
    began: (Instant, u64),
}

impl Default for Cache {
    fn default() -> Self {
        Self {
            tables: FxHashMap::default(),
            look: 0,
            first_of_late: 0,
            looks: VecDeque::from([Instant::now()]),
            latest: (Space::default(), 0),
            generation: 0,
            began: (Instant::now(), 0),
        }
    }
}

/// Returns the table of a page, and its number there.
pub fn place(at: Location) -> ((Space, u64), usize) {
    let pages = table::PAGES as u64;
    ((at.space, at.page.0 / pages), (at.page.0 % pages) as usize)
}

impl Cache {
    /// Begins another look. What is known of pages in memory is forgotten in the next but one
    /// `generation`, a time in which few pages of DRAM are replaced.
    pub fn refresh(&mut self, generation: u64) {
        let now = Instant::now();
        self.look += 1;
        self.looks.push_back(now);
        while self.looks.front().is_some_and(|&look| now - look > LATELY) {
            self.looks.pop_front();
            self.first_of_late += 1;
        }
        let (began, number) = self.began;
        if generation != number || now - began >= AGE {
            self.began = (now, generation);
            self.generation += 1;
            let least = self.generation - 1;
            self.tables.retain(|_, table| table.generation >= least);
        }
    }

    /// Returns the residence of a page, if it is known.
    pub fn residence(&mut self, at: Location) -> Option<Residence> {
        self.residence_since(self.look, at)
    }

    /// Returns the residence of a page as of late, if it is known.
    pub fn residence_lately(&mut self, at: Location) -> Option<Residence> {
        self.residence_since(self.first_of_late, at)
    }

    fn residence_since(&mut self, look: u64, at: Location) -> Option<Residence> {
        let (number, page) = place(at);
        let table = self.tables.get_mut(&number)?;
        let found = table.residence(page);
        if found == Some(Residence::InMemory) {
            return found;
        }
        table.asked += 1;
        found.filter(|_| table.look >= look)
    }

    /// Whether the place of a page in the tier has been noted when it was read.
    pub fn is_noted(&self, at: Location) -> bool {
        let (number, page) = place(at);
        let table = self.tables.get(&number);
        table.is_some_and(|table| table.is_noted(page))
    }

    /// Whether to read the whole of a table rather than a few of its pages, by the questions of
    /// this look about it and about the one that was read before, except those about pages in
    /// memory.
    pub fn wants_whole(&self, number: (Space, u64)) -> bool {
        let asked = |number| {
            let table: Option<&Table> = self.tables.get(number);
            table
                .filter(|it| it.look == self.look)
                .map_or(0, |it| it.asked)
        };
        asked(&number) > ENOUGH.0 || asked(&self.latest) > ENOUGH.1
    }

    /// Returns a table to enter into what is found.
    pub fn table(&mut self, number: (Space, u64)) -> &mut Table {
        self.latest = number;
        let new = Table::new(self.generation, self.look);
        let table = self.tables.entry(number).or_insert(new);
        if table.look != self.look {
            table.keep_in_memory();
            table.look = self.look;
        }
        table
    }

    /// Returns a table whose entries will all be set.
    pub fn whole_table(&mut self, number: (Space, u64)) -> &mut Table {
        self.latest = number;
        let table = self.tables.entry(number).or_default();
        let asked = table.asked;
        *table = Table::new(self.generation, self.look);
        table.asked = asked;
        table
    }

    /// Handles a fault on a page, which is in memory now. If it was thought to be, its neighbours
    /// have probably left, too.
    pub fn faulted(&mut self, at: Location) {
        let (number, page) = place(at);
        let Some(table) = self.tables.get_mut(&number) else {
            return;
        };
        if table.residence(page) == Some(Residence::InMemory) {
            self.tables.remove(&number);
        } else {
            table.was_read(page, page + 1);
            table.found(page, page + 1, Residence::InMemory);
        }
    }

    /// Forgets a process that has ended.
    pub fn forget(&mut self, space: Space) {
        self.tables.retain(|(of, _), _| *of != space);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use terrace_policy::Page;

    fn at(page: u64) -> Location {
        Location::new(Space(1), Page(page))
    }

    /// A cache that knows pages 0 and 1 to be in memory, 2 in the tier, and 3 nowhere.
    fn cache() -> Cache {
        let mut cache = Cache::default();
        let table = cache.table(place(at(0)).0);
        table.was_read(0, 4);
        table.found(0, 2, Residence::InMemory);
        table.found(2, 3, Residence::InTier);
        cache
    }

    fn known(cache: &mut Cache) -> Vec<Option<Residence>> {
        (0..5).map(|page| cache.residence(at(page))).collect()
    }

    const IN_MEMORY: Option<Residence> = Some(Residence::InMemory);

    #[test]
    fn the_next_look_knows_only_what_is_in_memory() {
        let mut cache = cache();
        let found = [Residence::InTier, Residence::Nowhere].map(Some);
        let all = [IN_MEMORY, IN_MEMORY, found[0], found[1], None];
        assert_eq!(known(&mut cache), all);
        for generation in [0, 0, 1] {
            cache.refresh(generation);
            assert_eq!(known(&mut cache), [IN_MEMORY, IN_MEMORY, None, None, None]);
            cache.table(place(at(0)).0);
        }
        cache.refresh(2);
        assert_eq!(known(&mut cache), [None; 5]);
    }

    #[test]
    fn for_a_moment_all_is_known_as_of_late() {
        let mut cache = cache();
        cache.refresh(0);
        assert_eq!(cache.residence(at(2)), None);
        assert_eq!(cache.residence_lately(at(2)), Some(Residence::InTier));
        std::thread::sleep(LATELY + Duration::from_millis(1));
        cache.refresh(0);
        assert_eq!(cache.residence_lately(at(2)), None);
        assert_eq!(cache.residence_lately(at(1)), IN_MEMORY);
    }

    #[test]
    fn a_whole_table_is_read_where_many_pages_are_asked_about() {
        let mut cache = Cache::default();
        let [first, second] = [0, 1].map(|table| place(at(512 * table)).0);
        cache.table(first);
        for page in 0..=u64::from(ENOUGH.1) {
            assert_eq!(cache.wants_whole(first), page > u64::from(ENOUGH.0));
            assert!(!cache.wants_whole(second));
            cache.residence(at(page));
        }
        assert!(cache.wants_whole(second), "as the one before");
        cache.table(second);
        assert!(!cache.wants_whole(place(at(1024)).0));
        cache.refresh(0);
        assert!(
            !cache.wants_whole(first) && !cache.wants_whole(second),
            "another look"
        );
    }

    #[test]
    fn a_fault_shows_that_pages_have_left() {
        let mut cache = cache();
        cache.faulted(at(2));
        assert_eq!(cache.residence(at(2)), IN_MEMORY, "it has come in");
        assert_eq!(cache.residence(at(0)), IN_MEMORY);
        cache.faulted(at(1));
        assert_eq!(known(&mut cache), [None; 5]);
    }

    #[test]
    fn processes_that_end_are_forgotten() {
        let mut cache = cache();
        cache.forget(Space(2));
        assert_eq!(cache.residence(at(0)), IN_MEMORY);
        cache.forget(Space(1));
        assert_eq!(known(&mut cache), [None; 5]);
    }
}
