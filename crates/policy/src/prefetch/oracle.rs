//! `oracle`: the pages that each thread will need next, read from the future.
//!
//! A bound for what predictors can gain, and not from a paper. It keeps the next pages of the
//! thread's future that are not in memory under way, in the order in which they are needed: at each
//! first use of a fetched page it looks further, and at each fault it looks again from the thread's
//! position, because a page that was in memory has been evicted. It looks less far ahead if fetched
//! pages are evicted before they are needed. It knows nothing of time, replacement and the order of
//! threads, so it bounds what predicting can gain, not what fetching could.
//!
//! It holds all touches ([`Future`]): 4 bytes each, and 16 bytes a page. It looks at no more than
//! 64 touches for each that is made.

use std::sync::Arc;

use super::{
    EngineSettings, Entry, Future, Make, Order, Outcome, Params, Prediction, Predictor, Source,
    Trigger,
};
use crate::page::{Fault, Memory, Residence, Thread};
use crate::replacement::PageId;

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "oracle",
    summary: "the pages that each thread will need next, from the future: a bound for all predictors",
    paper: "none: a bound for the predictors of papers",
    when: "In simulations only (`sim pages`, `sweep`), to see how much a better predictor could gain. A live run has no future to read.",
    evidence: crate::registry::Evidence::NONE,
    make: Make::Offline(&|params, future| Ok(Box::new(Oracle::new(params, Arc::clone(future))?))),
};

/// Most touches looked at for each touch made.
const STEPS: usize = 64;
/// Fraction of the reach, as a divisor, by which the reach grows after a used page.
const GROWTH: usize = 64;

/// The `oracle` predictor.
pub struct Oracle {
    future: Arc<Future>,
    /// Pages kept under way for each thread.
    degree: usize,
    threads: Vec<Ahead>,
    /// Number of predictions so far; each is a source of its own.
    named: u32,
}

/// Position of a thread, and the pages under way for it.
#[derive(Clone, Debug, Default)]
struct Ahead {
    /// Touches that the thread has made.
    clock: usize,
    /// Touch up to which all pages have been named.
    next: usize,
    /// Touches that may still be looked at.
    steps: usize,
    /// Pages that were named and have not ended.
    under_way: Vec<(Source, PageId)>,
    /// Number of touches ahead within which pages are fetched; `None` until a page was evicted
    /// unused.
    reach: Option<usize>,
    /// Whether the reach was reduced since the thread last advanced.
    cut: bool,
    /// Touches made when one of the thread's pages was last used: a call at that time is no fault.
    used: Option<usize>,
}

impl Oracle {
    /// Makes an oracle with the given settings that knows `future`.
    ///
    /// # Errors
    /// Returns a message if a setting has a wrong value.
    pub fn new(params: &mut Params, future: Arc<Future>) -> Result<Self, String> {
        let help = "pages that are named at a fault, at most";
        Ok(Self {
            degree: params.take("degree", help, 16, 1..=512)?,
            threads: vec![Ahead::default(); future.touches.len()],
            future,
            named: 0,
        })
    }

    /// Returns a new source, from which the thread can be told. Sources repeat after 2^32 divided
    /// by the number of threads, more than are ever under way.
    fn source(&mut self, thread: usize) -> Source {
        let threads = self.threads.len() as u32;
        self.named = (self.named + 1) % (u32::MAX / threads);
        Source(u64::from(self.named * threads) + thread as u64)
    }

    fn thread(&mut self, source: Source) -> Option<&mut Ahead> {
        let thread = (source.0 as usize).checked_rem(self.threads.len())?;
        self.threads.get_mut(thread)
    }
}

