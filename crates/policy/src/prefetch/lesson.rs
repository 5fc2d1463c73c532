//! What a run leaves for the next run of the same program: its misses, in the order in which they
//! came.

use rustc_hash::FxHashMap;

use super::history::History;
use crate::page::{Fault, Location, Page, Space};

/// Misses that are recorded at most: 20 MB. When there are more, recording starts anew.
const MOST: usize = 1 << 20;

/// Walks of one process: pages that a thread of it missed one after the other.
pub type Walks = Vec<Vec<Page>>;

/// Misses of an earlier run by process, in the order in which the processes missed first: process
/// ids differ from run to run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lesson(Vec<Walks>);

impl Lesson {
    /// Returns the walks of each process.
    pub fn processes(&self) -> &[Walks] {
        &self.0
    }

    /// Returns the number of misses.
    pub fn misses(&self) -> usize {
        self.0.iter().flatten().map(Vec::len).sum()
    }

    /// Appends a page to a walk of a process; both begin if they are new.
    pub fn push(&mut self, process: usize, walk: usize, page: Page) {
        let walks = entry(&mut self.0, process);
        entry(walks, walk).push(page);
    }
}

/// Returns an entry of a list, which is made as long as that takes.
fn entry<T: Default>(list: &mut Vec<T>, index: usize) -> &mut T {
    if list.len() <= index {
        list.resize_with(index + 1, T::default);
    }
    &mut list[index]
}

/// Records the misses of a run.
pub struct Lessons {
    history: History,
    /// The living processes, by the order of their first misses.
    processes: FxHashMap<Space, u32>,
    seen: u32,
}

impl Default for Lessons {
    fn default() -> Self {
        Self {
            history: History::new(MOST),
            processes: FxHashMap::default(),
            seen: 0,
        }
    }
}

impl Lessons {
    /// Records a demand fault.
    pub fn miss(&mut self, fault: &Fault) {
        let seen = &mut self.seen;
        let number = *self.processes.entry(fault.at.space).or_insert_with(|| {
            *seen += 1;
            *seen - 1
        });
        let at = Location::new(Space(number), fault.at.page);
        self.history.miss(&Fault { at, ..*fault });
    }

    /// Ends a process: another one of the same number is new.
    pub fn forget(&mut self, space: Space) {
        self.processes.remove(&space);
    }

    /// Returns the misses so far.
    pub fn lesson(&self) -> Lesson {
        let mut lesson = Lesson::default();
        for walk in self.history.walks() {
            let Some(Space(process)) = walk.first().map(|at| at.space) else {
                continue;
            };
            let walks = entry(&mut lesson.0, process as usize);
            walks.push(walk.iter().map(|at| at.page).collect());
        }
        lesson
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::page::Thread;
    use crate::prefetch::testing::{Everywhere, pages, predictions};
    use crate::prefetch::{Params, Predictor, auto::Auto, replay::Replay};

    fn fault(process: u32, page: u64) -> Fault {
        Fault {
            thread: Thread(process),
            at: Location::new(Space(process), Page(page)),
            offset: 0,
        }
    }

    fn replay() -> Replay {
        Replay::new(&mut Params::parse("first=2,depth=4").unwrap()).unwrap()
    }

    fn recorded(misses: &[(u32, u64)]) -> Lesson {
        let mut lessons = Lessons::default();
        let faults = misses.iter().map(|&(process, page)| fault(process, page));
        faults.for_each(|fault| lessons.miss(&fault));
        lessons.lesson()
    }

    #[test]
    fn the_first_walk_of_the_next_run_is_foreseen() {
        let lesson = recorded(&[(10, 5), (10, 1), (10, 7), (10, 3), (10, 9)]);
        let mut replay = replay();
        assert!(replay.learn(&lesson));
        assert_eq!(pages(&mut replay, &fault(77, 5), &mut Everywhere), []);
        assert_eq!(pages(&mut replay, &fault(77, 1), &mut Everywhere), [7, 3]);
    }

    #[test]
    fn each_process_has_the_lesson_of_its_turn() {
        let first = [(10, 1), (10, 2), (10, 3)];
        let lesson = recorded(&[&first[..], &[(11, 1), (11, 2), (11, 4)]].concat());
        let mut replay = replay();
        replay.learn(&lesson);
        for (process, expected) in [(30, 3), (20, 4)] {
            pages(&mut replay, &fault(process, 1), &mut Everywhere);
            let named = pages(&mut replay, &fault(process, 2), &mut Everywhere);
            assert_eq!(named, [expected]);
        }
        pages(&mut replay, &fault(40, 1), &mut Everywhere);
        assert_eq!(pages(&mut replay, &fault(40, 2), &mut Everywhere), []);
    }

    #[test]
    fn a_process_id_that_is_used_again_is_another_process() {
        let mut lessons = Lessons::default();
        lessons.miss(&fault(10, 1));
        lessons.forget(Space(10));
        lessons.miss(&fault(10, 2));
        assert_eq!(
            lessons.lesson().processes(),
            [[vec![Page(1)]], [vec![Page(2)]]]
        );
    }

    #[test]
    fn auto_follows_a_lesson_without_proof() {
        let lesson = recorded(&[(1, 50), (1, 10), (1, 70), (1, 30)]);
        let mut auto = Auto::make(&mut Params::parse("of=stream+replay").unwrap()).unwrap();
        assert!(auto.learn(&lesson));
        predictions(&mut *auto, &fault(5, 50), &mut Everywhere);
        assert_eq!(pages(&mut *auto, &fault(5, 10), &mut Everywhere), [70, 30]);
    }

    proptest! {
        /// What is recorded of a run that repeats no pair of misses is the run, and a lesson that
        /// is learned and recorded again is the same.
        #[test]
        fn a_lesson_is_the_order_of_misses(steps in prop::collection::vec((0..3_u32, 1..50_u64), 1..200)) {
            let mut page = 0;
            let misses: Vec<(u32, u64)> = steps.iter().map(|&(process, step)| {
                page += step;
                (process, page)
            }).collect();
            let lesson = recorded(&misses);
            prop_assert_eq!(lesson.misses(), misses.len());
            let mut order = Vec::new();
            for (process, _) in &misses {
                if !order.contains(process) {
                    order.push(*process);
                }
            }
            for (walks, process) in lesson.processes().iter().zip(order) {
                let own = misses.iter().filter(|miss| miss.0 == process);
                let own: Vec<Page> = own.map(|miss| Page(miss.1)).collect();
                prop_assert_eq!(&walks[..], &[own][..]);
            }
        }
    }
}
