//! Policies of last-level caches against general laws and slow twins.

mod bounds;
mod laws;
mod opt;
mod requests;
mod slow;
mod twins;