impl Ahead {
    /// Returns the next `room` pages needed from touch `from` on that are not in memory; pages
    /// under way count toward `room` if `anew`.
    fn look(
        &mut self,
        touches: &[PageId],
        from: usize,
        room: usize,
        anew: bool,
        mut in_tier: impl FnMut(PageId) -> bool,
    ) -> Vec<PageId> {
        let mut pages: Vec<PageId> = Vec::new();
        let (mut at, mut found) = (from, 0);
        // The first page is named however far away it is, because its use is the next occasion to
        // look.
        let reach = self.reach.unwrap_or(usize::MAX);
        let near = self.clock.saturating_add(reach);
        while at < touches.len() && found < room && self.steps > 0 {
            if at >= near && !(pages.is_empty() && self.under_way.is_empty()) {
                break;
            }
            let page = touches[at];
            let again = at > from && touches[at - 1] == page;
            at += 1;
            self.steps -= 1;
            if again || !in_tier(page) || pages.contains(&page) {
                continue;
            }
            if self.under_way.iter().all(|(_, known)| *known != page) {
                pages.push(page);
                found += 1;
            } else if anew {
                found += 1;
            }
        }
        self.next = self.next.max(at);
        pages
    }
}

impl Predictor for Oracle {
    fn engine(&self) -> EngineSettings {
        EngineSettings {
            order: Order::Fifo,
            trigger: Trigger::FirstUse,
            ..EngineSettings::default()
        }
    }

    fn fault(&mut self, fault: &Fault, memory: &mut dyn Memory, predictions: &mut Vec<Prediction>) {
        let future = Arc::clone(&self.future);
        let thread = fault.thread.0 as usize;
        let Some(touches) = future.touches.get(thread) else {
            return;
        };
        let mut in_tier =
            |page: PageId| memory.residence(future.pages[page.index()]) == Residence::InTier;
        let ahead = &mut self.threads[thread];
        let pages = if ahead.used == Some(ahead.clock) {
            let from = ahead.next.max(ahead.clock);
            let room = self.degree.saturating_sub(ahead.under_way.len());
            ahead.look(touches, from, room, false, in_tier)
        } else {
            ahead.under_way.retain(|(_, page)| in_tier(*page));
            ahead.look(touches, ahead.clock, self.degree, true, in_tier)
        };
        for page in pages {
            let source = self.source(thread);
            self.threads[thread].under_way.push((source, page));
            let pages = vec![future.pages[page.index()]];
            predictions.push(Prediction::of(source, pages));
        }
    }

    fn on_exhausted(&mut self, source: Source) {
        if let Some(ahead) = self.thread(source) {
            ahead.under_way.retain(|(known, _)| *known != source);
        }
    }

    fn outcome(&mut self, source: Source, outcome: Outcome) {
        self.on_exhausted(source);
        let Some(ahead) = self.thread(source) else {
            return;
        };
        match outcome {
            Outcome::Used => {
                ahead.used = Some(ahead.clock);
                let grown = |reach: usize| reach.saturating_add(reach / GROWTH + 1);
                ahead.reach = ahead.reach.map(grown);
            }
            Outcome::Late | Outcome::Reissued => {}
            Outcome::Wasted if ahead.cut => {}
            Outcome::Wasted => {
                ahead.cut = true;
                let span = ahead.next.saturating_sub(ahead.clock);
                ahead.reach = Some(ahead.reach.unwrap_or(span).min(span) / 2 + 1);
            }
        }
    }

