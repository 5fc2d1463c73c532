//! `oracle`: what each thread will need next, for it knows; the most that a predictor could win.
//!
//! No predictor of a paper: a bound for them. It keeps the next pages of the thread's future that
//! are not in memory under way, in the order in which they are needed: it looks further at each
//! first use of a fetched page, and anew from where the thread is at each fault, for then something
//! was lost that had been in memory. Where fetched pages are evicted before they are needed it
//! looks less far ahead. It knows nothing of time, of replacement, and of the order of threads, so
//! it bounds what predicting can win, not what fetching could.
//!
//! It holds all touches ([`Future`]): 4 bytes each, and 16 a page. It looks at no more than
//! [`STEPS`] of them for each that is made.

use std::sync::Arc;

use super::{Future, Outcome, Params, Prediction, Predictor, Source};
use crate::page::{Fault, Memory, Residence, Thread};
use crate::replacement::PageId;

/// Touches looked at for each that is made, at most.
const STEPS: usize = 64;
/// How much further it looks after a page that was used: a part of how far it does.
const GROWTH: usize = 64;

/// The predictor.
pub struct Oracle {
    future: Arc<Future>,
    /// Pages that are under way for each thread.
    degree: usize,
    threads: Vec<Ahead>,
    /// Predictions so far, each a source of its own.
    named: u32,
}

/// How far a thread has come, and what is under way for it.
#[derive(Clone, Debug, Default)]
struct Ahead {
    /// Touches that it has made.
    made: usize,
    /// The touch up to which nothing is to be fetched, unless it was lost since.
    next: usize,
    /// Touches that may be looked at.
    steps: usize,
    /// Pages that were named and whose end is not known.
    under_way: Vec<(Source, PageId)>,
    /// How many touches ahead pages are fetched; none while none was evicted unused.
    reach: Option<usize>,
    /// Whether that was cut since the thread was last heard of.
    cut: bool,
    /// The touches made when one of its pages was last used: who calls then is no fault.
    used: Option<usize>,
}

impl Oracle {
    /// Takes its settings, and the future.
    ///
    /// # Errors
    /// A sentence where one is out of range.
    pub fn new(params: &mut Params, future: Arc<Future>) -> Result<Self, String> {
        Ok(Self {
            degree: params.number("degree", 16, 1..=512)?,
            threads: vec![Ahead::default(); future.touches.len()],
            future,
            named: 0,
        })
    }

    /// The next source of a thread, which can be told from it. Sources come again after 2^32 by the
    /// number of threads, which is more than are ever under way.
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
    /// The pages to fetch that are needed from touch `from` on, as many as `room`, of which those
    /// under way take part if `anew`.
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
        // The first is named however far away it is: its use is the next occasion to look.
        let reach = self.reach.unwrap_or(usize::MAX);
        let near = self.made.saturating_add(reach);
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
    fn fault(&mut self, fault: &Fault, memory: &mut dyn Memory, predictions: &mut Vec<Prediction>) {
        let future = Arc::clone(&self.future);
        let thread = fault.thread.0 as usize;
        let Some(touches) = future.touches.get(thread) else {
            return;
        };
        let mut in_tier =
            |page: PageId| memory.residence(future.pages[page.index()]) == Residence::InTier;
        let ahead = &mut self.threads[thread];
        let pages = if ahead.used == Some(ahead.made) {
            let from = ahead.next.max(ahead.made);
            let room = self.degree.saturating_sub(ahead.under_way.len());
            ahead.look(touches, from, room, false, in_tier)
        } else {
            ahead.under_way.retain(|(_, page)| in_tier(*page));
            ahead.look(touches, ahead.made, self.degree, true, in_tier)
        };
        for page in pages {
            let source = self.source(thread);
            self.threads[thread].under_way.push((source, page));
            predictions.push(Prediction {
                source,
                pages: vec![future.pages[page.index()]],
                goes_on: false,
            });
        }
    }

    fn futile(&mut self, source: Source) {
        if let Some(ahead) = self.thread(source) {
            ahead.under_way.retain(|(known, _)| *known != source);
        }
    }

    fn outcome(&mut self, source: Source, outcome: Outcome) {
        self.futile(source);
        let Some(ahead) = self.thread(source) else {
            return;
        };
        match outcome {
            Outcome::Used => {
                ahead.used = Some(ahead.made);
                ahead.reach = ahead.reach.map(|reach| reach + reach / GROWTH + 1);
            }
            Outcome::Late => {}
            Outcome::Wasted if ahead.cut => {}
            Outcome::Wasted => {
                ahead.cut = true;
                let span = ahead.next.saturating_sub(ahead.made);
                ahead.reach = Some(ahead.reach.unwrap_or(span).min(span) / 2 + 1);
            }
        }
    }

    fn made(&mut self, thread: Thread, touches: u64) {
        let Some(ahead) = self.threads.get_mut(thread.0 as usize) else {
            return;
        };
        let made = usize::try_from(touches).unwrap_or(usize::MAX);
        let more = made.saturating_sub(ahead.made);
        ahead.steps = ahead.steps.saturating_add(more.saturating_mul(STEPS));
        ahead.made = made;
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
        oracle.made(Thread(0), 1);
        assert_eq!(pages(&mut oracle, &mut Holds(vec![5])), [1, 2, 7, 3]);
    }

    #[test]
    fn it_goes_on_as_pages_are_used_and_steps_back_for_what_was_lost() {
        let mut oracle = oracle(&[0, 1, 2, 3, 4, 5, 6, 7], "degree=2");
        oracle.made(Thread(0), 1);
        let first = named(&mut oracle, &mut Holds(vec![3]));
        assert_eq!((first[0].1, first[1].1), (1, 2));
        oracle.made(Thread(0), 2);
        oracle.outcome(first[0].0, Outcome::Used);
        assert_eq!(pages(&mut oracle, &mut Holds(vec![1, 3])), [4]);
        // Page 3, which was in memory, is not any more.
        oracle.made(Thread(0), 3);
        oracle.outcome(first[1].0, Outcome::Late);
        assert_eq!(pages(&mut oracle, &mut Holds(vec![1, 2])), [3]);
    }

    #[test]
    fn it_looks_less_far_ahead_where_pages_are_lost() {
        let touches: Vec<u32> = (0..100).collect();
        let mut oracle = oracle(&touches, "degree=16");
        oracle.made(Thread(0), 1);
        let first = named(&mut oracle, &mut Everywhere);
        assert_eq!(first.len(), 16);
        for (source, _) in first {
            oracle.outcome(source, Outcome::Wasted);
        }
        oracle.made(Thread(0), 2);
        assert_eq!(
            pages(&mut oracle, &mut Everywhere),
            [2, 3, 4, 5, 6, 7, 8, 9, 10]
        );
    }

    #[test]
    fn another_thread_or_the_end_is_nothing() {
        let mut oracle = oracle(&[0, 1], "");
        oracle.made(Thread(0), 2);
        assert!(pages(&mut oracle, &mut Everywhere).is_empty());
        oracle.made(Thread(7), 2);
        let mut predictions = Vec::new();
        oracle.fault(&fault(7, 0), &mut Everywhere, &mut predictions);
        assert!(predictions.is_empty());
    }
}
