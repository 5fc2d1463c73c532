//! Pages that are fetched ahead or let go, and what a read takes.

pub mod advice;
pub mod evictor;
pub mod fetchers;
pub(crate) mod latency;
pub(crate) mod readahead;
pub mod reads;
