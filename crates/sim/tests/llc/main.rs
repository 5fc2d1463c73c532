//! The hierarchy of caches from outside: against a slow model, and its laws.

mod ahead;
mod early;
mod exclusive;
mod flush;
mod laws;
mod replay;
mod slow;
mod time;
mod twin;
