//! Batches of requests of the private levels to the last level.

use std::ops::Range;

use terrace_base::Bytes;
use terrace_policy::llc::Request;

use super::flush::Flushed;

/// A request, and its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The request.
    pub request: Request,
    /// Instructions that its core had executed before it.
    pub instruction: u64,
}

/// Requests in the order of their arrival.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    requests: Vec<Request>,
    /// The time of each request: [`Asked::instruction`].
    instructions: Vec<u64>,
    /// The first request after the warm-up, if the warm-up ends in this batch; the number of requests,
    /// if it ends after the last.
    pub measured_from: Option<usize>,
    /// Lines that programs flush meanwhile, in order.
    pub flushed: Vec<Flushed>,
}

impl Batch {
    /// Removes all requests, and keeps the memory.
    pub fn clear(&mut self) {
        self.requests.clear();
        self.instructions.clear();
        self.measured_from = None;
        self.flushed.clear();
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
    }

    /// Returns about how much memory the batch takes.
    pub fn bytes(&self) -> Bytes {
        let each = size_of::<Request>() + size_of::<u64>();
        let flushed = self.flushed.len() * size_of::<Flushed>();
        Bytes((self.len() * each + flushed) as u64)
    }

    /// Returns the requests without their times.
    pub fn requests(&self) -> &[Request] {
        &self.requests
    }

    /// Returns a range of the requests with their times.
    pub fn asked(&self, range: Range<usize>) -> impl Iterator<Item = Asked> {
        let requests = self.requests[range.clone()].iter();
        let asked = requests.zip(&self.instructions[range]);
        asked.map(|(&request, &instruction)| Asked {
            request,
            instruction,
        })
    }
}
