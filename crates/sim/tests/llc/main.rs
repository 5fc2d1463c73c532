//! The hierarchy of caches from outside: against a slow model, and its laws.

mod ahead;
mod flush;
mod laws;
mod replay;
mod slow;
mod time;
mod twin;
