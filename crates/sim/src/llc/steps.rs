//! What a program does next: the runs of its threads, and what orders them with each other.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use terrace_trace::Block;
use terrace_trace::order::{Event, Point};

use crate::thread_run::thread_run;

/// Consecutive accesses of one thread.
#[derive(Clone, Debug)]
pub struct Stretch {
    /// The block with the accesses.
    pub block: Arc<Block>,
    /// Those that were not made yet.
    pub range: Range<usize>,
}

impl Stretch {
    /// Returns the thread.
    pub fn thread(&self) -> u16 {
        thread(&self.block, self.range.start)
    }
}

fn thread(block: &Block, index: usize) -> u16 {
    block.thread.get(index).copied().unwrap_or(0)
}

enum Step {
    Make(Stretch),
    Order(Event),
}

/// Steps that are known, in queues: one for all threads, in the order of the trace, or one for each
/// core, so that cores make theirs in an order of their own.
pub struct Steps {
    queues: Vec<VecDeque<Step>>,
    /// Accesses in all queues.
    accesses: usize,
    /// Points whose release is known, and whether it is past.
    released: FxHashMap<Point, bool>,
}

impl Steps {
    /// Makes a number of empty queues.
    pub fn new(queues: usize) -> Self {
        Self {
            queues: (0..queues).map(|_| VecDeque::new()).collect(),
            accesses: 0,
            released: FxHashMap::default(),
        }
    }

    /// Parts the steps among a number of queues, before any is taken.
    pub fn part(&mut self, queues: usize) {
        let known = std::mem::replace(self, Self::new(queues));
        for step in known.queues.into_iter().flatten() {
            if let Step::Make(Stretch { block, range }) = step
                && range.start == 0
            {
                self.push(block);
            }
        }
    }

    /// Removes all steps.
    pub fn clear(&mut self) {
        *self = Self::new(self.queues.len());
    }

    /// Returns the number of queues.
    pub fn queues(&self) -> usize {
        self.queues.len()
    }

    /// Returns the number of accesses that are known.
    pub fn accesses(&self) -> usize {
        self.accesses
    }

    /// Whether a queue has no step.
    pub fn lacks(&self, queue: usize) -> bool {
        self.queues[queue].is_empty()
    }

    /// Whether any queue has none.
    pub fn any_lacks(&self) -> bool {
        self.queues.iter().any(VecDeque::is_empty)
    }

    /// Appends the steps of a block; a thread's go to the queue of its number, in turn. A single
    /// queue needs no order but that of the trace.
    pub fn push(&mut self, block: Arc<Block>) {
        let mut orders = block.orders.iter().peekable();
        let mut begin = 0;
        while begin < block.len() {
            while let Some(order) = orders.next_if(|order| order.row <= begin as u64) {
                self.push_order(order.thread, order.event);
            }
            let next = orders
                .peek()
                .map_or(block.len(), |order| order.row as usize);
            let end = thread_run(&block, begin, next.min(block.len()));
            let stretch = Stretch {
                block: Arc::clone(&block),
                range: begin..end,
            };
            let queue = self.queue(thread(&block, begin));
            self.queues[queue].push_back(Step::Make(stretch));
            begin = end;
        }
        self.accesses += block.len();
    }

    fn push_order(&mut self, thread: u16, event: Event) {
        if self.queues.len() == 1 {
            return;
        }
        match event {
            Event::Release(point) => drop(self.released.insert(point, false)),
            // A part of a trace may not have the release.
            Event::Acquire(point) if !self.released.contains_key(&point) => return,
            Event::Acquire(_) => {}
        }
        let queue = self.queue(thread);
        self.queues[queue].push_back(Step::Order(event));
    }

    fn queue(&self, thread: u16) -> usize {
        usize::from(thread) % self.queues.len()
    }

    /// Returns the queues whose next step need not wait for others. There is one as long as there
    /// are accesses: the first of all steps in the trace is ready.
    pub fn ready(&self) -> impl Iterator<Item = usize> {
        let is_ready = |queue: &VecDeque<Step>| match queue.front() {
            None => false,
            Some(Step::Order(Event::Acquire(point))) => self.released.get(point) == Some(&true),
            Some(_) => true,
        };
        let queues = self.queues.iter().enumerate();
        queues.filter_map(move |(queue, steps)| is_ready(steps).then_some(queue))
    }

