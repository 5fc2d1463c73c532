//! What private levels ask of the last one, many requests at once.

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
    /// The requests.
    pub asked: Vec<Asked>,
    /// The request with which the warm-up is over, where it is among these; their number, where
    /// it is over after the last.
    pub measured_from: Option<usize>,
    /// Lines that programs flush meanwhile, in the order in which they do.
    pub flushed: Vec<Flushed>,
}

impl Batch {
    /// Forgets all requests, keeps the room.
    pub fn clear(&mut self) {
        self.asked.clear();
        self.measured_from = None;
        self.flushed.clear();
    }
}
