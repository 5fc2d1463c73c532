//! Pages that are fetched ahead or let go, and what a read takes.

pub(crate) mod advice;
pub(crate) mod evictor;
pub(crate) mod fetchers;
pub(crate) mod latency;
pub mod readahead;
pub(crate) mod reads;
pub(crate) mod touch;
