//! What private levels ask of the last one, many requests at once.

use std::ops::Range;

use terrace_policy::llc::Request;

use super::flush::Flushed;

/// One request, and when it comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The request.
    pub request: Request,
    /// Instructions that its core had executed.
    pub instruction: u64,
}

/// Requests in the order in which they come.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    requests: Vec<Request>,
    /// When each comes: [`Asked::instruction`].
    instructions: Vec<u64>,
    /// The request with which the warm-up is over, where it is among these; their number, where
    /// it is over after the last.
    pub measured_from: Option<usize>,
    /// Lines that programs flush meanwhile, in the order in which they do.
    pub flushed: Vec<Flushed>,
}

impl Batch {
    /// Forgets all requests, keeps the room.
    pub fn clear(&mut self) {
        self.requests.clear();
        self.instructions.clear();
        self.measured_from = None;
        self.flushed.clear();
    }

    /// How many requests there are.
    pub fn len(&self) -> usize {
        self.requests.len()
    }

    /// One more.
    #[inline]
    pub fn push(&mut self, asked: Asked) {
        self.requests.push(asked.request);
        self.instructions.push(asked.instruction);
    }

    /// The requests by themselves.
    pub fn requests(&self) -> &[Request] {
        &self.requests
    }

    /// Some of the requests, and when they come.
    pub fn asked(&self, range: Range<usize>) -> impl Iterator<Item = Asked> {
        let requests = self.requests[range.clone()].iter();
        let asked = requests.zip(&self.instructions[range]);
        asked.map(|(&request, &instruction)| Asked {
            request,
            instruction,
        })
    }
}
