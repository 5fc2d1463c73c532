//! Policies of last-level caches against general laws and slow twins.

mod laws;
mod requests;
mod slow;
mod twins;
