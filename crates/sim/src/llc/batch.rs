//! Batches of requests of the private levels to the last level.

use std::ops::Range;

use terrace_base::Bytes;
use terrace_policy::llc::Request;

use super::flush::Flushed;
use super::order::Order;

/// A request, and its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The request.
    pub request: Request,
    /// Instructions that its core had executed before it.
    pub instruction: u64,
    /// How many instructions before it the load was from which its address comes; 0: none that
    /// matters.
    pub after: u8,
}

/// An access that the second level serves: no request, but later addresses may come from a load,
/// and what was read ahead may be on its way yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Near {
    /// The request of its batch that follows it.
    pub before: usize,
    /// Its core.
    pub core: u8,
    /// As for [`Asked`].
    pub instruction: u64,
    /// As for [`Asked`].
    pub after: u8,
    /// Whether it is a load.
    pub load: bool,
    /// The line, if this is the first use of one that was read ahead.
    pub ahead: Option<u64>,
}

/// An event that orders a core with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ordered {
    /// The event.
    pub order: Order,
    /// Instructions that its core had executed before it.
    pub instruction: u64,
    /// The request of its batch that follows it.
    pub before: usize,
}

/// Requests in the order of their arrival.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    requests: Vec<Request>,
    /// The time of each request: [`Asked::instruction`].
    instructions: Vec<u64>,
    /// [`Asked::after`] of the requests up to the last for which it is not 0.
    afters: Vec<u8>,
    /// Accesses that the second level serves, in order: first uses of lines that were read ahead,
    /// and if the trace says where addresses come from, loads.
    nears: Vec<Near>,
    /// The first request after the warm-up, if the warm-up ends in this batch; the number of
    /// requests, if it ends after the last.
    pub measured_from: Option<usize>,
    /// Lines that programs flush meanwhile, in order.
    pub flushed: Vec<Flushed>,
    /// What orders cores meanwhile, in order.
    pub orders: Vec<Ordered>,
}

impl Batch {
    /// Removes all requests, and keeps the memory.
    pub fn clear(&mut self) {
        self.requests.clear();
        self.instructions.clear();
        self.afters.clear();
        self.nears.clear();
        self.measured_from = None;
        self.flushed.clear();
        self.orders.clear();
    }

    /// Returns the number of requests.
    pub fn len(&self) -> usize {
        self.requests.len()
    }

    /// Appends a request.
    #[inline]
    pub fn push(&mut self, asked: Asked) {
        self.requests.push(asked.request);
        self.instructions.push(asked.instruction);
        if asked.after != 0 {
            self.afters.resize(self.requests.len() - 1, 0);
            self.afters.push(asked.after);
        }
    }

    /// Appends all of another batch.
    pub fn append(&mut self, other: &Self) {
        let begin = self.len();
        let asked = other.asked(0..other.len());
        asked.for_each(|asked| self.push(asked));
        self.nears.extend(other.nears.iter().map(|near| Near {
            before: begin + near.before,
            ..*near
        }));
        self.flushed
            .extend(other.flushed.iter().map(|flushed| Flushed {
                before: begin + flushed.before,
                ..*flushed
            }));
        self.orders
            .extend(other.orders.iter().map(|ordered| Ordered {
                before: begin + ordered.before,
                ..*ordered
            }));
        let measured_from = other.measured_from.map(|from| begin + from);
        self.measured_from = self.measured_from.or(measured_from);
    }

    /// Appends an access that the second level serves, behind the last request.
    pub fn push_near(&mut self, near: Near) {
        let before = self.requests.len();
        self.nears.push(Near { before, ..near });
    }

    /// Puts the write-backs from request `from` on before the others from there on.
    pub fn writes_first(&mut self, from: usize) {
        let asked = self.asked(from..self.len());
        let (writes, others): (Vec<_>, Vec<_>) =
            asked.partition(|asked| asked.request.kind.writes());
        self.requests.truncate(from);
        self.instructions.truncate(from);
        self.afters.truncate(from);
        let all = writes.into_iter().chain(others);
        all.for_each(|asked| self.push(asked));
        let nears = self.nears.iter_mut().rev();
        let moved = nears.take_while(|near| near.before > from);
        moved.for_each(|near| near.before = from);
    }

    /// Returns the accesses that the second level serves and one of these requests follows.
    pub fn nears(&self, range: Range<usize>) -> &[Near] {
        let before = |request| self.nears.partition_point(|near| near.before < request);
        &self.nears[before(range.start)..before(range.end)]
    }

    /// Returns the accesses that the second level serves and no request follows.
    pub fn late_nears(&self) -> &[Near] {
        let late = self.nears.partition_point(|near| near.before < self.len());
        &self.nears[late..]
    }

    /// Returns about how much memory the batch takes.
    pub fn bytes(&self) -> Bytes {
        let each = size_of::<Request>() + size_of::<u64>();
        let flushed = self.flushed.len() * size_of::<Flushed>();
        let nears = self.nears.len() * size_of::<Near>() + self.afters.len();
        let orders = self.orders.len() * size_of::<Ordered>();
        Bytes((self.len() * each + flushed + nears + orders) as u64)
    }

    /// Returns the requests without their times.
    pub fn requests(&self) -> &[Request] {
        &self.requests
    }

    /// Returns a request with its time.
    ///
    /// # Panics
    /// Where the batch has no such request.
    #[inline]
    pub fn get(&self, index: usize) -> Asked {
        Asked {
            request: self.requests[index],
            instruction: self.instructions[index],
            after: self.afters.get(index).copied().unwrap_or(0),
        }
    }

    /// Returns the instructions that its core had executed before a request; `None` where there is
    /// no such request.
    #[inline]
    pub fn instruction(&self, index: usize) -> Option<u64> {
        self.instructions.get(index).copied()
    }

    /// Returns a range of the requests with their times.
    pub fn asked(&self, range: Range<usize>) -> impl Iterator<Item = Asked> {
        let requests = self.requests[range.clone()].iter();
        let afters = self.afters.iter().skip(range.start).copied();
        let asked = requests.zip(&self.instructions[range]);
        let asked = asked.zip(afters.chain(std::iter::repeat(0)));
        asked.map(|((&request, &instruction), after)| Asked {
            request,
            instruction,
            after,
        })
    }
}