    fn advance_clock(&mut self, thread: Thread, touches: u64) {
        let Some(ahead) = self.threads.get_mut(thread.0 as usize) else {
            return;
        };
        let clock = usize::try_from(touches).unwrap_or(usize::MAX);
        let more = clock.saturating_sub(ahead.clock);
        ahead.steps = ahead.steps.saturating_add(more.saturating_mul(STEPS));
        ahead.clock = clock;
        ahead.cut = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::{Location, Page};
    use crate::prefetch::testing::{Everywhere, SPACE, fault};

    /// An oracle for one thread that touches these pages.
    fn oracle(touches: &[u32], settings: &str) -> Oracle {
        let most = touches.iter().max().map_or(0, |most| u64::from(*most));
        let at = |page| Location::new(SPACE, Page(page));
        let future = Future {
            pages: (0..=most).map(at).collect(),
            touches: vec![touches.iter().copied().map(PageId).collect()],
        };
        Oracle::new(&mut Params::parse(settings).unwrap(), Arc::new(future)).unwrap()
    }

    fn named(oracle: &mut Oracle, memory: &mut dyn Memory) -> Vec<(Source, u64)> {
        let mut predictions = Vec::new();
        oracle.fault(&fault(0, 0), memory, &mut predictions);
        let pages = predictions.iter().map(|p| (p.source, p.pages[0].page.0));
        pages.collect()
    }

    fn pages(oracle: &mut Oracle, memory: &mut dyn Memory) -> Vec<u64> {
        let named = named(oracle, memory).into_iter();
        named.map(|(_, page)| page).collect()
    }

    /// The reach grows with every use, without end.
    #[test]
    fn the_reach_has_no_end() {
        let mut oracle = oracle(&[0], "");
        oracle.outcome(Source(0), Outcome::Wasted);
        (0..10_000).for_each(|_| oracle.outcome(Source(0), Outcome::Used));
        assert_eq!(oracle.threads[0].reach, Some(usize::MAX));
    }

    /// These pages are in memory, all others in the tier.
    struct Holds(Vec<u64>);

    impl Memory for Holds {
        fn residence(&mut self, at: Location) -> Residence {
            match self.0.contains(&at.page.0) {
                true => Residence::InMemory,
                false => Residence::InTier,
            }
        }
    }

    #[test]
    fn what_comes_next_and_is_not_in_memory_each_once() {
        let mut oracle = oracle(&[9, 5, 5, 1, 2, 1, 7, 2, 3, 4], "degree=4");
        oracle.advance_clock(Thread(0), 1);
        assert_eq!(pages(&mut oracle, &mut Holds(vec![5])), [1, 2, 7, 3]);
    }

    #[test]
    fn it_goes_on_as_pages_are_used_and_steps_back_for_what_was_lost() {
        let mut oracle = oracle(&[0, 1, 2, 3, 4, 5, 6, 7], "degree=2");
        oracle.advance_clock(Thread(0), 1);
        let first = named(&mut oracle, &mut Holds(vec![3]));
        assert_eq!((first[0].1, first[1].1), (1, 2));
        oracle.advance_clock(Thread(0), 2);
        oracle.outcome(first[0].0, Outcome::Used);
        assert_eq!(pages(&mut oracle, &mut Holds(vec![1, 3])), [4]);
        // Page 3, which was in memory, is not any more.
        oracle.advance_clock(Thread(0), 3);
        oracle.outcome(first[1].0, Outcome::Late);
        assert_eq!(pages(&mut oracle, &mut Holds(vec![1, 2])), [3]);
    }

    #[test]
    fn it_looks_less_far_ahead_where_pages_are_lost() {
        let touches: Vec<u32> = (0..100).collect();
        let mut oracle = oracle(&touches, "degree=16");
        oracle.advance_clock(Thread(0), 1);
        let first = named(&mut oracle, &mut Everywhere);
        assert_eq!(first.len(), 16);
        for (source, _) in first {
            oracle.outcome(source, Outcome::Wasted);
        }
        oracle.advance_clock(Thread(0), 2);
        assert_eq!(
            pages(&mut oracle, &mut Everywhere),
            [2, 3, 4, 5, 6, 7, 8, 9, 10]
        );
    }

    #[test]
    fn another_thread_or_the_end_is_nothing() {
        let mut oracle = oracle(&[0, 1], "");
        oracle.advance_clock(Thread(0), 2);
        assert!(pages(&mut oracle, &mut Everywhere).is_empty());
        oracle.advance_clock(Thread(7), 2);
        let mut predictions = Vec::new();
        oracle.fault(&fault(7, 0), &mut Everywhere, &mut predictions);
        assert!(predictions.is_empty());
    }
}