    /// Takes the event that is the next step of a queue, if it is one.
    pub fn take_order(&mut self, queue: usize) -> Option<Event> {
        let steps = &mut self.queues[queue];
        let event = match steps.front() {
            Some(Step::Order(event)) => *event,
            _ => return None,
        };
        steps.pop_front();
        if let Event::Release(point) = event {
            self.released.insert(point, true);
        }
        Some(event)
    }

    /// Returns the next accesses of a queue; `None` if its next step is none.
    pub fn next(&self, queue: usize) -> Option<&Stretch> {
        match self.queues[queue].front() {
            Some(Step::Make(stretch)) => Some(stretch),
            _ => None,
        }
    }

    /// Takes this number of accesses of the next of a queue.
    pub fn take(&mut self, queue: usize, accesses: usize) {
        let Some(Step::Make(stretch)) = self.queues[queue].front_mut() else {
            return;
        };
        stretch.range.start += accesses;
        self.accesses -= accesses;
        if stretch.range.is_empty() {
            self.queues[queue].pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use terrace_trace::Access;
    use terrace_trace::order::Order;

    use super::*;

    /// A block of an access for each of these threads, numbered by their instructions from `first`
    /// on.
    fn block(first: u64, threads: &[u16], orders: Vec<Order>) -> Arc<Block> {
        let mut block = Block::default();
        for (instruction, thread) in (first..).zip(threads) {
            block.push(Access {
                instruction,
                thread: *thread,
                ..Access::default()
            });
        }
        block.orders = orders;
        Arc::new(block)
    }

    proptest! {
        /// Whatever queue goes on: all accesses are made, those of a queue in their order, and what
        /// acquires comes after what was before the release.
        #[test]
        fn steps_keep_their_order(
            blocks in prop::collection::vec(prop::collection::vec((0..5_u16, 0..4_u8), 1..40), 1..5),
            queues in 1..4_usize,
            choices in prop::collection::vec((0..8_usize, 1..5_usize), 1..50),
        ) {
            let mut steps = Steps::new(1);
            // By point: the access before which the release lies, and that of its thread before
            // which the acquire does.
            let (mut released, mut waits, mut row, mut all) = (Vec::new(), Vec::new(), 0, Vec::new());
            for (index, rows) in blocks.iter().enumerate() {
                let (begin, mut orders) = (row, Vec::new());
                for (thread, event) in rows {
                    let order = |event| Order { row: row - begin, process: 0, thread: *thread, event };
                    match event {
                        0 => {
                            orders.push(order(Event::Release(Point(released.len() as u64))));
                            released.push((row, *thread));
                        }
                        1 if !released.is_empty() => {
                            let point = row as usize % released.len();
                            orders.push(order(Event::Acquire(Point(point as u64))));
                            waits.push((row, released[point]));
                        }
                        2 => orders.push(order(Event::Acquire(Point(1000)))),
                        _ => {}
                    }
                    all.push(*thread);
                    row += 1;
                }
                let threads: Vec<u16> = rows.iter().map(|(thread, _)| *thread).collect();
                steps.push(block(begin, &threads, orders));
                if index == 0 {
                    steps.part(queues);
                }
            }
            prop_assert_eq!(steps.accesses(), all.len());
            let mut made = Vec::new();
            for (choice, accesses) in choices.iter().cycle() {
                let ready: Vec<usize> = steps.ready().collect();
                if steps.accesses() == 0 {
                    break;
                }
                let queue = ready[choice % ready.len()];
                if steps.take_order(queue).is_some() {
                    continue;
                }
                let next = steps.next(queue).unwrap();
                prop_assert_eq!(usize::from(next.thread()) % queues, queue);
                let range = next.range.start..next.range.end.min(next.range.start + accesses);
                made.extend_from_slice(&next.block.instruction[range.clone()]);
                steps.take(queue, range.len());
            }
            let mut sorted = made.clone();
            sorted.sort_unstable();
            prop_assert!(sorted.into_iter().eq(0..all.len() as u64), "each once");
            let place = |row: u64| made.iter().position(|other| *other == row).unwrap();
            let queue = |thread: u16| usize::from(thread) % queues;
            for (row, thread) in (0..).zip(&all) {
                let later = (row + 1..).zip(&all[row as usize + 1..]);
                for (other, _) in later.filter(|(_, other)| queue(**other) == queue(*thread)) {
                    prop_assert!(place(row) < place(other));
                }
            }
            for (row, (released, thread)) in waits.into_iter().filter(|_| queues > 1) {
                let mut before = (0..released).filter(|row| queue(all[*row as usize]) == queue(thread));
                if let Some(last) = before.next_back() {
                    prop_assert!(place(last) < place(row));
                }
            }
        }
    }
}
